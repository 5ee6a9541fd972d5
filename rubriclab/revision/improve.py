"""The rounds in which a text is rewritten, scored again, and kept if it is better (DCR, algorithm 1).

The paper accepts every rewriting (`take="every"`), and measures the gain by the evaluator whose reasons it was made
from. By default a rewriting is accepted only if that judge's score rises; rejected rewritings are recorded, and another
wording is requested. Two rounds reach most of the possible gain in the paper (its Fig. 4).

If sentences are judged, only those that fail may change: other faults are shown to the writer but do not permit
changing a sentence that passed. If texts are judged as a whole, everything may change.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from rubriclab.data.example import Example
from rubriclab.data.row import RowError
from rubriclab.data.scale import show
from rubriclab.judges.judge import Judge
from rubriclab.methods.replies import Number, Whole
from rubriclab.revision.faults import TextFault, require_reasons, text_faults
from rubriclab.revision.record import Improvement, RejectionReason, RevisionRound, value
from rubriclab.revision.rewrite import Origins, RewriteDraft, rewrite, rewrite_prompt
from rubriclab.rubric import Rubric
from rubriclab.scoring.score import CriterionScore, Score, fault_id, score_text
from rubriclab.scoring.stream import stream


class ImproveSettings(BaseModel):
    """How texts are rewritten."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    rounds: Whole = Field(default=2, ge=1, le=20)
    """The most rewritings of one text, accepted or not."""

    take: Literal["better", "every"] = "better"
    """Which rewritings are accepted: those that the judge scores higher, or every one that the judge can score (DCR,
    algorithm 1)."""

    good_from: Number = Field(default=0.75, gt=0, le=1)
    """The share of the scale from which on a score is no fault."""


def improve_stream(
    rubric: Rubric,
    rows: Iterable[Example | RowError],
    judge: Judge,
    ref: str,
    under_way: int = 16,
    *,
    writer: Judge | None = None,
    settings: ImproveSettings | None = None,
) -> AsyncGenerator[Improvement]:
    """Yield each text rewritten for the faults that `judge` finds, in order; for a faulty row, the fault as the reason.

    If a criterion judges sentences, all but those that fail are kept character by character, with the white space
    between them. If none does, as with hypotheses, checklists and holistic scores, any sentence may change. At most
    `under_way` texts are held at a time.

    Args:
        ref: the version of the rubric.
        writer: rewrites; by default the judge.

    Raises:
        SettingsError: if the rubric gives no reasons to rewrite by, or `under_way` is below 1.
        JudgeRefused, BudgetReached, ReplayMiss: from the judges; they concern every text.
    """
    require_reasons(rubric, ref)
    setup = _Setup(rubric, ref, judge, writer or judge, settings or ImproveSettings())

    async def improve(row: Example | RowError) -> Improvement:
        if isinstance(row, RowError):
            return replace(setup.start(fault_id(row), None), unscored=str(row))
        return await _improve(row, setup)

    return stream(rows, improve, under_way)


@dataclass(frozen=True, slots=True)
class _Setup:
    """The rubric, judges and settings of a revision."""

    rubric: Rubric
    ref: str
    judge: Judge
    writer: Judge
    settings: ImproveSettings

    def start(self, row: str, example: Example | None) -> Improvement:
        output = example.output if example else None
        return Improvement(row, example, output, self.ref, self.judge.name, self.writer.name)

    async def score(self, example: Example) -> Score:
        return await score_text(self.rubric, example, self.judge, self.ref)

    def draft(self, example: Example, score: Score) -> _ScoredText:
        return _ScoredText(example, score, text_faults(self.rubric, score, example.output, self.settings.good_from))


@dataclass(frozen=True, slots=True)
class _ScoredText:
    """A text between two rounds, with its score and faults."""

    example: Example
    score: Score
    faults: tuple[TextFault, ...]

    @property
    def any_sentence(self) -> bool:
        """Whether any sentence may change, as no criterion judged sentences."""
        return not any(map(judged_by_sentence, self.score.criteria))

    @property
    def stopped(self) -> str | None:
        """Why no sentence may change though there are faults."""
        if self.any_sentence or not self.faults or any(fault.sentences for fault in self.faults):
            return None
        return "every sentence passed, and faults of the whole text do not permit changing one"


