"""What became of texts that were rewritten: all of them in figures, and one of them change by change."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, get_args

from rubriclab.models.characters import count
from rubriclab.models.text import show
from rubriclab.ops.improve import RejectionReason
from rubriclab.report import wording
from rubriclab.report.model import (
    Block,
    Figure,
    Indented,
    Pairs,
    Paragraph,
    Section,
    Table,
    View,
    Words,
    paragraphs,
    quoted,
    table,
)

if TYPE_CHECKING:
    from rubriclab.learning.rewriting import SentenceEdit
    from rubriclab.models.version import Effort
    from rubriclab.ops.improve import Improvement, RevisionRound, RevisionSummary, ScoreGain

_EDITS = re.compile(r"(\[-.*?-\]|\{\+.*?\+\})", re.DOTALL)
LABELS = {"no sentence at fault": "fault in the whole text only, so unchanged"}
OPTIMISTIC = "The gain is optimistic: rewrites were based on the judge's reasons and accepted only if its score rose."
REJECTIONS: tuple[RejectionReason, ...] = get_args(RejectionReason)


def improvement_view(summary: RevisionSummary, effort: Effort) -> View:
    """Return how many texts were improved, the gain by score and criterion, and what limits these figures."""
    gains = _gains([(summary.judge.name, summary.judge)])
    blocks = (
        Indented((Pairs(tuple(_outcomes(summary))),)),
        Section("Scores", (gains,), "means over the texts with both; in brackets, 95 % intervals"),
        *_criteria(summary),
        Paragraph(OPTIMISTIC),
        Paragraph(wording.effort(effort), "quiet"),
    )
    return View(quoted(f"{summary.rubric}: {count(summary.texts, 'text')}"), blocks, "rubriclab revision")


def rewrite_view(improvement: Improvement) -> View:
    """Return one text's rounds: its scores, which sentences were rewritten to what, and why."""
    scores = Indented(paragraphs(map(quoted, _scores(improvement)), "quiet"))
    rounds = (part for each in improvement.rounds for part in _round(each))
    return View(quoted(improvement.id), (scores, *rounds, Paragraph("")), "rubriclab revision")


def _outcomes(summary: RevisionSummary) -> Iterator[tuple[str, str]]:
    counts = summary.outcomes
    rejected = [f"{counts[why]:,} {why}" for why in REJECTIONS if counts[why]]
    yield "without faults", f"{counts['without fault']:,}"
    yield "improved", f"{counts['improved']:,}"
    unchanged = f"{sum(counts[why] for why in REJECTIONS):,}"
    yield "unchanged", ": ".join(filter(None, (unchanged, ", ".join(rejected))))
    for rare in ("no sentence at fault", "unscored"):
        if counts[rare]:
            yield LABELS.get(rare, rare), f"{counts[rare]:,}"
    yield "sentences changed", f"{summary.changed:,} of {summary.sentences:,}"


def _criteria(summary: RevisionSummary) -> Iterator[Section]:
    """Yield the gains by single criteria that changed; one alone is the score itself."""
    moved = [gain for gain in summary.criteria if gain.before != gain.after]
    if len(summary.criteria) < 2 or not moved:
        return
    unchanged = len(summary.criteria) - len(moved)
    rest = f"; {unchanged:,} more without a change" if unchanged else ""
    yield Section("Criteria", (_gains([(gain.name, gain) for gain in moved]),), f"by the judge{rest}")


def _gains(gains: Sequence[tuple[str, ScoreGain]]) -> Table:
    numeric = ("texts", "before", "after", "gain")
    rows = [
        (quoted(name), f"{gain.texts:,}", wording.figure(gain.before), wording.figure(gain.after), Figure(gain.gain))
        for name, gain in gains
    ]
    return table(("", *numeric), rows, numeric=numeric)


def _scores(improvement: Improvement) -> Iterator[str]:
    before, after = improvement.before, improvement.after
    if before and after and before.score is not None and after.score is not None:
        yield f"judge {improvement.judge}: {show(before.score)} to {show(after.score)}"


def _round(each: RevisionRound) -> Iterator[Block]:
    accepted = f"round {each.round}, {'accepted' if each.accepted else 'rejected'}; {each.reason}"
    whole = (quoted(f"the whole text: {f.criterion}: {f.reason}") for f in each.faults if not f.sentences)
    changes = (
        part
        for change in each.changes
        for part in (Paragraph(_diff(change)), Indented(paragraphs(map(quoted, _why(change, each)), "quiet")))
    )
    yield Indented((Paragraph(quoted(accepted)), Indented((*paragraphs(whole, "quiet"), *changes))))


def _diff(change: SentenceEdit) -> Words:
    parts = _EDITS.split(f"{change.sentence}. {change.diff}")
    # Every second part is an edit.
    return tuple(
        quoted(part, ("removed" if part.startswith("[") else "added") if place % 2 else "")
        for place, part in enumerate(parts)
    )


def _why(change: SentenceEdit, each: RevisionRound) -> Iterator[str]:
    for fault in each.faults:
        if change.sentence in fault.sentences:
            yield f"{fault.criterion}: {fault.reason}"
    if change.reasoning:
        yield f"writer: {change.reasoning}"
