"""`rubriclab.toml`: the same options as on the command line, for a folder.

Options stand at the top level under their names (`judge = "gpt-4o-mini"`, `max-cost = 2.5`); a table of a method's name
holds its hyperparameters (`[hypoeval]`, `k = 10`). The command line comes first, then the environment, then the file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from rubriclab.documents import Unreadable, read_toml
from rubriclab.errors import SettingsError
from rubriclab.methods.names import SETTINGS_NAMES

CONFIG_NAME = "rubriclab.toml"


def defaults_from(path: Path | None, commands: Mapping[str, Sequence[click.Parameter]]) -> dict[str, dict[str, Any]]:
    """Return click's default map, command by command, from the configuration file; empty if there is none.

    Raises:
        SettingsError: if the file is missing though named, is not TOML, or holds what is no option.
    """
    file = path or Path(CONFIG_NAME)
    if not file.exists():
        if path:
            raise SettingsError(f"There is no configuration file {path}.")
        return {}
    values = _load(file)
    options = {name: _options(params) for name, params in commands.items()}
    known = sorted(set().union(*options.values()))
    given = {key.replace("_", "-"): value for key, value in values.items() if key not in SETTINGS_NAMES}
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise SettingsError(
            f"{file}: {unknown[0]!r} is no option.",
            f"Known are: {', '.join(known)}; and tables for {', '.join(SETTINGS_NAMES)}.",
        )
    settings = [setting for method in SETTINGS_NAMES for setting in _settings(file, method, values.get(method, {}))]
    return {
        name: {
            **{str(own[key].name): _given(own[key], given[key]) for key in own.keys() & given},
            "configured": settings,
        }
        for name, own in options.items()
    }


def _load(file: Path) -> dict[str, Any]:
    try:
        return read_toml(file)
    except Unreadable as error:
        raise SettingsError(f"The configuration file {file} cannot be used: {error}.") from None


def _options(params: Sequence[click.Parameter]) -> dict[str, click.Option]:
    """Return the options by the names that users know: `max-cost` for `--max-cost`."""
    shown = [param for param in params if isinstance(param, click.Option) and not param.hidden]
    return {max(option.opts, key=len).lstrip("-"): option for option in shown}


def _given(option: click.Option, value: Any) -> Any:
    return [value] if option.multiple and not isinstance(value, list) else value


def _settings(file: Path, method: str, table: Any) -> list[str]:
    if not isinstance(table, Mapping):
        raise SettingsError(
            f"{file}: {method!r} is a table of hyperparameters; got {table!r}.", f"Write [{method}], then k = 10."
        )
    return [f"{method}.{key}={_text(value)}" for key, value in table.items()]


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