async def _improve(example: Example, setup: _Setup) -> Improvement:
    score = await setup.score(example)
    original = current = setup.draft(example, score)
    rounds: list[RevisionRound] = []
    while current.faults and not (score.unscored or current.stopped) and len(rounds) < setup.settings.rounds:
        finished, current = await _round(current, rounds, setup)
        rounds.append(finished)
    return replace(
        setup.start(example.id, example),
        output=current.example.output,
        before=original.score,
        after=current.score,
        faults_before=len(original.faults),
        faults_left=len(current.faults),
        rounds=tuple(rounds),
        stopped=current.stopped,
        unscored=score.unscored,
    )


async def _round(
    current: _ScoredText, before: Sequence[RevisionRound], setup: _Setup
) -> tuple[RevisionRound, _ScoredText]:
    number = len(before) + 1
    # Unless the last rewriting was accepted, the prompt is the same again, so another sample is drawn.
    sample = number if before and not before[-1].accepted else 0
    prompt = rewrite_prompt(setup.rubric, current.example, current.faults, sample, any_sentence=current.any_sentence)
    draft = await rewrite(setup.writer, prompt, current.example.output)
    if draft.unusable is not None:
        return (
            RevisionRound(number, current.faults, draft.changes, None, "no usable rewriting", draft.unusable),
            current,
        )
    return await _judged(number, current, draft, setup)


async def _judged(
    number: int, current: _ScoredText, draft: RewriteDraft, setup: _Setup
) -> tuple[RevisionRound, _ScoredText]:
    example = replace(current.example, output=draft.output)
    every = setup.settings.take == "every"
    score = await setup.score(example)
    gain, reason = _gain(current.score, score, draft.origins)
    # Without a score nothing is known of a rewriting.
    accepted = score.score is not None if every else gain is not None and gain > 0
    rejected: RejectionReason | None = None if accepted else "rejected by the judge"
    finished = RevisionRound(number, current.faults, draft.changes, value(score), rejected, reason)
    return finished, setup.draft(example, score) if accepted else current


def _gain(before: Score, after: Score, origins: Origins) -> tuple[float | None, str]:
    """Return the rise of the score, and the scores in words; `None` if they are not comparable."""
    if before.score is None or after.score is None:
        return None, f"the judge gives no score: {after.unscored}"
    scores = f"the judge: {show(before.score)} to {show(after.score)}"
    if reason := incomparable(before, after, origins):
        return None, f"{scores}, but {reason}"
    return after.score - before.score, scores


def judged_by_sentence(criterion: CriterionScore) -> bool:
    """Return whether some verdict of the criterion names the sentences that it is about."""
    return any(unit.sentences for unit in criterion.units)


def incomparable(before: Score, after: Score, origins: Origins) -> str | None:
    """Return why the score of a rewritten text cannot be compared with the one before; `None` if it can.

    A score is a mean over the verdicts that exist, so it rises if a bad one goes missing; and a score by sentences is
    not comparable with one of the whole text, as SEAL gives to a text that has become too short.
    """
    scores_after = {criterion.id: criterion for criterion in after.criteria}
    for criterion in before.criteria:
        if criterion.id not in scores_after:
            return f"{criterion.id} was judged before only"
        if reason := _incomparable(criterion, scores_after[criterion.id], origins):
            return f"{criterion.id} {reason}"
    return None


def _incomparable(before: CriterionScore, after: CriterionScore, origins: Origins) -> str | None:
    if (lost := _unanswered(after) - _unanswered(before)) > 0:
        return f"lacks {lost} more of its verdicts on the whole text"
    kinds = ["by sentence" if judged_by_sentence(score) else "as a whole" for score in (before, after)]
    if kinds[0] != kinds[1]:
        return f"judged the text {kinds[0]} before and {kinds[1]} after"
    verdicts_before, verdicts_after = _by_sentence(before), _by_sentence(after)
    for sentence, origin in enumerate(origins):
        old = [verdict for index in origin for verdict in verdicts_before.get(index, ())]
        if _lost(old, verdicts_after.get(sentence, [])):
            return f"lacks a verdict on sentence {sentence + 1}, which had one before"
    return None


def _unanswered(criterion: CriterionScore) -> int:
    if criterion.units:
        return sum(unit.value is None for unit in criterion.units if not unit.sentences)
    return criterion.answers_missing


def _by_sentence(criterion: CriterionScore) -> Mapping[int, list[float | None]]:
    verdicts: dict[int, list[float | None]] = {}
    for unit in criterion.units:
        for sentence in unit.sentences:
            verdicts.setdefault(sentence, []).append(unit.value)
    return verdicts


def _lost(old: Sequence[float | None], new: Sequence[float | None]) -> bool:
    answered_before, answered_after = len(old) > old.count(None), len(new) > new.count(None)
    return (answered_before and not answered_after) or new.count(None) > old.count(None)
