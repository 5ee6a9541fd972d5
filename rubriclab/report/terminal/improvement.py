"""What became of texts that were rewritten: all of them in figures, and one of them change by change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, get_args

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from rubriclab.data.scale import show
from rubriclab.report import wording
from rubriclab.report.terminal.parts import QUIET, columns, heading, indented, pairs, text
from rubriclab.revision.record import RejectionReason

if TYPE_CHECKING:
    from rubriclab.provenance import Effort
    from rubriclab.revision import Improvement, RevisionRound, RevisionSummary, ScoreGain, SentenceEdit

TAKEN_OUT, PUT_IN = r"\[-.*?-\]", r"\{\+.*?\+\}"
LABELS = {"no sentence at fault": "at fault as a whole only, so left"}
REFUSALS: tuple[RejectionReason, ...] = get_args(RejectionReason)


def improvement_view(found: RevisionSummary, effort: Effort) -> RenderableType:
    """Return how many texts were improved, what was gained by each judge and criterion, and what to make of it."""
    return Group(
        text(f"{found.rubric}: {wording.count(found.texts, 'text')}", "bold"),
        indented(pairs(_outcomes(found))),
        heading("Scores", "means over the texts with both; in brackets, 95 % bootstrap intervals"),
        _gains([(f"{gain.name}: {role}", gain) for role, gain in _roles(found) if gain]),
        *_criteria(found),
        "",
        text(" ".join(_caution(found))),
        text(wording.effort(effort), QUIET),
    )


def rewriting_view(done: Improvement) -> RenderableType:
    """Return one text's rounds: its scores, which sentences were rewritten to what, and why."""
    return Group(
        text(done.id, "bold"),
        *(indented(text(line, QUIET)) for line in _scores(done)),
        *(part for each in done.rounds for part in _round(each)),
        "",
    )


def _roles(found: RevisionSummary) -> tuple[tuple[str, ScoreGain | None], ...]:
    return (
        ("second judge, before its veto", found.second_judge_before_veto),
        ("second judge, after its veto (selected)", found.second_judge_after_veto),
        ("judge (selected)", found.judge),
    )


def _outcomes(found: RevisionSummary) -> Iterator[tuple[str, RenderableType]]:
    counts = found.outcomes
    refused = [f"{counts[why]:,} {why}" for why in REFUSALS if counts[why]]
    yield "already without fault", f"{counts['without fault']:,}"
    yield "improved", f"{counts['improved']:,}"
    yield "unchanged", ": ".join(filter(None, (f"{sum(counts[why] for why in REFUSALS):,}", ", ".join(refused))))
    for rare in ("no sentence at fault", "unscored", "unscored by the second judge"):
        if counts[rare]:
            yield LABELS.get(rare, rare), f"{counts[rare]:,}"
    yield "sentences changed", f"{found.changed:,} of {found.sentences:,}"


def _criteria(found: RevisionSummary) -> Iterator[RenderableType]:
    """Yield what was gained or lost by single criteria; one alone is the score itself."""
    moved = [gain for gain in found.criteria if gain.before != gain.after]
    if len(found.criteria) < 2 or not moved:
        return
    rest = f"; {len(found.criteria) - len(moved):,} more without a change" if len(moved) < len(found.criteria) else ""
    yield heading("Criteria", f"by the judge{rest}")
    yield _gains([(gain.name, gain) for gain in moved])


def _gains(rows: Sequence[tuple[str, ScoreGain]]) -> Table:
    table = columns("", "texts", "before", "after", "gain", numeric=("texts", "before", "after", "gain"))
    for name, gain in rows:
        cells = (name, f"{gain.texts:,}", wording.figure(gain.before), wording.figure(gain.after))
        table.add_row(*map(text, (*cells, wording.estimate(gain.gain))))
    return table


def _caution(found: RevisionSummary) -> Iterator[str]:
    yield (
        "The judge's own gain flatters: the rewritings were made from its reasons, and taken only where its score rose."
    )
    if found.second_judge_before_veto is None:
        yield "A second judge that sees none of this (--second-judge) gives a gain to trust."
        return
    yield (
        "The gain to trust is the second judge's before its veto: of each text the first rewriting that the judge "
        "would have taken, whatever the second judge made of it. After its veto its gain cannot be negative: what it "
        "scores lower is left out."
    )
    higher, equal, lower, unclear = (found.first_rewritings[name] for name in ("higher", "equal", "lower", "unclear"))
    if tried := higher + equal + lower + unclear:
        untold = f"; of {unclear:,} it cannot be told" if unclear else ""
        yield (
            f"Of {wording.count(tried, 'such first rewriting')} the second judge scores {higher:,} higher than the "
            f"text before, {equal:,} equal and {lower:,} lower{untold}."
        )


def _scores(done: Improvement) -> Iterator[str]:
    judged = [("judge", done.judge, done.before, done.after)]
    if done.second_judge:
        judged.append(("second judge", done.second_judge, done.second_before, done.second_after))
    for role, name, before, after in judged:
        if before and after and before.score is not None and after.score is not None:
            yield f"{role} {name}: {show(before.score)} to {show(after.score)}"


def _round(each: RevisionRound) -> Iterator[RenderableType]:
    yield indented(text(f"round {each.round}, {'taken' if each.taken else 'not taken'}; {each.why}"))
    for fault in each.faults:
        if not fault.sentences:
            yield indented(indented(text(f"the whole: {fault.criterion}: {fault.reason}", QUIET)))
    for change in each.changes:
        yield indented(indented(_changed(change)))
        for line in _why(change, each):
            yield indented(indented(indented(text(line, QUIET))))


def _changed(change: SentenceEdit) -> Text:
    shown = text(f"{change.sentence}. {change.diff}")
    shown.highlight_regex(TAKEN_OUT, "red")
    shown.highlight_regex(PUT_IN, "green")
    return shown


def _why(change: SentenceEdit, each: RevisionRound) -> Iterator[str]:
    for fault in each.faults:
        if change.sentence in fault.sentences:
            yield f"{fault.criterion}: {fault.reason}"
    if change.reasoning:
        yield f"writer: {change.reasoning}"
