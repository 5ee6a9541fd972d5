"""Criteria as each kind is best read: with levels, as a checklist, or as what the judge is given to go by."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from rubriclab.aggregation import Term
from rubriclab.data.scale import show
from rubriclab.report import describe, wording
from rubriclab.report.model import (
    Block,
    Card,
    Details,
    Indented,
    Pairs,
    Paragraph,
    Section,
    Span,
    Table,
    Words,
    line,
    quoted,
    table,
)
from rubriclab.rubric import Criterion, Demonstration, DroppedCriterion, Evidence, Part

EXCERPT = 200
NO_WARNINGS: Mapping[str, str] = MappingProxyType({})
# A reason, and behind it in brackets or after a colon what it adds for one criterion alone.
_REASON = re.compile(r"(?P<reason>.+?)(?:: (?P<words>.+)| \((?P<remark>[^()]*)\))", re.DOTALL)


@dataclass(frozen=True, slots=True)
class CriterionGroup:
    """The questions about one component of an aspect; `definition` is empty where the rubric holds none."""

    name: str
    definition: str
    questions: tuple[Criterion, ...]


@dataclass(frozen=True, slots=True)
class Omission:
    """What was dropped for one reason.

    Attributes:
        criteria: each with what its reason adds for it alone; empty where that is nothing.
    """

    reason: str
    criteria: tuple[tuple[Criterion, str], ...]


def sub_dimensions(part: Part) -> list[CriterionGroup]:
    """Return the questions of `part` by sub-dimension, in the order in which the first of each comes."""
    definitions = part.dimensions or {}
    questions: dict[str, list[Criterion]] = {}
    for criterion in part.criteria:
        if criterion.kind == "question":
            questions.setdefault(criterion.trait, []).append(criterion)
    return [CriterionGroup(name, definitions.get(name, ""), tuple(group)) for name, group in questions.items()]


def omissions(dropped: Sequence[DroppedCriterion]) -> list[Omission]:
    """Return what was dropped by reason, in the order in which the reasons come.

    Reasons that differ only after a colon or in brackets at their end, such as `too short (3 words)`, are one.
    """
    by_reason: dict[str, list[tuple[Criterion, str]]] = {}
    for entry in dropped:
        reason, detail = _split(entry.reason)
        by_reason.setdefault(reason, []).append((entry.criterion, detail))
    return [Omission(reason, tuple(criteria)) for reason, criteria in by_reason.items()]


def criteria_blocks(
    part: Part, definition: str, terms: Mapping[str, Term], warnings: Mapping[str, str] = NO_WARNINGS
) -> Iterator[Block]:
    """Yield the criteria of `part`, which judges the aspect that `definition` defines; `terms` are the rubric's.

    Args:
        warnings: of criteria that may reward a shortcut, by id.
    """
    if part.units:
        yield Paragraph(describe.units(part), "quiet")
    for criterion in part.criteria:
        if criterion.kind != "question":
            blocks = (*_warning(criterion, warnings), *_criterion(criterion, definition, terms.get(criterion.id)))
            yield Card(_name(criterion), blocks)
    for group in sub_dimensions(part):
        rows = [(each, describe.remark(each, describe.question_weight(part, each, terms))) for each in group.questions]
        remark = [Paragraph(quoted(group.definition, "quiet"))] if group.definition else []
        yield Card(quoted(group.name), (*remark, _questions(rows, warnings)))


def _warning(criterion: Criterion, warnings: Mapping[str, str]) -> Iterator[Paragraph]:
    if criterion.id in warnings:
        yield Paragraph(f"! {warnings[criterion.id]}", "warning")


def dropped_section(dropped: Sequence[DroppedCriterion]) -> Details:
    """Return what was considered and dropped, by reason."""
    blocks = tuple(
        Section((f"{len(omission.criteria)} dropped: ", quoted(omission.reason)), tuple(_omitted(omission)))
        for omission in omissions(dropped)
    )
    tally = describe.tally([entry.criterion for entry in dropped], "more ")
    hint = f"{describe.SHOWN_BY_EVIDENCE}, and where each criterion came from."
    return Details(f"{tally} considered and dropped", blocks, hint=hint)


def statement(criterion: Criterion) -> Paragraph:
    """Return what a criterion says, in paragraphs where it is an explanation."""
    if criterion.kind == "score":
        return Paragraph(quoted(criterion.statement), "prose")
    return Paragraph((quoted(criterion.statement), describe.polarity(criterion)))


def levels(criterion: Criterion) -> Pairs:
    """Return what a text of each level looks like."""
    return Pairs(tuple((show(level.score), quoted(level.description)) for level in criterion.levels))


def _split(reason: str) -> tuple[str, str]:
    match = _REASON.fullmatch(reason)
    if match is None:
        return reason, ""
    return match["reason"], (match["words"] or match["remark"] or "").removesuffix(".")


def _name(criterion: Criterion) -> Words:
    return line(quoted(criterion.id, "id"), quoted(criterion.trait))


def _criterion(criterion: Criterion, definition: str, term: Term | None) -> Iterator[Block]:
    if agreement := describe.evaluator_agreement(criterion, term):
        yield Paragraph(agreement, "quiet")
    if criterion.kind == "score" and criterion.statement == definition:
        yield Paragraph("The judge uses the definition above.")
    else:
        yield statement(criterion)
    if criterion.levels:
        yield Indented((levels(criterion),))
    if texts := criterion.demonstrations:
        yield Paragraph(describe.carried(criterion))
        shown = tuple((show(round(text.score, 2)), _demonstration(text)) for text in texts)
        yield Details(wording.count(len(texts), "labelled text"), (Pairs(shown),), short=True)
    yield Details("Evidence", (_evidence(criterion),))


def _demonstration(text: Demonstration) -> Words:
    return line(quoted(text.example, "quiet"), quoted(wording.excerpt(text.output, EXCERPT)))


def _evidence(criterion: Criterion) -> Pairs:
    return Pairs(tuple(_evidence_rows(criterion.evidence)))


def _evidence_rows(evidence: Evidence) -> Iterator[tuple[str, Words]]:
    yield "origin", describe.origin(evidence)
    if evidence.examples:
        yield "texts seen", quoted(", ".join(evidence.examples))
    if evidence.reasons:
        yield "from reasons for", quoted(describe.reasons(evidence))
    if evidence.findings:
        yield "findings seen", quoted(", ".join(evidence.findings))


def _questions(rows: Iterable[tuple[Criterion, str]], warnings: Mapping[str, str] = NO_WARNINGS) -> Table:
    """Return one question a row with its remark and, where details are unfolded, how it was answered."""
    shown = (
        (quoted(question.id, "id"), _question(question, remark, warnings.get(question.id, "")))
        for question, remark in rows
    )
    return table(("", ""), list(shown))


def _question(question: Criterion, remark: str, warning: str) -> Words:
    figures = describe.question_figures(question.evidence)
    marked = Span(f"! {warning}" if warning else "", "warning")
    shown = line(quoted(describe.title(question)), marked, quoted(remark, "quiet"))
    detail = Span(f"{'; ' if remark else '  '}{figures}", "quiet", detail=True)
    return (*shown, detail) if figures and isinstance(shown, tuple) else shown


def _omitted(omission: Omission) -> Iterator[Block]:
    questions = [
        (criterion, describe.remark(criterion, detail, criterion.trait))
        for criterion, detail in omission.criteria
        if criterion.question
    ]
    if questions:
        yield _questions(questions)
    for criterion, detail in omission.criteria:
        if not criterion.question:
            yield Card(_name(criterion), tuple(_omitted_criterion(criterion, detail)), text=True)


def _omitted_criterion(criterion: Criterion, detail: str) -> Iterator[Block]:
    if detail:
        yield Paragraph(quoted(detail))
    yield Paragraph(describe.training_pearson(criterion.evidence), "quiet")
    yield statement(criterion)
    yield _evidence(criterion)
