"""What became of a text: the text in the end, its scores, and every round on the way."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from rubriclab.data.example import Example
from rubriclab.revision.rewrite import SentenceEdit
from rubriclab.revision.weaknesses import TextFault
from rubriclab.scoring.score import Score

RejectionReason = Literal["refused by the judge", "refused by the second judge", "no usable rewriting"]
RevisionOutcome = Literal[
    "improved", "without fault", "no sentence at fault", RejectionReason, "unscored", "unscored by the second judge"
]


@dataclass(frozen=True, slots=True)
class RevisionRound:
    """One rewriting and what became of it.

    Attributes:
        round: its number, from 1.
        faults: on what grounds the text was rewritten.
        changes: the sentences that were rewritten.
        score, second_score: of the text with these changes, by both judges; `None` where there is none, or where the
            judge had refused it already.
        second_change: by how much the second judge's score rose; `None` where that cannot be told.
        refused: by whom it was not taken; `None` where it was.
        why: it was taken or not.
    """

    round: int
    faults: tuple[TextFault, ...]
    changes: tuple[SentenceEdit, ...]
    score: float | None
    second_score: float | None
    second_change: float | None
    refused: RejectionReason | None
    why: str

    @property
    def taken(self) -> bool:
        """Whether the text goes on with these changes."""
        return self.refused is None

    @property
    def taken_by_judge(self) -> bool:
        """Whether the judge would have taken it, whatever the second judge said."""
        return self.refused in (None, "refused by the second judge")

    def to_row(self) -> dict[str, Any]:
        """Return the round as one JSON object."""
        return {
            "round": self.round,
            "score": self.score,
            "second_score": self.second_score,
            "second_change": self.second_change,
            "taken": self.taken,
            "why": self.why,
            "faults": [fault.to_row() for fault in self.faults],
            "changes": [change.to_row() for change in self.changes],
        }


@dataclass(frozen=True, slots=True)
class Improvement:
    """A text, what it was rewritten to, and every round on the way.

    Attributes:
        id: the text's.
        example: as it came; `None` for a row that holds none.
        output: the text in the end; as it came, where no rewriting was taken.
        rubric, judge, writer, second_judge: by whose names all this went.
        before, after: the judge's scores of the text as it came and in the end.
        second_before, second_after: the second judge's, where there is one.
        faults_before, faults_left: how many faults the judge found in both.
        rounds: every rewriting, taken or not.
        stopped: why faults are left that are no ground to rewrite any sentence; `None` where none are.
        unscored: why there is nothing to compare a rewriting with; `None` where there is.
    """

    id: str
    example: Example | None
    output: str | None
    rubric: str
    judge: str
    writer: str
    second_judge: str | None
    before: Score | None = None
    after: Score | None = None
    second_before: Score | None = None
    second_after: Score | None = None
    faults_before: int = 0
    faults_left: int = 0
    rounds: tuple[RevisionRound, ...] = ()
    stopped: str | None = None
    unscored: str | None = None

    @property
    def outcome(self) -> RevisionOutcome:
        """What became of the text; of several refusals the last one counts."""
        if self.unscored:
            return "unscored" if value(self.before) is None else "unscored by the second judge"
        if any(each.taken for each in self.rounds):
            return "improved"
        if self.rounds and (refused := self.rounds[-1].refused):
            return refused
        return "no sentence at fault" if self.stopped else "without fault"

    def to_row(self) -> dict[str, Any]:
        """Return one JSON object: the text's own fields with the new `output`, and the record in `improvement`.

        Scores by people are left out where the text has changed: they are of another text.
        """
        return {**self._fields(), "improvement": self._record()}

    def _fields(self) -> dict[str, Any]:
        if self.example is None:
            return {"id": self.id}
        fields = asdict(self.example) | {"output": self.output}
        names = fields.pop("raters")
        fields["annotations"] = {
            aspect: dict(zip(names[aspect], scores, strict=True)) if aspect in names else scores
            for aspect, scores in fields["annotations"].items()
        }
        changed = self.outcome == "improved"
        return {
            name: content
            for name, content in fields.items()
            if content not in (None, {}) and not (changed and name in ("scores", "annotations"))
        }

    def _record(self) -> dict[str, Any]:
        return {
            "rubric": self.rubric,
            "judge": self.judge,
            "writer": self.writer,
            "second_judge": self.second_judge,
            "outcome": self.outcome,
            "before": value(self.before),
            "after": value(self.after),
            "second_before": value(self.second_before),
            "second_after": value(self.second_after),
            "criteria_before": _criteria(self.before),
            "criteria_after": _criteria(self.after),
            "faults_before": self.faults_before,
            "faults_left": self.faults_left,
            "rounds": [each.to_row() for each in self.rounds],
            "stopped": self.stopped,
            "unscored": self.unscored,
        }


def value(score: Score | None) -> float | None:
    """Return the number, where there is a score and it has one."""
    return score.score if score else None


def _criteria(score: Score | None) -> list[dict[str, Any]]:
    return [criterion.to_row() for criterion in score.criteria] if score else []
