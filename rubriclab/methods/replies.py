"""What the reply models of several methods share: ids, scores on the prompt's scale, and salvage.

A reply that failed twice is read once more in salvage mode (`rubriclab.prompts.prompt.SALVAGE`): usable entries are
kept, and the others are missing.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WithJsonSchema,
    WrapValidator,
    create_model,
)

from rubriclab.judges.ask import JudgeAnswer, read
from rubriclab.methods.method import CriterionRating
from rubriclab.models.base import LONGEST_NAME, LONGEST_WORDING
from rubriclab.models.cells import CANNOT_ASSESS
from rubriclab.models.text import Scale, Words
from rubriclab.prompts import Prompt
from rubriclab.prompts.prompt import is_salvage

# A model may copy an id with its brackets or markers, or format it like the beginning of a line.
_AROUND_ID = " \t\n[](){}<>*_`~\"'“”‘’.:"


def bare_id(value: Any, ids: Sequence[str]) -> Any:
    """Return an id without surrounding marks; any other value unchanged."""
    if not isinstance(value, str) or value in ids:
        return value
    bare = value.strip(_AROUND_ID)
    return bare if bare in ids else bare.lower()


def keep_valid(reasons: Collection[str]) -> WrapValidator:
    """Return the validator of a list that keeps every valid entry in salvage mode.

    Args:
        reasons: the fields with explanations, which may be missing.
    """

    def validate(items: Any, handler: ValidatorFunctionWrapHandler, info: ValidationInfo) -> Any:
        if not is_salvage(info):
            return handler(items)
        objects = [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []
        entries = [entry for item in objects if (entry := _entry(item, handler, reasons))]
        if not entries:
            raise ValueError("no entry is usable")
        return entries

    return WrapValidator(validate)


def why_missing(prompt: Prompt[Any], answer: JudgeAnswer[Any], what: str) -> str:
    """Return why there is no usable `what` in an answer from which something was expected."""
    if answer.value is None or answer.reply is None:
        return answer.missing
    _, complaint = read(answer.reply, prompt)
    return f"no usable {what}, also after one repair: {complaint}"


def _entry(item: Mapping[str, Any], handler: ValidatorFunctionWrapHandler, reasons: Collection[str]) -> Any:
    completed = dict.fromkeys(reasons, "") | {name: value for name, value in item.items() if value is not None}
    try:
        return handler([completed])[0]
    except ValidationError:
        return None


def at_most(most: int) -> AfterValidator:
    """Return a validator that refuses longer texts, which could not be stored.

    This is no constraint of the field, since it would enter the JSON schema, and some providers refuse schemas with
    lengths.
    """

    def check(text: str) -> str:
        if len(text) > most:
            raise ValueError(f"at most {most:,} characters were expected; got {len(text):,}")
        return text

    return AfterValidator(check)


def _check_is_number(value: Any) -> Any:
    if isinstance(value, bool) or (isinstance(value, str) and "_" in value):
        raise ValueError(f"a number was expected; got {value}")
    return value


# The same for all prompts of a rubric.
@functools.lru_cache(maxsize=64)
def _scale(low: float, high: float, whole: bool) -> Scale:
    return Scale(low=low, high=high, whole=whole)


def _on_scale(score: float, info: ValidationInfo) -> float:
    if info.context:
        scale = _scale(*(info.context["scale"][name] for name in ("low", "high", "whole")))
        if not scale.holds(score):
            raise ValueError(f"the score must be {scale.describe()}; got {score}")
    return score


# The reason for dropping a criterion is stored with some words around it.
LONGEST_REASON = LONGEST_WORDING - 5 * LONGEST_NAME

# What a rubric stores of a reply: names of traits or sub-dimensions, longer wordings, and reasons.
NewName = Annotated[Words, at_most(LONGEST_NAME)]
Wording = Annotated[Words, at_most(LONGEST_WORDING)]
Reason = Annotated[str, at_most(LONGEST_REASON)]

# pydantic would accept `true` as 1 and "0_4" as 4.
Number = Annotated[float, BeforeValidator(_check_is_number)]
Whole = Annotated[int, BeforeValidator(_check_is_number)]

# A number that the prompt's scale allows.
OnScale = Annotated[Number, AfterValidator(_on_scale)]


def _or_not_assessed(value: Any, handler: ValidatorFunctionWrapHandler) -> float:
    said = isinstance(value, str) and value.strip(_AROUND_ID).casefold() in CANNOT_ASSESS
    return math.nan if said else float(handler(value))


def _number_or_not_assessed(number: dict[str, Any]) -> WithJsonSchema:
    return WithJsonSchema({"anyOf": [number, {"type": "string", "enum": ["n/a"]}]})


class Rating(BaseModel):
    """A score with its reason."""

    reasoning: str
    score: OnScale


class AssessableRating(Rating):
    """A score with its reason, NaN where the judge says that the text cannot be assessed."""

    score: Annotated[OnScale, WrapValidator(_or_not_assessed), _number_or_not_assessed({"type": "number"})]


class ScoreEntry(BaseModel):
    """A score with its reason."""

    reason: str
    score: OnScale


def score_entry(fields: Mapping[str, Any]) -> type[ScoreEntry]:
    """Return the model of a score whose JSON schema has the limits of the scale in a prompt's fields.

    The score is NaN where the judge says that a text cannot be assessed, if the prompt lets it say so.
    """
    scale = fields["scale"]
    return _score_entry(scale["low"], scale["high"], scale["whole"], scale.get("assessable", False))


def bare_score(fields: Mapping[str, Any]) -> Any:
    """Return the type of a score without a reason, with the limits of the scale in a prompt's fields."""
    return score_entry(fields).model_fields["score"].rebuild_annotation()


@functools.lru_cache(maxsize=64)
def _score_entry(low: float, high: float, whole: bool, assessable: bool) -> type[ScoreEntry]:
    low, high = (int(end) if float(end).is_integer() else end for end in (low, high))
    number = {"type": "integer" if whole else "number", "minimum": low, "maximum": high}
    score: Any = Annotated[OnScale, WithJsonSchema(number)]
    if assessable:
        score = Annotated[OnScale, WrapValidator(_or_not_assessed), _number_or_not_assessed(number)]
    return create_model("Score", __base__=ScoreEntry, __doc__=None, score=(score, ...))


def rating(criterion: str, score: float, reason: str) -> CriterionRating:
    """Return a judge's rating; NaN is its answer that the text cannot be assessed."""
    if math.isnan(score):
        return CriterionRating(criterion, None, reason, applies=False)
    return CriterionRating(criterion, score, reason)
