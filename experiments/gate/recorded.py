"""The same with the recorded judgments of a strong model: whether the gate lets through what deserves it.

    python -m experiments measure gate-recorded --data FOLDER --set judgments=FOLDER \
        -o experiments/gate/results/recorded.json

Learning sets of several sizes are drawn from the texts that the model has judged, some groups with all their texts, and
learned from with their labels as they are and dealt out anew. What the verdict ought to be is read off all other judged
texts: the rubric's correlation there less that of the baseline that it was compared with.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from experiments.gate.gate import GIVEN, asked, dealt
from experiments.runner.measurement import Measurement, Options, Row, stored_rows
from experiments.runner.training import labelled_aspects, unsigned_matrix
from rubriclab import parse_scale
from rubriclab.research import FEATURE_NAMES, RatingMatrix, feature_values, fit, held_out_baselines
from rubriclab.stats import FloatArray, pearson

SETS = {"summeval": "1:5:any", "hanna": "1:5:any", "topical_chat": "1:3:any"}
SIZES = (30, 60, 90)
# Fewer texts than this say too little about who is really better.
REST = 30


class RecordedOptions(Options):
    """Where the judgments are, and how often texts are drawn.

    Attributes:
        judgments: folder with the recorded judgments of the sets.
        draws: learning sets of each size.
    """

    judgments: Path
    draws: int = 20


@dataclass(frozen=True)
class Case:
    """Learning sets of one size, drawn from one set."""

    data: Path
    judgments: Path
    set: str
    size: int
    draws: int

    def __str__(self) -> str:
        """Return what the case is of."""
        return f"{self.set} {self.size}"


def cases(options: RecordedOptions) -> Iterator[Case]:
    """Yield every set in every size."""
    for name in SETS:
        for size in SIZES:
            yield Case(options.data, options.judgments, name, size, options.draws)


def run(case: Case) -> list[Row]:
    """Return a row for each draw of one size, with the labels as they are and dealt."""
    name, size = case.set, case.size
    judged, features = matrix(case)
    rows = []
    for number in range(case.draws):
        rng = np.random.default_rng([size, number])
        chosen = drawn(judged, size, rng)
        own, rest = judged.rows(chosen), judged.rows(~chosen)
        if len(rest.labels) < REST:
            continue
        said = asked(own, features[chosen], GIVEN, number)
        against = said.verdicts[0].against
        rubric = pearson(fit(own, GIVEN).raw(rest.values), rest.labels)
        gain = rubric - baseline_pearson(judged, features, chosen, against)
        rows.append({"set": name, "size": size, "labels": "as they are", "gain": gain, **told(said)})
        null = asked(replace(own, labels=dealt(own, "among", rng)), features[chosen], GIVEN, number)
        rows.append({"set": name, "size": size, "labels": "among", "gain": None, **told(null)})
    return rows


def told(said: Any) -> dict[str, Any]:
    """Return what the gate said."""
    first = said.verdicts[0]
    return {
        "n": said.n,
        "level": said.level,
        "outcome": said.outcome,
        "against": first.against,
        "difference": asdict(first.difference),
        "more_labels": first.more_labels,
        "verdicts": {verdict.against: verdict.outcome for verdict in said.verdicts[1:]},
    }


def baseline_pearson(judged: RatingMatrix, features: FloatArray, chosen: np.ndarray, name: str) -> float:
    """Return the correlation on all other texts of a baseline that was fitted to the texts chosen."""
    scores = held_out_baselines(features, judged.labels, np.where(chosen, 1, 0))[name][~chosen]
    return pearson(scores, judged.labels[~chosen]) if np.ptp(scores) > 0 else 0.0


def drawn(judged: RatingMatrix, size: int, rng: np.random.Generator) -> np.ndarray:
    """Return a mask over the texts: whole groups in random order, until there are `size` of them."""
    chosen = np.zeros(len(judged.labels), dtype=bool)
    groups = np.array(judged.groups)
    for group in rng.permutation(sorted(set(judged.groups))):
        chosen[np.flatnonzero(groups == group)[: size - int(chosen.sum())]] = True
    return chosen


def matrix(case: Case) -> tuple[RatingMatrix, FloatArray]:
    """Return all texts that the model has judged, and their text features."""
    with gzip.open(case.judgments / f"{case.set}.json.gz") as file:
        found = json.load(file)
    aspect = next(each for each in labelled_aspects(case.data, case.set) if each.aspect == found["aspect"])
    known = {each.id: each for each in aspect.examples}
    texts = [known[key] for key in sorted((*found["train"], *found["test"]))]
    cells = [list(answers(found["answers"][each.id])) for each in texts]
    judged = unsigned_matrix(
        np.array([[np.nan if value is None else value for _, value in row] for row in cells], dtype=float),
        [method for method, _ in cells[0]],
        np.array([each.scores[found["aspect"]] for each in texts]),
        [each.group for each in texts],
        parse_scale(SETS[case.set]),
    )
    return judged, feature_values(texts, FEATURE_NAMES)


def answers(found: dict[str, Any]) -> Iterator[tuple[str, float | None]]:
    """Yield one text's scores, each with the method that it is from."""
    for method, asked_for, letter in (("hypoeval", "hypotheses", "h"), ("checkeval", "checklist", "q")):
        for number in range(1, 15):
            yield method, found[asked_for].get(f"{letter}{number}")
    yield "seeval", found["explained"]["score"]
    yield "direct", found["direct"]["score"]


