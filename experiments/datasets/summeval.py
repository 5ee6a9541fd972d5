"""SummEval: summaries of CNN/DailyMail articles by 16 systems, each rated by three experts.

Fabbri et al. 2021, "SummEval: Re-evaluating Summarization Evaluation", TACL 9. One JSON object a line: `id` (of the
article), `model_id`, `decoded` (the summary), `references` (eleven; the first is the article's own, the others were
written for SummEval), `expert_annotations` and `turker_annotations` (objects by aspect), and `text` once the authors'
`pair_data.py` has put the articles beside them; without it there is no source.

Scores are means over the experts, as in the papers that report on SummEval; crowd workers are left out. The file does
not say whether the first expert of one summary is the first of the next, so experts have no names.
"""

from __future__ import annotations

from collections.abc import Iterator

from experiments.datasets.records import Records, lacking, means, name_of, nested, optional_text, rating, text
from rubriclab import Example
from rubriclab.data.fields import Fields

ASPECTS = ("coherence", "consistency", "fluency", "relevance")


def examples(records: Records) -> Iterator[Example]:
    """Yield the summaries, grouped by article."""
    for row in records:
        article, system = name_of(row, "id"), name_of(row, "model_id")
        experts = nested(row, "expert_annotations")
        annotations = {aspect: tuple(rating(expert, aspect) for expert in experts) for aspect in ASPECTS}
        yield Example(
            id=f"{article}::{system}",
            output=text(row, "decoded"),
            group=article,
            source=optional_text(row, "text"),
            reference=_own_reference(row),
            system=system,
            scores=means(annotations),
            annotations=annotations,
        )


def _own_reference(row: Fields) -> str | None:
    references = row.value("references")
    if not isinstance(references, list) or not references:
        lacking(row, "references", "a list of texts")
    first = row.as_text("references", references[0])
    return first.strip() if first else None
