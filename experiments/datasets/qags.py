"""QAGS: whether the sentences of a summary are borne out by its article, by three crowd workers each.

Wang, Cho & Lewis 2020, ACL. One JSON
object a line: `article` and `summary_sentences`, each with `sentence` and `responses` (`worker_id`, and `response` yes
or no).

The score is the share of the sentences that most workers call supported, as in the paper and in those that report on
it. A worker's own number is the share of the sentences that this worker calls supported. Every article has one summary,
so every text is a group of its own; texts are numbered as they stand in the file. The summaries of CNN/DailyMail are by
Gehrmann et al. 2018 (bottom-up attention), those of XSum by Lewis et al. 2020 (BART): the file does not say so itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from experiments.datasets.records import Records, name_of, nested, text
from rubriclab import Example
from rubriclab.data.fields import FieldError, Fields
from rubriclab.descriptions import describe

ANSWERS = {"yes": 1.0, "no": 0.0}


def examples(records: Records, *, name: str, system: str) -> Iterator[Example]:
    """Yield the summaries, each a group of its own."""
    for number, row in enumerate(records):
        own_id = f"{name}-{number:03d}"
        sentences = nested(row, "summary_sentences")
        answers = [_answers(sentence) for sentence in sentences]
        shares = _shares(answers)
        yield Example(
            id=own_id,
            output=" ".join(text(sentence, "sentence") for sentence in sentences),
            group=own_id,
            source=text(row, "article"),
            system=system,
            scores={"consistency": sum(_mean(list(given.values())) > 1 / 2 for given in answers) / len(answers)},
            annotations={"consistency": tuple(shares.values())} if shares else {},
            raters={"consistency": tuple(shares)} if shares else {},
        )


def _answers(sentence: Fields) -> dict[str, float]:
    given = dict[str, float]()
    for response in nested(sentence, "responses"):
        worker, answer = name_of(response, "worker_id"), text(response, "response").lower()
        if answer not in ANSWERS or worker in given:
            came = f"a second answer of worker {worker!r}" if answer in ANSWERS else describe(answer)
            raise FieldError("response", came, "yes or no, once from each worker")
        given[worker] = ANSWERS[answer]
    return given


def _shares(answers: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return, for the workers who judged every sentence, how many of them they call supported."""
    everywhere = [worker for worker in answers[0] if all(worker in given for given in answers)]
    return {worker: _mean([given[worker] for given in answers]) for worker in everywhere}


def _mean(numbers: Sequence[float]) -> float:
    return math.fsum(numbers) / len(numbers)
