"""The rounds in which a text is rewritten, judged again and kept only if it has become better (DCR, algorithm 1).

The paper takes every rewriting (`take="every"`), and measures what was gained by the evaluator whose reasons the
rewriting was made from. By default a rewriting is taken only if that judge's score rises and a second judge's, which
the writer knows nothing of, does not fall; what is refused is kept in the record, and another wording is asked for. Two
rounds bring the paper near all that can be gained (its Fig. 4).

Where sentences are judged, only those that fail may change: what else is wrong is shown to the writer, and is no ground
to touch a sentence that passed. Where texts are judged as a whole, everything may change.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from rubriclab.data.example import Example
from rubriclab.data.row import RowError
from rubriclab.data.scale import show
from rubriclab.judges.judge import Judge
from rubriclab.methods.replies import Number, Whole
from rubriclab.revision.pairwise import Origins, incomparable, judged_by_sentence
from rubriclab.revision.record import Improvement, RejectionReason, RevisionRound, value
from rubriclab.revision.rewrite import RewriteDraft, rewrite, rewrite_prompt
from rubriclab.revision.weaknesses import TextFault, require_reasons, text_faults
from rubriclab.rubric import Rubric
from rubriclab.scoring.score import Score, score_text
from rubriclab.scoring.stream import fault_id, stream


class ImproveSettings(BaseModel):
    """How texts are rewritten."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    rounds: Whole = Field(2, ge=1, le=20)
    """The most rewritings of one text, whether taken or not."""

    take: Literal["better", "every"] = "better"
    """Which rewritings are taken: those that the judge scores higher and the second judge not lower; or every one that
    the judge can score (DCR, algorithm 1), so that the second judge only measures."""

    good_from: Number = Field(0.75, gt=0, le=1)
    """The share of the scale from which on a score is no fault."""


async def improve_text(
    rubric: Rubric,
    example: Example,
    judge: Judge,
    name: str,
    *,
    writer: Judge | None = None,
    second_judge: Judge | None = None,
    settings: ImproveSettings | None = None,
) -> Improvement:
    """Return a text rewritten where `judge` finds fault with it by `rubric`, which is known as `name`.

    Where a criterion judges sentences, all but those that fail are kept character by character, as is what stands
    between them. Where none does, as by hypotheses, checklists and of texts judged whole, any sentence may change.

    Args:
        writer: who rewrites; the judge itself, if nobody else is given.
        second_judge: who must not score a rewriting lower; its reasons are never shown to the writer.

    Raises:
        SettingsError: if the rubric gives no reasons to rewrite by.
        JudgeRefused, BudgetReached, ReplayMiss: as the judges do; they concern every text.
    """
    require_reasons(rubric, name)
    work = _Work(rubric, name, judge, writer or judge, second_judge, settings or ImproveSettings())
    return await _improve(example, work)


def improve_stream(
    rubric: Rubric,
    rows: Iterable[Example | RowError],
    judge: Judge,
    name: str,
    under_way: int = 16,
    *,
    writer: Judge | None = None,
    second_judge: Judge | None = None,
    settings: ImproveSettings | None = None,
) -> AsyncGenerator[Improvement]:
    """Yield what `improve_text` returns for each row, in order; of a faulty row, why there is nothing to improve.

    At most `under_way` texts are held at a time.

    Raises:
        SettingsError: if the rubric gives no reasons to rewrite by, or not even one text may be under way.
        JudgeRefused, BudgetReached, ReplayMiss: as the judges do; they concern every text.
    """
    require_reasons(rubric, name)
    work = _Work(rubric, name, judge, writer or judge, second_judge, settings or ImproveSettings())
    return stream(rows, lambda row: _improve_row(row, work), under_way)


@dataclass(frozen=True, slots=True)
class _Work:
    """By what texts are improved, and by whom."""

    rubric: Rubric
    name: str
    judge: Judge
    writer: Judge
    second: Judge | None
    settings: ImproveSettings

    def start(self, row: str, example: Example | None) -> Improvement:
        names = (self.name, self.judge.name, self.writer.name, self.second.name if self.second else None)
        return Improvement(row, example, example.output if example else None, *names)

    async def score(self, example: Example) -> Score:
        return await score_text(self.rubric, example, self.judge, self.name)

    async def second_score(self, example: Example) -> Score | None:
        return await score_text(self.rubric, example, self.second, self.name) if self.second else None

    def faults(self, score: Score, output: str) -> tuple[TextFault, ...]:
        return text_faults(self.rubric, score, output, self.settings.good_from)


