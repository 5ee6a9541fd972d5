"""The page on a training run: the verdict, what it rests on, and the rubric that came of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rubriclab.report import charts, recorded, training
from rubriclab.report.html.page import render

if TYPE_CHECKING:
    from rubriclab.store.version import Version
    from rubriclab.training_record import TrainingRecord


MOST_PATHS = 6


def training_report(version: Version, record: TrainingRecord | None) -> str:
    """Return how `version` was trained as one self-contained HTML page.

    Args:
        version: of one method or of several; what is not known of it is said to be so.
        record: the texts that it learned from and what was found of them; `None` where that is not known.
    """
    rows = training.weighed(version)
    scale = version.rubric.scores_on
    return render(
        "training.html",
        version=version,
        validation=version.provenance.validation,
        record=record,
        rows=rows,
        weights=charts.weight_axis(row.percent for row in rows),
        disagreements=recorded.disagreements(record) if record else [],
        marks=charts.score_axis(scale, _scores(record) if record else ()),
        recorded=recorded,
        walked=[row.criterion for row in rows if row.criterion.evidence.rewards],
        most_paths=MOST_PATHS,
        names={criterion.id: criterion for criterion in version.rubric.criteria},
    )


def _scores(record: TrainingRecord) -> Iterator[float]:
    """Yield every score on the raters' scale that a drawing may have to hold."""
    for text in record.texts:
        yield from (text.label, *text.raters.values())
        yield from (score for score in (text.predicted, text.low, text.high) if score is not None)
