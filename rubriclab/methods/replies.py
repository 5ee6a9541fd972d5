"""What the reply models of several methods share: ids, scores on the prompt's scale, and salvage.

A reply with one entry for each thing asked about must be complete. A reply that failed twice is read once more in
salvage mode (`rubriclab.prompts.prompt.SALVAGE`): usable entries are kept, and the others are missing.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from typing import Annotated, Any, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)

from rubriclab.bounds import LONGEST_WORDING
from rubriclab.data.aspect import Words
from rubriclab.data.fields import LONGEST_NAME
from rubriclab.data.scale import Scale
from rubriclab.judges.ask import JudgeAnswer, read
from rubriclab.prompts import Prompt
from rubriclab.prompts.prompt import SALVAGE

# A model may copy an id with its brackets or markers, or format it like the beginning of a line.
_AROUND_ID = " \t\n[](){}<>*_`~\"'“”‘’.:"

K = TypeVar("K", bound=Hashable)


def bare_id(value: Any, ids: Sequence[str]) -> Any:
    """Return an id without surrounding marks; any other value unchanged."""
    if not isinstance(value, str) or value in ids:
        return value
    bare = value.strip(_AROUND_ID)
    return bare if bare in ids else bare.lower()


def is_salvage(info: ValidationInfo) -> bool:
    """Return whether only the usable entries of a reply are wanted."""
    return bool(info.context and info.context.get(SALVAGE))


def keep_usable(
    expected: Callable[[Mapping[str, Any]], Iterable[K]],
    key_of: Callable[[Mapping[str, Any], ValidationInfo], K | None],
    *,
    reasons: Collection[str] = (),
    position: Callable[[K], int | None] | None = None,
    may_be_empty: bool = False,
) -> WrapValidator:
    """Return the validator of a list of entries that keeps the usable ones in salvage mode, in the order of `expected`.

    An entry is usable if it is valid and no entry about the same thing contradicts it.

    Args:
        expected: returns the keys of everything that the prompt's fields ask about.
        key_of: returns the key of an entry that is not validated yet; `None` if it has none.
        reasons: the fields with explanations: they may be missing, and two entries may differ in them.
        position: the number of a key. If the numbers of all entries are shifted, each entry is about something else and
            none is usable.
        may_be_empty: whether a list without any usable entry is valid.
    """

    def validate(items: Any, handler: ValidatorFunctionWrapHandler, info: ValidationInfo) -> Any:
        if not is_salvage(info):
            return handler(items)
        keys = list(expected(info.context or {}))
        keyed = [(key_of(item, info), item) for item in items if isinstance(item, dict)] if _is_list(items) else []
        if position and _shifted((position(key) for key, _ in keyed if key is not None), map(position, keys)):
            raise ValueError("the numbers of all entries are shifted")
        by_key: dict[K | None, list[BaseModel | None]] = {key: [] for key in keys}
        for key, item in keyed:
            if key in by_key:
                by_key[key].append(_entry(item, handler, reasons))
        usable = [entry for entries in by_key.values() if entries and (entry := _agreed(entries, reasons)) is not None]
        if not (usable or may_be_empty):
            raise ValueError("no entry is usable")
        return usable

    return WrapValidator(validate)


def keep_valid(reasons: Collection[str]) -> WrapValidator:
    """Return the validator of a list that keeps every valid entry in salvage mode; `reasons` as for `keep_usable`."""

    def validate(items: Any, handler: ValidatorFunctionWrapHandler, info: ValidationInfo) -> Any:
        if not is_salvage(info):
            return handler(items)
        objects = [item for item in items if isinstance(item, dict)] if _is_list(items) else []
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


def _is_list(items: Any) -> bool:
    return isinstance(items, list)


def _shifted(numbers: Iterable[int | None], expected: Iterable[int | None]) -> bool:
    """Return whether the numbers are those expected, all higher or all lower by the same amount."""
    got, wanted = (sorted({number for number in side if number is not None}) for side in (numbers, expected))
    steps = {number - place for number, place in zip(got, wanted, strict=False)}
    return len(got) == len(wanted) and len(steps) == 1 and 0 not in steps


def _entry(item: Mapping[str, Any], handler: ValidatorFunctionWrapHandler, reasons: Collection[str]) -> Any:
    """Return the valid entry, or `None`."""
    completed = dict.fromkeys(reasons, "") | {name: value for name, value in item.items() if value is not None}
    try:
        return handler([completed])[0]
    except ValidationError:
        return None


def _agreed(entries: Sequence[BaseModel | None], reasons: Collection[str]) -> BaseModel | None:
    """Return the first of the entries about one thing if all agree, apart from their reasons."""
    contents = [None if entry is None else entry.model_dump(exclude=set(reasons)) for entry in entries]
    return entries[0] if all(content is not None and content == contents[0] for content in contents) else None


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


def _no_truth_value(value: Any) -> Any:
    if isinstance(value, bool):
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

# pydantic would accept `true` as 1.
Number = Annotated[float, BeforeValidator(_no_truth_value)]
Whole = Annotated[int, BeforeValidator(_no_truth_value)]

# A number that the prompt's scale allows.
OnScale = Annotated[Number, AfterValidator(_on_scale)]


class Rating(BaseModel):
    """A score with its reason."""

    reasoning: str
    score: OnScale
