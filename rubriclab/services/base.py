"""The base of every operation's options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from rubriclab.data.scale import Scale
from rubriclab.errors import SettingsError
from rubriclab.option_names import option
from rubriclab.pydantic_errors import first_fault, has_unknown_name


class Options(BaseModel):
    """Base of the options of an operation: frozen, and strict about names that it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

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


def option_error(error: ValidationError, model: type[BaseModel]) -> SettingsError:
    """Return the first fault of some options as an error that names the option."""
    name, _, fault = first_fault(error).partition(":")
    if has_unknown_name(error):
        known = ", ".join(option(name) for name in model.model_fields)
        return SettingsError(f"There is no option {option(name)} here.", f"Known are: {known}.")
    return SettingsError(f"{option(name)}:{fault}." if fault else f"{name}.")


def _several(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


def _scale_text(value: Any) -> Any:
    if isinstance(value, Scale):
        return f"{value.low!r}:{value.high!r}:{'whole' if value.whole else 'any'}"
    if isinstance(value, Sequence) and not isinstance(value, str) and len(value) == 2:
        return ":".join(str(end) for end in value)
    return value


def _map_text(value: Any) -> Any:
    return ",".join(f"{field}={column}" for field, column in value.items()) if isinstance(value, Mapping) else value


# One text stands for a tuple of one.
Texts = Annotated[tuple[str, ...], BeforeValidator(_several)]
# A scale as `parse_scale` reads it; `(1, 5)` and a `Scale` are written so.
ScaleText = Annotated[str, BeforeValidator(_scale_text)]
# A mapping of fields to columns as `parse_mapping` reads it; a `dict` is written so.
MapText = Annotated[str, BeforeValidator(_map_text)]
# Hyperparameters by method and name: `{"hypoeval": {"k": 10}}`.
SettingsTables = Mapping[str, Mapping[str, Any]]


class RowOptions(Options):
    """How rows are read."""

    mapping: MapText | None = None
    """Where fields stand in the rows: `{"output": "summary"}` or `"output=summary"`."""

    max_line_bytes: int | None = Field(default=None, ge=1)
    """The longest row that is read from a file. Default: 64 MB."""


class JudgeOption(Options):
    """Which judge is asked."""

    judge: str | None = None
    """A litellm model string, `embedded` (offline, no language model) or `recorded:PATH`."""
