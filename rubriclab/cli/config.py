"""`rubriclab.toml`: the same options as on the command line, for a folder.

Options stand at the top level under their names (`judge = "gpt-4o-mini"`, `max-cost = 2.5`); a table of a method's name
holds its hyperparameters (`[hypoeval]`, `k = 10`). The command line comes first, then the environment, then the file.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from rubriclab.errors import SettingsError

CONFIG_NAME = "rubriclab.toml"
METHODS = ("hypoeval",)


def defaults_from(path: Path | None, commands: Mapping[str, Sequence[click.Parameter]]) -> dict[str, dict[str, Any]]:
    """Return click's default map, command by command, from the configuration file; empty if there is none.

    Raises:
        SettingsError: if the file is missing though named, is not TOML, or holds what is no option.
    """
    file = path or Path(CONFIG_NAME)
    if not file.is_file():
        if path:
            raise SettingsError(f"There is no configuration file {path}.")
        return {}
    values = _load(file)
    options = {name: _options(params) for name, params in commands.items()}
    known = set().union(*options.values())
    flat = {key.replace("-", "_"): value for key, value in values.items() if key not in METHODS}
    unknown = sorted(set(flat) - known)
    if unknown:
        names = ", ".join(sorted(name.replace("_", "-") for name in known))
        raise SettingsError(
            f"{file}: {unknown[0]!r} is no option.", f"Known are: {names}; and tables for {METHODS[0]}."
        )
    settings = [f"{method}.{key}={_text(value)}" for method in METHODS for key, value in values.get(method, {}).items()]
    return {
        name: {**{key: value for key, value in flat.items() if key in own}, "configured": settings}
        for name, own in options.items()
    }


def _load(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{file} is not valid TOML: {error}.") from None


def _options(params: Sequence[click.Parameter]) -> set[str]:
    return {param.name for param in params if isinstance(param, click.Option) and param.name and not param.hidden}


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
