"""How the scores of texts without labels change from one version or judge to another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from rubriclab.base_models import FrozenModel
from rubriclab.comparison.scorer_pair import CriterionPair, CriterionState, PairedScore, ScorerPair, VersionWithJudge
from rubriclab.data.scale import Scale
from rubriclab.display import Displayed
from rubriclab.stats.agreement import agreement
from rubriclab.stats.bootstrap import clustered_mean
from rubriclab.stats.correlation import FloatArray, IntArray
from rubriclab.stats.folds import units
from rubriclab.stats.interval import Interval, rounded_number

if TYPE_CHECKING:
    from rubriclab.report.model import View

# Flipped texts that are listed by id; all are in the file of pairs.
LISTED = 10
# Criteria listed for a flipped text.
EFFECTS = 3
# Contributions are rounded, so they sum to the difference up to this.
ROUNDING = 1e-4


class ScoreSummary(FrozenModel):
    """The scores of one version and judge, on the scale of the version before.

    Attributes:
        scale: of the scores as they were given.
        scored, unscored: texts with and without a score; `unscored_reason` is the latest reason.
        mean, standard_deviation: `None` with too few scores.
    """

    rubric: str
    judge: str
    scale: Scale
    scored: int
    unscored: int
    unscored_reason: str | None
    mean: float | None
    standard_deviation: float | None


class ScoreShift(FrozenModel):
    """Differences of scores, after minus before.

    Attributes:
        mean: of the differences, in points.
        mean_absolute: mean absolute difference.
    """

    mean: Interval
    mean_absolute: float | None


class RankAgreement(FrozenModel):
    """Rank correlations before and after, within groups of several texts or over all texts."""

    level: Literal["group", "dataset"]
    texts: int
    groups: int
    spearman: Interval
    kendall: Interval


class CriterionEffect(FrozenModel):
    """How far a criterion changed a text's score, in `Drift.effect_unit`."""

    criterion: str
    state: CriterionState
    change: float


class FlippedText(FrozenModel):
    """A text that crossed the threshold, with the criteria that moved it most."""

    id: str
    group: str
    before: float
    after: float
    effects: tuple[CriterionEffect, ...]


class FlipSummary(FrozenModel):
    """Texts that cross the threshold.

    Attributes:
        threshold: scores at or above it are on the upper side.
        texts: how many cross it, `up` and `down` of them.
        share: of the texts scored both before and after.
        largest: those that moved farthest.
    """

    threshold: float
    texts: int
    up: int
    down: int
    share: Interval
    largest: tuple[FlippedText, ...]


class CriterionDrift(FrozenModel):
    """The effect of one criterion on scores, in `Drift.effect_unit`.

    Attributes:
        name: its id, or both ids if they differ.
        state: kept, changed in wording or weight, removed, added; or `intercept`, the score of a text that is average
            by all criteria, which no criterion explains.
        mean, mean_absolute: per text.
        flips: flipped texts that it moved most in the direction of the flip.
    """

    name: str
    state: CriterionState
    trait: str
    mean: float | None
    mean_absolute: float | None
    flips: int


class Drift(Displayed, FrozenModel):
    """How the scores of the same texts change from one version or judge to another.

    Attributes:
        scale: of all figures: the scale of the version before, to which scores after are mapped linearly.
        texts, groups: how many there are.
        compared: texts scored both before and after, on which all figures are based.
        ranks: within groups, if groups have several texts, and over all texts.
        effect_unit: unit of the criteria's effects: points contributed to the score, or the change of the criterion's
            own rating as a share of its range.
        criteria: the largest effects first.
    """

    before: ScoreSummary
    after: ScoreSummary
    scale: Scale
    texts: int
    groups: int
    compared: int
    shift: ScoreShift
    ranks: tuple[RankAgreement, ...]
    flips: FlipSummary
    effect_unit: Literal["contribution", "rating"]
    criteria: tuple[CriterionDrift, ...]

    def view(self) -> View:
        """Return what changed between the two sides."""
        from rubriclab.report.drift import drift_view

        return drift_view(self)


def compare_scores(scorers: ScorerPair, pairs: Sequence[PairedScore], *, seed: int = 0) -> Drift:
    """Return the drift over the texts scored both before and after; the others are counted.

    Args:
        seed: of the resamples.
    """
    both = [pair for pair in pairs if pair.before is not None and pair.after is not None]
    scores = np.array([[pair.before, pair.after] for pair in both], dtype=float).reshape(-1, 2)
    groups = [pair.group for pair in both]
    changes = np.array([pair.changes for pair in both], dtype=float).reshape(-1, len(scorers.rows))
    # How far each criterion moved each text in the direction of its score; 0 if unknown.
    aligned = np.nan_to_num(changes) * np.sign(scores[:, 1] - scores[:, 0])[:, np.newaxis]
    return Drift(
        before=_summary(scorers.before, [(pair.before, pair.unscored_before) for pair in pairs]),
        after=_summary(scorers.after, [(pair.after, pair.unscored_after) for pair in pairs]),
        scale=scorers.scale,
        texts=len(pairs),
        groups=len({pair.group for pair in pairs}),
        compared=len(both),
        shift=_shift(scores, groups, seed),
        ranks=_ranks(scores, groups, seed),
        flips=_flips(scorers, scores, both, aligned, seed),
        effect_unit="contribution" if scorers.by_contribution else "rating",
        criteria=_criteria(scorers, scores, changes, aligned),
    )


