"""The advice of `plan`, beside the verdict of the gate that sent the reader to it."""

from __future__ import annotations

from joint_samples import joint_trust
from report_samples import words_of

from rubriclab.active_learning import LabelPlan, StoppingAdvice
from rubriclab.report.planning import advised, plan_view
from rubriclab.stats.interval import Interval
from rubriclab.validation import GateVerdict, Outcome

ENOUGH = StoppingAdvice(
    labels=36, threshold=0.01, more=Interval(0.0, 0.0, 17.0), now=Interval(0.3, 0.16, 0.57), then=Interval(0.3)
)
PLAN = LabelPlan((), 24, ENOUGH)


def found(outcome: Outcome, more_labels: int | None = None) -> GateVerdict:
    difference = Interval(-0.13, -0.44, 0.1)
    return GateVerdict(against="word count", outcome=outcome, difference=difference, more_labels=more_labels)


def test_labels_that_would_decide_the_verdict_are_named_apart_from_those_that_raise_the_agreement() -> None:
    verdict, agreement = advised(PLAN, joint_trust(verdicts=(found("inconclusive", 22),))).split(". ", 1)
    assert verdict.startswith("Inconclusive against word count")
    assert "about 22 more labels would decide" in verdict
    assert agreement.startswith("To raise the agreement, more labels are not worth it")


def test_the_advice_does_not_send_back_to_an_inconclusive_verdict_that_asks_for_labels() -> None:
    shown = words_of(plan_view(PLAN, "news@1", joint_trust(verdicts=(found("inconclusive", 22),))))
    assert "more labels may not be what it lacks" not in shown


def test_a_rubric_that_did_not_pass_is_named_as_one_that_labels_may_not_help() -> None:
    shown = words_of(plan_view(PLAN, "news@1", joint_trust(verdicts=(found("not better"),))))
    assert shown.startswith("To raise the agreement")
    assert "news@1 did not pass at the gate (compared with word count): more labels may not be what it lacks" in shown
