"""The forms in which CheckEval's prompts are answered; reasoning stands before every verdict.

What is asked about is known by id, never by position. Which ids these are is checked against the prompt's fields,
which the parser passes as validation context. Each list of verdicts or answers has a second form, to which a reply is
held that failed twice: it keeps what is sound, and what is not is missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic.json_schema import SkipJsonSchema

from rubriclab.methods.replies import NewName, Reason, Wording, bare_id, sound_entries
from rubriclab.methods.self_contained import leaning
from rubriclab.methods.yes_no import YesNo, YesOrNo, read_answer

# What a question is about that belongs to none of the aspects named.
ELSEWHERE = "something else"

_AROUND_WORD = " \t\n*_`\"'“”‘’."

# The fields that tell why, not what.
_WORDS = ("reason", "reasoning")


def asked_ids(fields: Mapping[str, Any]) -> list[str]:
    """Return the ids of the questions that a prompt's fields show, in their order."""
    groups = fields.get("sub_dimensions", [fields])
    return [question["id"] for group in groups for question in group["questions"]]


def _as_asked(value: Any, info: ValidationInfo) -> Any:
    return bare_id(value, asked_ids(info.context)) if info.context else value


def _plain(value: Any) -> Any:
    return value.strip(_AROUND_WORD).lower() if isinstance(value, str) else value


def _readable(value: Any) -> YesNo:
    answer = read_answer(value) if isinstance(value, str) else None
    if answer is None:
        raise ValueError(f"yes, no or n/a was expected; got {value!r:.60}")
    return answer


AskedId = Annotated[str, BeforeValidator(_as_asked)]


Readable = Annotated[YesNo, BeforeValidator(_readable)]


# An answer that is not asked for: left out of the form, and ignored where a reply gives it.
NotAsked = Annotated[YesNo | None, BeforeValidator(lambda _: None), SkipJsonSchema()]


def _seed_shown(value: str, info: ValidationInfo) -> str:
    if info.context and value not in (ids := asked_ids(info.context)):
        raise ValueError(f"one of {', '.join(ids)} was expected; got {value!r:.60}")
    return value


SeedId = Annotated[AskedId, AfterValidator(_seed_shown)]


class PlainQuestion(BaseModel):
    """A new question, of which nothing is stated but its wording."""

    text: Wording
    absent: NotAsked = None
    broken: NotAsked = None


class FinerQuestion(PlainQuestion):
    """A new question, with the answers where the thing asked about is absent and where the text is broken."""

    absent: Readable
    broken: Readable


class PlainElaboration(BaseModel):
    """Finer questions made from one seed."""

    reasoning: str
    questions: Sequence[PlainQuestion]

    @model_validator(mode="after")
    def _enough(self, info: ValidationInfo) -> Self:
        _must_hold(self.questions, info.context["fewest"] if info.context else 1)
        return self


class ShortPlainElaboration(PlainElaboration):
    """Finer questions made from one seed, be it only one."""

    @model_validator(mode="after")
    def _enough(self, _info: ValidationInfo) -> Self:
        _must_hold(self.questions, 1)
        return self


class Elaboration(PlainElaboration):
    """Finer questions made from one seed, each self-contained."""

    questions: Sequence[FinerQuestion]

    @model_validator(mode="after")
    def _sound(self) -> Self:
        _must_be_sound(self.questions)
        return self


class ShortElaboration(ShortPlainElaboration):
    """Finer questions made from one seed, be it only one, whatever is wrong with them."""

    questions: Sequence[FinerQuestion]


class PlainNewQuestion(PlainQuestion):
    """A new question about another side of a sub-dimension, and the seed that it is closest to."""

    seed: SeedId


class NewQuestion(FinerQuestion):
    """A new question about another side, with the answers where what it asks about is absent or the text is broken."""

    seed: SeedId


class PlainDiversification(BaseModel):
    """Questions about other sides of a sub-dimension."""

    reasoning: str
    questions: Sequence[PlainNewQuestion]

    @model_validator(mode="after")
    def _some(self) -> Self:
        _must_hold(self.questions, 1)
        return self


class AnyDiversification(BaseModel):
    """Questions about other sides of a sub-dimension, whatever is wrong with them."""

    reasoning: str
    questions: Sequence[NewQuestion]

    @model_validator(mode="after")
    def _some(self) -> Self:
        _must_hold(self.questions, 1)
        return self


class Diversification(AnyDiversification):
    """Questions about other sides of a sub-dimension, each self-contained."""

    @model_validator(mode="after")
    def _sound(self) -> Self:
        _must_be_sound(self.questions)
        return self


class PlainVerdict(BaseModel):
    """What a reader of the checklist makes of one question."""

    question: AskedId
    reasoning: Reason
    absent: NotAsked = None
    broken: NotAsked = None
    yes_means: Annotated[Literal["better", "worse", "neither"], BeforeValidator(_plain)]
    about: str
    style: Annotated[Literal["fine", "exaggerated", "trifling", "several things"], BeforeValidator(_plain)]

    @field_validator("about")
    @classmethod
    def _an_aspect(cls, value: str, info: ValidationInfo) -> str:
        if not info.context:
            return value
        known = [info.context["aspect"]["name"], *(other["name"] for other in info.context["others"]), ELSEWHERE]
        found = [name for name in known if _plain(name) == _plain(value)]
        if not found:
            raise ValueError(f"one of {', '.join(known)} was expected; got {value!r:.60}")
        return str(found[0])


