"""The reply about several texts: for each of them the lists of a reply about one text, after its number."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ValidationInfo, create_model, model_validator

from rubriclab.methods.replies import is_salvage, keep_usable
from rubriclab.methods.single_call.replies import Judgments, judgments_form

_NUMBER = re.compile(r"\D*(\d{1,6})\D*")


def numbers_asked(fields: Mapping[str, Any]) -> list[int]:
    """Return the numbers of the texts that a prompt's fields show, in order."""
    return [text["number"] for text in fields["texts"]]


def _number(value: Any) -> Any:
    """Return the number in `text 3`; any other value unchanged."""
    found = _NUMBER.fullmatch(value) if isinstance(value, str) else None
    return int(found[1]) if found else value


def _number_of(item: Mapping[str, Any], _info: ValidationInfo) -> int | None:
    number = _number(item.get("text"))
    return number if isinstance(number, int) and not isinstance(number, bool) else None


def _single(items: Any, info: ValidationInfo) -> Any:
    """Return the entries, in salvage mode without texts that have several: it is unknown which entry is meant."""
    if not (is_salvage(info) and isinstance(items, list)):
        return items
    numbers = [_number_of(item, info) if isinstance(item, dict) else None for item in items]
    often = Counter(numbers)
    return [item for item, number in zip(items, numbers, strict=True) if often[number] == 1]


class RivalJudgments(BaseModel):
    """One entry for each text, in the order of their numbers."""

    texts: Sequence[Any]

    @model_validator(mode="after")
    def _complete(self, info: ValidationInfo) -> Self:
        if info.context and not is_salvage(info):
            expected, got = numbers_asked(info.context), [entry.text for entry in self.texts]
            if sorted(got) != expected:
                listed = [", ".join(map(str, numbers)) or "none" for numbers in (expected, got)]
                raise ValueError(f"`texts` needs one entry each for the texts {listed[0]}; got {listed[1]}")
        return self


def rivals_form(fields: Mapping[str, Any]) -> type[RivalJudgments]:
    """Return the reply model with exactly the lists for which the prompt's fields show criteria."""
    return _form(judgments_form(fields))


@functools.cache
def _form(judgments: type[Judgments]) -> type[RivalJudgments]:
    number = Annotated[int, BeforeValidator(_number)]
    lists: dict[str, Any] = {name: (field.annotation, field) for name, field in judgments.model_fields.items()}
    entry = create_model("TextJudgments", __base__=Judgments, __doc__=Judgments.__doc__, text=(number, ...), **lists)
    # Entries numbered from 0 would each be about another text.
    usable = keep_usable(numbers_asked, _number_of, position=lambda number: number)
    texts = Annotated[list[entry], usable, BeforeValidator(_single)]
    return create_model("RivalJudgments", __base__=RivalJudgments, __doc__=RivalJudgments.__doc__, texts=(texts, ...))
