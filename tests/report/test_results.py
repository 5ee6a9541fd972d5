"""Views of comparisons, plans, rewritten texts, edits and judges beside each other."""

from __future__ import annotations

import dataclasses
import time
from dataclasses import replace
from typing import Any

import pytest
from report_samples import joint_trust, joint_version, version, words_of
from view_samples import interrater

from rubriclab.models.evaluation import GateVerdict, MoreLabels, Outcome
from rubriclab.models.version import Version
from rubriclab.ops.plan import PlanResult
from rubriclab.report.render import view
from rubriclab.report.results import difference_view, names_view
from rubriclab.report.rubrics import evidence_view, training_view
from rubriclab.report.wording import LONGEST_SHOWN, outcome as shown_outcome
from rubriclab.stats.intervals import Interval
from rubriclab.store.diff import compare


@pytest.mark.parametrize(
    ("outcome", "shown"),
    [
        (
            "inconclusive",
            "20 more texts from new sources for a 50 % chance of a decision: which orders texts better, or that a gain "
            "of 0.05 is ruled out; 120 more for 80 %",
        ),
        ("not better", "news@3 did not pass at learning: more labels may not be what it lacks"),
    ],
)
def test_a_plan_begins_with_the_verdict_and_what_labels_may_help(outcome: Outcome, shown: str) -> None:
    difference, more = Interval(-0.13, -0.44, 0.1), MoreLabels(even=20, likely=120)
    free = GateVerdict(against="word count", outcome=outcome, difference=difference, more_labels=more)
    version = joint_version(validation=joint_trust(verdicts=(free,)))
    words = words_of(PlanResult(version, (), 24, version.effort).view())
    assert words.startswith(shown_outcome(outcome).capitalize())
    assert ("Label about" in words) == (outcome != "not better")
    assert ("more labels may not be" in words) == ("not" in outcome)
    assert shown in words


def said(**fields: Any) -> str:
    return words_of(view("interrater", version=version(), agreement=interrater(**fields)), 400)


def test_alpha_is_placed_by_krippendorff_s_convention_and_named_as_his() -> None:
    for value, width, lies in (
        (0.5, 0.1, "lies below 0.667."),
        (0.7, 0.02, "lies between 0.667 and 0.800."),
        (0.9, 0.1, "lies above 0.800."),
        (0.7, 0.2, "ranges from below 0.667 to above 0.800."),
        (0.65, 0.1, "ranges from below 0.667 to between 0.667 and 0.800."),
    ):
        scores = dataclasses.replace(interrater().scores, alpha=Interval(value, value - width, value + width))
        rule = "considers data reliable from 0.800 and allows tentative conclusions from 0.667"
        assert f"Krippendorff (2004) {rule}; its interval {lies}" in said(scores=scores)


LENGTH = 10_000_000


def long_version(words: str) -> Version:
    """Return the sample version with the words as the statement of its first criterion and as its definition."""

    made = version()
    part = made.rubric.parts[0]
    first = part.criteria[0].model_copy(update={"statement": words})
    part = part.model_copy(update={"criteria": (first, *part.criteria[1:])})
    aspect = made.rubric.aspect.model_copy(update={"definition": words})
    return replace(made, rubric=made.rubric.model_copy(update={"parts": (part,), "aspect": aspect}), digest="sha256:1")


def test_every_view_of_a_huge_text_is_cut_and_says_how_to_see_the_rest() -> None:
    # A bound that only work beyond linear exceeds: uncut, one of these took minutes.
    started = time.monotonic()
    one, other = long_version("word " * (LENGTH // 5)), long_version("other\n" * (LENGTH // 6))
    views = [str(evidence_view(each)) for each in (one, other)]
    views += [training_view(each, None).page() for each in (one, other)]
    briefly = [str(names_view([one])), str(view("log", versions=[one])), str(difference_view(compare(one, other)))]
    assert time.monotonic() - started < 60
    assert all(len(text) < 30 * LONGEST_SHOWN for text in (*views, *briefly))
    assert all("more characters; `rubriclab export` writes all of them)" in " ".join(text.split()) for text in views)
