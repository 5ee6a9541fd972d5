"""A plan, beside the verdict of the gate that sent the reader to it."""

from __future__ import annotations

from joint_samples import joint_trust, joint_version
from report_samples import words_of

from rubriclab.models.version import GateVerdict, MoreLabels, Outcome
from rubriclab.ops.label import LabelPlan
from rubriclab.report.results import plan_view
from rubriclab.stats.intervals import Interval

NO_HELP = "news@3 did not pass at the gate: more labels may not be what it lacks"


def found(outcome: Outcome, more_labels: MoreLabels | None = None) -> str:
    difference = Interval(-0.13, -0.44, 0.1)
    verdict = GateVerdict(against="word count", outcome=outcome, difference=difference, more_labels=more_labels)
    return words_of(plan_view(LabelPlan((), 24), joint_version(validation=joint_trust(verdicts=(verdict,)))))


def test_a_plan_begins_with_the_labels_that_would_decide_an_inconclusive_verdict() -> None:
    shown = found("inconclusive", MoreLabels(even=20, likely=120))
    assert shown.startswith("Inconclusive compared with word count")
    assert "Label about 20 to 120 more texts from new sources" in shown
    assert NO_HELP not in shown


def test_a_rubric_that_did_not_pass_is_named_as_one_that_labels_may_not_help() -> None:
    assert NO_HELP in found("not better")
