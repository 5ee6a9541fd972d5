"""The gate's verdicts in words."""

from __future__ import annotations

from typing import Any

import pytest

from rubriclab.report.verdicts import sentence
from rubriclab.stats.interval import Interval
from rubriclab.validation import GateVerdict, MoreLabels


def verdict(outcome: Any, value: float, low: float, high: float, against: str = "direct", **more: Any) -> GateVerdict:
    difference = Interval(value, low, high)
    return GateVerdict(against=against, outcome=outcome, difference=difference, **more)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (verdict("better", 0.21, 0.05, 0.38, "word count"), "Better than word count by 0.21 [0.05, 0.38]."),
        (
            verdict("not better", -0.1, -0.21, 0.04),
            "Not better than direct: the difference is -0.10 [-0.21, 0.04], and less than 0.05 would not matter.",
        ),
        (
            verdict("inconclusive", 0.1, -0.05, 0.25, more_labels=MoreLabels(even=60, likely=None)),
            "Inconclusive against direct: the difference is 0.10 [-0.05, 0.25]; a decision takes about 60 to more than "
            "300 more labels, and the estimate suggests: better.",
        ),
        (
            verdict("inconclusive", 0.02, -0.5, 0.5, "constant", more_labels=MoreLabels(even=None, likely=None)),
            "Inconclusive against a constant, which gives every text the same score: the difference is 0.02 "
            "[-0.50, 0.50]; a decision takes more than 300 more labels.",
        ),
        (
            GateVerdict(against="direct", outcome="inconclusive", difference=Interval(0.4), few_groups=3),
            "Inconclusive against direct: the difference is 0.40; 3 groups are too few, labels from at least 5 are "
            "needed.",
        ),
        (
            GateVerdict(against="direct", outcome="inconclusive", difference=Interval(None)),
            "Cannot be compared with direct: on these labels no correlation of both is defined.",
        ),
    ],
)
def test_a_verdict_says_what_it_rests_on(found: GateVerdict, said: str) -> None:
    assert sentence(found) == said


def test_what_decides_nothing_has_a_difference_and_no_outcome() -> None:
    shown = GateVerdict(against="direct", outcome=None, difference=Interval(0.1, 0.02, 0.2))
    assert sentence(shown) == "Ahead of direct by 0.10 [0.02, 0.20]."
