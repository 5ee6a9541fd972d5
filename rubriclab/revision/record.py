"""The record of a text's revision: the final text, its scores, and every round."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args

import numpy as np

from rubriclab.data.example import Example
from rubriclab.revision.faults import TextFault
from rubriclab.revision.rewrite import SentenceEdit, sentences_changed
from rubriclab.rubric import Rubric
from rubriclab.scoring.score import Score
from rubriclab.sentences import split_sentences
from rubriclab.stats.correlation import BoolArray, float_table
from rubriclab.stats.folds import units
from rubriclab.stats.interval import Interval
from rubriclab.stats.paired import paired_mean

RejectionReason = Literal["rejected by the judge", "no usable rewriting"]
RevisionOutcome = Literal["improved", "without fault", "no sentence at fault", RejectionReason, "unscored"]


@dataclass(frozen=True, slots=True)
class RevisionRound:
    """One rewriting.

    Attributes:
        round: its number, from 1.
        faults: the faults that the text was rewritten for.
        changes: the sentences that were rewritten.
        score: of the rewritten text; `None` if unscored.
        rejected: by whom, or why; `None` if accepted.
        reason: the scores that decided, or what was wrong.
    """

    round: int
    faults: tuple[TextFault, ...]
    changes: tuple[SentenceEdit, ...]
    score: float | None
    rejected: RejectionReason | None
    reason: str

    @property
    def accepted(self) -> bool:
        """Whether the text keeps these changes."""
        return self.rejected is None

    def to_row(self) -> dict[str, Any]:
        """Return the round as one JSON object."""
        return {
            "round": self.round,
            "score": self.score,
            "accepted": self.accepted,
            "reason": self.reason,
            "faults": [fault.to_row() for fault in self.faults],
            "changes": [change.to_row() for change in self.changes],
        }


@dataclass(frozen=True, slots=True)
class Improvement:
    """A text, its final version, and every round between.

    Attributes:
        id: the text's.
        example: the original; `None` for a row without a text.
        output: the final text, equal to the original if no rewriting was accepted.
        rubric, judge, writer: their names.
        before, after: the judge's scores of the original and of the final text.
        faults_before, faults_left: number of faults that the judge found in both.
        rounds: every rewriting, accepted or not.
        stopped: why faults are left for which no sentence may be rewritten; `None` otherwise.
        unscored: why rewritings could not be compared with the original; `None` otherwise.
        columns: the columns of the user's row that are no fields.
    """

    id: str
    example: Example | None
    output: str | None
    rubric: str
    judge: str
    writer: str
    before: Score | None = None
    after: Score | None = None
    faults_before: int = 0
    faults_left: int = 0
    rounds: tuple[RevisionRound, ...] = ()
    stopped: str | None = None
    unscored: str | None = None
    columns: Mapping[str, Any] = field(default_factory=dict)

    @property
    def outcome(self) -> RevisionOutcome:
        """The outcome; of several rejections the last one counts."""
        if self.unscored:
            return "unscored"
        if any(each.accepted for each in self.rounds):
            return "improved"
        if self.rounds and (rejected := self.rounds[-1].rejected):
            return rejected
        return "no sentence at fault" if self.stopped else "without fault"

    def to_row(self) -> dict[str, Any]:
        """Return one JSON object: the user's columns, the text's fields with the new `output`, and the `improvement`.

        Human scores are left out if the text has changed: they are of another text.
        """
        return {**self.columns, **self._fields(), "improvement": self._record()}

    def _fields(self) -> dict[str, Any]:
        if self.example is None:
            return {"id": self.id}
        fields = asdict(self.example) | {"output": self.output}
        raters = fields.pop("raters")
        fields["annotations"] = {
            aspect: dict(zip(raters[aspect], scores, strict=True)) if aspect in raters else scores
            for aspect, scores in fields["annotations"].items()
        }
        changed = self.outcome == "improved"
        return {
            name: content
            for name, content in fields.items()
            if content not in (None, {}) and not (changed and name in ("scores", "annotations", "reasons"))
        }

    def _record(self) -> dict[str, Any]:
        return {
            "rubric": self.rubric,
            "judge": self.judge,
            "writer": self.writer,
            "outcome": self.outcome,
            "before": value(self.before),
            "after": value(self.after),
            "criteria_before": _criteria(self.before),
            "criteria_after": _criteria(self.after),
            "faults_before": self.faults_before,
            "faults_left": self.faults_left,
            "rounds": [each.to_row() for each in self.rounds],
            "stopped": self.stopped,
            "unscored": self.unscored,
        }


def value(score: Score | None) -> float | None:
    """Return the score's number, if any."""
    return score.score if score else None


