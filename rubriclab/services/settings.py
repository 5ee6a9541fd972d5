"""The settings of methods and of joint training, resolved from all places that may set them.

In increasing precedence: the method's defaults, its defaults inside a joint training, a configuration file (or a
`Lab`), the environment and the command line (or the options of a call), what is recorded in a version.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import orjson
from pydantic import BaseModel, ValidationError

from rubriclab.errors import SettingsError, UnknownMethod
from rubriclab.learning.settings import JointSettings
from rubriclab.methods.catalogue import METHODS
from rubriclab.methods.method import Method, chosen_settings
from rubriclab.methods.names import JOINT, has_settings, settings_names
from rubriclab.option_names import did_you_mean, option
from rubriclab.pydantic_errors import first_fault, has_unknown_name
from rubriclab.services.base import SettingsTables, check_tables

M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True)
class ResolvedSettings:
    """The settings of each method, and of the joint training; `joint` is `None` for a method alone."""

    methods: Mapping[str, BaseModel]
    joint: JointSettings | None = None


def resolve_settings(
    methods: Sequence[Method],
    *,
    joint: bool,
    configured: SettingsTables | None = None,
    chosen: SettingsTables | None = None,
    recorded: SettingsTables | None = None,
) -> ResolvedSettings:
    """Return the settings of the methods, and of their joint training if `joint`.

    Args:
        configured: from a configuration file; may hold tables of methods that take no part.
        chosen: from the environment and the command line, or from a call.
        recorded: of a version that is learned again. What a version of one method has left at that method's defaults
            does not count as set: in a joint training its defaults for that apply.

    Raises:
        SettingsError: for an unknown method or name, a value out of bounds, or a chosen setting of a method that takes
            no part.
    """
    names = [*([JOINT] if joint else []), *(method.name for method in methods)]
    _check_owners(configured or {})
    _check_owners(chosen or {})
    why = "it takes no part in this training" if joint else f"this is {names[0]}"
    for owner, values_of_owner in (chosen or {}).items():
        if owner not in names:
            setting = ".".join([owner, *list(values_of_owner)[:1]])
            raise SettingsError(f"{option('settings')}: {setting} is for another method; {why}.")
    defaults: SettingsTables = {method.name: method.joint_settings for method in methods} if joint else {}
    layers = (defaults, configured or {}, chosen or {}, _set_by_user(recorded or {}))

    def values(name: str) -> dict[str, Any]:
        return {key: value for layer in layers for key, value in layer.get(name, {}).items()}

    return ResolvedSettings(
        {method.name: settings_from(method, values(method.name)) for method in methods},
        _checked(JOINT, JointSettings, lambda: JointSettings(**values(JOINT))) if joint else None,
    )


def method_named(name: str) -> Method:
    """Return a method by its name.

    Raises:
        SettingsError: if there is none.
    """
    try:
        return METHODS[name]
    except UnknownMethod:
        names = [name for name in METHODS if name != "text_features"]
        known = f"{did_you_mean(name, names)}Known are: {', '.join(names)}."
        raise SettingsError(f"{option('methods')}: there is no method {name!r}.", known) from None


def settings_from(method: Method, values: Mapping[str, Any]) -> BaseModel:
    """Return the method's settings.

    Raises:
        SettingsError: for an unknown name or a value out of bounds.
    """
    return _checked(method.name, method.settings, partial(chosen_settings, method.settings, method.presets, values))


def parse_settings(pairs: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return pairs METHOD.NAME=VALUE as tables; values are JSON or else texts, and the last of several counts.

    Raises:
        SettingsError: if one is of no such form, or there is no such method.
    """
    tables: dict[str, dict[str, Any]] = {}
    for pair in pairs:
        owner, name, value = _parsed(pair)
        tables.setdefault(owner, {})[name] = value
    return tables


def _set_by_user(recorded: SettingsTables) -> dict[str, Mapping[str, Any]]:
    if JOINT in recorded:
        return dict(recorded)
    return {name: _unlike_defaults(method_named(name), values) for name, values in recorded.items()}


def _unlike_defaults(method: Method, values: Mapping[str, Any]) -> dict[str, Any]:
    defaults = method.settings().model_dump(mode="json")
    return {name: value for name, value in values.items() if value != defaults.get(name)}


def _check_owners(tables: SettingsTables) -> None:
    for owner in check_tables(tables):
        if not has_settings(owner):
            methods = f"{did_you_mean(owner, settings_names())}Methods are: {', '.join(settings_names())}."
            raise SettingsError(f"{option('settings')}: {owner!r} is no method.", methods)


def _checked(name: str, model: type[BaseModel], make: Callable[[], M]) -> M:
    try:
        return make()
    except ValidationError as error:
        names = [*([] if name == JOINT else ["preset"]), *sorted(model.model_fields)]
        wrong = str(error.errors(include_url=False)[0]["loc"][-1])
        hint = f"{did_you_mean(wrong, names)}Known are: {', '.join(names)}." if has_unknown_name(error) else None
        raise SettingsError(f"{first_fault(error, name)}.", hint) from None
    except ValueError as error:
        raise SettingsError(f"{name}.preset: {error}.") from None


def _parsed(pair: str) -> tuple[str, str, Any]:
    name, equals, text = pair.partition("=")
    method, dot, field = name.strip().partition(".")
    if not equals or not dot or not has_settings(method):
        raise SettingsError(
            f"{option('settings')} {pair!r} is not understood;",
            f"write METHOD.NAME=VALUE, as in hypoeval.k=10. Methods are: {', '.join(settings_names())}.",
        )
    try:
        return method, field, orjson.loads(text)
    except orjson.JSONDecodeError:
        return method, field, text.strip()
