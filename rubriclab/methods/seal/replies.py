"""The reply models of SEAL's prompts; reasons come before every verdict."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, ValidationInfo, model_validator

from rubriclab.methods.questions import YesOrNo
from rubriclab.methods.replies import Number, bare_score, score_entry
from rubriclab.prompts.keyed import AskedEntry, KeyedReply, keyed_reply
from rubriclab.prompts.prompt import is_salvage

_FACT_ID = re.compile(r"\W*([a-z]\d+)\b", re.IGNORECASE)

# The key of the questions' weights beside the units.
WEIGHTS = "weights"


def asked_units(fields: Mapping[str, Any]) -> list[str]:
    """Return the ids of the units that a prompt's fields show, in their order."""
    return [unit["id"] for unit in fields["units"]]


def asked_questions(fields: Mapping[str, Any]) -> list[str]:
    """Return the ids of the questions that a prompt's fields show, in their order."""
    return [question["id"] for question in fields["questions"]]


def shown_facts(fields: Mapping[str, Any]) -> dict[str, str]:
    """Return the facts that a prompt's fields show, by id."""
    return {fact["id"]: fact["text"] for fact in fields["facts"]}


def _as_fact(value: Any) -> Any:
    """Return the id of a fact, also where its words were copied with it."""
    match = _FACT_ID.match(value) if isinstance(value, str) else None
    return match[1].lower() if match else value


class UnitVerdict(BaseModel):
    """A question's answer for a unit."""

    reason: str
    answer: YesOrNo


def _known_facts(facts: list[str], info: ValidationInfo) -> list[str]:
    known = list(shown_facts(info.context or {"facts": ()}))
    if not is_salvage(info) and (unknown := [name for name in facts if name not in known]):
        raise ValueError(f"there is no fact {unknown[0]!r:.60}; there are {known[0]} to {known[-1]}")
    return facts


# The ids of facts, all of them among those shown.
ShownFacts = Annotated[list[Annotated[str, BeforeValidator(_as_fact)]], AfterValidator(_known_facts)]


class UnitSupport(BaseModel):
    """The facts that bear a unit out."""

    reason: str
    facts: ShownFacts


class Weights(KeyedReply):
    """What each question counts for in one text; they need not sum to anything."""

    @model_validator(mode="after")
    def _usable(self) -> Self:
        if len(self.entries) < len(self.asked):
            raise ValueError("every question needs a weight")
        if not any(self.entries.values()):
            raise ValueError("at least one weight must be above 0")
        return self


Weight = Annotated[Number, Field(ge=0, allow_inf_nan=False)]


def unit_form(template: str, fields: Mapping[str, Any]) -> type[KeyedReply]:
    """Return the reply model of a template: an entry for each question about each unit, and weights if requested."""
    forms: Mapping[str, tuple[Any, Any]] = {
        "seal/verify": (UnitVerdict, YesOrNo),
        "seal/support": (UnitSupport, ShownFacts),
        "seal/rate": (score_entry(fields), bare_score(fields)),
    }
    entry = forms[template][fields["bare"]]
    questions = [(question["id"], (question["text"],)) for question in fields["questions"]]
    of_unit = keyed_reply(tuple(AskedEntry(name, entry, names=wording) for name, wording in questions))
    asked = [AskedEntry(unit, of_unit) for unit in asked_units(fields)]
    if fields["weigh"]:
        weights = keyed_reply(
            tuple(AskedEntry(name, Weight, names=wording) for name, wording in questions), base=Weights
        )
        asked.append(AskedEntry(WEIGHTS, weights, WEIGHTS))
    return keyed_reply(tuple(asked), of_text=True)
