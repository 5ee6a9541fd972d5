"""Rewrite texts where a rubric finds faults, and keep the rewritings that score higher.

1. The judge rates the text by each criterion. A low rating is a fault, of sentences if the criterion judges each
   sentence, else of the whole text.
2. The writer rewrites the text to mend its faults. If a criterion judges sentences, only sentences at fault may change.
3. The judge rates the rewriting, which replaces the text if it scores higher and the two scores can be compared.
4. Steps 2 and 3 are a round. They are repeated until no fault is left that may be mended, for at most `rounds` rounds.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from rubriclab.data.rows import RowError
from rubriclab.display import Displayed
from rubriclab.errors import JudgeError
from rubriclab.judges.judge import Judge, Ledger, Metered
from rubriclab.learning.estimate import CallEstimate, DryRun, dry_run, estimate_prompts, estimate_scoring
from rubriclab.learning.scoring import Score, faulty_row_id, process_rows, score_text, without_rivals
from rubriclab.methods import rewriting
from rubriclab.methods.method import CriterionRating
from rubriclab.models.rubric import Rubric
from rubriclab.models.sentences import split_sentences
from rubriclab.models.text import Example, format_score
from rubriclab.models.version import Effort, Version
from rubriclab.ops import inputs
from rubriclab.ops.inputs import Data, ReadRow, other_columns, rows_of, with_progress
from rubriclab.ops.options import ImproveOptions
from rubriclab.ops.workspace import JudgeChoice, Workspace, choose_judge, judge_or_offline, load_version
from rubriclab.stats.correlation import BoolArray, float_table
from rubriclab.stats.intervals import Interval, cluster_numbers, mean_interval

Role = Literal["judge", "writer"]
RejectionReason = Literal["rejected by the judge", "no usable rewriting"]
RevisionOutcome = Literal["improved", "without fault", "no sentence at fault", RejectionReason, "unscored"]


@dataclass(frozen=True, slots=True)
class RevisionRound:
    """One rewriting of a text, and whether it was accepted."""

    round: int  # from 1
    faults: tuple[rewriting.TextFault, ...]  # of the text before this rewriting
    changes: tuple[rewriting.ChangedSentence, ...]
    score: float | None  # of the rewriting
    rejected: RejectionReason | None  # `None` if it was accepted
    reason: str  # why it was accepted or rejected, with the scores

    @property
    def accepted(self) -> bool:
        return self.rejected is None

    def to_row(self) -> dict[str, Any]:
        decision = {"round": self.round, "score": self.score, "accepted": self.accepted, "reason": self.reason}
        faults = [fault.to_row() for fault in self.faults]
        return {**decision, "faults": faults, "changes": [change.to_row() for change in self.changes]}


# A text's scores, or ratings by one criterion, before and after its revision.
BeforeAfter = tuple[float | None, float | None]


@dataclass(frozen=True, slots=True)
class RevisionMetrics:
    """Figures of one text's revision, for the summary; texts themselves are not kept in memory."""

    group: str
    outcome: RevisionOutcome
    scores: BeforeAfter
    criteria: Mapping[str, BeforeAfter]
    sentences: int  # number in the original
    changed: int  # number of these sentences that the revision changed


