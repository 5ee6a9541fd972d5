"""Interrater agreement of the human raters, and the ceiling that it sets for any judge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rubriclab.learning.gate import gate_level
from rubriclab.models.text import Example, Scale, named_annotations
from rubriclab.models.version import Raters
from rubriclab.stats.correlation import FloatArray
from rubriclab.stats.errors import ScoreErrors, score_errors
from rubriclab.stats.interval import rounded
from rubriclab.stats.intraclass import ceiling
from rubriclab.stats.reliability import krippendorff_alpha


@dataclass(frozen=True, eq=False)
class RaterScores:
    """Scores by single raters.

    Attributes:
        names: of the raters; empty if raters are not identified.
        table: shape (raters, texts), NaN where missing; without names the order within a column has no meaning.
    """

    names: tuple[str, ...]
    table: FloatArray


def raters(examples: Sequence[Example], aspect: str, scale: Scale) -> Raters | None:
    """Return the agreement of the raters on labelled texts; `None` below two raters.

    Intervals are over groups. The ceiling is for correlations at the gate's level.
    """
    rated = ratings(examples, aspect)
    if rated is None:
        return None
    groups = np.unique([example.group for example in examples], return_inverse=True)[1]
    labels = np.array([example.scores[aspect] for example in examples], dtype=float)
    within = groups if gate_level(labels, [example.group for example in examples]) == "group" else None
    return Raters(
        alpha=krippendorff_alpha(rated.table, "interval", groups).rounded(),
        ceiling=rounded(ceiling(rated.table, within, raters_known=bool(rated.names))),
        errors=None if scale.names else rater_errors(examples, aspect, scale),
    )


def rater_errors(examples: Sequence[Example], aspect: str, scale: Scale) -> ScoreErrors | None:
    """Return the errors of single raters, each against the mean of the others; `None` below two raters."""
    rows = [
        (score, (sum(scores) - score) / (len(scores) - 1), example.group)
        for example in examples
        if len(scores := example.annotations.get(aspect, ())) > 1
        for score in scores
    ]
    if not rows:
        return None
    own, others = (np.array([row[column] for row in rows], dtype=float) for column in (0, 1))
    return score_errors(own, others, [row[2] for row in rows], scale.width)


def ratings(examples: Sequence[Example], aspect: str) -> RaterScores | None:
    """Return single raters' scores of `aspect`; `None` unless some text has two of them.

    Raters are identified by name. If no text has names, they are identified by their position in the list, if all lists
    are equally long. If some texts have names, unnamed scores are left out.
    """
    listed = [named_annotations(example, aspect) for example in examples]
    named = any(listed)
    if not named:
        listed = [_numbered(example.annotations.get(aspect, ())) for example in examples]
    if not any(len(scores) > 1 for scores in listed):
        return None
    names = sorted({name for scores in listed for name in scores}, key=lambda name: (named or int(name), name))
    table = np.array([[scores.get(name, np.nan) for scores in listed] for name in names], dtype=float)
    identified = named or len({len(scores) for scores in listed if scores}) == 1
    return RaterScores(tuple(names) if identified else (), table)


def _numbered(scores: Sequence[float]) -> dict[str, float]:
    return {str(place): score for place, score in enumerate(scores, start=1)}
