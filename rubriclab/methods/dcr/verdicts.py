"""What was found of a text's sentences, as people and the improver read it."""

from __future__ import annotations

from dataclasses import dataclass

from rubriclab.methods.dcr.aggregate import known
from rubriclab.methods.dcr.evaluate import ReferenceComparison
from rubriclab.methods.dcr.replies import Sign
from rubriclab.methods.method import UnitVerdict

# A score's own reason repeats those of so many sentences; the verdicts have them all.
REPEATED = 3


@dataclass(frozen=True, slots=True)
class JudgedSentence:
    """The mark of one sentence, or of a whole text, with its reason; without a mark the reason says what went wrong."""

    mark: Sign | None
    reason: str


@dataclass(frozen=True, slots=True)
class ComparedText:
    """A comparison, and what came of each of its pieces, in their order."""

    comparison: ReferenceComparison
    judged: tuple[JudgedSentence, ...]

    @property
    def marks(self) -> tuple[Sign, ...]:
        """The marks that count; none where too many are missing."""
        return known([each.mark for each in self.judged])

    @property
    def verdicts(self) -> tuple[UnitVerdict, ...]:
        """The verdicts; only those on single sentences of the text that is scored say where these stand."""
        shown = self.comparison
        placed = not (shown.turned or shown.whole)
        side = f"(from the {shown.called}, held against the {shown.label}) " if shown.turned else ""
        return tuple(
            UnitVerdict(piece, (place,) if placed else (), _value(each.mark), f"{side}{each.reason}")
            for place, (piece, each) in enumerate(zip(shown.pieces, self.judged, strict=True))
        )

    @property
    def summary(self) -> str:
        """How many sentences are consistent, and what is wrong with the first that are not."""
        shown, marks = self.comparison, [each.mark for each in self.judged]
        if shown.whole:
            found = "is consistent" if marks == [1] else "is not consistent"
            return f"The {shown.called} {found} with the {shown.label}. {self.judged[0].reason}"
        good, bad = marks.count(1), [at for at, mark in enumerate(marks) if mark == -1]
        told = [f"{good} of {len(marks)} sentences of the {shown.called} are consistent with the {shown.label}."]
        told += [f"Sentence {at + 1}: {self.judged[at].reason}" for at in bad[:REPEATED]]
        told += [f"{len(bad) - REPEATED} more are not."] if len(bad) > REPEATED else []
        told += [f"{marks.count(None)} without a usable mark."] if None in marks else []
        return " ".join(told)

    @property
    def incomplete(self) -> str | None:
        """Why the marks are too few for a score; `None` if they are enough."""
        if self.marks:
            return None
        lacking = [each.reason for each in self.judged if each.mark is None]
        of = f"{len(self.judged)} sentences of the {self.comparison.called}"
        return f"{len(lacking)} of {of} without a usable mark; the first: {lacking[0]}"


def _value(mark: Sign | None) -> float | None:
    return None if mark is None else float(mark == 1)
