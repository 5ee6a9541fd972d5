"""Why a text has its score: a waterfall from the score of an average text, reasons, and the nearest labelled texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from rubriclab.models.rubric import Criterion
from rubriclab.report import charts, describe
from rubriclab.report.model import (
    Block,
    Cell,
    Drawing,
    Paragraph,
    Row,
    Section,
    Span,
    View,
    Words,
    line,
    quiet,
    quoted,
    table,
)
from rubriclab.report.texts import SOURCE_EXCERPT
from rubriclab.report.verdicts import unrecorded
from rubriclab.report.wording import excerpt, figure

if TYPE_CHECKING:
    from rubriclab.learning.scoring import CriterionScore
    from rubriclab.ops.explain import ScoreExplanation

TITLE, NEAREST_EXCERPT = 80, 200
COUNTED_AS_AVERAGE = "no rating: counted as average"


def explanation_view(explanation: ScoreExplanation) -> View:
    """Return the score, each criterion's share of it, and the labelled texts with the most similar ratings."""
    beside = "each adds its share, in points, to the score of an average text"
    if explanation.average is None:
        beside = "the rubric has no learned weights, so that criteria have no shares of the score"
    blocks = (
        *_score(explanation),
        Section("Criteria", tuple(_criteria(explanation)), beside, name="shares"),
        *(
            [Section("Replies that could not be used", tuple(_replies(explanation)))]
            if explanation.score.replies
            else []
        ),
        Section("Nearest labelled texts", tuple(_nearest(explanation)), name="nearest"),
        Section("Text", tuple(_text(explanation)), name="text", page_only=True),
    )
    title = (quoted(explanation.example.id), ", scored by ", quoted(explanation.version.ref))
    return View(title, blocks, "rubriclab explanation")


def _score(explanation: ScoreExplanation) -> Iterator[Paragraph]:
    score, rubric = explanation.score, explanation.version.rubric
    if score.score is None:
        yield Paragraph(quoted(f"No score: {score.unscored}"), "bad")
    else:
        interval = f" {describe.score_interval(score.interval)}" if score.interval else ""
        on = f"on the scale from {rubric.scores_on.describe()}"
        words = (Span(f"Score {describe.rounded(score.score)}", "strong"), f"{interval} {on}.")
        yield Paragraph(words, "lead")
    if text := explanation.labelled:
        raters = "".join(f", {name} {describe.rounded(mark)}" for name, mark in text.raters.items())
        yield Paragraph(quoted(f"The rubric was learned from this text: label {describe.rounded(text.label)}{raters}."))
        if text.predicted is not None:
            both = f"Held out {describe.rounded(text.predicted)} | final rubric {describe.rounded(score.score)}"
            yield Paragraph(
                (Span(both, "strong"), ", explained here. Held out: without the labels of the text's group.")
            )


def _criteria(explanation: ScoreExplanation) -> Iterator[Block]:
    criteria = {criterion.id: criterion for criterion in explanation.version.rubric.criteria}
    ratings = sorted(explanation.score.criteria, key=lambda each: -abs(each.contribution or 0.0))
    described = [_described(each, criteria.get(each.id)) for each in ratings]
    if explanation.average is None or explanation.score.score is None:
        yield table(("criterion", "rating", "reason"), described, numeric=("rating",))
        return
    ends = [explanation.average]
    for each in ratings:
        ends.append(ends[-1] + (each.contribution or 0.0))
    axis = charts.axis_of((), *ends, explanation.score.score)
    rows = [_total(axis, "average text", explanation.average)]
    for each, (title, rating, reason), (start, end) in zip(ratings, described, pairwise(ends), strict=True):
        share = f"{each.contribution:+.2f}" if each.contribution is not None else ""
        rows.append(Row((title, Drawing(charts.step(axis, start, end)), share, rating, reason)))
    rows.append(_total(axis, "score", explanation.score.score))
    columns = ("criterion", "", "share", "rating", "reason")
    caption = "From the score of an average text to this one: filled bars raise the score, hollow bars lower it."
    yield table(columns, rows, numeric=("share", "rating"), caption=caption, ticks=charts.tick_row(axis))


def _total(axis: charts.Axis, name: str, value: float) -> Row:
    return Row((name, Drawing(charts.step(axis, value, value)), figure(value), "", ""), "total")


def _described(each: CriterionScore, criterion: Criterion | None) -> tuple[Words, Words, Words]:
    title = line(quoted(each.id, "id"), quoted(describe.title(criterion, TITLE) if criterion else ""))
    missing = quiet(COUNTED_AS_AVERAGE if each.score is None else "")
    return title, describe.answered(each, criterion, whole=not each.units), line(quoted(each.reason), missing)


def _nearest(explanation: ScoreExplanation) -> Iterator[Block]:
    if not explanation.nearest:
        version = explanation.version
        none = "No labelled text has enough of the same ratings."
        yield Paragraph(none if explanation.labelled else f"{none} {unrecorded(version)}", "quiet")
        return
    rows: list[Sequence[Cell]] = [
        (
            quoted(each.text.id, "id"),
            figure(each.distance),
            describe.rounded(each.text.label),
            describe.rounded(each.text.predicted),
            quoted(excerpt(each.text.output, NEAREST_EXCERPT)),
        )
        for each in explanation.nearest
    ]
    numeric = ("distance", "label", "held out")
    yield table(("text", *numeric, ""), rows, numeric=numeric)
    about = (
        "Distance: of the ratings by the rubric's criteria, weighted, in standard deviations. Held out: the text's "
        "score by a rubric that was fitted without its group's labels."
    )
    yield Paragraph(about, "quiet")


def _replies(explanation: ScoreExplanation) -> Iterator[Paragraph]:
    for reply in explanation.score.replies:
        yield Paragraph(quoted(f"{reply.prompt}: {reply.fault}"))
        yield Paragraph(quoted(reply.text), "quote")


def _text(explanation: ScoreExplanation) -> Iterator[Paragraph]:
    yield Paragraph(quoted(explanation.example.output), "quote")
    if explanation.example.source:
        yield Paragraph("Source", "quiet")
        yield Paragraph(quoted(excerpt(explanation.example.source, SOURCE_EXCERPT)), "quote")
