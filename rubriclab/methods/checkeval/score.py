"""A text's score: the share of good answers among the applicable questions (CheckEval, section 3.3)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from rubriclab.data.aspect import Assignment
from rubriclab.data.example import Example
from rubriclab.data.scale import Scale
from rubriclab.judges.judge import Judge
from rubriclab.methods.checkeval.answer import QuestionAnswer, ask_questions
from rubriclab.methods.checkeval.settings import CheckEvalScoringSettings, Combine
from rubriclab.methods.item_selection import Weighing
from rubriclab.methods.method import MISSING_SHARE, CriterionRating
from rubriclab.methods.questions import by_trait, question_of
from rubriclab.rubric import Criterion, Part
from rubriclab.stats.interval import DIGITS


async def score(
    example: Example, part: Part, assignment: Assignment, judge: Judge
) -> tuple[float | None, tuple[CriterionRating, ...]]:
    """Return the text's score on the assignment's scale, and each question's rating with its reason.

    It is `None` if applicable questions with half of their weight or more have no answer, or if none is applicable.
    """
    settings = CheckEvalScoringSettings.model_validate(part.settings)
    answers = await ask_questions(example, part.criteria, part.dimensions or {}, assignment, judge, settings=settings)
    ratings = {each.id: rate_question(each, answers[each.id], settings.combine) for each in part.criteria}
    return text_score(part.criteria, ratings, settings.weights, assignment.scale), tuple(ratings.values())


def text_score(
    questions: Sequence[Criterion], ratings: Mapping[str, CriterionRating], weights: Weighing, scale: Scale
) -> float | None:
    """Return the share of good answers mapped from [0, 1] to `scale`; rounded, so that equal shares stay equal."""
    share = good_share(questions, ratings, weights)
    return None if share is None else round(scale.low + share * scale.width, DIGITS)


def good_share(
    questions: Sequence[Criterion], ratings: Mapping[str, CriterionRating], weights: Weighing
) -> float | None:
    """Return the weighted share of good answers in [0, 1]; `None` if too many are missing.

    With `weights` by sub-dimension it is the mean of the shares of the sub-dimensions that have an answer.
    """
    applicable = [question for question in questions if ratings[question.id].applies]
    answered = [question for question in applicable if ratings[question.id].score is not None]
    total_weight, answered_weight = (math.fsum(question.weight for question in some) for some in (applicable, answered))
    if not answered or total_weight - answered_weight >= MISSING_SHARE * total_weight:
        return None
    groups = list(by_trait(answered).values()) if weights == "sub-dimensions" else [answered]
    return math.fsum(_mean(group, ratings) for group in groups) / len(groups)


def rate_question(question: Criterion, answered: Sequence[QuestionAnswer], combine: Combine) -> CriterionRating:
    """Return the rating from the answers about a text's parts: 1 for the good answer, 0 for the other."""
    reason = answered[0].reason if len(answered) == 1 else _reasons(answered)
    applicable = [each.answer for each in answered if each.answer != "n/a"]
    if not applicable:
        return CriterionRating(question.id, None, reason, applies=False)
    good = [float(answer == question_of(question).better) for answer in applicable if answer is not None]
    return CriterionRating(question.id, _combined(good, len(applicable), combine), reason)


def _combined(good: Sequence[float], applicable: int, combine: Combine) -> float | None:
    """Return the combined answer; `None` if missing answers could change it."""
    if combine == "share":
        return (
            round(math.fsum(good) / len(good), DIGITS) if applicable - len(good) < MISSING_SHARE * applicable else None
        )
    decisive = float(combine == "any")
    if decisive in good:
        return decisive
    return 1.0 - decisive if len(good) == applicable else None


def _mean(questions: Sequence[Criterion], ratings: Mapping[str, CriterionRating]) -> float:
    good = math.fsum(question.weight * (ratings[question.id].score or 0.0) for question in questions)
    return good / math.fsum(question.weight for question in questions)


def _reasons(answered: Sequence[QuestionAnswer]) -> str:
    reasons = (
        f"part {number} of {len(answered)}, {each.answer or 'no answer'}: {each.reason}"
        for number, each in enumerate(answered, 1)
    )
    return "; ".join(reasons)
