"""The gate's verdicts in words, the same in a terminal and on a page."""

from __future__ import annotations

from collections.abc import Mapping

from rubriclab.report.wording import count, estimate, interval
from rubriclab.validation import FEWEST_GROUPS, MATTERS, MOST_LABELS, GateVerdict, Interval, Validation

# What stands in a table under a short name is said in full.
NAMES: Mapping[str, str] = {"constant": "a constant, which says the same of every text"}


def headline(validation: Validation) -> str:
    """Return the verdict that decides, with the number of labels that it rests on."""
    return f"{sentence(validation.verdicts[0])[:-1]}, on {count(validation.n, 'held-out label')}."


def sentence(verdict: GateVerdict) -> str:
    """Return a verdict in words; figures are differences in held-out Pearson correlation."""
    other, apart = NAMES.get(verdict.against, verdict.against), estimate(verdict.difference)
    if _undefined(verdict):
        return f"Cannot be compared with {other}: on these labels no correlation of both is defined."
    if verdict.outcome is None:
        return f"Ahead of {other} by {apart}."
    if verdict.outcome == "better":
        return f"Better than {other} by {apart}."
    if verdict.outcome == "not better":
        return f"Not better than {other}: the difference is {apart}, and less than {MATTERS} would not matter."
    return f"Inconclusive against {other}: the difference is {apart}; {_needed(verdict)}."


def _undefined(verdict: GateVerdict) -> bool:
    known = verdict.difference.value is not None
    return not (known and (interval(verdict.difference) or verdict.few_groups is not None))


def _needed(verdict: GateVerdict) -> str:
    """Return what would decide."""
    if verdict.few_groups is not None:
        return f"too few groups ({verdict.few_groups}) to tell, labels from at least {FEWEST_GROUPS} would"
    if verdict.more_labels is None:
        return f"not even {MOST_LABELS:,} more labels would decide"
    return f"about {count(verdict.more_labels, 'more label')} would decide{_direction(verdict.difference)}"


def _direction(difference: Interval) -> str:
    """Return where it points; empty where the difference is above zero and too small to matter."""
    value = difference.value or 0.0
    if 0 <= value < MATTERS:
        return ""
    return f", and it points to: {'not better' if value < 0 else 'better'}"
