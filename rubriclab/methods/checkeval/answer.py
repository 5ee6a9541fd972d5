"""A judge's answers to a rubric's questions about one text, and the text's score from them (CheckEval, section 3.3)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rubriclab.judges.ask import ask
from rubriclab.judges.judge import Judge
from rubriclab.methods.checkeval.replies import AnswerEntry, asked_ids, of_questions
from rubriclab.methods.checkeval.settings import Ask, CheckEvalScoringSettings
from rubriclab.methods.method import MISSING_SHARE, CriterionRating
from rubriclab.methods.prompting import gathered
from rubriclab.methods.questions import YesNo, YesOrNo, by_trait, payload, question_of
from rubriclab.methods.replies import why_missing
from rubriclab.models.rubric import Criterion, Part
from rubriclab.models.text import Assignment, Example, Scale
from rubriclab.prompts import Prompt
from rubriclab.prompts.keyed import KeyedReply
from rubriclab.stats.intervals import DIGITS

TOKENS_PER_ANSWER = 96


@dataclass(frozen=True, slots=True)
class QuestionAnswer:
    """A judge's answer to one question about one text with its reason, or no answer and what went wrong."""

    answer: YesNo | None
    reason: str


async def score(
    example: Example, part: Part, assignment: Assignment, judge: Judge
) -> tuple[float | None, tuple[CriterionRating, ...]]:
    """Return the text's score on the assignment's scale, and each question's rating with its reason.

    It is `None` if half of the applicable questions or more have no answer, or if none is applicable.
    """
    settings = CheckEvalScoringSettings.model_validate(part.settings)
    answers = await ask_questions(example, part.criteria, part.dimensions or {}, assignment, judge, settings=settings)
    ratings = {each.id: rate_question(each, answers[each.id]) for each in part.criteria}
    return text_score(part.criteria, ratings, assignment.scale), tuple(ratings.values())


def text_score(questions: Sequence[Criterion], ratings: Mapping[str, CriterionRating], scale: Scale) -> float | None:
    """Return the share of good answers mapped from [0, 1] to `scale`; rounded, so that equal shares stay equal."""
    share = good_share(questions, ratings)
    return None if share is None else round(scale.low + share * scale.width, DIGITS)


def good_share(questions: Sequence[Criterion], ratings: Mapping[str, CriterionRating]) -> float | None:
    """Return the share of good answers, by the questions' weights, in [0, 1]; `None` if too many are missing."""
    applicable = [question for question in questions if ratings[question.id].applies]
    answered = [question for question in applicable if ratings[question.id].score is not None]
    total_weight, answered_weight = (math.fsum(question.weight for question in some) for some in (applicable, answered))
    if not answered or total_weight - answered_weight >= MISSING_SHARE * total_weight:
        return None
    return math.fsum(each.weight * (ratings[each.id].score or 0.0) for each in answered) / answered_weight


def rate_question(question: Criterion, answered: QuestionAnswer) -> CriterionRating:
    """Return the rating from the answer: 1 for the good one, 0 for the other."""
    if answered.answer == "n/a":
        return CriterionRating(question.id, None, answered.reason, applies=False)
    good = None if answered.answer is None else float(answered.answer == question_of(question).better)
    return CriterionRating(question.id, good, answered.reason)


async def ask_questions(
    example: Example,
    questions: Sequence[Criterion],
    dimensions: Mapping[str, str],
    assignment: Assignment,
    judge: Judge,
    *,
    settings: CheckEvalScoringSettings,
) -> dict[str, QuestionAnswer]:
    """Return the answer to each question, by its id."""
    prompts = answer_prompts(example, questions, dimensions, assignment, settings)
    replies = await gathered(_answered(prompt, judge) for prompt in prompts)
    by_id = {name: answered for reply in replies for name, answered in reply.items()}
    return {question.id: by_id[question.id] for question in questions}


def answer_prompts(
    example: Example,
    questions: Sequence[Criterion],
    dimensions: Mapping[str, str],
    assignment: Assignment,
    settings: CheckEvalScoringSettings,
) -> list[Prompt[KeyedReply]]:
    """Return the prompts with all questions about a text.

    Args:
        dimensions: definitions of the sub-dimensions that the questions' traits name.
    """
    bare = settings.answers == "yes or no"
    fields = {**assignment.fields(), **assignment.text_fields(example), "bare": bare}
    prompts = []
    for group in _groups(questions, settings.ask):
        shown = {**fields, "sub_dimensions": _sub_dimensions(group, dimensions, bare)}
        longest = 256 + TOKENS_PER_ANSWER * len(group)
        form = of_questions(shown, YesOrNo if bare else AnswerEntry)
        prompts.append(Prompt("checkeval/answer", shown, form, max_tokens=longest))
    return prompts


async def _answered(prompt: Prompt[KeyedReply], judge: Judge) -> dict[str, QuestionAnswer]:
    ids = asked_ids(prompt.fields)
    answer = await ask(judge, prompt)
    entries = answer.value.entries if answer.value else {}
    missing = QuestionAnswer(None, why_missing(prompt, answer, "answer") if len(entries) < len(ids) else "")
    return {name: _read(entries[name]) if name in entries else missing for name in ids}


def _read(entry: AnswerEntry | YesNo) -> QuestionAnswer:
    if isinstance(entry, AnswerEntry):
        return QuestionAnswer(entry.answer, entry.reason.strip())
    return QuestionAnswer(entry, "")


def _groups(questions: Sequence[Criterion], how: Ask) -> list[list[Criterion]]:
    if how == "one by one":
        return [[question] for question in questions]
    return [list(questions)] if how == "together" else list(by_trait(questions).values())


def _sub_dimensions(group: Sequence[Criterion], dimensions: Mapping[str, str], bare: bool) -> list[dict[str, object]]:
    # Answers stated for an absent subject may be n/a, which is not allowed where only yes or no is requested.
    return [
        {
            "name": name,
            "definition": dimensions.get(name, ""),
            "questions": [payload(each, presupposed=not bare) for each in questions],
        }
        for name, questions in by_trait(group).items()
    ]
