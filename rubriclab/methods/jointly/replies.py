"""The form in which the one prompt is answered: a list for each kind of criterion, reasoning before every verdict.

The entries are those of the methods' own replies. Which ids belong into which list is checked against the prompt's
fields, which the parser passes as validation context.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, Field, ValidationInfo, field_validator, model_validator

from rubriclab.methods.checkeval.replies import NamedAnswer, asked_ids
from rubriclab.methods.hypoeval.replies import NamedRating
from rubriclab.methods.replies import bare_id, sound_entries

# The lists of a reply, and the field of their entries that holds the id.
KEYS: Mapping[str, Literal["criterion", "question"]] = {
    "ratings": "criterion",
    "answers": "question",
    "scores": "criterion",
}

# The fields that tell why, not what.
_WORDS = {"ratings": ("reasoning",), "answers": ("reason",), "scores": ("reasoning",)}


def ids_asked(fields: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the ids that a prompt's fields show, in their order, by the list that their entries belong into."""
    return {
        "ratings": [criterion["id"] for criterion in fields["criteria"]],
        "answers": asked_ids(fields),
        "scores": [score["id"] for score in fields["overall"]],
    }


def _bare(value: Any, info: ValidationInfo) -> Any:
    return bare_id(value, [name for ids in ids_asked(info.context).values() for name in ids]) if info.context else value


class Score(NamedRating):
    """A score with its reason, by the criterion that it names."""

    criterion: Annotated[str, BeforeValidator(_bare)]


_FORMS: Mapping[str, type[Score | NamedAnswer]] = {"ratings": Score, "answers": NamedAnswer, "scores": Score}


class Judgments(BaseModel):
    """One entry for each id asked about, no more and no fewer; a list of which nothing was asked may be left out."""

    ratings: list[Score] = Field(default_factory=list)
    answers: list[NamedAnswer] = Field(default_factory=list)
    scores: list[Score] = Field(default_factory=list)

    @model_validator(mode="after")
    def _whole(self, info: ValidationInfo) -> Self:
        asked = ids_asked(info.context) if info.context else {}
        wrong = []
        for name, expected in asked.items():
            got = [getattr(entry, KEYS[name]) for entry in getattr(self, name)]
            if sorted(got) != sorted(expected):
                wrong.append(f"`{name}` needs one entry each for {_listed(expected)}; got {_listed(got)}")
        if wrong:
            raise ValueError("; ".join(wrong))
        return self


class SoundJudgments(Judgments):
    """The entries that can be used: of the right form, about what was asked, and not contradicted by another one."""

    @field_validator("ratings", "answers", "scores", mode="before")
    @classmethod
    def _sound_ones(cls, items: Any, info: ValidationInfo) -> list[Any]:
        name = str(info.field_name)

        def key(item: Mapping[str, Any]) -> str | None:
            found = _bare(item.get(KEYS[name]), info)
            return found if isinstance(found, str) else None

        keys = ids_asked(info.context)[name] if info.context else []
        try:
            return sound_entries(items, _FORMS[name], keys, key, words=_WORDS[name], context=info.context)
        except ValueError:  # one list without anything sound in it spoils no other
            return []

    @model_validator(mode="after")
    def _whole(self, _info: ValidationInfo) -> Self:
        if not (self.ratings or self.answers or self.scores):
            raise ValueError("nothing in it can be used")
        return self


def _listed(ids: list[str]) -> str:
    return ", ".join(ids) or "none"