@dataclass(frozen=True, slots=True)
class Improvement:
    """A text, its final wording, and every round in between."""

    id: str
    example: Example | None  # the original; `None` for a row without a text
    output: str | None  # the final wording
    rubric: str
    judge: str
    writer: str
    before: Score | None = None  # of the original
    after: Score | None = None  # of the final wording
    faults_before: int = 0
    faults_left: int = 0
    rounds: tuple[RevisionRound, ...] = ()
    stopped: str | None = None  # why no sentence may be rewritten although faults are left
    unscored: str | None = None  # why the original has no score, so that rewritings cannot be compared with it
    columns: Mapping[str, Any] = field(default_factory=dict)  # of the user's row, besides fields of a text

    @property
    def outcome(self) -> RevisionOutcome:
        if self.unscored:
            return "unscored"
        if any(revision.accepted for revision in self.rounds):
            return "improved"
        if self.rounds and (rejection_reason := self.rounds[-1].rejected):
            return rejection_reason
        return "no sentence at fault" if self.stopped else "without fault"

    @property
    def metrics(self) -> RevisionMetrics:
        sentences = changed = 0
        if self.example and self.unscored is None:
            sentences = len(split_sentences(self.example.output))
            changed = rewriting.count_changed_sentences(self.example.output, self.output or "")
        group = self.example.group if self.example else self.id
        scores: BeforeAfter = (None, None)
        criteria = dict[str, BeforeAfter]()
        if self.before and self.after:
            scores = (self.before.score, self.after.score)
            ratings_after = {rating.id: rating.score for rating in self.after.criteria}
            criteria = {rating.id: (rating.score, ratings_after.get(rating.id)) for rating in self.before.criteria}
        return RevisionMetrics(group, self.outcome, scores, criteria, sentences, changed)

    def to_row(self) -> dict[str, Any]:
        """Return the user's columns, the text's fields with the new `output`, and the `improvement`.

        Human scores are left out if the text has changed, since they were given to the original.
        """
        record = {
            "rubric": self.rubric,
            "judge": self.judge,
            "writer": self.writer,
            "outcome": self.outcome,
            "before": self.before.score if self.before else None,
            "after": self.after.score if self.after else None,
            "criteria_before": [rating.to_row() for rating in self.before.criteria] if self.before else [],
            "criteria_after": [rating.to_row() for rating in self.after.criteria] if self.after else [],
            "faults_before": self.faults_before,
            "faults_left": self.faults_left,
            "rounds": [revision.to_row() for revision in self.rounds],
            "stopped": self.stopped,
            "unscored": self.unscored,
        }
        if self.example is None:
            return {**self.columns, "id": self.id, "improvement": record}
        fields = asdict(self.example) | {"output": self.output}
        for aspect, names in fields.pop("raters").items():
            fields["annotations"][aspect] = dict(zip(names, fields["annotations"][aspect], strict=True))
        left_out = ("scores", "annotations", "reasons") if self.outcome == "improved" else ()
        cells = {name: cell for name, cell in fields.items() if cell not in (None, {}) and name not in left_out}
        return {**self.columns, **cells, "improvement": record}


@dataclass(frozen=True, slots=True)
class ScoreGain:
    """The mean gain in score, or in the rating by one criterion, of texts with a score before and after revision."""

    name: str
    texts: int
    before: float | None
    after: float | None
    gain: Interval


@dataclass(frozen=True, slots=True)
class RevisionSummary:
    rubric: str
    texts: int  # rows, including rows without a text
    outcomes: Mapping[RevisionOutcome, int]
    sentences: int  # number in the originals
    changed: int  # number of these sentences that were changed
    judge: ScoreGain  # the gain in the judge's score of the whole text
    criteria: tuple[ScoreGain, ...]

    def to_row(self) -> dict[str, Any]:
        return asdict(self)


def summarize_revisions(rubric: Rubric, ref: str, metrics: Sequence[RevisionMetrics], judge: str) -> RevisionSummary:
    """Return the summary of revisions by the rubric of version `ref` and by this judge.

    The gain in score is optimistic: a rewriting is accepted if its score rises, which happens also by chance.
    """
    outcomes = Counter(each.outcome for each in metrics)
    traits = {criterion.id: criterion.trait for criterion in rubric.criteria}
    groups = [each.group for each in metrics]
    criteria = []
    for rating_id in dict.fromkeys(rating_id for each in metrics for rating_id in each.criteria):
        ratings = [each.criteria.get(rating_id, (None, None)) for each in metrics]
        trait = traits.get(rating_id, "all criteria together")  # a method may give one rating by all criteria
        criteria.append(_gain(f"{rating_id} {trait}", ratings, groups))
    return RevisionSummary(
        rubric=ref,
        texts=len(metrics),
        outcomes={outcome: outcomes[outcome] for outcome in get_args(RevisionOutcome)},
        sentences=sum(each.sentences for each in metrics),
        changed=sum(each.changed for each in metrics),
        judge=_gain(judge, [each.scores for each in metrics], groups),
        criteria=tuple(criteria),
    )


