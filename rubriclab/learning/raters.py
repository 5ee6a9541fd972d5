"""Interrater agreement of the human raters, and the ceiling that it sets for any judge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rubriclab.data.assignment import Assignment
from rubriclab.data.example import Example, named_annotations
from rubriclab.learning.gate import gate_level
from rubriclab.stats.correlation import FloatArray, IntArray
from rubriclab.stats.interval import rounded
from rubriclab.stats.intraclass import ceiling, intraclass
from rubriclab.stats.raters import EPSILON, alternative_annotator, rater_statistics
from rubriclab.stats.reliability import krippendorff_alpha
from rubriclab.validation import Rater, Raters

# With more raters than this nobody has rated much, and what severity adds to noise is not told apart in intervals: the
# intraclass correlation is then of case 1 instead of case 2, which estimate the same share.
MOST_SEPARATED = 30


@dataclass(frozen=True, eq=False)
class RaterScores:
    """Who rated what.

    Attributes:
        names: of the raters; empty where it is not known which scores are whose.
        table: shape (raters, texts), NaN where there is none; without names the order in a column says nothing.
    """

    names: tuple[str, ...]
    table: FloatArray


def raters(examples: Sequence[Example], assignment: Assignment, scores: FloatArray, *, seed: int = 0) -> Raters | None:
    """Return what is known of the raters, and whether who gave `scores` could replace one; None below two raters.

    Intervals come from resampling groups. The ceiling is for the level at which the gate takes correlations.

    Args:
        examples: the labelled texts.
        assignment: what was rated.
        scores: shape (texts,), on the raters' scale, each made without the text's own label, NaN where there is none.
        seed: of the bootstrap.
    """
    aspect = assignment.aspect.name
    rated = ratings(examples, aspect)
    if rated is None:
        return None
    groups = np.unique([example.group for example in examples], return_inverse=True)[1]
    labels = np.array([example.scores[aspect] for example in examples], dtype=float)
    among = groups if gate_level(labels, [example.group for example in examples]) == "group" else None
    known = bool(rated.names)
    separated = known and len(rated.names) <= MOST_SEPARATED
    single, mean = (
        intraclass(rated.table, groups, raters_known=separated, of_mean=of_mean, seed=seed, resamples=resamples)
        for of_mean, resamples in ((False, 1000), (True, 0))
    )
    replaced = alternative_annotator(rated.table, scores) if known else None
    return Raters(
        raters=_raters(rated, groups, seed),
        icc=single.rounded(),
        icc_mean=rounded(mean.value),
        alpha=krippendorff_alpha(rated.table, "interval", groups, seed=seed).rounded(),
        ceiling=rounded(ceiling(rated.table, among, raters_known=known)),
        winning=rounded(replaced.winning) if replaced else None,
        advantage=rounded(replaced.advantage) if replaced else None,
        epsilon=EPSILON if replaced else None,
    )


def ratings(examples: Sequence[Example], aspect: str) -> RaterScores | None:
    """Return single raters' scores of `aspect`; None unless some text has two of them.

    Raters are known by name, or where no text names any by their place in the list, if all lists are equally long.
    Where some texts name their raters, scores of nobody in particular are left out.
    """
    listed = [named_annotations(example, aspect) for example in examples]
    named = any(listed)
    if not named:
        listed = [_numbered(example.annotations.get(aspect, ())) for example in examples]
    if not any(len(scores) > 1 for scores in listed):
        return None
    names = sorted({name for scores in listed for name in scores}, key=lambda name: (named or int(name), name))
    table = np.array([[scores.get(name, np.nan) for scores in listed] for name in names], dtype=float)
    known = named or len({len(scores) for scores in listed if scores}) == 1
    return RaterScores(tuple(names) if known else (), table)


def _numbered(scores: Sequence[float]) -> dict[str, float]:
    return {str(place): score for place, score in enumerate(scores, start=1)}


def _raters(rated: RaterScores, groups: IntArray, seed: int) -> tuple[Rater, ...]:
    if not rated.names:
        return ()
    return tuple(
        Rater(
            name=name,
            n=statistics.n,
            severity=statistics.severity.rounded(),
            noise=rounded(statistics.noise),
            agreement=rounded(statistics.agreement),
        )
        for name, statistics in zip(rated.names, rater_statistics(rated.table, groups, seed=seed), strict=True)
    )
