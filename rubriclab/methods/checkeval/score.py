"""CheckEval's hyperparameters, the models of all its replies, and a text's score: the share of good answers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, Self

import pydantic

from rubriclab.judges.judge import Judge
from rubriclab.methods import prompting
from rubriclab.methods.method import TOO_LARGE_MISSING_SHARE, CriterionRating, Presets, Scored
from rubriclab.methods.questions import Answer, ReadableAnswer, YesOrNo, group_by_trait, question_fields, question_of
from rubriclab.models.base import MethodSettings
from rubriclab.models.rubric import Criterion, Part
from rubriclab.models.text import Assignment, Example, Scale
from rubriclab.prompts.prompt import ExpectedEntry, KeyedReply, Prompt, keyed_reply, tolerates_faults
from rubriclab.stats.intervals import DIGITS

# Sections 3.2, 3.3 and 4.4, tables 12 and 13, figures 5 to 9: one or two seeds in each sub-dimension become 20 to 35
# questions, with on average 2 diversified and 4 elaborated ones for each seed. All of them are asked.
PRESETS: Presets = {
    "paper": {
        "seeds_per_sub_dimension": 1,
        "diversified": 2,
        "filter": "model",
        "procedure": "paper",
        "most": 100,
        "answers": "yes or no",
    }
}

HowAsked = Literal["by sub-dimension", "one by one", "together"]

# The value of `QuestionVerdict.about` for a question that is about none of the aspects that the prompt names.
SOMETHING_ELSE = "something else"
TOKENS_PER_ANSWER = 96
_AROUND_WORD = " \t\n*_`\"'“”‘’."


class CheckEvalSettings(MethodSettings):
    """Hyperparameters of CheckEval; part of the digest of a version."""

    ask: HowAsked = "by sub-dimension"
    """One call per text and sub-dimension (paper); one per text and question; or one per text."""

    answers: Literal["with reasons", "yes or no"] = "with reasons"
    """What an answer contains: a reason and then yes, no or n/a; or only yes or no (paper)."""

    seeds: Literal["checklist", "prior knowledge"] = "checklist"
    """The source of sub-dimensions and seed questions: a checklist written by people (paper), or the generator, from
    the aspect's definition alone (HypoEval, section 3)."""

    seeds_per_sub_dimension: prompting.WholeNumber = pydantic.Field(default=0, ge=0, le=20)
    """At most this many seeds of each sub-dimension are used, the first ones; 0 uses all. The paper's lists have 3 to
    5 seeds in 2 to 5 sub-dimensions. With `procedure=paper`, seeds about a fault come last."""

    diversified: prompting.WholeNumber = pydantic.Field(default=3, ge=0, le=20)
    """New questions requested per sub-dimension about sides that its seeds do not cover; 0 requests none. The paper's
    checklists have 5 to 12 such questions in 3 to 5 sub-dimensions (tables 12 and 13)."""

    elaborated_most: prompting.WholeNumber = pydantic.Field(default=10, ge=0, le=30)
    """At most this many finer questions per seed; 0 requests none."""

    procedure: Literal["improved", "paper"] = "improved"
    """The rules of diversification, elaboration and the model's filter: ours, or those of the paper, which
    `docs/methods.md` compares. The paper's filter also drops questions whose good answer is "no", but keeps those that
    ask several things or are nested in others; its diversification is shown no raters' reasons."""

    filter: Literal["model and labels", "model", "off"] = "model and labels"
    """What drops questions: the model that wrote them and then the training labels, the model alone (paper), or nothing
    (the paper's ablation). Without labelled texts, `model and labels` is the same as `model`."""

    most: prompting.WholeNumber = pydantic.Field(default=35, ge=1, le=100)
    """At most this many questions are asked about texts, as evenly from all seeds as possible; the paper's final lists
    have 20 to 35."""