def _criteria(score: Score | None) -> list[dict[str, Any]]:
    return [criterion.to_row() for criterion in score.criteria] if score else []


OUTCOMES: tuple[RevisionOutcome, ...] = get_args(RevisionOutcome)

Pair = tuple[float | None, float | None]


@dataclass(frozen=True, slots=True)
class RevisionMetrics:
    """What a summary needs of one text, without its words.

    Attributes:
        group: the input that it shares with other texts.
        scores: before and after.
        criteria: scores before and after by each criterion.
        sentences, changed: of the original text, and how many of them were changed.
    """

    group: str
    outcome: RevisionOutcome
    scores: Pair
    criteria: Mapping[str, Pair]
    sentences: int
    changed: int


@dataclass(frozen=True, slots=True)
class ScoreGain:
    """Mean scores before and after, and the mean paired gain with its interval, over the texts with both."""

    name: str
    texts: int
    before: float | None
    after: float | None
    gain: Interval


@dataclass(frozen=True, slots=True)
class RevisionSummary:
    """The revision of many texts.

    Attributes:
        texts: rows, including those without a text.
        outcomes: number of texts by outcome.
        sentences, changed: of all texts that could be compared.
        judge: the gain.
        criteria: the gain by each criterion.
    """

    rubric: str
    texts: int
    outcomes: Mapping[RevisionOutcome, int]
    sentences: int
    changed: int
    judge: ScoreGain
    criteria: tuple[ScoreGain, ...]

    def to_row(self) -> dict[str, Any]:
        """Return all of it as one JSON object."""
        return asdict(self)


def revision_metrics(text: Improvement) -> RevisionMetrics:
    """Return what a summary needs of one text."""
    original, final = (text.example.output if text.example else ""), text.output or ""
    compared = text.unscored is None
    return RevisionMetrics(
        group=text.example.group if text.example else text.id,
        outcome=text.outcome,
        scores=(value(text.before), value(text.after)),
        criteria=_paired(text.before, text.after),
        sentences=len(split_sentences(original)) if compared else 0,
        changed=sentences_changed(original, final) if compared else 0,
    )


def summarize_revisions(rubric: Rubric, ref: str, texts: Sequence[RevisionMetrics], judge: str) -> RevisionSummary:
    """Return the summary of texts revised by `rubric`, whose version is `ref`, and this judge.

    The gain is optimistic: a rewriting is accepted if its score rises, so part of it is selected noise.
    """
    outcomes = Counter(text.outcome for text in texts)
    traits = {criterion.id: criterion.trait for criterion in rubric.criteria}
    ids = dict.fromkeys(name for text in texts for name in text.criteria)
    return RevisionSummary(
        rubric=ref,
        texts=len(texts),
        outcomes={outcome: outcomes[outcome] for outcome in OUTCOMES},
        sentences=sum(text.sentences for text in texts),
        changed=sum(text.changed for text in texts),
        judge=_gain(judge, [text.scores for text in texts], texts),
        criteria=tuple(
            _gain(
                f"{name} {traits.get(name, 'all criteria together')}",
                [text.criteria.get(name, (None, None)) for text in texts],
                texts,
            )
            for name in ids
        ),
    )


def _paired(before: Score | None, after: Score | None) -> dict[str, Pair]:
    if before is None or after is None:
        return {}
    scores_after = {criterion.id: criterion.score for criterion in after.criteria}
    return {criterion.id: (criterion.score, scores_after.get(criterion.id)) for criterion in before.criteria}


def _gain(name: str, pairs: Sequence[Pair], texts: Sequence[RevisionMetrics]) -> ScoreGain:
    first, second = float_table(pairs, 2).T
    both: BoolArray = ~np.isnan(first) & ~np.isnan(second)
    before, after = first[both], second[both]
    groups = [text.group for text, used in zip(texts, both, strict=True) if used]
    if not groups:
        return ScoreGain(name, 0, None, None, Interval(None))
    gain = paired_mean(after - before, units(groups)).interval
    return ScoreGain(name, len(groups), float(before.mean()), float(after.mean()), gain)
