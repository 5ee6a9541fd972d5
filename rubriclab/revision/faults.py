"""The faults that a judge finds in a text, for which it is rewritten.

DCR's improver (section 3) uses the reasons why single sentences are inconsistent. Any criterion with a reason can be
used: a failing unit names its sentences, and a verdict on the whole text names none.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

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
    known = {criterion.id: (criterion, part) for part in rubric.parts for criterion in part.criteria}
    faults: list[TextFault] = []
    for rating in score.criteria:
        if rating.id in known:
            criterion, part = known[rating.id]
            if not gives_reasons(part):
                continue
            about = criterion.trait, criterion.statement, _aim(criterion, rubric)
            # A question's rating is a share of good answers, whatever the rubric's scale.
            low, width = (0.0, 1.0) if criterion.question else (rubric.scale.low, rubric.scale.width)
            facts = part.units is not None and part.units.kind == "fact"
        else:  # Criteria that were rated together.
            aims = " ".join(_aim(criterion, rubric) for criterion in rubric.criteria)
            about = rubric.aspect.name, rubric.aspect.definition, aims
            low, width, facts = rubric.scale.low, rubric.scale.width, False
        if rating.units:
            faults += (TextFault(*about, *fault) for fault in _unit_faults(rating, output, good_from, facts=facts))
        elif rating.score is not None and (rating.score - low) / width < good_from:
            faults.append(TextFault(*about, (), rating.reason))
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


def _aim(criterion: Criterion, rubric: Rubric) -> str:
    if criterion.levels:
        return max(criterion.levels, key=lambda level: level.score).description
    return criterion.question.better if criterion.question else rubric.aspect.definition


def _unit_faults(
    rating: CriterionScore, output: str, good_from: float, *, facts: bool
) -> Iterator[tuple[tuple[int, ...], str]]:
    for unit in rating.units:
        if unit.value is not None and unit.value < good_from:
            # A fact is one of several in its sentence, and a sentence of the reference is not in the text.
            elsewhere = not unit.sentences and unit.unit.strip() != output.strip()
            reason = f"“{unit.unit}”: {unit.reason}" if facts or elsewhere else unit.reason
            yield tuple(sentence + 1 for sentence in unit.sentences), reason