def shown_questions(fields: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the questions in a prompt's fields, which list them by sub-dimension or without sub-dimensions."""
    return [question for sub in fields.get("sub_dimensions", [fields]) for question in sub["questions"]]


def _shown_ids(info: pydantic.ValidationInfo) -> list[str]:
    return [question["id"] for question in shown_questions(info.context or {"questions": []})]


def _bare_word(value: Any) -> Any:
    return value.strip(_AROUND_WORD).lower() if isinstance(value, str) else value


def _check_question_shown(value: str, info: pydantic.ValidationInfo) -> str:
    ids = _shown_ids(info)
    if info.context and value not in ids:
        raise ValueError(f"one of {', '.join(ids)} was expected; got {value!r:.60}")
    return value


ShownQuestionId = Annotated[
    str,
    pydantic.BeforeValidator(lambda value, info: prompting.bare_id(value, _shown_ids(info))),
    pydantic.AfterValidator(_check_question_shown),
]


class AnswerEntry(pydantic.BaseModel):
    """An answer with its reason."""

    reason: str
    answer: ReadableAnswer


def answers_reply(fields: Mapping[str, Any], entry_type: Any) -> type[KeyedReply]:
    """Return the model of the reply to a prompt with these fields, with an `entry_type` for each question shown."""
    questions = shown_questions(fields)
    return keyed_reply(tuple(ExpectedEntry(each["id"], entry_type, names=(each["text"],)) for each in questions))


def broken_text_fault(broken: Answer | None, better: str = "yes") -> str | None:
    """Return a fault if `broken`, the answer about a text without sense, is the question's good answer, `better`."""
    if broken == better:
        return f"a text that is empty or makes no sense would earn its good answer, {broken}"
    return None


class PlainQuestion(pydantic.BaseModel):
    """A new question with nothing but its wording."""

    text: prompting.Wording


class PlainNewQuestion(PlainQuestion):
    """A new question about another side of a sub-dimension, and the seed that it is closest to."""

    seed: ShownQuestionId


class FinerQuestion(PlainQuestion):  # also the base of other questions with `absent` and `broken`
    """A new question, with the answers where the thing asked about is absent and where the text is broken.

    `needs_source` says whether the answer depends on the text's source or context.
    """

    absent: ReadableAnswer  # about a text that lacks what the question asks about
    broken: ReadableAnswer  # about a text that is empty or makes no sense
    needs_source: bool = True
    reasons: prompting.NoCitedNumbers = []  # numbers of the raters' reasons that the question came from: none here


class NewQuestion(FinerQuestion):  # about a side of a sub-dimension that its seeds do not cover
    """A new question about another side, with the answers where what it asks about is absent or the text is broken."""

    seed: ShownQuestionId


class CitingQuestion(NewQuestion):
    """A new question with the answers where what it asks about is absent or the text is broken, and cited reasons."""

    reasons: prompting.CitedNumbers = []


class PlainElaboration(pydantic.BaseModel):
    """Finer questions made from one seed."""

    reasoning: str
    questions: Sequence[PlainQuestion]

    @pydantic.model_validator(mode="after")
    def _usable(self, info: pydantic.ValidationInfo) -> Self:
        fewest = 1 if tolerates_faults(info) or not info.context else info.context.get("fewest", 1)
        if len(self.questions) < fewest:
            raise ValueError(f"expected at least {fewest} questions, got {len(self.questions)}")
        if tolerates_faults(info):
            return self
        for question in self.questions:
            fault = broken_text_fault(question.broken) if isinstance(question, FinerQuestion) else None
            if fault:
                raise ValueError(
                    f"{fault}. Reword it so that such a text does not get its good answer ({question.text!r:.100})"
                )
        return self


class PlainDiversification(PlainElaboration):
    """Questions about other sides of a sub-dimension."""

    questions: Sequence[PlainNewQuestion]


class Elaboration(PlainElaboration):
    """Finer questions made from one seed, each self-contained."""

    questions: Sequence[FinerQuestion]


class Diversification(Elaboration):
    """Questions about other sides of a sub-dimension, each self-contained."""

    questions: Sequence[NewQuestion]


class CitingDiversification(Diversification):
    """Questions about other sides of a sub-dimension, each self-contained, which cite raters' reasons."""

    questions: Sequence[CitingQuestion]


class QuestionVerdict(pydantic.BaseModel):  # the generator's, on one question of the pool
    """A verdict that also says what the question presupposes."""

    reasoning: prompting.Reason
    absent: ReadableAnswer  # with `broken` and `needs_source`, what the question presupposes, as in `FinerQuestion`
    broken: ReadableAnswer
    needs_source: bool = True
    yes_means: Annotated[Literal["better", "worse", "neither"], pydantic.BeforeValidator(_bare_word)]
    about: str
    style: Annotated[Literal["fine", "exaggerated", "trifling", "several things"], pydantic.BeforeValidator(_bare_word)]

    @pydantic.field_validator("about")
    @classmethod
    def _check_subject(cls, value: str, info: pydantic.ValidationInfo) -> str:
        if not info.context:
            return value
        aspects = [info.context["aspect"]["name"], *(other["name"] for other in info.context["others"])]
        for subject in (*aspects, SOMETHING_ELSE):
            if _bare_word(subject) == _bare_word(value):
                return str(subject)
        raise ValueError(f"one of {', '.join((*aspects, SOMETHING_ELSE))} was expected; got {value!r:.60}")


class SeedSubDimension(pydantic.BaseModel):
    """One component of an aspect with its questions, as a generator writes them."""

    name: prompting.Name
    definition: prompting.Wording
    questions: list[prompting.Wording] = pydantic.Field(min_length=1)


class WrittenSeeds(pydantic.BaseModel):
    """An aspect taken apart into sub-dimensions with seed questions, after the reasoning that led to them."""

    reasoning: str
    sub_dimensions: list[SeedSubDimension] = pydantic.Field(min_length=1)

    @pydantic.model_validator(mode="after")
    def _names_differ(self) -> Self:
        names = [sub.name.casefold() for sub in self.sub_dimensions]
        if len(set(names)) < len(names):
            raise ValueError(f"every sub-dimension needs a name of its own; got {', '.join(names)}")
        return self


class Removal(pydantic.BaseModel):
    """A question that is removed from the checklist, and why."""

    id: ShownQuestionId
    reason: prompting.Reason
    fault: Annotated[Literal["alignment", "dimension", "redundancy", "style"], pydantic.BeforeValidator(_bare_word)]


class Removals(pydantic.BaseModel):
    """The questions to remove."""

    removed: Annotated[list[Removal], prompting.keep_valid(optional_fields=("reason",))]


async def score(example: Example, part: Part, assignment: Assignment, judge: Judge) -> Scored:
    """Return the text's score on the assignment's scale, and each question's rating with its reason.

    The score is `None` if half of the applicable questions or more have no answer, or if none is applicable.
    """
    ratings = await ask_questions(example, part, assignment, judge)
    return text_score(part.criteria, ratings, assignment.scale), tuple(ratings.values())


def text_score(questions: Sequence[Criterion], ratings: Mapping[str, CriterionRating], scale: Scale) -> float | None:
    """Return the weighted share of good answers, mapped from [0, 1] to `scale`; `None` if too many are missing."""
    applicable = [question for question in questions if ratings[question.id].applies]
    answered = [question for question in applicable if ratings[question.id].score is not None]
    total_weight = math.fsum(question.weight for question in applicable)
    answered_weight = math.fsum(question.weight for question in answered)
    if not answered or total_weight - answered_weight >= TOO_LARGE_MISSING_SHARE * total_weight:
        return None
    share = math.fsum(each.weight * (ratings[each.id].score or 0.0) for each in answered) / answered_weight
    return round(scale.low + share * scale.width, DIGITS)


def rate_question(question: Criterion, entry: AnswerEntry | Answer) -> CriterionRating:
    answer = entry.answer if isinstance(entry, AnswerEntry) else entry
    reason = entry.reason.strip() if isinstance(entry, AnswerEntry) else ""
    if answer == "n/a":
        return CriterionRating(question.id, None, reason, applies=False)
    return CriterionRating(question.id, float(answer == question_of(question).better), reason)


async def ask_questions(
    example: Example, part: Part, assignment: Assignment, judge: Judge
) -> dict[str, CriterionRating]:
    prompts = answer_prompts(example, part, assignment)
    replies = await prompting.gather(prompting.ask_entries(judge, prompt, "answer") for prompt in prompts)
    ratings: dict[str, CriterionRating] = {}
    by_id = {question.id: question for question in part.criteria}
    for prompt, (entries, why_missing) in zip(prompts, replies, strict=True):
        ratings |= {each.id: CriterionRating(each.id, None, why_missing) for each in prompt.reply.expected}
        ratings |= {id_: rate_question(by_id[id_], entry) for id_, entry in entries.items()}
    return {question.id: ratings[question.id] for question in part.criteria}


def answer_prompts(example: Example, part: Part, assignment: Assignment) -> list[Prompt[KeyedReply]]:
    settings, questions = CheckEvalSettings.model_validate(part.settings), part.criteria
    is_bare = settings.answers == "yes or no"
    questions_of_calls: dict[HowAsked, Iterable[Sequence[Criterion]]] = {
        "one by one": [[question] for question in questions],
        "together": [questions],
        "by sub-dimension": group_by_trait(questions).values(),
    }
    prompts = []
    for group in questions_of_calls[settings.ask]:
        fields = {
            **assignment.fields(),
            **assignment.text_fields(example, with_source=any(each.needs_source for each in group)),
            "bare": is_bare,
            # Default answers (for an absent subject) may be n/a, which is not allowed if only yes or no is requested.
            "sub_dimensions": sub_dimension_fields(group, part.dimensions or {}, with_default_answers=not is_bare),
        }
        reply_model = answers_reply(fields, YesOrNo if is_bare else AnswerEntry)
        max_tokens = 256 + TOKENS_PER_ANSWER * len(group)
        prompts.append(Prompt("checkeval/answer", fields, reply_model, max_tokens=max_tokens))
    return prompts


def sub_dimension_fields(
    questions: Sequence[Criterion], dimensions: Mapping[str, str], *, with_default_answers: bool = True
) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "definition": dimensions.get(name, ""),
            "questions": [question_fields(each, with_default_answers=with_default_answers) for each in group],
        }
        for name, group in group_by_trait(questions).items()
    ]