def table(rows: Sequence[Row]) -> str:
    """Return the outcomes by set and size, for Markdown; right is what lies on the side that the other texts show."""
    lines = ["| set | labels | learning texts | runs | better | of these right | not better | inconclusive | gain |"]
    lines.append("|---" * 9 + "|")
    for key in dict.fromkeys((row["set"], row["labels"], row["size"]) for row in rows):
        own = [row for row in rows if (row["set"], row["labels"], row["size"]) == key]
        shares = {
            outcome: [row for row in own if row["outcome"] == outcome]
            for outcome in ("better", "not better", "inconclusive")
        }
        known = key[1] != "among"
        right = f"{sum(row['gain'] > 0 for row in shares['better'])}" if known else ""
        gain = f"{np.mean([row['gain'] for row in own]):.2f}" if known else ""
        counts = [str(len(found)) for found in shares.values()]
        lines.append(
            f"| {' | '.join(map(str, key))} | {len(own)} | {counts[0]} | {right} | {counts[1]} | {counts[2]} | {gain} |"
        )
    return "\n".join(lines)


def verdicts(rows: Sequence[Row]) -> str:
    """Return in a sentence how many verdicts were right, and how many labels dealt out anew passed."""
    true = [row for row in rows if row["gain"] is not None]
    null = [row for row in rows if row["gain"] is None]
    better = [row for row in true if row["outcome"] == "better"]
    worse = [row for row in true if row["outcome"] == "not better"]
    return (
        f"{sum(row['gain'] > 0 for row in better)} of {len(better)} verdicts `better` and "
        f"{sum(row['gain'] <= 0 for row in worse)} of {len(worse)} verdicts `not better` are right; with shuffled\n"
        f"labels the gate said `better` in {sum(row['outcome'] == 'better' for row in null)} of {len(null)} runs."
    )


def readme_figures() -> dict[str, str]:
    """Return the figures of the README, by block."""
    rows = stored_rows(Path(__file__).parent / "results" / "recorded.json")
    return {"recorded": f"{table(rows)}\n\n{verdicts(rows)}"}


MEASUREMENT = Measurement(
    "gate-recorded",
    "Does the gate pass what deserves it, by a strong model's recorded judgments?",
    RecordedOptions,
    cases,
    run,
    table,
    asks_judge=False,
)
