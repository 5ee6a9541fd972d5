"""How much drift is allowed, and whether there is more: what lets drift stand in a pipeline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from rubriclab.base_models import FrozenModel
from rubriclab.drift.results import Drift

LimitOutcome = Literal["within", "beyond", "unknown"]

# What figures are rounded to, so that one just at the limit does not pass it.
TOLERANCE = 1e-6
# Where a larger share of the texts is not scored by both sides, the rest may be another kind of text: nothing is told.
MOST_UNSCORED = 0.1


@dataclass(frozen=True, slots=True)
class DriftLimits:
    """What is allowed; `None` for what is not held to anything.

    Attributes:
        max_shift: how far the mean score may move, either way, in points of the scale before.
        max_flips: the share of texts that may cross the line.
        min_rank: the lowest Spearman correlation of the two rankings, within groups if texts have rivals.
    """

    max_shift: float | None = None
    max_flips: float | None = None
    min_rank: float | None = None


class LimitCheck(FrozenModel):
    """One limit, and the figure that is held to it.

    Attributes:
        limit: `max_shift`, `max_flips` or `min_rank`.
        allowed: as it was given.
        found: the figure; `None` where it is undefined.
        outcome: `unknown` without a figure, or where too many texts are not scored by both sides.
    """

    limit: Literal["max_shift", "max_flips", "min_rank"]
    allowed: float
    found: float | None
    outcome: LimitOutcome


def check(found: Drift, limits: DriftLimits) -> tuple[LimitCheck, ...]:
    """Return each limit that was given with what became of it."""
    checks = tuple(_checks(found, limits))
    if found.compared < (1 - MOST_UNSCORED) * found.texts:
        return tuple(_not_within(each) for each in checks)
    return checks


def _not_within(held: LimitCheck) -> LimitCheck:
    """Return a check that texts without a score keep from telling that all is well."""
    return held.model_copy(update={"outcome": "unknown"}) if held.outcome == "within" else held


def worst(checks: Sequence[LimitCheck]) -> LimitOutcome:
    """Return what the checks come to: `beyond` if any limit is passed, else `unknown` if any is."""
    outcomes = {each.outcome for each in checks}
    return "beyond" if "beyond" in outcomes else "unknown" if "unknown" in outcomes else "within"


def _checks(found: Drift, limits: DriftLimits) -> Iterator[LimitCheck]:
    if limits.max_shift is not None:
        mean = found.shift.mean.value
        yield _check("max_shift", limits.max_shift, mean, None if mean is None else abs(mean) - limits.max_shift)
    if limits.max_flips is not None:
        share = found.flips.share.value
        yield _check("max_flips", limits.max_flips, share, None if share is None else share - limits.max_flips)
    if limits.min_rank is not None:
        rank = _rank(found)
        yield _check("min_rank", limits.min_rank, rank, None if rank is None else limits.min_rank - rank)


def _check(
    limit: Literal["max_shift", "max_flips", "min_rank"], allowed: float, found: float | None, beyond: float | None
) -> LimitCheck:
    outcome: LimitOutcome = "unknown" if beyond is None else "beyond" if beyond > TOLERANCE else "within"
    return LimitCheck(limit=limit, allowed=allowed, found=found, outcome=outcome)


def _rank(found: Drift) -> float | None:
    """Return the correlation of the rankings; 1 where not a single score moved, though none may be defined then."""
    if found.compared and found.shift.absolute == 0:
        return 1.0
    return found.ranks[0].spearman.value
