"""The reply models of CheckEval's prompts; reasoning comes before every verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    ValidationInfo,
    create_model,
    field_validator,
    model_validator,
)
from pydantic.json_schema import SkipJsonSchema

from rubriclab.methods.questions import YesNo, read_answer
from rubriclab.methods.reasons import CitedNumbers, NothingToCite
from rubriclab.methods.replies import NewName, Reason, Wording, bare_id, keep_valid
from rubriclab.prompts.keyed import AskedEntry, KeyedReply, keyed_reply
from rubriclab.prompts.prompt import is_salvage

# The subject of a question that is about none of the aspects named.
ELSEWHERE = "something else"

_AROUND_WORD = " \t\n*_`\"'“”‘’."


def asked_ids(fields: Mapping[str, Any]) -> list[str]:
    """Return the ids of the questions that a prompt's fields show, in order."""
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


def _seed_shown(value: str, info: ValidationInfo) -> str:
    if info.context and value not in (ids := asked_ids(info.context)):
        raise ValueError(f"one of {', '.join(ids)} was expected; got {value!r:.60}")
    return value


AskedId = Annotated[str, BeforeValidator(_as_asked)]
SeedId = Annotated[AskedId, AfterValidator(_seed_shown)]
Readable = Annotated[YesNo, BeforeValidator(_readable)]

# What is not requested: absent from the schema, and ignored in a reply.
NotAsked = Annotated[YesNo | None, BeforeValidator(lambda _: None), SkipJsonSchema()]

M = TypeVar("M", bound=BaseModel)


class AnswerEntry(BaseModel):
    """An answer with its reason."""

    reason: str
    answer: Readable


def of_questions(fields: Mapping[str, Any], form: Any) -> type[KeyedReply]:
    """Return the reply model with one entry for each question that a prompt's fields show."""
    groups = fields.get("sub_dimensions", [fields])
    questions = [question for group in groups for question in group["questions"]]
    return keyed_reply(tuple(AskedEntry(each["id"], form, names=(each["text"],)) for each in questions))


class FinerQuestion(BaseModel):
    """A new question, with the answers where the thing asked about is absent and where the text is broken."""

    text: Wording
    absent: Readable
    broken: Readable
    reasons: NothingToCite = []


class NewQuestion(FinerQuestion):
    """A new question about another side, with the answers where what it asks about is absent or the text is broken."""

    seed: SeedId


class Elaboration(BaseModel):
    """Finer questions made from one seed, each self-contained."""

    reasoning: str
    questions: Sequence[FinerQuestion]

    @model_validator(mode="after")
    def _usable(self, info: ValidationInfo) -> Self:
        fewest = 1 if is_salvage(info) or not info.context else info.context.get("fewest", 1)
        if len(self.questions) < fewest:
            raise ValueError(f"expected at least {fewest} of them, got {len(self.questions)}")
        for question in () if is_salvage(info) else self.questions:
            if problem := fault(question.broken):
                raise ValueError(
                    f"{problem}. Reword it so that such a text does not get its good answer ({question.text!r:.100})"
                )
        return self


class Diversification(Elaboration):
    """Questions about other sides of a sub-dimension, each self-contained."""

    questions: Sequence[NewQuestion]


class QuestionVerdict(BaseModel):
    """A verdict that also says what the question presupposes."""

    reasoning: Reason
    absent: Readable
    broken: Readable
    yes_means: Annotated[Literal["better", "worse", "neither"], BeforeValidator(_plain)]
    about: str
    style: Annotated[Literal["fine", "exaggerated", "trifling", "several things"], BeforeValidator(_plain)]

    @field_validator("about")
    @classmethod
    def _an_aspect(cls, value: str, info: ValidationInfo) -> str:
        if not info.context:
            return value
        known = [info.context["aspect"]["name"], *(other["name"] for other in info.context["others"]), ELSEWHERE]
        named = [name for name in known if _plain(name) == _plain(value)]
        if not named:
            raise ValueError(f"one of {', '.join(known)} was expected; got {value!r:.60}")
        return str(named[0])


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


# The forms without stated answers (paper), and with the numbers of cited reasons.


def _variant(model: type[M], name: str, doc: str, **fields: Any) -> type[M]:
    return create_model(name, __base__=model, __doc__=doc, **fields)


def _list_of(entry: type[BaseModel]) -> Any:
    return Sequence[entry]  # type: ignore[valid-type]


_UNSTATED: Any = {"absent": (NotAsked, None), "broken": (NotAsked, None)}
_CITED: Any = {"reasons": (CitedNumbers, [])}

PlainElaboration = _variant(
    Elaboration,
    "PlainElaboration",
    "Finer questions made from one seed.",
    questions=_list_of(
        _variant(
            FinerQuestion,
            "PlainQuestion",
            "A new question, of which nothing is stated but its wording.",
            **_UNSTATED,
        )
    ),
)
PlainDiversification = _variant(
    Diversification,
    "PlainDiversification",
    "Questions about other sides of a sub-dimension.",
    questions=_list_of(
        _variant(
            NewQuestion,
            "PlainNewQuestion",
            "A new question about another side of a sub-dimension, and the seed that it is closest to.",
            **_UNSTATED,
        )
    ),
)
CitingDiversification = _variant(
    Diversification,
    "CitingDiversification",
    "Questions about other sides of a sub-dimension, each self-contained, which cite raters' reasons.",
    questions=_list_of(
        _variant(
            NewQuestion,
            "CitingQuestion",
            "A new question with the answers where what it asks about is absent or the text is broken, and cited "
            "reasons.",
            **_CITED,
        )
    ),
)


class Removal(BaseModel):
    """A question that is removed from the checklist, and why."""

    id: SeedId
    reason: Reason
    fault: Annotated[Literal["alignment", "dimension", "redundancy", "style"], BeforeValidator(_plain)]


class Removals(BaseModel):
    """The questions to remove."""

    removed: Annotated[list[Removal], keep_valid(("reason",))]


def fault(broken: YesNo | None, better: str = "yes") -> str | None:
    """Return what makes a generated question unusable regardless of its content, or `None`."""
    if broken == better:
        return f"a text that is empty or makes no sense would earn its good answer, {broken}"
    return None
