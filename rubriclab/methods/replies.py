"""What the reply forms of several methods share: ids, scores on the prompt's scale, and what is sound of a list."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ValidationError, ValidationInfo

from rubriclab.bounds import LONGEST_WORDING
from rubriclab.data.aspect import Words
from rubriclab.data.fields import LONGEST_NAME
from rubriclab.data.scale import Scale

# A model may copy an id in the brackets or markers it is shown in, or decorate it like the beginning of a line.
_AROUND_ID = " \t\n[](){}<>*_`~\"'“”‘’.:"

E = TypeVar("E", bound=BaseModel)
K = TypeVar("K", bound=Hashable)


def bare_id(value: Any, ids: Sequence[str]) -> Any:
    """Return an id without what surrounds it; anything else as it is."""
    if not isinstance(value, str) or value in ids:
        return value
    bare = value.strip(_AROUND_ID)
    return bare if bare in ids else bare.lower()


def sound_entries(
    items: Any,
    form: type[E],
    keys: Iterable[K],
    key_of: Callable[[Mapping[str, Any]], K | None],
    *,
    words: Collection[str],
    context: Any = None,
) -> list[E]:
    """Return the usable ones of a reply's `items`, in the order of `keys`; none for a key on which two items differ.

    Args:
        key_of: what an item is about.
        words: the fields that tell why, without which an item is as good and in which two may differ.
        context: what `form` is validated with.

    Raises:
        ValueError: if nothing can be used.
    """
    found: dict[K | None, list[E | None]] = {key: [] for key in keys}
    for item in items if isinstance(items, list) else ():
        if isinstance(item, dict) and (key := key_of(item)) in found:
            found[key].append(_entry(item, form, words, context))
    usable = [first for said in found.values() if said and (first := _agreed(said, words)) is not None]
    if not usable:
        raise ValueError("nothing in it can be used")
    return usable


def shifted(got: Iterable[int | None], expected: Iterable[int]) -> bool:
    """Return whether the numbers are those expected, all higher or all lower: then each speaks of something else."""
    numbers, wanted = sorted({number for number in got if number is not None}), sorted(set(expected))
    steps = {number - place for number, place in zip(numbers, wanted, strict=False)}
    return len(numbers) == len(wanted) and len(steps) == 1 and 0 not in steps


def _entry(item: Mapping[str, Any], form: type[E], words: Collection[str], context: Any) -> E | None:
    told = dict.fromkeys(words, "") | {name: value for name, value in item.items() if value is not None}
    try:
        return form.model_validate(told, context=context)
    except ValidationError:
        return None


def _agreed(said: Sequence[E | None], words: Collection[str]) -> E | None:
    """Return the first of the entries on one thing, if all say the same."""
    whats = [None if entry is None else entry.model_dump(exclude=set(words)) for entry in said]
    return said[0] if all(what is not None and what == whats[0] for what in whats) else None


def at_most(most: int) -> AfterValidator:
    """Return a validator that refuses longer texts, which could not be stored.

    Not a constraint of the field: it would enter the JSON schema, and some providers refuse schemas with lengths.
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


def _on_scale(score: float, info: ValidationInfo) -> float:
    if info.context:
        scale = Scale.model_validate({name: info.context["scale"][name] for name in ("low", "high", "whole")})
        if not scale.holds(score):
            raise ValueError(f"the score must be {scale.describe()}; got {score}")
    return score


# Why a criterion was left out is kept with some words around it.
LONGEST_REASON = LONGEST_WORDING - 5 * LONGEST_NAME

# What a rubric keeps of a reply: a name (of a trait or sub-dimension), what is worded at length, and reasons.
NewName = Annotated[Words, at_most(LONGEST_NAME)]
Wording = Annotated[Words, at_most(LONGEST_WORDING)]
Reason = Annotated[str, at_most(LONGEST_REASON)]

# pydantic would take `true` for 1.
Number = Annotated[float, BeforeValidator(_no_truth_value)]
Whole = Annotated[int, BeforeValidator(_no_truth_value)]

# A number that the prompt's scale allows: inside it, and whole where only whole numbers are legal.
OnScale = Annotated[Number, AfterValidator(_on_scale)]


class Rating(BaseModel):
    """A score with its reason."""

    reasoning: str
    score: OnScale