def _gain(name: str, scores: Sequence[BeforeAfter], all_groups: Sequence[str]) -> ScoreGain:
    score_table = float_table(scores, 2)
    has_both: BoolArray = np.all(~np.isnan(score_table), axis=1)
    before, after = score_table[has_both].T
    groups = [group for group, is_used in zip(all_groups, has_both, strict=True) if is_used]
    if not groups:
        return ScoreGain(name, 0, None, None, Interval(None))
    gain = mean_interval(after - before, cluster_numbers(groups))
    return ScoreGain(name, len(groups), float(before.mean()), float(after.mean()), gain)


class _ScoredText(NamedTuple):
    """The original, or the text after a round, with its score and its faults."""

    example: Example
    score: Score
    faults: tuple[rewriting.TextFault, ...]
    any_sentence: bool  # any sentence may change, since no criterion judged sentences
    stopped: str | None  # why no sentence may be rewritten although there are faults


@dataclass(frozen=True, slots=True)
class Reviser:
    """Rewrites texts to mend the faults that a judge finds by the rubric of version `ref`."""

    rubric: Rubric
    ref: str
    judge: Judge
    writer: Judge
    settings: ImproveOptions

    async def revise(self, example: Example | RowError) -> Improvement:
        made_by: dict[str, Any] = {"rubric": self.ref, "judge": self.judge.name, "writer": self.writer.name}
        if isinstance(example, RowError):
            return Improvement(faulty_row_id(example), None, None, **made_by, unscored=str(example))
        original = current = await self._score(example)
        rounds: list[RevisionRound] = []
        unscored = original.score.unscored
        while current.faults and not (unscored or current.stopped) and len(rounds) < self.settings.rounds:
            finished, current = await self._round(current, rounds)
            rounds.append(finished)
        return Improvement(
            example.id,
            example,
            current.example.output,
            **made_by,
            before=original.score,
            after=current.score,
            faults_before=len(original.faults),
            faults_left=len(current.faults),
            rounds=tuple(rounds),
            stopped=current.stopped,
            unscored=unscored,
        )

    async def _score(self, example: Example) -> _ScoredText:
        score = await score_text(self.rubric, example, self.judge, self.ref)
        faults = rewriting.text_faults(self.rubric, score.criteria, example.output, self.settings.good_from)
        any_sentence, stopped = not any(map(judged_by_sentence, score.criteria)), None
        if faults and not any_sentence and not any(fault.sentences for fault in faults):
            stopped = "the faults are of the whole text, but only sentences at fault may change"
        return _ScoredText(example, score, faults, any_sentence, stopped)

    async def _round(self, current: _ScoredText, earlier: Sequence[RevisionRound]) -> tuple[RevisionRound, _ScoredText]:
        """Return the next round, and the text to continue with: the rewriting if it is accepted, else `current`."""
        number = len(earlier) + 1
        text, score, faults = current.example, current.score, current.faults
        # After a rejected rewriting the prompt is the same, so the writer is asked for another wording.
        repetition = number if earlier and earlier[-1].rejected else 0
        prompt = rewriting.rewrite_prompt(self.rubric, text, faults, repetition, any_sentence=current.any_sentence)
        draft = await rewriting.rewrite(self.writer, prompt, text.output)
        new_round = partial(RevisionRound, number, faults, draft.changes)
        if draft.unusable is not None:
            return new_round(score=None, rejected="no usable rewriting", reason=draft.unusable), current
        new = await self._score(replace(text, output=draft.output))
        before, after = score.score, new.score.score
        # A rewriting without a score is rejected even with `take=every`.
        if before is None or after is None:
            reason = f"the judge gives no score: {new.score.unscored}"
            return new_round(score=None, rejected="rejected by the judge", reason=reason), current
        reason = f"the judge: {format_score(before)} to {format_score(after)}"
        if reason_against := why_incomparable(score, new.score, draft.origins):
            reason += f", but {reason_against}"
        if self.settings.take == "every" or (after > before and not reason_against):
            return new_round(score=after, rejected=None, reason=reason), new
        return new_round(score=after, rejected="rejected by the judge", reason=reason), current


