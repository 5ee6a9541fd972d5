"""How the scores of texts without labels change from one version or judge to another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from rubriclab.data.scale import Scale
from rubriclab.drift.criteria import CriterionPair
from rubriclab.drift.pairs import PairedScore, ScorerPair, VersionWithJudge
from rubriclab.drift.results import (
    CriterionDrift,
    CriterionEffect,
    Drift,
    FlippedText,
    FlipSummary,
    IntervalComparison,
    RankAgreement,
    RankChange,
    ScoreShift,
    ScoreSummary,
)
from rubriclab.stats.agreement import agreement
from rubriclab.stats.bootstrap import clustered_mean
from rubriclab.stats.correlation import FloatArray, IntArray
from rubriclab.stats.folds import units
from rubriclab.stats.interval import rounded_number

# A visible difference, as a share of the scale's width: 0.4 points from 1 to 5.
VISIBLE = 0.1
# Texts listed by id: flipped ones and those with the largest change of rank. All are in the file of pairs.
LISTED = 10
# Criteria listed for a flipped text.
EFFECTS = 3
# Contributions are rounded, so they sum to the difference up to this.
ROUNDING = 1e-4


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
        unscored_both=sum(pair.before is None and pair.after is None for pair in pairs),
        shift=_shift(scores, groups, scorers.scale, seed),
        ranks=_ranks(scores, groups, seed),
        rank_changes=_rank_changes(scores, both),
        flips=_flips(scorers, scores, both, aligned, seed),
        effect_unit="contribution" if scorers.by_contribution else "rating",
        criteria=_criteria(scorers, scores, changes, aligned),
        intervals=_intervals(both),
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


def _shift(scores: FloatArray, groups: Sequence[str], scale: Scale, seed: int) -> ScoreShift:
    differences, tolerance = scores[:, 1] - scores[:, 0], VISIBLE * scale.width
    spread = float(scores[:, 0].std(ddof=1)) if len(scores) > 1 else 0.0
    visible = np.abs(differences) > tolerance + ROUNDING
    return ScoreShift(
        mean=clustered_mean(differences, units(groups), seed=seed).rounded(),
        standardized=rounded_number(differences.mean() / spread) if spread > 0 else None,
        mean_absolute=rounded_number(np.abs(differences).mean()) if len(scores) else None,
        share_moved=rounded_number(visible.mean()) if len(scores) else None,
        tolerance=rounded_number(tolerance),
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


def _rank_changes(scores: FloatArray, pairs: Sequence[PairedScore]) -> tuple[RankChange, ...]:
    from scipy.stats import rankdata

    if not len(scores):
        return ()
    ranks = rankdata(-scores, axis=0)
    changes = np.abs(ranks[:, 1] - ranks[:, 0])
    order = np.lexsort([-np.abs(scores[:, 1] - scores[:, 0]), -changes])
    return tuple(
        RankChange(
            id=pairs[row].id,
            group=pairs[row].group,
            before=scores[row, 0],
            after=scores[row, 1],
            rank_before=ranks[row, 0],
            rank_after=ranks[row, 1],
        )
        for row in order[:LISTED].tolist()
        if changes[row]
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
        statement=criterion.statement if criterion else "the score of a text that is average by all criteria",
        total=rounded_number(defined.sum()) if len(defined) else None,
        mean=rounded_number(defined.mean()) if len(defined) else None,
        mean_absolute=rounded_number(np.abs(defined).mean()) if len(defined) else None,
        flips=flips,
    )


def _intervals(pairs: Sequence[PairedScore]) -> IntervalComparison | None:
    rows = [(*p.interval_before, *p.interval_after, p.after) for p in pairs if p.interval_before and p.interval_after]
    if not rows:
        return None
    low, high, low_after, high_after, score = np.array(rows, dtype=float).T
    return IntervalComparison(
        texts=len(rows),
        disjoint=int(((high < low_after) | (high_after < low)).sum()),
        outside=int(((score < low) | (score > high)).sum()),
        width_before=rounded_number((high - low).mean()),
        width_after=rounded_number((high_after - low_after).mean()),
    )
