"""The base of every operation's options, and what the command line needs to know of an option beyond its model."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from operator import or_
from types import UnionType
from typing import Annotated, Any, ClassVar, Literal, Self, Union, get_args, get_origin

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from rubriclab.errors import SettingsError
from rubriclab.models.characters import close_match
from rubriclab.pydantic_errors import first_fault, has_unknown_name

_MODULES = re.compile(r"\b(?:typing|datetime|pathlib|collections\.abc|rubriclab(?:\.\w+)*)\.")


# Whether a configuration file that was found in the working folder may set an option: `always` for how input is read
# and how results are shown, `never` for what a command changes in the store, or else once the user has confirmed it.
FromFound = Literal["always", "confirmed", "never"]
# Headings of help.
JUDGING, LIMITS, INPUT, STORED = "Judge", "Limits", "Input", "Store and output"


@dataclass(frozen=True, slots=True)
class Flag:
    """What the command line needs to know of an option beyond its model.

    Attributes:
        names: its names, where these are not that of the field: `-o --output`; `REF` for an argument.
        metavar: what stands for its value in help.
        place: what a path in its value is, so that relative paths in a configuration file are those of its folder.
        section, from_found: as in `Options`, if it differs from those of the others.
        joined: whether it is repeatable with values that are joined by commas.
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
    """Base of the options of an operation: frozen, and strict about names that it does not know.

    Attributes:
        section: the heading of help for the options that a class itself declares; the command's own if empty.
        from_found: whether a configuration file that was found may set them.
    """

    section: ClassVar[str] = ""
    from_found: ClassVar[FromFound] = "confirmed"

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, defer_build=True)

    def __init__(self, **values: Any) -> None:
        """Validate the options.

        Raises:
            SettingsError: for an unknown option or a value out of bounds, naming the option.
        """
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise option_error(error, type(self)) from None

    @classmethod
    def given(cls, values: Mapping[str, Any]) -> Self:
        """Return the options out of `values` that this operation has; what is `None` keeps its default."""
        return cls(**{name: values[name] for name in cls.model_fields if values.get(name) is not None})

    @classmethod
    def part_of(cls, options: Options) -> Self:
        """Return those of some options that this model has."""
        return cls(**{name: getattr(options, name) for name in cls.model_fields})


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


def _several(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


# One text stands for a tuple of one.
Texts = Annotated[tuple[str, ...], BeforeValidator(_several)]
