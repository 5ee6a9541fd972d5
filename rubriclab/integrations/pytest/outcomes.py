"""What a mean and a comparison decide: a test passes, fails, or is inconclusive."""

from __future__ import annotations

from rubriclab.comparison.results import MAX_UNSCORED, Comparison, LimitOutcome, SideSummary


def mean_outcome(side: SideSummary, threshold: float) -> LimitOutcome:
    """Return whether a mean is at least `threshold`: decided by its whole interval, as comparisons are."""
    low, high = side.mean.low, side.mean.high
    if low is None or high is None:
        return "unknown"
    if high < threshold:
        return "beyond"
    return "within" if low >= threshold and side.scored >= (1 - MAX_UNSCORED) * side.texts else "unknown"


def comparison_outcome(comparison: Comparison) -> LimitOutcome:
    """Return the outcome of a comparison, unknown also if more than a tenth of the baseline was not compared."""
    unpaired = comparison.unpaired_before if comparison.pairing else 0
    missing = unpaired > MAX_UNSCORED * comparison.before.texts
    return "unknown" if missing and comparison.outcome == "within" else comparison.outcome
