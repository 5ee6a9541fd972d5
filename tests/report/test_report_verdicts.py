"""The gate's verdicts in words."""

from __future__ import annotations

from typing import Any

import pytest

from rubriclab.report.verdicts import headline, sentence
from rubriclab.stats.interval import Interval
from rubriclab.validation import EvaluatorAgreement, GateVerdict, Validation


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
            verdict("inconclusive", 0.1, -0.05, 0.25, more_labels=60),
            "Inconclusive against direct: the difference is 0.10 [-0.05, 0.25]; about 60 more labels would decide, and "
            "the estimate suggests: better.",
        ),
        (
            verdict("inconclusive", 0.02, -0.5, 0.5, "constant"),
            "Inconclusive against a constant, which gives every text the same score: the difference is 0.02 "
            "[-0.50, 0.50]; not even 10,000 more labels would decide.",
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


def test_the_headline_tells_the_number_of_labels() -> None:
    nothing = Interval(None)
    evaluator_agreement = EvaluatorAgreement(
        name="joint", kind="rubric", n=30, spearman=nothing, pearson=nothing, calls=1
    )
    found = Validation(
        level="dataset",
        n=30,
        groups=20,
        folds=10,
        training=evaluator_agreement,
        evaluators=(evaluator_agreement,),
        verdicts=(verdict("better", 0.21, 0.05, 0.38, "word count"),),
    )
    assert headline(found) == "Better than word count by 0.21 [0.05, 0.38], on 30 held-out labels."