class QuestionVerdict(PlainVerdict):
    """A verdict that also says what the question presupposes."""

    absent: Readable
    broken: Readable


class PlainVerdicts(BaseModel):
    """One verdict on each question, no more and no fewer."""

    verdicts: Sequence[PlainVerdict]

    @model_validator(mode="after")
    def _whole(self, info: ValidationInfo) -> Self:
        _must_name(self.verdicts, info)
        return self


class SoundPlainVerdicts(PlainVerdicts):
    """The verdicts that can be used."""

    @field_validator("verdicts", mode="before")
    @classmethod
    def _sound_ones(cls, items: Any, info: ValidationInfo) -> list[PlainVerdict]:
        return _sound(items, PlainVerdict, info)

    @model_validator(mode="after")
    def _whole(self, _info: ValidationInfo) -> Self:
        return self


class QuestionVerdicts(PlainVerdicts):
    """One verdict on each question with what it presupposes, no more and no fewer."""

    verdicts: Sequence[QuestionVerdict]


class SoundQuestionVerdicts(SoundPlainVerdicts):
    """The verdicts that can be used, with what the questions presuppose."""

    verdicts: Sequence[QuestionVerdict]

    @field_validator("verdicts", mode="before")
    @classmethod
    def _sound_ones(cls, items: Any, info: ValidationInfo) -> list[PlainVerdict]:
        return list(_sound(items, QuestionVerdict, info))


class NamedAnswer(BaseModel):
    """The answer to one question, after its reason."""

    question: AskedId
    reason: str
    answer: Readable


class ChecklistAnswers(BaseModel):
    """One answer to each question, no more and no fewer."""

    answers: list[NamedAnswer]

    @model_validator(mode="after")
    def _whole(self, info: ValidationInfo) -> Self:
        _must_name(self.answers, info)
        return self


class SoundChecklistAnswers(ChecklistAnswers):
    """The answers that can be used: readable, to a question that was asked, and not contradicted by another one."""

    @field_validator("answers", mode="before")
    @classmethod
    def _sound_ones(cls, items: Any, info: ValidationInfo) -> list[NamedAnswer]:
        return _sound(items, NamedAnswer, info)

    @model_validator(mode="after")
    def _whole(self, _info: ValidationInfo) -> Self:
        return self


class BareAnswer(BaseModel):
    """Yes or no to one question, without a reason."""

    question: AskedId
    answer: YesOrNo

    @property
    def reason(self) -> str:
        """Nothing: no reason was asked for."""
        return ""


class BareAnswers(BaseModel):
    """Yes or no to each question, no more and no fewer."""

    answers: list[BareAnswer]

    @model_validator(mode="after")
    def _whole(self, info: ValidationInfo) -> Self:
        _must_name(self.answers, info)
        return self


class SoundBareAnswers(BareAnswers):
    """The answers that can be used."""

    @field_validator("answers", mode="before")
    @classmethod
    def _sound_ones(cls, items: Any, info: ValidationInfo) -> list[BareAnswer]:
        return _sound(items, BareAnswer, info)

    @model_validator(mode="after")
    def _whole(self, _info: ValidationInfo) -> Self:
        return self


class SeedSubDimension(BaseModel):
    """One component of an aspect with its questions, as a generator writes them."""

    name: NewName
    definition: Wording
    questions: list[Wording] = Field(min_length=1)


class WrittenSeeds(BaseModel):
    """An aspect taken apart into sub-dimensions with seed questions, after the reasoning that led to them."""

    reasoning: str
    sub_dimensions: list[SeedSubDimension] = Field(min_length=1)

    @model_validator(mode="after")
    def _names_differ(self) -> Self:
        names = [sub.name.casefold() for sub in self.sub_dimensions]
        if len(set(names)) < len(names):
            raise ValueError(f"every sub-dimension needs a name of its own; got {', '.join(names)}")
        return self


S = TypeVar("S", PlainVerdict, QuestionVerdict, NamedAnswer, BareAnswer)


def fault(text: str, broken: YesNo | None, better: str = "yes") -> str | None:
    """Return what makes a generated question unusable, whatever it asks; `None` if nothing does."""
    if found := leaning(text):
        return f"{found!r} points to something outside the question"
    if broken == better:
        return f"a text that is empty or makes no sense would earn its good answer, {broken}"
    return None


def _must_be_sound(questions: Sequence[FinerQuestion]) -> None:
    for question in questions:
        if found := fault(question.text, question.broken):
            raise ValueError(
                f"{found}. Reword it so that it can be understood alone, and so that such a text does not get its good "
                f"answer ({question.text!r:.100})"
            )


def _must_hold(questions: Sequence[Any], fewest: int) -> None:
    if len(questions) < fewest:
        raise ValueError(f"expected at least {fewest} of them, got {len(questions)}")


def _must_name(items: Sequence[S], info: ValidationInfo) -> None:
    if info.context:
        expected, got = asked_ids(info.context), [item.question for item in items]
        if sorted(got) != sorted(expected):
            raise ValueError(f"one entry each needed for {', '.join(expected)}; got {', '.join(got) or 'none'}")


def _sound(items: Any, form: type[S], info: ValidationInfo) -> list[S]:
    def question(item: Mapping[str, Any]) -> str | None:
        name = _as_asked(item.get("question"), info)
        return name if isinstance(name, str) else None

    keys = asked_ids(info.context or {"questions": []})
    return sound_entries(items, form, keys, question, words=_WORDS, context=info.context)
