"""Hyperparameters as users write them, to a method's settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import orjson
from pydantic import BaseModel, ValidationError

from rubriclab.errors import SettingsError
from rubriclab.learning.settings import JointSettings
from rubriclab.methods.method import Method, chosen_settings
from rubriclab.methods.names import SETTINGS_NAMES
from rubriclab.pydantic_errors import first_fault

Made = TypeVar("Made", bound=BaseModel)


def method_settings(method: Method, given: Sequence[str], configured: Sequence[str] = ()) -> BaseModel:
    """Return the method's settings from pairs METHOD.NAME=VALUE; those `given` come before those `configured`.

    A configuration file may hold tables for several methods; what is given on the command line is for this one.

    Raises:
        SettingsError: for a pair that is not understood, an unknown name or a value out of bounds.
    """
    check_names(given, [method.name], f"this is {method.name}")
    return settings_from(method, {**_values(method.name, configured), **_values(method.name, given)})


def joint_settings(
    methods: Sequence[Method], given: Sequence[str], configured: Sequence[str], options: Mapping[str, Any]
) -> tuple[JointSettings, list[BaseModel]]:
    """Return the settings of a joint training, and of each of its methods, from pairs METHOD.NAME=VALUE.

    What a method is set to inside a joint training comes first, then the configuration, then what is `given`; for the
    training as a whole, what `options` of the command line say comes last.

    Raises:
        SettingsError: as `method_settings`.
    """
    from rubriclab.learning.candidates import JOINT_SETTINGS

    check_names(given, ["joint", *(method.name for method in methods)], "it takes no part in this training")
    own = [
        settings_from(
            method,
            {**JOINT_SETTINGS.get(method.name, {}), **_values(method.name, configured), **_values(method.name, given)},
        )
        for method in methods
    ]
    values = {**_values("joint", configured), **_values("joint", given), **options}
    return _checked("joint", JointSettings, lambda: JointSettings(**values)), own


def check_names(given: Sequence[str], names: Sequence[str], why: str) -> None:
    """Return if each of the pairs `given` is for one of `names`.

    Raises:
        SettingsError: if one is not.
    """
    for pair in given:
        if parsed_setting(pair)[0] not in names:
            raise SettingsError(f"--set {pair!r} is for another method; {why}.")


def settings_from(method: Method, values: Mapping[str, Any]) -> BaseModel:
    """Return the method's settings.

    Raises:
        SettingsError: for an unknown name or a value out of bounds.
    """
    make = partial(chosen_settings, method.settings, method.presets, values)
    return _checked(method.name, method.settings, make)


def _checked(name: str, model: type[BaseModel], make: Callable[[], Made]) -> Made:
    try:
        return make()
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        preset = "" if name == "joint" else "preset, "
        known = f"Known are: {preset}{', '.join(sorted(model.model_fields))}."
        hint = known if first["type"] == "extra_forbidden" else None
        raise SettingsError(f"{first_fault(error, name)}.", hint) from None
    except ValueError as error:
        raise SettingsError(f"{name}.preset: {error}.") from None


def _values(name: str, pairs: Sequence[str]) -> dict[str, Any]:
    return {field: value for owner, field, value in map(parsed_setting, pairs) if owner == name}


def parsed_setting(pair: str) -> tuple[str, str, Any]:
    """Return method, name and value of a pair METHOD.NAME=VALUE.

    Raises:
        SettingsError: if it is of no such form, or there is no such method.
    """
    name, equals, text = pair.partition("=")
    method, dot, field = name.strip().partition(".")
    if not equals or not dot or method not in SETTINGS_NAMES:
        raise SettingsError(
            f"--set {pair!r} is not understood;",
            f"write METHOD.NAME=VALUE, as in hypoeval.k=10. Methods are: {', '.join(SETTINGS_NAMES)}.",
        )
    try:
        return method, field, orjson.loads(text)
    except orjson.JSONDecodeError:
        return method, field, text.strip()
