"""Hyperparameters as users write them, to a method's settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from pydantic import BaseModel, ValidationError

from rubriclab.errors import SettingsError
from rubriclab.methods.method import Method, chosen_settings
from rubriclab.methods.names import METHOD_NAMES


def method_settings(method: Method, given: Sequence[str], configured: Sequence[str] = ()) -> BaseModel:
    """Return the method's settings from pairs METHOD.NAME=VALUE; those `given` come before those `configured`.

    A configuration file may hold tables for several methods; what is given on the command line is for this one.

    Raises:
        SettingsError: for a pair that is not understood, an unknown name or a value out of bounds.
    """
    for pair in given:
        if _parsed(pair)[0] != method.name:
            raise SettingsError(f"--set {pair!r} is for another method: this is {method.name}.")
    values = {field: value for name, field, value in map(_parsed, (*configured, *given)) if name == method.name}
    return settings_from(method, values)


def settings_from(method: Method, values: Mapping[str, Any]) -> BaseModel:
    """Return the method's settings.

    Raises:
        SettingsError: for an unknown name or a value out of bounds.
    """
    try:
        return chosen_settings(method.settings, method.published, values)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        known = ", ".join(sorted(method.settings.model_fields))
        hint = f"Known are: preset, {known}." if first["type"] == "extra_forbidden" else None
        where = ".".join(map(str, (method.name, *first["loc"])))
        # Our own complaints say what came; pydantic puts their kind before them.
        own = first["type"] == "value_error"
        told = first["msg"].removeprefix("Value error, ") if own else f"{first['msg']}; got {first['input']!r}"
        raise SettingsError(f"{where}: {told}.", hint) from None
    except ValueError as error:
        raise SettingsError(f"{method.name}.preset: {error}.") from None


def _parsed(pair: str) -> tuple[str, str, Any]:
    name, equals, text = pair.partition("=")
    method, dot, field = name.strip().partition(".")
    if not equals or not dot or method not in METHOD_NAMES:
        raise SettingsError(
            f"--set {pair!r} is not understood;",
            f"write METHOD.NAME=VALUE, as in hypoeval.k=10. Methods are: {', '.join(METHOD_NAMES)}.",
        )
    try:
        return method, field, orjson.loads(text)
    except orjson.JSONDecodeError:
        return method, field, text.strip()
