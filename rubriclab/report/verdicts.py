"""The gate's verdicts in words, the same in a terminal and on a page."""

from __future__ import annotations

from collections.abc import Mapping

from rubriclab.report.wording import count, estimate, interval
from rubriclab.trust import MATTERS, MOST_LABELS, Trust, Verdict

# What stands in a table under a short name is said in full.
NAMES: Mapping[str, str] = {"constant": "a constant, which says the same of every text"}


def headline(trust: Trust) -> str:
    """Return the verdict that decides, with the number of labels that it rests on."""
    return f"{sentence(trust.verdicts[0])[:-1]}, on {count(trust.n, 'held-out label')}."


def sentence(verdict: Verdict) -> str:
    """Return a verdict in words; figures are differences in held-out Pearson correlation."""
    other, apart = NAMES.get(verdict.against, verdict.against), estimate(verdict.difference)
    if verdict.difference.value is None or not interval(verdict.difference):
        return f"Cannot be compared with {other}: on these labels no correlation of both is defined."
    if verdict.outcome == "better":
        return f"Better than {other} by {apart}."
    if verdict.outcome == "not better":
        return f"Not better than {other}: the difference is {apart}, and less than {MATTERS} would not matter."
    return f"Inconclusive against {other}: the difference is {apart}; {_more(verdict.more_labels)}."


def _more(labels: int | None) -> str:
    if labels is None:
        return f"not even {MOST_LABELS:,} more labels would decide"
    return f"about {count(labels, 'more label')} would decide"
