"""The reply model of the shared prompt: one list for each kind of criterion, with reasons before verdicts.

Every entry has the `id` of its criterion. The ids of each list are checked against the prompt's fields, which the
parser passes as validation context.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ValidationInfo, create_model, model_validator

from rubriclab.methods.checkeval.replies import Readable, asked_ids
from rubriclab.methods.replies import OnScale, bare_id, is_salvage, keep_usable


def ids_asked(fields: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the ids that a prompt's fields show, in order, for each list of the reply."""
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


def _id_of(item: Mapping[str, Any], info: ValidationInfo) -> str | None:
    name = _bare(item.get("id"), info)
    return name if isinstance(name, str) else None


_ENTRIES: Mapping[str, type[HolisticScore | CriterionAnswer]] = {
    "ratings": HolisticScore,
    "answers": CriterionAnswer,
    "whole": HolisticScore,
}


class Judgments(BaseModel):
    """One entry for each id, in the order given."""

    def entries(self) -> Iterator[HolisticScore | CriterionAnswer]:
        """Yield the entries of all lists."""
        for name in self._lists():
            yield from getattr(self, name)

    @classmethod
    def _lists(cls) -> list[str]:
        return [name for name in cls.model_fields if name in _ENTRIES]

    @model_validator(mode="before")
    @classmethod
    def _complete_lists(cls, raw: Any, info: ValidationInfo) -> Any:
        """Return the raw reply; a list that is missing spoils no other one in salvage mode."""
        return {**dict.fromkeys(cls._lists(), ()), **raw} if is_salvage(info) and isinstance(raw, dict) else raw

    @model_validator(mode="after")
    def _complete(self, info: ValidationInfo) -> Self:
        if is_salvage(info):
            if not any(self.entries()):
                raise ValueError("no entry is usable")
            return self
        asked = ids_asked(info.context) if info.context else {}
        wrong = []
        for name in self._lists():
            expected, got = asked.get(name, []), [entry.id for entry in getattr(self, name)]
            if info.context and sorted(got) != sorted(expected):
                wrong.append(f"`{name}` needs one entry each for {_listed(expected)}; got {_listed(got)}")
        if wrong:
            raise ValueError("; ".join(wrong))
        return self


def judgments_form(fields: Mapping[str, Any]) -> type[Judgments]:
    """Return the reply model with exactly the lists for which the prompt's fields show criteria."""
    return _form(tuple(name for name, ids in ids_asked(fields).items() if ids))


@functools.cache
def _form(names: tuple[str, ...]) -> type[Judgments]:
    lists: dict[str, Any] = {name: (_list_of(name), ...) for name in names}
    return create_model("Judgments", __base__=Judgments, __doc__=Judgments.__doc__, **lists)


def _list_of(name: str) -> Any:
    usable = keep_usable(lambda fields: ids_asked(fields)[name], _id_of, reasons=("reason",), may_be_empty=True)
    return Annotated[list[_ENTRIES[name]], usable]  # type: ignore[valid-type]


def _listed(ids: list[str]) -> str:
    return ", ".join(ids) or "none"