@dataclass(frozen=True, slots=True)
class _Standing:
    """A text between two rounds, with its scores and what is wrong with it."""

    example: Example
    score: Score
    second: Score | None
    faults: tuple[TextFault, ...]

    @property
    def free(self) -> bool:
        """Whether any sentence may change, as no criterion judged sentences."""
        return not any(map(judged_by_sentence, self.score.criteria))

    @property
    def stopped(self) -> str | None:
        """Why no sentence may change though there are faults."""
        if self.free or not self.faults or any(fault.sentences for fault in self.faults):
            return None
        return "every sentence passed, and what is wrong with the whole text is no ground to change one"


async def _improve_row(row: Example | RowError, work: _Work) -> Improvement:
    if isinstance(row, RowError):
        return replace(work.start(fault_id(row), None), unscored=str(row))
    return await _improve(row, work)


async def _improve(example: Example, work: _Work) -> Improvement:
    score, second = await asyncio.gather(work.score(example), work.second_score(example))
    first = now = _Standing(example, score, second, work.faults(score, example.output))
    rounds: list[RevisionRound] = []
    unscored = _unscored(first)
    while now.faults and not (unscored or now.stopped) and len(rounds) < work.settings.rounds:
        done, now = await _round(now, rounds, work)
        rounds.append(done)
    return replace(
        work.start(example.id, example),
        output=now.example.output,
        before=first.score,
        after=now.score,
        second_before=first.second,
        second_after=now.second,
        faults_before=len(first.faults),
        faults_left=len(now.faults),
        rounds=tuple(rounds),
        stopped=now.stopped,
        unscored=unscored,
    )


def _unscored(first: _Standing) -> str | None:
    if first.score.unscored:
        return first.score.unscored
    if first.faults and first.second and first.second.unscored:
        return f"no score by the second judge, so no rewriting could be taken: {first.second.unscored}"
    return None


async def _round(now: _Standing, before: Sequence[RevisionRound], work: _Work) -> tuple[RevisionRound, _Standing]:
    """Return the next round, and how the text stands after it."""
    number = len(before) + 1
    # Unless the last rewriting was taken, the question is the same again.
    again = bool(before) and not before[-1].taken
    prompt = rewrite_prompt(work.rubric, now.example, now.faults, sample=number if again else 0, free=now.free)
    draft = await rewrite(work.writer, prompt, now.example.output)
    if draft.missing is not None:
        return RevisionRound(
            number, now.faults, draft.changes, None, None, None, "no usable rewriting", draft.missing
        ), now
    return await _judged(number, now, draft, work)


async def _judged(number: int, now: _Standing, draft: RewriteDraft, work: _Work) -> tuple[RevisionRound, _Standing]:
    example = replace(now.example, output=draft.output)
    score, second, change = await work.score(example), None, None
    gain, why = _gain(now.score, score, draft.origins, "the judge")
    every = work.settings.take == "every"
    refused: RejectionReason | None = None if _taken(gain, score, every=every) else "refused by the judge"
    if refused is None and now.second is not None:
        second = await work.second_score(example)
        change, also = _gain(now.second, second, draft.origins, "the second judge")
        refused = None if every or (change is not None and change >= 0) else "refused by the second judge"
        why = f"{why}; {also}"
    done = RevisionRound(number, now.faults, draft.changes, value(score), value(second), change, refused, why)
    return done, now if refused else _Standing(example, score, second, work.faults(score, draft.output))


def _taken(gain: float | None, score: Score, *, every: bool) -> bool:
    """Return whether the judge lets a rewriting pass; one without a score never does, since nothing is known of it."""
    return score.score is not None if every else gain is not None and gain > 0


def _gain(before: Score, after: Score | None, origins: Origins, who: str) -> tuple[float | None, str]:
    """Return how far the score has risen, and from what to what; `None` where that cannot be told."""
    if before.score is None or after is None or after.score is None:
        return None, f"{who} gives no score: {after.unscored if after else before.unscored}"
    found = f"{who}: {show(before.score)} to {show(after.score)}"
    if why := incomparable(before, after, origins):
        return None, f"{found}, but {why}"
    return after.score - before.score, found
