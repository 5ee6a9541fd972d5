"""The reply models of SEAL's prompts; reasons come before every verdict.

Units, questions and facts are identified by id, never by position. The ids are checked against the prompt's fields,
which the parser passes as validation context.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)

from rubriclab.methods.questions import YesOrNo
from rubriclab.methods.replies import Number, OnScale, bare_id, is_salvage, keep_usable

_UNIT_ID = re.compile(r"u(\d+)")
_FACT_ID = re.compile(r"\W*([a-z]\d+)\b", re.IGNORECASE)

# The fields of a reply that is validated without its prompt.
_NOTHING: Mapping[str, Any] = {"units": (), "questions": (), "facts": ()}

# Pairs that a complaint lists at most.
_LISTED = 5


def asked_units(fields: Mapping[str, Any]) -> list[str]:
    """Return the ids of the units that a prompt's fields show, in their order."""
    return [unit["id"] for unit in fields["units"]]


def asked_questions(fields: Mapping[str, Any]) -> list[str]:
    """Return the ids of the questions that a prompt's fields show, in their order."""
    return [question["id"] for question in fields["questions"]]


def shown_facts(fields: Mapping[str, Any]) -> dict[str, str]:
    """Return the facts that a prompt's fields show, by id."""
    return {fact["id"]: fact["text"] for fact in fields["facts"]}


def _as_unit(value: Any, info: ValidationInfo) -> Any:
    # The marker around a unit says more than its id: "u3, first sentence".
    bare = value.partition(",")[0] if isinstance(value, str) else value
    return bare_id(bare, asked_units(_asked(info)))


def _as_question(value: Any, info: ValidationInfo) -> Any:
    return bare_id(value, asked_questions(_asked(info)))


def _as_fact(value: Any) -> Any:
    """Return the id of a fact, also where its words were copied with it."""
    match = _FACT_ID.match(value) if isinstance(value, str) else None
    return match[1].lower() if match else value


class UnitEntry(BaseModel):
    """What was found of one question about one unit."""

    unit: Annotated[str, BeforeValidator(_as_unit)]
    question: Annotated[str, BeforeValidator(_as_question)]
    reason: str


class NamedVerdict(UnitEntry):
    """A question's answer for a unit."""

    answer: YesOrNo


class NamedSupport(UnitEntry):
    """The facts that bear a unit out, all of them among those shown."""

    facts: list[Annotated[str, BeforeValidator(_as_fact)]]

    @field_validator("facts")
    @classmethod
    def _shown(cls, facts: list[str], info: ValidationInfo) -> list[str]:
        known = list(shown_facts(_asked(info)))
        if not is_salvage(info) and (unknown := [name for name in facts if name not in known]):
            raise ValueError(f"there is no fact {unknown[0]!r:.60}; there are {known[0]} to {known[-1]}")
        return facts


class UnitRating(UnitEntry):
    """A unit's score by a question."""

    score: OnScale


class NamedWeight(BaseModel):
    """What a question counts for in one text."""

    question: Annotated[str, BeforeValidator(_as_question)]
    weight: Annotated[Number, Field(ge=0, allow_inf_nan=False)]


E = TypeVar("E", bound=UnitEntry)


def _covering(entries: list[E], info: ValidationInfo) -> list[E]:
    """Return the entries if there is one for each pair of unit and question."""
    if is_salvage(info):
        return entries
    expected = _pairs(_asked(info))
    got = Counter((entry.unit, entry.question) for entry in entries)
    faults = {
        "missing": [pair for pair in expected if pair not in got],
        "not asked for": [pair for pair in got if pair not in expected],
        "twice": [pair for pair, times in got.items() if times > 1],
    }
    if any(faults.values()):
        told = "; ".join(f"{fault}: {_listed(pairs)}" for fault, pairs in faults.items() if pairs)
        raise ValueError(f"one entry was expected for each question about each unit, {len(expected)} in all; {told}")
    return entries


def _pairs(fields: Mapping[str, Any]) -> list[tuple[str, str]]:
    return list(itertools.product(asked_units(fields), asked_questions(fields)))


def _pair_of(item: Mapping[str, Any], info: ValidationInfo) -> tuple[str, str] | None:
    unit, question = _as_unit(item.get("unit"), info), _as_question(item.get("question"), info)
    return (unit, question) if isinstance(unit, str) and isinstance(question, str) else None


def _place(pair: tuple[str, str]) -> int | None:
    match = _UNIT_ID.fullmatch(pair[0])
    return int(match[1]) if match else None


_USABLE = keep_usable(_pairs, _pair_of, reasons=("reason",), position=_place)


class UnitVerdicts(BaseModel):
    """One answer to each question about each unit, no more and no fewer."""

    verdicts: Annotated[list[NamedVerdict], AfterValidator(_covering), _USABLE]


class Supports(BaseModel):
    """The facts that speak for yes to each question about each unit, no more and no fewer."""

    supports: Annotated[list[NamedSupport], AfterValidator(_covering), _USABLE]


class UnitRatings(BaseModel):
    """One score by each question for each unit, no more and no fewer."""

    ratings: Annotated[list[UnitRating], AfterValidator(_covering), _USABLE]


class Weights(BaseModel):
    """What each question counts for in one text; they need not sum to anything."""

    weights: list[NamedWeight]

    @model_validator(mode="after")
    def _each_once(self, info: ValidationInfo) -> Self:
        expected, got = asked_questions(_asked(info)), [each.question for each in self.weights]
        if sorted(got) != sorted(expected):
            raise ValueError(f"one weight each needed for {', '.join(expected)}; got {', '.join(got) or 'none'}")
        if not any(each.weight for each in self.weights):
            raise ValueError("at least one weight must be above 0")
        return self


# Fields come in the order of the bases from the last one on: verdicts, then weights.
class WeighedVerdicts(Weights, UnitVerdicts):
    """Answers, and what each question counts for."""


class WeighedSupports(Weights, Supports):
    """Supporting facts, and what each question counts for."""


class WeighedRatings(Weights, UnitRatings):
    """Scores, and what each question counts for."""


# The reply models of each template, without and with weights.
FORMS: Mapping[str, tuple[type[BaseModel], type[BaseModel]]] = {
    "seal/verify": (UnitVerdicts, WeighedVerdicts),
    "seal/support": (Supports, WeighedSupports),
    "seal/rate": (UnitRatings, WeighedRatings),
}


def entries_of(reply: BaseModel) -> Sequence[UnitEntry]:
    """Return the entries of a reply about units and questions: its first list."""
    entries: Sequence[UnitEntry] = getattr(reply, next(iter(type(reply).model_fields)))
    return entries


def _asked(info: ValidationInfo) -> Mapping[str, Any]:
    return info.context or _NOTHING


def _listed(pairs: Sequence[tuple[str, str]]) -> str:
    more = f" and {len(pairs) - _LISTED} more" if len(pairs) > _LISTED else ""
    return ", ".join(f"{question} about {unit}" for unit, question in pairs[:_LISTED]) + more
