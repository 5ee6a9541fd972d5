"""The faults that a judge finds in a text, for which it is rewritten.

DCR's improver (section 3) uses the reasons why single sentences are inconsistent. Any criterion with a reason can be
used: a failing unit names its sentences, and a verdict on the whole text names none.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rubriclab.data.scale import Scale
from rubriclab.errors import SettingsError
from rubriclab.option_names import option
from rubriclab.rubric import Criterion, Part, Rubric
from rubriclab.scoring.score import CriterionScore, Score


@dataclass(frozen=True, slots=True)
class TextFault:
    """A fault of a text.

    Attributes:
        criterion: the trait of the criterion that finds it.
        asks: the criterion's statement.
        aim: what a text without the fault is like: the highest level of a hypothesis, the better answer to a question.
        sentences: the sentences at fault, from 1; none if the whole text is.
        reason: the judge's.
    """

    criterion: str
    asks: str
    aim: str
    sentences: tuple[int, ...]
    reason: str

    def to_row(self) -> dict[str, Any]:
        """Return the fault as one JSON object, without what the rubric contains."""
        return {"criterion": self.criterion, "sentences": list(self.sentences), "reason": self.reason}


def text_faults(rubric: Rubric, score: Score, output: str, good_from: float) -> tuple[TextFault, ...]:
    """Return the faults in `output`, whose score by `rubric` is `score`, criterion by criterion.

    A fault is a verdict below the share `good_from` of the scale: the bad answer to a yes/no question, a score, a
    unit's verdict. A missing verdict is no fault.
    """
    standards = {
        criterion.id: _Standard.of(criterion, part, rubric) for part in rubric.parts for criterion in part.criteria
    }
    faults: list[TextFault] = []
    for rating in score.criteria:
        standard = standards.get(rating.id) or _Standard.of_aspect(rubric)
        if standard.reasons and rating.units:
            faults += _unit_faults(standard, rating, output, good_from)
        elif standard.reasons:
            faults += _text_fault(standard, rating, good_from)
    return tuple(faults)


def gives_reasons(part: Part) -> bool:
    """Return whether this part's ratings have reasons; ratings weighted by probability are numbers only."""
    return part.settings.get("scoring", "once") == "once"


def require_reasons(rubric: Rubric, ref: str) -> None:
    """Return if some ratings by the rubric, whose version is `ref`, have reasons.

    Raises:
        SettingsError: if none have.
    """
    if not any(gives_reasons(part) for part in rubric.parts):
        setting = f"{rubric.parts[0].method}.scoring=once"
        raise SettingsError(
            f"{ref} scores by probabilities, without reasons to rewrite a text by;",
            f"learn a version whose scores have reasons, as with {option('settings', setting)}.",
        )


@dataclass(frozen=True, slots=True)
class _Standard:
    """The standard that a criterion sets, and how its ratings are read."""

    trait: str
    asks: str
    aim: str
    scale: Scale
    facts: bool
    reasons: bool

    @classmethod
    def of(cls, criterion: Criterion, part: Part, rubric: Rubric) -> _Standard:
        # A question's rating is a share of good answers, whatever the rubric's scale.
        scale = Scale(low=0, high=1, whole=False) if criterion.question else rubric.scale
        facts = part.units is not None and part.units.kind == "fact"
        return cls(criterion.trait, criterion.statement, _aim(criterion, rubric), scale, facts, gives_reasons(part))

    @classmethod
    def of_aspect(cls, rubric: Rubric) -> _Standard:
        """Return the standard of a rubric whose criteria were rated together."""
        aims = " ".join(_aim(criterion, rubric) for criterion in rubric.criteria)
        return cls(rubric.aspect.name, rubric.aspect.definition, aims, rubric.scale, facts=False, reasons=True)

    def fault(self, sentences: tuple[int, ...], reason: str) -> TextFault:
        return TextFault(self.trait, self.asks, self.aim, sentences, reason)


def _aim(criterion: Criterion, rubric: Rubric) -> str:
    if criterion.levels:
        return max(criterion.levels, key=lambda level: level.score).description
    return criterion.question.better if criterion.question else rubric.aspect.definition


def _text_fault(standard: _Standard, rating: CriterionScore, good_from: float) -> Iterator[TextFault]:
    scale = standard.scale
    if rating.score is not None and (rating.score - scale.low) / scale.width < good_from:
        yield standard.fault((), rating.reason)


def _unit_faults(standard: _Standard, rating: CriterionScore, output: str, good_from: float) -> Iterator[TextFault]:
    for unit in rating.units:
        if unit.value is not None and unit.value < good_from:
            # A fact is one of several in its sentence, and a sentence of the reference is not in the text.
            elsewhere = not unit.sentences and unit.unit.strip() != output.strip()
            reason = f"“{unit.unit}”: {unit.reason}" if standard.facts or elsewhere else unit.reason
            yield standard.fault(tuple(sentence + 1 for sentence in unit.sentences), reason)
