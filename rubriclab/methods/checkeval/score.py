"""A text's score by its answers: the share that speaks for it (CheckEval, 3.3), where a question can be asked of it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from rubriclab.data.assignment import Assignment
from rubriclab.data.example import Example
from rubriclab.data.scale import Scale
from rubriclab.judges.judge import Judge
from rubriclab.methods.checkeval.answer import Answered, answers
from rubriclab.methods.checkeval.settings import CheckEvalScoringSettings, Combine
from rubriclab.methods.item_selection import Weighing
from rubriclab.methods.method import MISSING, CriterionRating
from rubriclab.methods.questions import about, by_trait
from rubriclab.rubric import Criterion, Part
from rubriclab.stats.interval import DIGITS


async def score(
    example: Example, part: Part, assignment: Assignment, judge: Judge
) -> tuple[float | None, tuple[CriterionRating, ...]]:
    """Return the text's score on the assignment's scale, and each question's rating with its reason.

    It is `None` where questions with half of the weight or more have no answer, of those that can be asked of this
    text, or where none can.
    """
    settings = CheckEvalScoringSettings.model_validate(part.settings)
    found = await answers(example, part.criteria, part.dimensions or {}, assignment, judge, settings=settings)
    ratings = {each.id: rated(each, found[each.id], settings.combine) for each in part.criteria}
    return text_score(part.criteria, ratings, settings.weights, assignment.scale), tuple(ratings.values())


def text_score(
    questions: Sequence[Criterion], ratings: Mapping[str, CriterionRating], weights: Weighing, scale: Scale
) -> float | None:
    """Return the share of good answers, from [0, 1] to `scale`; rounded, so that equal shares stay equal."""
    found = share(questions, ratings, weights)
    return None if found is None else round(scale.low + found * scale.width, DIGITS)


def share(questions: Sequence[Criterion], ratings: Mapping[str, CriterionRating], weights: Weighing) -> float | None:
    """Return the weighted share of good answers among those given, in [0, 1]; `None` where too few are.

    With `weights` by sub-dimension it is the mean of the shares of those sub-dimensions that have an answer.
    """
    applicable = [question for question in questions if ratings[question.id].applies]
    answered = [question for question in applicable if ratings[question.id].score is not None]
    whole, given = (math.fsum(question.weight for question in some) for some in (applicable, answered))
    if not answered or whole - given >= MISSING * whole:
        return None
    groups = list(by_trait(answered).values()) if weights == "sub-dimensions" else [answered]
    return math.fsum(_mean(group, ratings) for group in groups) / len(groups)


def rated(question: Criterion, answered: Sequence[Answered], combine: Combine) -> CriterionRating:
    """Return the rating that the answers about a text's parts come to: 1 for the better answer, 0 for the other."""
    reason = answered[0].reason if len(answered) == 1 else _reasons(answered)
    applicable = [each.answer for each in answered if each.answer != "n/a"]
    if not applicable:
        return CriterionRating(question.id, None, reason, applies=False)
    good = [float(answer == about(question).better) for answer in applicable if answer is not None]
    return CriterionRating(question.id, _combined(good, len(applicable), combine), reason)


def _combined(good: Sequence[float], asked: int, combine: Combine) -> float | None:
    """Return what the answers come to, `None` where those that are missing could turn it."""
    if combine == "share":
        return round(math.fsum(good) / len(good), DIGITS) if asked - len(good) < MISSING * asked else None
    decisive = float(combine == "any")
    if decisive in good:
        return decisive
    return 1.0 - decisive if len(good) == asked else None


def _mean(questions: Sequence[Criterion], ratings: Mapping[str, CriterionRating]) -> float:
    good = math.fsum(question.weight * (ratings[question.id].score or 0.0) for question in questions)
    return good / math.fsum(question.weight for question in questions)


def _reasons(answered: Sequence[Answered]) -> str:
    told = (
        f"part {number} of {len(answered)}, {each.answer or 'no answer'}: {each.reason}"
        for number, each in enumerate(answered, 1)
    )
    return "; ".join(told)
