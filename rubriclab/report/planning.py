"""A plan of what to label next: how many labels are worth it, and the texts in order."""

from __future__ import annotations

from collections.abc import Iterator

from rubriclab.active_learning import LabelPlan, SelectedText, StoppingAdvice, UnusualRating
from rubriclab.active_learning.learning_curve import CONFIDENCE, MAX_LABELS, STEP
from rubriclab.characters import one_line
from rubriclab.data.scale import show
from rubriclab.option_names import command
from rubriclab.report import describe
from rubriclab.report.model import Paragraph, Section, Stack, View, Words, paragraphs, quoted, table
from rubriclab.report.verdicts import baseline_name, procedure, rubric_agreement, sentence
from rubriclab.report.wording import count, estimate, excerpt, figure
from rubriclab.validation import Validation

TITLE, EXCERPT = 60, 120
HALF = 0.5
EXPECTED = "expected Pearson"


def plan_view(plan: LabelPlan, ref: str, validation: Validation | None = None) -> View:
    """Return the stopping rule in words, and below it the texts to label in order.

    Args:
        validation: of the rubric, whose verdict and held-out agreement are stated beside the plan's own.
    """
    numeric = ("rank", EXPECTED)
    rows = [
        (str(each.rank), _text(each), "" if each.agreement is None else figure(each.agreement)) for each in plan.texts
    ]
    shown = table(("rank", "text and why", EXPECTED), rows, numeric=numeric)
    section = Section(
        ("To label next, for ", quoted(ref)),
        (shown, Paragraph(basis(plan), "quiet")),
        "whole groups, spread over the ratings",
    )
    return View(advised(plan, validation), (*paragraphs(_gate(validation, ref)), section), "rubriclab plan")


def _gate(validation: Validation | None, ref: str) -> Iterator[Words]:
    """Yield what the gate measured by another procedure, and its verdict where more labels would not change it."""
    if validation is None:
        return
    measured = rubric_agreement(validation).pearson
    yield f"The gate measured Pearson {estimate(measured)}, {procedure(validation)}; the plan fits a learning curve."
    if validation.outcome == "not better":
        against = baseline_name(validation.verdicts[0].against)
        remark = f" did not pass at the gate (compared with {against}): more labels may not be what it lacks; see "
        yield quoted(ref), remark, f"`{command('gate', ref)}`."


def _text(planned: SelectedText) -> Stack:
    begins = quoted(excerpt(one_line(planned.example.output), EXCERPT), "quiet")
    return Stack((Paragraph(quoted(planned.example.id, "strong")), Paragraph(begins), Paragraph(quoted(why(planned)))))


def why(planned: SelectedText) -> str:
    """Return why a text is worth a label."""
    group = "new group" if planned.new_group else "group with labels"
    return f"{group}; {_unusual(planned.unusual) if planned.unusual else 'no rating is unusual'}"


def advised(plan: LabelPlan, validation: Validation | None = None) -> str:
    """Return how many more labels are worth it for the verdict, if it is inconclusive, and for the agreement."""
    agreement = _for_agreement(plan.advice)
    if validation is None or validation.outcome != "inconclusive":
        return agreement
    return f"{sentence(validation.verdicts[0])} {agreement}"


def _for_agreement(advice: StoppingAdvice | None) -> str:
    if advice is None:
        return (
            "The labels do not show how many more would raise the agreement: there are too few groups, or the rubric "
            "does not predict held-out labels."
        )
    bar = f"{advice.threshold:g} per {STEP} labels"
    more = round(advice.more.value or 0)
    if not more:
        return (
            "To raise the agreement, more labels are not worth it: the learning curve estimates a held-out Pearson of "
            f"{estimate(advice.now)} at {count(advice.labels, 'label')}, and {STEP} more labels add less than "
            f"{advice.threshold:g}.{_sure(advice)}"
        )
    labels_worth = f"at least {MAX_LABELS}" if more >= MAX_LABELS else f"about {more}"
    labels = "label is" if more == 1 else "labels are"
    return (
        f"To raise the agreement, {labels_worth} more {labels} worth it: by the learning curve they raise "
        f"held-out Pearson from {figure(advice.now.value)} at {count(advice.labels, 'label')} to "
        f"{estimate(advice.then)}; further "
        f"labels add less than {bar}.{_sure(advice)}"
    )


def basis(plan: LabelPlan) -> str:
    """Return what the figures of a plan rest on."""
    return (
        f"{EXPECTED}: with the labels up to this text, on held-out groups, by a learning curve fitted to subsets "
        f"of the present labels, as if texts were drawn at random. Chosen from {count(plan.pool, 'text')}."
    )


def plan_row(planned: SelectedText) -> dict[str, object]:
    """Return what is planned of a text as one JSON object."""
    return {
        "rank": planned.rank,
        "new_group": planned.new_group,
        "agreement": planned.agreement,
        "why": why(planned),
    }


def _sure(advice: StoppingAdvice) -> str:
    low, high = advice.more.low, advice.more.high
    if low is None or high is None or round(high) == 0:
        return ""
    most = f"more than {MAX_LABELS}" if high >= MAX_LABELS else f"{high:.0f}"
    return (
        f" With {advice.labels} labels this estimate is uncertain: {low:.0f} to {most} further labels at "
        f"{CONFIDENCE:.0%} confidence."
    )


def _unusual(unusual: UnusualRating) -> str:
    title, question = describe.title(unusual.criterion, TITLE), unusual.criterion.question
    if question is None:
        rating, usual = (show(round(value, 1)) for value in (unusual.rating, unusual.mean))
        return f"“{title}”: {rating} here, {usual} on average so far"
    # A score of a question says whether its answer speaks for the text, not whether it is yes.
    spoke, share = unusual.rating >= HALF, unusual.mean if unusual.rating >= HALF else 1 - unusual.mean
    return f"“{title}”: {'yes' if spoke == (question.better == 'yes') else 'no'} here, as for {share:.0%} so far"
