"""What changes for texts without labels when another version, or another judge, takes over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from rubriclab.data.scale import Scale
from rubriclab.drift.criteria import CriterionPair
from rubriclab.drift.pairs import PairedScore, Scorer, ScorerPair
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
from rubriclab.rubric import DIGITS, rounded
from rubriclab.stats.agreement import agreement
from rubriclab.stats.bootstrap import IntervalEstimate
from rubriclab.stats.correlation import FloatArray, IntArray
from rubriclab.stats.folds import units
from rubriclab.stats.mean import clustered_mean
from rubriclab.validation import Interval

# A score that moved by more than this share of the scale's width has moved for whoever reads it: 0.4 from 1 to 5.
MOVED = 0.1
# Texts that are named: of the flipped ones and of those whose rank changed most. The others are in the file of pairs.
NAMED = 10
# Criteria that are named for a flipped text.
CAUSES = 3
# Contributions are rounded, so that they sum to the difference but for this.
EXACT = 1e-4


def drift(sides: ScorerPair, pairs: Sequence[PairedScore], *, seed: int = 0) -> Drift:
    """Return what changes from one side to the other over the texts that both scored; the others are counted.

    Args:
        seed: of the resamples.
    """
    both = [pair for pair in pairs if pair.before is not None and pair.after is not None]
    table = np.array([[pair.before, pair.after] for pair in both], dtype=float).reshape(-1, 2)
    groups = [pair.group for pair in both]
    changes = np.array([pair.changes for pair in both], dtype=float).reshape(-1, len(sides.rows))
    causing = _causing(changes, table)
    return Drift(
        before=_scores(sides.before, [(p.before, p.unscored_before) for p in pairs]),
        after=_scores(sides.after, [(p.after, p.unscored_after) for p in pairs]),
        scale=sides.scale,
        texts=len(pairs),
        groups=len({pair.group for pair in pairs}),
        compared=len(both),
        unscored_both=sum(pair.before is None and pair.after is None for pair in pairs),
        shift=_shift(table, groups, sides.scale, seed),
        ranks=_ranks(table, groups, seed),
        movers=_movers(table, both),
        flips=_flips(sides, table, both, causing, seed),
        by="contribution" if sides.by_contribution else "score",
        criteria=_criteria(sides, table, changes, causing),
        intervals=_intervals(both),
    )


def _scores(side: Scorer, found: Sequence[tuple[float | None, str | None]]) -> ScoreSummary:
    given = np.array([score for score, _ in found if score is not None], dtype=float)
    reasons = [why for score, why in found if score is None]
    return ScoreSummary(
        rubric=side.version.ref,
        judge=side.judge,
        scale=side.scale,
        scored=len(given),
        unscored=len(reasons),
        why=reasons[-1] if reasons else None,
        mean=_rounded(given.mean()) if len(given) else None,
        spread=_rounded(given.std(ddof=1)) if len(given) > 1 else None,
    )


def _shift(table: FloatArray, groups: Sequence[str], scale: Scale, seed: int) -> ScoreShift:
    apart, tolerance = table[:, 1] - table[:, 0], MOVED * scale.width
    spread = float(table[:, 0].std(ddof=1)) if len(table) > 1 else 0.0
    return ScoreShift(
        mean=_interval(clustered_mean(apart, units(groups), seed=seed)),
        in_spreads=_rounded(apart.mean() / spread) if spread > 0 else None,
        absolute=_rounded(np.abs(apart).mean()) if len(apart) else None,
        moved=_rounded((np.abs(apart) > tolerance + EXACT).mean()) if len(apart) else None,
        tolerance=_rounded(tolerance),
    )


def _ranks(table: FloatArray, groups: Sequence[str], seed: int) -> tuple[RankAgreement, ...]:
    rivals = 1 < len(set(groups)) < len(groups)
    return tuple(_ranked(table, groups, level, seed) for level in (("group", "dataset") if rivals else ("dataset",)))


def _ranked(table: FloatArray, groups: Sequence[str], level: Literal["group", "dataset"], seed: int) -> RankAgreement:
    found = agreement(table[:, 1], table[:, 0], groups, level=level, seed=seed)
    return RankAgreement(
        level=level,
        texts=found.n,
        groups=found.groups,
        spearman=_interval(found.spearman),
        kendall=_interval(found.kendall),
    )


def _movers(table: FloatArray, pairs: Sequence[PairedScore]) -> tuple[RankChange, ...]:
    from scipy.stats import rankdata

    if not len(table):
        return ()
    ranks = rankdata(-table, axis=0)
    moved = np.abs(ranks[:, 1] - ranks[:, 0])
    order = np.lexsort([-np.abs(table[:, 1] - table[:, 0]), -moved])
    return tuple(
        RankChange(
            id=pairs[place].id,
            group=pairs[place].group,
            before=table[place, 0],
            after=table[place, 1],
            rank_before=ranks[place, 0],
            rank_after=ranks[place, 1],
        )
        for place in order[:NAMED].tolist()
        if moved[place]
    )


def _flipped(sides: ScorerPair, table: FloatArray) -> IntArray:
    above = table >= sides.flip_at
    return np.flatnonzero(above[:, 0] != above[:, 1])


def _causing(changes: FloatArray, table: FloatArray) -> FloatArray:
    """Return how far each row of criteria moved each text in the direction in which its score moved; 0 if unknown."""
    return np.nan_to_num(changes) * np.sign(table[:, 1] - table[:, 0])[:, np.newaxis]


def _flips(
    sides: ScorerPair, table: FloatArray, pairs: Sequence[PairedScore], causing: FloatArray, seed: int
) -> FlipSummary:
    crossed = _flipped(sides, table)
    flipped = np.zeros(len(table))
    flipped[crossed] = 1.0
    apart = table[:, 1] - table[:, 0]
    farthest = crossed[np.argsort(-np.abs(apart[crossed]), kind="stable")][:NAMED]
    return FlipSummary(
        at=sides.flip_at,
        texts=len(crossed),
        up=int((apart[crossed] > 0).sum()),
        down=int((apart[crossed] < 0).sum()),
        share=_interval(clustered_mean(flipped, units([pair.group for pair in pairs]), seed=seed)),
        named=tuple(_flip(sides.rows, pairs[place], table[place], causing[place]) for place in farthest.tolist()),
    )


def _flip(rows: Sequence[CriterionPair], pair: PairedScore, scores: FloatArray, causing: FloatArray) -> FlippedText:
    most = np.argsort(-causing, kind="stable")[:CAUSES]
    return FlippedText(
        id=pair.id,
        group=pair.group,
        before=scores[0],
        after=scores[1],
        causes=tuple(
            CriterionEffect(criterion=rows[place].name, state=rows[place].state, change=_rounded(pair.changes[place]))
            for place in most.tolist()
            if causing[place] > EXACT
        ),
    )


def _criteria(
    sides: ScorerPair, table: FloatArray, changes: FloatArray, causing: FloatArray
) -> tuple[CriterionDrift, ...]:
    pushed = causing[_flipped(sides, table)]
    first = pushed.argmax(axis=1)[pushed.max(axis=1, initial=0.0) > EXACT] if pushed.size else np.zeros(0, dtype=int)
    flips = np.bincount(first, minlength=len(sides.rows)).tolist()
    found = [_criterion(row, changes[:, place], flips[place]) for place, row in enumerate(sides.rows)]
    there = [each for each in found if each.state != "average text" or (each.absolute or 0.0) > EXACT]
    return tuple(sorted(there, key=lambda each: -(each.absolute or 0.0)))


def _criterion(row: CriterionPair, changes: FloatArray, flips: int) -> CriterionDrift:
    known = changes[~np.isnan(changes)]
    criterion = row.after or row.before
    return CriterionDrift(
        name=row.name,
        state=row.state,
        trait=criterion.trait if criterion else "what no criterion explains",
        statement=criterion.statement if criterion else "the score of a text of which all criteria say the average",
        total=_rounded(known.sum()) if len(known) else None,
        mean=_rounded(known.mean()) if len(known) else None,
        absolute=_rounded(np.abs(known).mean()) if len(known) else None,
        flips=flips,
    )


def _intervals(pairs: Sequence[PairedScore]) -> IntervalComparison | None:
    found = [(*p.interval_before, *p.interval_after, p.after) for p in pairs if p.interval_before and p.interval_after]
    if not found:
        return None
    low, high, low_after, high_after, score = np.array(found, dtype=float).T
    return IntervalComparison(
        texts=len(found),
        apart=int(((high < low_after) | (high_after < low)).sum()),
        outside=int(((score < low) | (score > high)).sum()),
        width_before=_rounded((high - low).mean()),
        width_after=_rounded((high_after - low_after).mean()),
    )


def _interval(found: IntervalEstimate) -> Interval:
    return Interval(value=rounded(found.value), low=rounded(found.low), high=rounded(found.high))


def _rounded(value: float | np.floating) -> float:
    return round(float(value), DIGITS) + 0.0
