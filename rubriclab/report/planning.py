"""A plan of what to label next: the texts in order, beside the verdict of the gate."""

from __future__ import annotations

from collections.abc import Iterator

from rubriclab.models.characters import count, one_line
from rubriclab.models.text import show
from rubriclab.models.version import Version
from rubriclab.ops.label import LabelPlan, SelectedText, UnusualRating
from rubriclab.report import describe
from rubriclab.report.conclusion import more_labels, verdict
from rubriclab.report.model import Paragraph, Section, Stack, View, quoted, table
from rubriclab.report.wording import excerpt

TITLE, EXCERPT = 60, 120
HALF = 0.5
KICKER = "rubriclab plan"


def plan_view(plan: LabelPlan, version: Version) -> View:
    """Return the texts to label in order, below the verdict of the gate on the rubric."""
    rows = [(str(each.rank), _text(each)) for each in plan.texts]
    shown = table(("rank", "text and why"), rows, numeric=("rank",))
    chosen = Paragraph(f"Chosen from {count(plan.pool, 'text')}.", "quiet")
    title = ("To label next, for ", quoted(version.ref))
    section = Section(title, (shown, chosen), "whole groups, spread over the ratings")
    return View(verdict(version) if version.provenance.validation else "", (*_gate(version), section), KICKER)


def _gate(version: Version) -> Iterator[Paragraph]:
    """Yield how many labels would decide, or a warning where more labels would not change the verdict."""
    validation = version.provenance.validation
    if validation and validation.outcome == "inconclusive":
        yield Paragraph(f"{more_labels(validation)}.")
    if validation and validation.outcome == "not better":
        remark = " did not pass at the gate: more labels may not be what it lacks; see "
        yield Paragraph((quoted(version.ref), remark, f"`rubriclab gate {version.ref}`."))


def _text(planned: SelectedText) -> Stack:
    begins = quoted(excerpt(one_line(planned.example.output), EXCERPT), "quiet")
    return Stack((Paragraph(quoted(planned.example.id, "strong")), Paragraph(begins), Paragraph(quoted(why(planned)))))


def why(planned: SelectedText) -> str:
    """Return why a text is worth a label."""
    group = "new group" if planned.new_group else "group with labels"
    return f"{group}; {_unusual(planned.unusual) if planned.unusual else 'no rating is unusual'}"


def _unusual(unusual: UnusualRating) -> str:
    title, question = describe.title(unusual.criterion, TITLE), unusual.criterion.question
    if question is None:
        rating, usual = (show(round(value, 1)) for value in (unusual.rating, unusual.mean))
        return f"“{title}”: {rating} here, {usual} on average so far"
    # A score of a question says whether its answer speaks for the text, not whether it is yes.
    spoke, share = unusual.rating >= HALF, unusual.mean if unusual.rating >= HALF else 1 - unusual.mean
    return f"“{title}”: {'yes' if spoke == (question.better == 'yes') else 'no'} here, as for {share:.0%} so far"
