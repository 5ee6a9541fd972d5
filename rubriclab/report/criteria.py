"""Criteria as each kind is best read: with levels, as a checklist, or as what the judge is given to go by."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rubriclab.models.aggregation import Term
from rubriclab.models.characters import count
from rubriclab.models.rubric import (
    Criterion,
    DroppedCriterion,
    Evidence,
    Part,
    Rubric,
)
from rubriclab.models.text import format_score
from rubriclab.report import describe, wording
from rubriclab.report.model import (
    Block,
    Card,
    Details,
    Indented,
    Pairs,
    Paragraph,
    Span,
    Words,
    line,
    quoted,
    table,
)

EXCERPT = 200


@dataclass(frozen=True, slots=True)
class CriterionGroup:
    """The questions about one component of an aspect; `definition` is empty where the rubric holds none."""

    name: str
    definition: str
    questions: tuple[Criterion, ...]


def sub_dimensions(part: Part) -> list[CriterionGroup]:
    """Return the questions of `part` by sub-dimension, in the order in which the first of each comes."""
    definitions = part.dimensions or {}
    questions: dict[str, list[Criterion]] = {}
    for criterion in part.criteria:
        if criterion.kind == "question":
            questions.setdefault(criterion.trait, []).append(criterion)
    return [CriterionGroup(name, definitions.get(name, ""), tuple(group)) for name, group in questions.items()]


def criteria_blocks(part: Part, rubric: Rubric) -> Iterator[Block]:
    """Yield the criteria of a part of `rubric`."""
    correlation, terms = describe.correlation_name(rubric), describe.terms(rubric)
    if part.units:
        yield Paragraph(describe.units(part), "quiet")
    for criterion in part.criteria:
        if criterion.kind != "question":
            title = line(quoted(criterion.id, "id"), quoted(criterion.trait))
            yield Card(title, tuple(_criterion(criterion, rubric, terms.get(criterion.id))))
    for group in sub_dimensions(part):
        rows = [
            (quoted(each.id, "id"), _question(each, describe.question_weight(part, each, terms), correlation))
            for each in group.questions
        ]
        remark = [Paragraph(quoted(group.definition, "quiet"))] if group.definition else []
        yield Card(quoted(group.name), (*remark, table(("", ""), rows)))


def dropped_section(dropped: Sequence[DroppedCriterion], correlation: str) -> Details:
    """Return what was considered and dropped, with the reason and its correlation with the labels, by its name."""
    rows = [
        (
            line(quoted(each.criterion.id, "id"), quoted(describe.title(each.criterion))),
            quoted(each.reason),
            wording.figure(each.criterion.evidence.pearson) if each.criterion.evidence.judged else "",
        )
        for each in dropped
    ]
    shown = table(("criterion", "reason", correlation), rows, numeric=(correlation,))
    hint = f"{describe.SHOWN_BY_EVIDENCE}, and where each criterion came from."
    return Details(f"{wording.counted(len(rows), 'more criterion')} considered and dropped", (shown,), hint=hint)


def statement(criterion: Criterion) -> Paragraph:
    """Return what a criterion says, in paragraphs where it is an explanation."""
    if criterion.kind == "score":
        return Paragraph(quoted(criterion.statement), "prose")
    return Paragraph((quoted(criterion.statement), describe.polarity(criterion)))


def levels(criterion: Criterion) -> Pairs:
    """Return what a text of each level looks like."""
    return Pairs(tuple((format_score(level.score), quoted(level.description)) for level in criterion.levels))


def _criterion(criterion: Criterion, rubric: Rubric, term: Term | None) -> Iterator[Block]:
    if agreement := describe.evaluator_agreement(criterion, describe.correlation_name(rubric), term):
        yield Paragraph(agreement, "quiet")
    if criterion.kind == "score" and criterion.statement == rubric.aspect.definition:
        yield Paragraph("The judge uses the definition above.")
    else:
        yield statement(criterion)
    if criterion.levels:
        yield Indented((levels(criterion),))
    if texts := criterion.demonstrations:
        yield Paragraph(describe.carried(criterion))
        shown = tuple(
            (
                format_score(round(text.score, 2)),
                line(quoted(text.example, "quiet"), quoted(wording.excerpt(text.output, EXCERPT))),
            )
            for text in texts
        )
        yield Details(count(len(texts), "labelled text"), (Pairs(shown),), short=True)
    yield Details("Evidence", (Pairs(tuple(_evidence(criterion.evidence))),))


def _evidence(evidence: Evidence) -> Iterator[tuple[str, Words]]:
    yield "origin", describe.origin(evidence)
    if evidence.examples:
        yield "texts seen", quoted(", ".join(evidence.examples))
    if evidence.reasons:
        yield "from reasons for", quoted(describe.reasons(evidence))
    if evidence.findings:
        yield "findings seen", quoted(", ".join(evidence.findings))


def _question(question: Criterion, weight: str, correlation: str) -> Words:
    """Return a question with its weight and remarks and, where details are unfolded, how it was answered."""
    remark, figures = describe.remark(question, weight), describe.question_figures(question.evidence, correlation)
    shown = line(quoted(describe.title(question)), quoted(remark, "quiet"))
    detail = Span(f"{'; ' if remark else '  '}{figures}", "quiet", detail=True)
    return (*shown, detail) if figures and isinstance(shown, tuple) else shown