def judged_by_sentence(rating: CriterionRating) -> bool:
    return any(verdict.sentences for verdict in rating.units)


def why_incomparable(before: Score, after: Score, origins: rewriting.Origins) -> str | None:
    """Return why the score of a rewriting cannot be compared with the score of the text before it; `None` if it can.

    A rating is the mean of the verdicts that the judge gave, so it rises if a bad verdict is missing. A mean over
    sentences cannot be compared with a verdict on the whole text, which the method `seal` asks for if a text is short.
    `origins` has, for each new sentence, the indices of the old sentences that it replaces.
    """
    ratings_after = {rating.id: rating for rating in after.criteria}
    for old in before.criteria:
        new = ratings_after.get(old.id)
        if new is None:
            return f"{old.id} was judged before only"
        missing_before, missing_after = _missing_verdicts(old), _missing_verdicts(new)
        if missing_after > missing_before:
            return f"{old.id} has missing verdicts on the whole text: {missing_before} before, {missing_after} after"
        if judged_by_sentence(old) and not judged_by_sentence(new):
            return f"{old.id} judged the text by sentence before and as a whole after"
        if judged_by_sentence(new) and not judged_by_sentence(old):
            return f"{old.id} judged the text as a whole before and by sentence after"
        verdicts_before, verdicts_after = _verdicts_by_sentence(old), _verdicts_by_sentence(new)
        for sentence, old_sentences in enumerate(origins):
            old_verdicts = [verdict for index in old_sentences for verdict in verdicts_before.get(index, ())]
            new_verdicts = verdicts_after.get(sentence, [])
            had_verdict = any(verdict is not None for verdict in old_verdicts)
            has_verdict = any(verdict is not None for verdict in new_verdicts)
            if (had_verdict and not has_verdict) or new_verdicts.count(None) > old_verdicts.count(None):
                return f"{old.id} lacks a verdict on sentence {sentence + 1}, which had one before"
    return None


def _missing_verdicts(rating: CriterionRating) -> int:
    """Return the number of verdicts on the whole text that a rating lacks."""
    if not rating.units:
        return rating.answers_missing
    return sum(verdict.value is None and not verdict.sentences for verdict in rating.units)


def _verdicts_by_sentence(rating: CriterionRating) -> Mapping[int, list[float | None]]:
    values: dict[int, list[float | None]] = {}
    for verdict in rating.units:
        for sentence in verdict.sentences:
            values.setdefault(sentence, []).append(verdict.value)
    return values


@dataclass(frozen=True, repr=False)
class ImproveResult(Displayed):
    texts: tuple[Improvement, ...]
    summary: RevisionSummary
    effort: Effort  # calls, tokens, money and time that the command used

    def to_rows(self) -> list[dict[str, Any]]:
        return [text.to_row() for text in self.texts]


