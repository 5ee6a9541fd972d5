"""The form in which the one prompt is answered: a list for each kind of criterion asked about, reasons before verdicts.

Every entry names what it is about by `id`. Which ids belong into which list is checked against the prompt's fields,
which the parser passes as validation context.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, Field, ValidationInfo, create_model, field_validator, model_validator

from rubriclab.methods.checkeval.replies import Readable, asked_ids
from rubriclab.methods.replies import OnScale, bare_id, sound_entries


def ids_asked(fields: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the ids that a prompt's fields show, in their order, by the list that their entries belong into."""
    return {
        "ratings": [criterion["id"] for criterion in fields["criteria"]],
        "answers": asked_ids(fields),
        "whole": [score["id"] for score in fields["overall"]],
    }


def _bare(value: Any, info: ValidationInfo) -> Any:
    return bare_id(value, [name for ids in ids_asked(info.context).values() for name in ids]) if info.context else value


class HolisticScore(BaseModel):
    """A score with its reason."""

    id: Annotated[str, BeforeValidator(_bare)]
    reason: str
    score: OnScale


class CriterionAnswer(BaseModel):
    """An answer with its reason."""

    id: Annotated[str, BeforeValidator(_bare)]
    reason: str
    answer: Readable


_ENTRIES: Mapping[str, type[HolisticScore | CriterionAnswer]] = {
    "ratings": HolisticScore,
    "answers": CriterionAnswer,
    "whole": HolisticScore,
}


class Judgments(BaseModel):
    """One entry for each id, in the order given."""

    def entries(self) -> Iterator[HolisticScore | CriterionAnswer]:
        """Yield the entries of all lists."""
        for name in type(self).model_fields:
            yield from getattr(self, name)

    @model_validator(mode="after")
    def _complete(self, info: ValidationInfo) -> Self:
        asked = ids_asked(info.context) if info.context else {}
        wrong = []
        for name in type(self).model_fields:
            expected, got = asked.get(name, []), [entry.id for entry in getattr(self, name)]
            if info.context and sorted(got) != sorted(expected):
                wrong.append(f"`{name}` needs one entry each for {_listed(expected)}; got {_listed(got)}")
        if wrong:
            raise ValueError("; ".join(wrong))
        return self


class SoundJudgments(Judgments):
    """The entries that can be used: of the right form, about what was asked, and not contradicted by another one."""

    @field_validator(*_ENTRIES, mode="before", check_fields=False)
    @classmethod
    def _sound_ones(cls, items: Any, info: ValidationInfo) -> list[Any]:
        name = str(info.field_name)

        def key(item: Mapping[str, Any]) -> str | None:
            found = _bare(item.get("id"), info)
            return found if isinstance(found, str) else None

        keys = ids_asked(info.context)[name] if info.context else []
        try:
            return sound_entries(items, _ENTRIES[name], keys, key, words=("reason",), context=info.context)
        except ValueError:  # one list without anything sound in it spoils no other
            return []

    @model_validator(mode="after")
    def _complete(self, _info: ValidationInfo) -> Self:
        if not any(self.entries()):
            raise ValueError("nothing in it can be used")
        return self


def judgments_form(fields: Mapping[str, Any]) -> type[Judgments]:
    """Return the form of a reply: exactly the lists of which a prompt's fields ask something."""
    return _form(tuple(name for name, ids in ids_asked(fields).items() if ids))


def sound_form(fields: Mapping[str, Any]) -> type[Judgments]:
    """Return the form that keeps what is sound of such a reply; a list may be missing from it."""
    return _form(tuple(name for name, ids in ids_asked(fields).items() if ids), sound=True)


@functools.cache
def _form(names: tuple[str, ...], *, sound: bool = False) -> type[Judgments]:
    lists: dict[str, Any] = {
        name: (list[_ENTRIES[name]], Field(default_factory=list) if sound else ...)  # type: ignore[valid-type]
        for name in names
    }
    base = SoundJudgments if sound else Judgments
    return create_model("Judgments", __base__=base, __doc__=Judgments.__doc__, **lists)


def _listed(ids: list[str]) -> str:
    return ", ".join(ids) or "none"
