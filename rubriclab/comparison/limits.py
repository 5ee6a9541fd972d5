"""Limits on drift, for use in a pipeline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from rubriclab.base_models import FrozenModel

if TYPE_CHECKING:
    from rubriclab.comparison.drift import Drift

LimitName = Literal["max_shift", "max_flips", "min_rank"]
LimitOutcome = Literal["within", "beyond", "unknown"]

# Figures are rounded to this, so that one exactly at the limit does not exceed it.
TOLERANCE = 1e-6
# If a larger share of the texts lacks a score, the others may not be representative: no limit is reported as met.
MAX_UNSCORED = 0.1


@dataclass(frozen=True, slots=True)
class DriftLimits:
    """Limits; `None` for no limit.

    Attributes:
        max_shift: absolute shift of the mean score, in points of the scale before.
        max_flips: share of texts that cross the threshold.
        min_rank: Spearman correlation of the rankings, within groups if groups have several texts.
    """

    max_shift: float | None = None
    max_flips: float | None = None
    min_rank: float | None = None


class LimitCheck(FrozenModel):
    """A limit compared with the figure it applies to.

    Attributes:
        limit: its name.
        allowed: its value.
        value: the figure; `None` if undefined.
        outcome: `unknown` without a figure, or if too many texts lack a score.
    """

    limit: LimitName
    allowed: float
    value: float | None
    outcome: LimitOutcome


def check_limits(drift: Drift, limits: DriftLimits) -> tuple[LimitCheck, ...]:
    """Return the outcome of each limit that is set."""
    too_few_scored = drift.compared < (1 - MAX_UNSCORED) * drift.texts
    return tuple(
        check.model_copy(update={"outcome": "unknown"}) if too_few_scored and check.outcome == "within" else check
        for check in _checks(drift, limits)
    )


def worst_outcome(checks: Sequence[LimitCheck]) -> LimitOutcome:
    """Return `beyond` if any limit is exceeded, else `unknown` if any outcome is, else `within`."""
    outcomes = {check.outcome for check in checks}
    return "beyond" if "beyond" in outcomes else "unknown" if "unknown" in outcomes else "within"


def _checks(drift: Drift, limits: DriftLimits) -> Iterator[LimitCheck]:
    shift = drift.shift.mean.value
    if limits.max_shift is not None:
        yield _check("max_shift", limits.max_shift, shift, None if shift is None else abs(shift) - limits.max_shift)
    share = drift.flips.share.value
    if limits.max_flips is not None:
        yield _check("max_flips", limits.max_flips, share, None if share is None else share - limits.max_flips)
    if limits.min_rank is not None:
        # Where no score moved the rankings agree, though the correlation of constant scores is undefined.
        unmoved = drift.compared and drift.shift.mean_absolute == 0
        rank = 1.0 if unmoved else drift.ranks[0].spearman.value
        yield _check("min_rank", limits.min_rank, rank, None if rank is None else limits.min_rank - rank)


def _check(limit: LimitName, allowed: float, value: float | None, excess: float | None) -> LimitCheck:
    outcome: LimitOutcome = "unknown" if excess is None else "beyond" if excess > TOLERANCE else "within"
    return LimitCheck(limit=limit, allowed=allowed, value=value, outcome=outcome)