def _summary(scorer: VersionWithJudge, results: Sequence[tuple[float | None, str | None]]) -> ScoreSummary:
    scores = np.array([score for score, _ in results if score is not None], dtype=float)
    reasons = [reason for score, reason in results if score is None]
    return ScoreSummary(
        rubric=scorer.version.ref,
        judge=scorer.judge,
        scale=scorer.scale,
        scored=len(scores),
        unscored=len(reasons),
        unscored_reason=reasons[-1] if reasons else None,
        mean=rounded_number(scores.mean()) if len(scores) else None,
        standard_deviation=rounded_number(scores.std(ddof=1)) if len(scores) > 1 else None,
    )


def _shift(scores: FloatArray, groups: Sequence[str], seed: int) -> ScoreShift:
    differences = scores[:, 1] - scores[:, 0]
    return ScoreShift(
        mean=clustered_mean(differences, units(groups), seed=seed).rounded(),
        mean_absolute=rounded_number(np.abs(differences).mean()) if len(scores) else None,
    )


def _ranks(scores: FloatArray, groups: Sequence[str], seed: int) -> tuple[RankAgreement, ...]:
    levels: tuple[Literal["group", "dataset"], ...] = ("dataset",)
    if 1 < len(set(groups)) < len(groups):
        levels = ("group", "dataset")
    results = [agreement(scores[:, 1], scores[:, 0], groups, level=level, seed=seed) for level in levels]
    return tuple(
        RankAgreement(
            level=level,
            texts=result.n,
            groups=result.groups,
            spearman=result.spearman.rounded(),
            kendall=result.kendall.rounded(),
        )
        for level, result in zip(levels, results, strict=True)
    )


def _flipped(scorers: ScorerPair, scores: FloatArray) -> IntArray:
    above = scores >= scorers.threshold
    return np.flatnonzero(above[:, 0] != above[:, 1])


def _flips(
    scorers: ScorerPair, scores: FloatArray, pairs: Sequence[PairedScore], aligned: FloatArray, seed: int
) -> FlipSummary:
    rows = _flipped(scorers, scores)
    flipped = np.zeros(len(scores))
    flipped[rows] = 1.0
    differences = scores[rows, 1] - scores[rows, 0]
    largest = rows[np.argsort(-np.abs(differences), kind="stable")][:LISTED].tolist()
    return FlipSummary(
        threshold=scorers.threshold,
        texts=len(rows),
        up=int((differences > 0).sum()),
        down=int((differences < 0).sum()),
        share=clustered_mean(flipped, units([pair.group for pair in pairs]), seed=seed).rounded(),
        largest=tuple(_flipped_text(scorers.rows, pairs[row], scores[row], aligned[row]) for row in largest),
    )


def _flipped_text(
    criteria: Sequence[CriterionPair], pair: PairedScore, scores: FloatArray, aligned: FloatArray
) -> FlippedText:
    largest = np.argsort(-aligned, kind="stable")[:EFFECTS].tolist()
    effects = (
        CriterionEffect(
            criterion=criteria[row].name, state=criteria[row].state, change=rounded_number(pair.changes[row])
        )
        for row in largest
        if aligned[row] > ROUNDING
    )
    return FlippedText(id=pair.id, group=pair.group, before=scores[0], after=scores[1], effects=tuple(effects))


def _criteria(
    scorers: ScorerPair, scores: FloatArray, changes: FloatArray, aligned: FloatArray
) -> tuple[CriterionDrift, ...]:
    of_flips = aligned[_flipped(scorers, scores)]
    strongest = np.zeros(0, dtype=int)
    if of_flips.size:
        strongest = of_flips.argmax(axis=1)[of_flips.max(axis=1) > ROUNDING]
    flips = np.bincount(strongest, minlength=len(scorers.rows)).tolist()
    criteria = [_criterion(pair, changes[:, row], flips[row]) for row, pair in enumerate(scorers.rows)]
    shown = [row for row in criteria if row.state != "intercept" or (row.mean_absolute or 0.0) > ROUNDING]
    return tuple(sorted(shown, key=lambda row: -(row.mean_absolute or 0.0)))


def _criterion(pair: CriterionPair, changes: FloatArray, flips: int) -> CriterionDrift:
    defined = changes[~np.isnan(changes)]
    criterion = pair.after or pair.before
    return CriterionDrift(
        name=pair.name,
        state=pair.state,
        trait=criterion.trait if criterion else "intercept",
        mean=rounded_number(defined.mean()) if len(defined) else None,
        mean_absolute=rounded_number(np.abs(defined).mean()) if len(defined) else None,
        flips=flips,
    )
