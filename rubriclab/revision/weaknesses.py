"""What a judge found wrong with a text: the grounds on which it is rewritten.

DCR's improver (section 3) goes by the reasons why single sentences are inconsistent. Any criterion with a reason will
do: a unit that fails names its sentences, and one about the whole text leaves open where it is to be mended.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rubriclab.data.scale import Scale
from rubriclab.errors import SettingsError
from rubriclab.rubric import Criterion, Part, Rubric
from rubriclab.scoring.score import CriterionScore, Score


@dataclass(frozen=True, slots=True)
class TextFault:
    """One thing that a judge found wrong.

    Attributes:
        criterion: the trait of the criterion that finds it.
        asks: what the criterion looks at.
        aim: what a text without the fault is like: the highest level of a hypothesis, the better answer to a question.
        sentences: the sentences that have it, counted from 1; none where the whole text has.
        reason: the judge's.
    """

    criterion: str
    asks: str
    aim: str
    sentences: tuple[int, ...]
    reason: str

    def to_row(self) -> dict[str, Any]:
        """Return the fault as one JSON object; what its criterion asks stands in the rubric."""
        return {"criterion": self.criterion, "sentences": list(self.sentences), "reason": self.reason}


def text_faults(rubric: Rubric, score: Score, output: str, good_from: float) -> tuple[TextFault, ...]:
    """Return what the judge found wrong with `output`, whose score by `rubric` is `score`, criterion by criterion.

    What lies below the share `good_from` of the scale is a fault: the bad answer to a yes/no question, a score, a
    unit's verdict. What is said of the whole text names no sentence. What the judge failed to say is no fault.
    """
    known = {criterion.id: _Wanted.of(criterion, part, rubric) for part in rubric.parts for criterion in part.criteria}
    found: list[TextFault] = []
    for rated in score.criteria:
        wanted = known.get(rated.id) or _Wanted.of_all(rubric)
        if wanted.reasons:
            found += _units(wanted, rated, output, good_from) if rated.units else _whole(wanted, rated, good_from)
    return tuple(found)


def gives_reasons(part: Part) -> bool:
    """Return whether scores by this part come with reasons; weighted by probability they are numbers and no more."""
    return part.settings.get("scoring") != "weighted"


def require_reasons(rubric: Rubric, name: str) -> None:
    """Return if the rubric, which is known as `name`, says of any text why it scores what it does.

    Raises:
        SettingsError: if it never does.
    """
    if not any(gives_reasons(part) for part in rubric.parts):
        raise SettingsError(
            f"{name} scores by probabilities, without a reason, so there is nothing to rewrite a text by;",
            f"learn a version whose scores have reasons, as with --set {rubric.parts[0].method}.scoring=once.",
        )


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What a criterion wants of a text, and how its scores are read."""

    trait: str
    asks: str
    aim: str
    scale: Scale
    facts: bool
    reasons: bool

    @classmethod
    def of(cls, criterion: Criterion, part: Part, rubric: Rubric) -> _Wanted:
        # A question's score is a share of good answers, whatever the rubric's scale.
        scale = Scale(low=0, high=1, whole=False) if criterion.question else rubric.scale
        facts = part.units is not None and part.units.kind == "fact"
        return cls(criterion.trait, criterion.statement, _aim(criterion, rubric), scale, facts, gives_reasons(part))

    @classmethod
    def of_all(cls, rubric: Rubric) -> _Wanted:
        """Return what a rubric wants whose criteria were rated as one."""
        aims = " ".join(_aim(criterion, rubric) for criterion in rubric.criteria)
        return cls(rubric.aspect.name, rubric.aspect.definition, aims, rubric.scale, facts=False, reasons=True)

    def fault(self, sentences: tuple[int, ...], reason: str) -> TextFault:
        return TextFault(self.trait, self.asks, self.aim, sentences, reason)


def _aim(criterion: Criterion, rubric: Rubric) -> str:
    if criterion.levels:
        return max(criterion.levels, key=lambda level: level.score).description
    return criterion.question.better if criterion.question else rubric.aspect.definition


def _whole(wanted: _Wanted, rated: CriterionScore, good_from: float) -> Iterator[TextFault]:
    if rated.score is not None and (rated.score - wanted.scale.low) / wanted.scale.width < good_from:
        yield wanted.fault((), rated.reason)


def _units(wanted: _Wanted, rated: CriterionScore, output: str, good_from: float) -> Iterator[TextFault]:
    for unit in rated.units:
        if unit.value is not None and unit.value < good_from:
            # A fact is one of several in its sentence, and a sentence of the reference stands nowhere in the text.
            elsewhere = not unit.sentences and unit.unit.strip() != output.strip()
            reason = f"“{unit.unit}”: {unit.reason}" if wanted.facts or elsewhere else unit.reason
            yield wanted.fault(tuple(place + 1 for place in unit.sentences), reason)
