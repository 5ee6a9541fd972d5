"""Criteria as each kind is best read: with levels, as a checklist, or as what the judge is given to go by."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from rubriclab.aggregation import Term
from rubriclab.data.scale import show
from rubriclab.report import describe, wording
from rubriclab.report.grouping import Omission, omissions, sub_dimensions
from rubriclab.report.terminal.parts import QUIET, heading, indented, pairs, prose, text
from rubriclab.rubric import Criterion, Demonstration, DroppedCriterion, Evidence, Part

ID = "cyan"
EXCERPT = 200


def criteria_view(
    part: Part, definition: str, terms: Mapping[str, Term], *, evidence: bool
) -> Iterator[RenderableType]:
    """Yield the criteria of `part`, which judges the aspect that `definition` defines; `terms` are the rubric's."""
    if part.units:
        yield text(describe.units(part), QUIET)
    for criterion in part.criteria:
        if criterion.kind != "question":
            yield ""
            yield from _criterion(criterion, definition, terms.get(criterion.id), evidence=evidence)
    yield from _checklist(part, terms, evidence=evidence)


def dropped_view(dropped: Sequence[DroppedCriterion]) -> Iterator[RenderableType]:
    """Yield what was considered and left out, by reason."""
    yield heading(f"Dropped: {describe.tally([entry.criterion for entry in dropped])}")
    for omission in omissions(dropped):
        yield ""
        yield text(f"{len(omission.criteria)} dropped: {omission.reason}", "bold")
        yield indented(Group(*_omitted(omission)))


def statement(criterion: Criterion) -> RenderableType:
    """Return what a criterion says, in paragraphs where it is an explanation."""
    if criterion.kind == "score":
        return prose(criterion.statement)
    return text(f"{criterion.statement}{describe.polarity(criterion)}")


def levels(criterion: Criterion) -> RenderableType:
    """Return what a text of each level looks like."""
    return pairs((show(level.score), level.description) for level in criterion.levels)


def _criterion(criterion: Criterion, definition: str, term: Term | None, *, evidence: bool) -> Iterator[RenderableType]:
    yield _name(criterion)
    if evaluator_agreement := describe.evaluator_agreement(criterion, term):
        yield indented(text(evaluator_agreement, QUIET))
    known = criterion.kind == "score" and criterion.statement == definition
    yield indented(text("The judge goes by the definition above.") if known else statement(criterion))
    if criterion.levels:
        yield indented(indented(levels(criterion)))
    if criterion.demonstrations:
        yield indented(Group(*_demonstrations(criterion)))
    if evidence:
        yield indented(pairs(_evidence(criterion.evidence)))


def _name(criterion: Criterion) -> Text:
    return text(criterion.id, ID).append("  ").append_text(text(criterion.trait, "bold"))


def _demonstrations(criterion: Criterion) -> Iterator[RenderableType]:
    yield ""
    yield text(describe.carried(criterion))
    yield indented(pairs((show(round(each.score, 2)), _shown(each)) for each in criterion.demonstrations))


def _shown(demonstration: Demonstration) -> RenderableType:
    return Group(text(demonstration.example, QUIET), text(wording.excerpt(demonstration.output, EXCERPT)))


def _evidence(found: Evidence) -> Iterator[tuple[str, RenderableType]]:
    yield "origin", describe.origin(found)
    if found.examples:
        yield "texts", ", ".join(found.examples)
    if found.findings:
        yield "findings", ", ".join(found.findings)
    if found.rewards:
        line = wording.sparkline([point.utility + point.bonus for point in found.rewards])
        yield "bandit", f"{line}  {wording.rewards(found.rewards)}"


def _checklist(part: Part, terms: Mapping[str, Term], *, evidence: bool) -> Iterator[RenderableType]:
    for sub in sub_dimensions(part):
        yield ""
        yield text(sub.name, "bold")
        if sub.definition:
            yield text(sub.definition, QUIET)
        rows = [(each, describe.remark(each, describe.question_weight(part, each, terms))) for each in sub.questions]
        yield indented(_questions(rows, evidence=evidence))


def _questions(rows: Iterable[tuple[Criterion, str]], *, evidence: bool) -> Table:
    """Return one question a row with its remark, and below it, with `evidence`, how it was answered."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style=ID, overflow="fold")
    table.add_column(overflow="fold")
    for question, remark in rows:
        asked = text(describe.title(question)).append("  ").append_text(text(remark, QUIET))
        figures = describe.question_figures(question.evidence) if evidence else ""
        table.add_row(text(question.id), Group(asked, text(figures, QUIET)) if figures else asked)
    return table


def _omitted(omission: Omission) -> Iterator[RenderableType]:
    questions = [
        (criterion, describe.remark(criterion, detail, criterion.trait))
        for criterion, detail in omission.criteria
        if criterion.question
    ]
    if questions:
        yield _questions(questions, evidence=True)
    for criterion, detail in omission.criteria:
        if not criterion.question:
            yield ""
            yield _name(criterion)
            yield indented(Group(*_omitted_criterion(criterion, detail)))


def _omitted_criterion(criterion: Criterion, detail: str) -> Iterator[RenderableType]:
    if detail:
        yield text(detail)
    yield text(describe.training_pearson(criterion.evidence), QUIET)
    yield statement(criterion)
    yield pairs(_evidence(criterion.evidence))