@dataclass(eq=False)
class Improving:
    """A prepared run of `improve`: iterate over `stream()`, then call `summary()`."""

    workspace: Workspace
    data: Data
    version: Version
    rubric: Rubric
    choices: Mapping[Role, JudgeChoice]
    options: ImproveOptions
    metrics_by_row: list[RevisionMetrics] = field(default_factory=list)
    ledgers: Mapping[Role, Ledger] = field(default_factory=lambda: {"judge": Ledger(), "writer": Ledger()})
    failures: dict[Role, str] = field(default_factory=dict)  # the latest reason why a reply of the role was of no use
    judge_name: str = ""  # once `stream` has connected to the judge

    def estimate(self) -> DryRun:
        """Return an estimate of the requests of each role; a text that becomes longer can need more requests."""
        texts = [row for row in rows_of(self.data, self.options, self.workspace.notify) if isinstance(row, Example)]
        rewrites = estimate_prompts(rewriting.typical_rewrite_prompt(self.rubric, text) for text in texts)
        judging = estimate_scoring(self.rubric, texts) * (1 + self.options.rounds)
        calls: dict[Role, CallEstimate] = {"judge": judging, "writer": rewrites * self.options.rounds}
        requests = {str(role): (choice.spec, calls[role]) for role, choice in self.choices.items()}
        return dry_run(requests, self.workspace.options)

    async def stream(self) -> AsyncGenerator[Improvement]:
        workspace, options = self.workspace, self.options
        rows = rows_of(self.data, options, workspace.notify)
        pending = deque[ReadRow]()
        judge = workspace.judge(self.choices["judge"])
        writer = workspace.generator(self.choices["writer"], self.choices["judge"], judge)
        self.judge_name = judge.name
        judge, writer = Metered(judge, self.ledgers["judge"]), Metered(writer, self.ledgers["writer"])
        reviser = Reviser(self.rubric, self.version.ref, judge, writer, options)

        async def revise_group(group: Sequence[Example | RowError]) -> list[Improvement]:
            return [await reviser.revise(row) for row in group]

        texts = process_rows(inputs.yield_and_append(rows, pending), revise_group, workspace.texts_at_once)
        async with aclosing(with_progress(workspace, texts, self.data)) as improvements:
            async for revised in improvements:
                row, _ = pending.popleft()
                improvement = replace(revised, columns=other_columns(row, options.mapping))
                self.metrics_by_row.append(improvement.metrics)
                if improvement.before and improvement.before.unscored:
                    self.failures["judge"] = improvement.before.unscored
                if improvement.rounds and improvement.rounds[-1].rejected == "no usable rewriting":
                    self.failures["writer"] = improvement.rounds[-1].reason
                yield improvement
        inputs.notify_of_left_out_data(rows, workspace.notify)

    def summary(self) -> RevisionSummary:
        return summarize_revisions(self.rubric, self.version.ref, self.metrics_by_row, self.judge_name)

    def raise_if_unanswered(self) -> None:
        for role, ledger in self.ledgers.items():
            if ledger.failed and not (ledger.calls or ledger.cached) and role in self.failures:
                raise JudgeError(f"The {role} gave no reply at all; the latest reason: {self.failures[role]}")


def prepare_improving(workspace: Workspace, data: Data, rubric: str | Version, options: ImproveOptions) -> Improving:
    version = load_version(workspace, rubric)
    options = inputs.accept_level_names(options, version.rubric.score_scale)
    rewriting.require_reasons(version.rubric, version.ref)
    pointwise_rubric = without_rivals(version.rubric)
    if pointwise_rubric is not version.rubric:
        learned_from = f"{version.ref} was learned from scores of texts that were rated together"
        workspace.notify(f"{learned_from}; here each text is rated by itself, as a rewrite has no rivals")
    judge = choose_judge(version, options.judge, workspace.store, workspace.notify)
    writer = judge
    if options.writer and options.writer != judge.spec:
        writer = JudgeChoice(judge_or_offline(options.writer, workspace.notify))
    return Improving(workspace, data, version, pointwise_rubric, {"judge": judge, "writer": writer}, options)


async def improve(workspace: Workspace, data: Data, rubric: str | Version, options: ImproveOptions) -> ImproveResult:
    improving = await workspace.off_event_loop(prepare_improving, workspace, data, rubric, options)
    texts = tuple([text async for text in improving.stream()])
    improving.raise_if_unanswered()
    return ImproveResult(texts, improving.summary(), workspace.effort())
