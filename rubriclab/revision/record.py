"""The record of a text's revision: the final text, its scores, and every round."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from rubriclab.data.example import Example
from rubriclab.revision.faults import TextFault
from rubriclab.revision.rewrite import SentenceEdit
from rubriclab.scoring.score import Score

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
