"""The base of every operation's options, and validation errors in plain words.

pydantic's messages speak of inputs, types and Python classes. Only this module rewrites them: `faults` returns all
faults of a validation error as text, and `first_fault` only the first.
"""

from __future__ import annotations

import inspect
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Literal, Union, get_args, get_origin

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from rubriclab.errors import SettingsError
from rubriclab.models.characters import close_match, describe, one_line

_MODULE_PREFIX = re.compile(r"\b(?:typing|datetime|pathlib|collections\.abc|rubriclab(?:\.\w+)*)\.")

# When a configuration file in the working folder may set an option: `always` (options of reading and display), `never`
# (options that say what a command changes), or `confirmed` (all others): only if the user has confirmed the file.
ConfigMaySet = Literal["always", "confirmed", "never"]
# Headings in a command's help, in order. The command's own options come first, without a heading.
JUDGING, LIMITS, INPUT, STORE_AND_OUTPUT = "Judge", "Limits", "Input", "Store and output"
SECTIONS = ("", JUDGING, LIMITS, INPUT, STORE_AND_OUTPUT)


@dataclass(frozen=True, slots=True)
class CliForm:
    """What the command line has to know of an option besides the field's name, type, default and help text.

    Attributes:
        names: the option's names, if they differ from the name of the field: `--map`.
        path_kind: what a path in the value is for (a judge may be `recorded:PATH`); empty for a value without a path.
        section, config_may_set: the option's own values, instead of its class's `section` and `config_may_set`.
        is_list: whether the value is a list separated by commas; the lists of a repeated option are joined.
        multiple: whether the option may be repeated although its type is not a tuple.
    """

    names: str = ""
    metavar: str | None = None
    path_kind: Literal["", "input", "output", "store", "judge"] = ""
    section: str | None = None
    config_may_set: ConfigMaySet | None = None
    is_list: bool = False
    multiple: bool = False
    hidden: bool = False


class Options(BaseModel):
    """Base of the options of an operation."""

    section: ClassVar[str] = ""  # the heading of these options in the command's help
    config_may_set: ClassVar[ConfigMaySet] = "confirmed"

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, defer_build=True)

    def __init__(self, **values: Any) -> None:
        """Validate the options; `None` keeps the default of an option. SettingsError names the first faulty one."""
        try:
            super().__init__(**{name: value for name, value in values.items() if value is not None})
        except ValidationError as error:
            fault = error.errors(include_url=False)[0]
            # A validator's own SettingsError, which pydantic wraps since it is a ValueError, names the option already.
            if isinstance(raised := fault.get("ctx", {}).get("error"), SettingsError):
                raise raised from None
            path_in_value = fault["loc"][1:]
            name, complaint = field_path(fault["loc"][:1]), _fault_text({**fault, "loc": path_in_value})
            if fault["type"] == "extra_forbidden":
                names = type(self).model_fields
                suggestion = close_match(name, names)
                hint = f"Did you mean `{suggestion}`? " if suggestion else ""
                hint += f"The known ones are: {', '.join(f'`{known}`' for known in names)}."
                raise SettingsError(f"There is no option `{name}` here.", hint) from None
            raise SettingsError(f"`{name}`: {complaint}." if name else f"{complaint}.") from None


def type_text(annotation: Any) -> str:
    """Return a type as source code, without module names and validators."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return type_text(arguments[0])
    if origin in (Union, UnionType):
        return " | ".join(map(type_text, arguments))
    if origin and origin is not Literal:
        return f"{origin.__name__}[{', '.join(map(type_text, arguments))}]"
    names = {NoneType: "None", Ellipsis: "..."}
    return names.get(annotation) or _MODULE_PREFIX.sub("", inspect.formatannotation(annotation))


# A single text becomes a tuple with one item.
Texts = Annotated[tuple[str, ...], BeforeValidator(lambda value: (value,) if isinstance(value, str) else value)]

# Maximum number of faults in one message.
MAX_FAULTS = 5
# Maximum numbers of characters that are shown of a name, and of a message that may quote the user's file.
LONGEST_NAME = 60
LONGEST_MESSAGE = 300

# What messages say was expected, by the type of pydantic's error.
_EXPECTED_BY_TYPE = tomllib.loads(Path(__file__).with_name("expected_values.toml").read_text("utf-8"))


def faults(error: ValidationError) -> str:
    """Return up to `MAX_FAULTS` faults, as in `scale.low: expected a number, got the text 'x'; and 2 more`."""
    # pydantic counts only valid items, so it calls lists with faulty items too short; the faults of the items suffice.
    relevant = [
        fault
        for fault in error.errors(include_url=False)
        if fault["type"] != "too_short" or len(fault["input"]) < int(fault["ctx"]["min_length"])
    ]
    listed = [_fault_text(fault) for fault in relevant[:MAX_FAULTS]]
    more = f"; and {len(relevant) - MAX_FAULTS} more" if len(relevant) > MAX_FAULTS else ""
    return f"{'; '.join(listed)}{more}"


def first_fault(error: ValidationError, root: str = "") -> str:
    """Return the path of the first fault, which begins with `root`, and what is wrong there, without a full stop."""
    return _fault_text(error.errors(include_url=False)[0], root)


def field_path(steps: Sequence[int | str], root: str = "") -> str:
    """Return a path such as `rubric.parts[0].criteria`, with names made printable and cut."""
    path = root
    for step in steps:
        path += f"[{step}]" if isinstance(step, int) else f".{_cut(one_line(step), LONGEST_NAME)}"
    return path.removeprefix(".")


def _fault_text(fault: Any, root: str = "") -> str:
    kind, value = fault["type"], describe(fault["input"])
    if kind == "missing":
        complaint = "missing"
    elif kind == "extra_forbidden":
        complaint = f"unknown name, got {value}"
    elif kind == "value_error":
        complaint = _cut(one_line(str(fault["ctx"]["error"])), LONGEST_MESSAGE)
    elif kind.startswith(("datetime_", "timezone_")):
        complaint = f"expected a date and time such as 2026-11-21T12:30:00Z, got {value}"
    else:
        error_values = dict(fault.get("ctx", {}))
        for name, bound in error_values.items():
            if isinstance(bound, float) and bound.is_integer():
                error_values[name] = int(bound)  # so that the message says 2 rather than 2.0
        expected = _EXPECTED_BY_TYPE.get(kind, "a value of another form").format(**error_values)
        complaint = f"expected {expected}, got {value}"
    path = field_path(fault["loc"], root)
    return f"{path}: {complaint}" if path else complaint


def _cut(text: str, max_length: int) -> str:
    return text if len(text) <= max_length else f"{text[:max_length]}…"
