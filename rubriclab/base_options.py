"""The base of every operation's options, and validation errors in plain words.

This is the only translator of pydantic's messages, which speak of inputs, types and Python classes.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from types import UnionType
from typing import Annotated, Any, ClassVar, Literal, Self, Union, get_args, get_origin

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from rubriclab.errors import SettingsError
from rubriclab.models.characters import close_match, describe, one_line

_MODULES = re.compile(r"\b(?:typing|datetime|pathlib|collections\.abc|rubriclab(?:\.\w+)*)\.")


# Whether a configuration file that was found in the working folder may set an option: `always` for how input is read
# and results are shown, `never` for what a command changes in the store, or else once the user has confirmed it.
FromFound = Literal["always", "confirmed", "never"]
# Headings of help, in its order; the first is the command's own.
SECTIONS = _, JUDGING, LIMITS, INPUT, STORED = ("", "Judge", "Limits", "Input", "Store and output")


@dataclass(frozen=True, slots=True)
class Flag:
    """What the command line needs to know of an option beyond its model.

    Attributes:
        names: where they are not those of the field: `--map`.
        place: what a path in the value is; a configuration file gives paths relative to its own folder.
        section, from_found: as in `Options`, if they differ from those of the others.
        joined: whether repeated values are joined by commas.
        multiple: whether it is repeatable though its type is no tuple.
    """

    names: str = ""
    metavar: str | None = None
    place: Literal["", "input", "output", "store", "judge"] = ""
    section: str | None = None
    from_found: FromFound | None = None
    joined: bool = False
    multiple: bool = False
    hidden: bool = False


class Options(BaseModel):
    """Base of the options of an operation; `section` is the heading of help for those that a class itself declares."""

    section: ClassVar[str] = ""
    from_found: ClassVar[FromFound] = "confirmed"

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, defer_build=True)

    def __init__(self, **values: Any) -> None:
        """Validate the options; `SettingsError` names one that is unknown or out of bounds."""
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise option_error(error, type(self)) from None

    @classmethod
    def given(cls, values: Mapping[str, Any]) -> Self:
        """Return the options out of `values` that this operation has; what is `None` keeps its default."""
        return cls(**{name: values[name] for name in cls.model_fields if values.get(name) is not None})


def option_error(error: ValidationError, model: type[BaseModel]) -> SettingsError:
    """Return the first fault of some options as an error that names the option."""
    raised = error.errors(include_url=False)[0].get("ctx", {}).get("error")
    if isinstance(raised, SettingsError):  # pydantic wraps it, since it is a ValueError; it names the option itself
        return raised
    name, _, fault = first_fault(error).partition(":")
    if has_unknown_name(error):
        known = ", ".join(f"`{name}`" for name in model.model_fields)
        meant = close_match(name, model.model_fields)
        hint = f"Did you mean `{meant}`? " if meant else ""
        return SettingsError(f"There is no option `{name}` here.", f"{hint}Known are: {known}.")
    return SettingsError(f"`{name}`:{fault}." if fault else f"{name}.")


def type_text(annotation: Any) -> str:
    """Return a type as a reader writes it: without modules, and without how values are validated."""
    if get_origin(annotation) in (Union, UnionType):
        return " | ".join(map(type_text, get_args(annotation)))
    if annotation is type(None):
        return "None"
    return _MODULES.sub("", inspect.formatannotation(_bare(annotation)))


def _bare(annotation: Any) -> Any:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _bare(arguments[0])
    if origin in (Union, UnionType):
        return reduce(or_, map(_bare, arguments))
    return origin[tuple(map(_bare, arguments))] if origin and "Annotated" in repr(annotation) else annotation


def one_or_several(value: Any) -> Any:
    """Return a text as a tuple of one; any other value as it is."""
    return (value,) if isinstance(value, str) else value


Texts = Annotated[tuple[str, ...], BeforeValidator(one_or_several)]


# Faults listed in one message.
SHOWN = 5
# Characters of names and messages, which may come from the file itself.
LONGEST_NAME = 60
LONGEST_MESSAGE = 300

# Types of pydantic's errors by what was expected, with placeholders for the values of the error.
_EXPECTED: Mapping[str, str] = {
    "{error}": "assertion_error",
    "{expected}": "enum literal_error",
    "true or false": "bool_parsing bool_type",
    "an object": "dict_type mapping_type model_attributes_type model_type",
    "a number": "float_parsing float_type",
    "a finite number": "finite_number",
    "a number above {gt}": "greater_than",
    "a number of at least {ge}": "greater_than_equal",
    "a number below {lt}": "less_than",
    "a number of at most {le}": "less_than_equal",
    "a whole number": "int_from_float int_parsing int_type",
    "a whole number of fewer digits": "int_parsing_size",
    "JSON ({error})": "json_invalid",
    "a list": "list_type tuple_type",
    "a list of at most {max_length:,}": "too_long",
    "a list of at least {min_length:,}": "too_short",
    "null": "none_required",
    "fewer objects inside each other": "recursion_loop",
    "a text": "string_type",
    "a text as a name": "invalid_key",
    "a text of the form {pattern}": "string_pattern_mismatch",
    "text in Unicode": "string_unicode",
    "at most {max_length:,} characters": "string_too_long",
    "a non-empty text": "string_too_short",
}
_MOMENT = "a date and time such as 2026-11-21T12:30:00Z"


def faults(error: ValidationError, root: str = "", most: int = SHOWN) -> str:
    """Return up to `most` faults: `scale.low: expected a number, got the text 'x'; and 2 more`, without a full stop."""
    # A list is too short, too, if its items are faulty, which is reported anyway.
    relevant = [
        fault
        for fault in error.errors(include_url=False)
        if fault["type"] != "too_short" or len(fault["input"]) < int(fault["ctx"]["min_length"])
    ]
    listed = [_sentence(fault, root) for fault in relevant[:most]]
    more = f"; and {len(relevant) - most} more" if len(relevant) > most else ""
    return f"{'; '.join(listed)}{more}"


def first_fault(error: ValidationError, root: str = "") -> str:
    """Return the first fault of data at the path `root`, without a full stop."""
    return _sentence(error.errors(include_url=False)[0], root)


def has_unknown_name(error: ValidationError) -> bool:
    """Return whether the first fault is a name that the model does not have."""
    return bool(error.errors(include_url=False)[0]["type"] == "extra_forbidden")


def has_wrong_names(error: ValidationError) -> bool:
    """Return whether any fault is a name that is missing or that the model does not have."""
    return any(fault["type"] in ("missing", "extra_forbidden") for fault in error.errors(include_url=False))


def path_of(places: Sequence[int | str], root: str = "") -> str:
    """Return a path such as `rubric.parts[0].criteria`, with names made printable and cut."""
    steps = (f"[{place}]" if isinstance(place, int) else f".{_cut(one_line(place), LONGEST_NAME)}" for place in places)
    return f"{root}{''.join(steps)}".removeprefix(".")


def _sentence(fault: Any, root: str) -> str:
    path, complaint = path_of(fault["loc"], root), _complaint(fault)
    return f"{path}: {complaint}" if path else complaint


def _complaint(fault: Any) -> str:
    kind, value = fault["type"], describe(fault["input"])
    if kind == "missing":
        return "missing"
    if kind == "extra_forbidden":
        return f"unknown name, got {value}"
    if kind == "value_error":
        return _cut(one_line(str(fault["ctx"]["error"])), LONGEST_MESSAGE)
    if kind.startswith(("datetime_", "timezone_")):
        return f"expected {_MOMENT}, got {value}"
    # 2, not 2.0
    bounds = {
        name: int(bound) if isinstance(bound, float) and bound.is_integer() else bound
        for name, bound in fault.get("ctx", {}).items()
    }
    known = (words for words, kinds in _EXPECTED.items() if kind in kinds.split())
    expected = next(known, "a value of another form").format(**bounds)
    return f"expected {expected}, got {value}"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}…"
