"""`rubriclab.toml`: the same options as on the command line, for a folder.

Options stand at the top level under their names (`judge = "gpt-4o-mini"`, `max-cost = 2.5`); a table of a method's name
holds its hyperparameters (`[hypoeval]`, `k = 10`). The command line comes first, then the environment, then the file.

A file that the user names is used as it is. One that was found in the working folder may have come with somebody else's
repository: what it sets is printed, and what could send a key elsewhere, write to a file or lift a cap on money is
refused until the user has confirmed the file's content (`rubriclab trust FILE`).

Relative paths in a file are relative to the folder that it really lies in, never to the working folder.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NoReturn

import click

from rubriclab.cli.places import PlaceType
from rubriclab.documents import MOST_TOML_BYTES, Unreadable, parse_toml, read_file
from rubriclab.errors import NotConfirmed, SettingsError
from rubriclab.methods.names import has_settings, settings_names
from rubriclab.option_names import did_you_mean

CONFIG_NAME = "rubriclab.toml"

# Options that choose a judge. A litellm model string decides whose key is used, and with some providers the address.
JUDGES = frozenset({"judge", "generator", "writer", "second-judge"})
# Options that decide where keys and texts go, who reads them, which files are written, and how a cap on money is
# counted. A store is among them as the versions learned in it choose judges and addresses.
GUARDED = frozenset(
    {
        "api-base",
        "address",
        "store",
        "price",
        "output",
        "record",
        "html",
        "markdown",
        "latex",
        "csv",
        "plots",
        "diff",
        "to-person",
        "share",
        "host",
        "token-file",
        "allow-calls",
        "force",
        "delete",
        "cancel",
        "repair",
        "older-than",
        "not-used-by",
        "folder",
        "yes",
    }
)
# The command that confirms a file, and the one option that it takes from a file that was found, once confirmed: a file
# must not decide on its own confirmation.
CONFIRMING = "trust"
TAKEN_TO_CONFIRM = "store"
# A longer value is cut where it is printed, except where the user is asked to confirm it.
SHOWN = 80


@dataclass(frozen=True)
class Config:
    """A configuration file: where it is, whether the user named it, and what it holds."""

    file: Path
    named: bool
    content: bytes

    @cached_property
    def folder(self) -> Path:
        """The folder that the file lies in, links followed: its relative paths are relative to it."""
        return self.file.resolve().parent

    @cached_property
    def values(self) -> dict[str, Any]:
        """The tables and options, with dashes in the names of options.

        Raises:
            SettingsError: if the file is not TOML.
        """
        loaded = _load(self.file, self.content)
        return {key if has_settings(key) else key.replace("_", "-"): value for key, value in loaded.items()}

    @cached_property
    def guarded(self) -> tuple[str, ...]:
        """The options that it may not set unless it is named or confirmed, sorted."""
        return tuple(sorted(key for key, value in self.values.items() if _is_guarded(key, value)))

    @cached_property
    def trusted(self) -> bool:
        """Whether it may set everything."""
        if self.named or not self.guarded:
            return True
        from rubriclab.cli.confirmed_files import is_confirmed

        return is_confirmed(self.file, self.content)

    def refuse(self, key: str) -> NoReturn:
        """Refuse the value of one option.

        Raises:
            NotConfirmed: always.
        """
        raise NotConfirmed(
            f"{self.file} in this folder sets {_pair(key, self.values[key], SHOWN)} and is not confirmed.",
            f"Read it, then confirm it once: rubriclab trust {self.file}; or name it: --config {self.file}; or set "
            f"--{key} yourself.",
        )

    def said(self, keys: Collection[str] | None = None) -> str:
        """Return on one line what it sets: the options and tables named by `keys`, cut, or else all of it, uncut."""
        wanted = {key: value for key, value in self.values.items() if keys is None or key in keys}
        pairs = [(key, value) for key, value in wanted.items() if not has_settings(key)]
        tables = [(name, wanted[name]) for name in settings_names() if isinstance(wanted.get(name), Mapping)]
        pairs += [(f"{name}.{key}", value) for name, table in tables for key, value in table.items()]
        return ", ".join(_pair(key, value, SHOWN if keys is not None else None) for key, value in pairs)


def load_config(path: Path | None) -> Config | None:
    """Return the configuration file at `path`, or else the one in the working folder; `None` if there is none.

    Raises:
        SettingsError: if the file is missing though named, cannot be read, or was found and lies in another folder.
    """
    file = path or Path(CONFIG_NAME)
    if not file.exists():
        if path:
            raise SettingsError(f"There is no configuration file {path}.")
        return None
    if path is None and file.resolve().parent != Path.cwd():
        raise SettingsError(
            f"{file} in this folder is a link to a file in another folder.",
            f"Name it to use it: --config {file}; or remove the link.",
        )
    try:
        return Config(file, path is not None, read_file(file, MOST_TOML_BYTES))
    except Unreadable as error:
        raise _unusable(file, error) from None


def defaults_from(config: Config, commands: Mapping[str, Sequence[click.Parameter]]) -> dict[str, dict[str, Any]]:
    """Return click's default map, command by command.

    A value that the file may not set is replaced by a function that refuses it, which click calls only where neither
    the command line nor the environment has set the option.

    Raises:
        SettingsError: if the file is not TOML, or holds what is no option.
    """
    values, file = config.values, config.file
    options = {name: options_of(params) for name, params in commands.items()}
    known = sorted(set().union(*options.values()))
    given = {key: value for key, value in values.items() if not has_settings(key)}
    unknown = sorted(set(given) - set(known))
    if unknown:
        tables = f"tables for {', '.join(settings_names())}"
        hint = f"{did_you_mean(unknown[0], known)}Known are: {', '.join(known)}; and {tables}."
        raise SettingsError(f"{file}: {unknown[0]!r} is no option.", hint)
    settings = [setting for method in settings_names() for setting in _settings(file, method, values.get(method, {}))]
    defaults = {}
    for name, own in options.items():
        taken = {key: given[key] for key in own.keys() & given if _is_taken(config, name, key)}
        defaults[name] = {str(own[key].name): _default(config, own[key], key) for key in taken}
        defaults[name]["configured"] = settings
    return defaults


def options_of(params: Sequence[click.Parameter]) -> dict[str, click.Option]:
    """Return the options by the names that users know: `max-cost` for `--max-cost`."""
    shown = [param for param in params if isinstance(param, click.Option) and not param.hidden]
    return {max(option.opts, key=len).lstrip("-"): option for option in shown}


def _load(file: Path, content: bytes) -> dict[str, Any]:
    try:
        return parse_toml(content)
    except Unreadable as error:
        raise _unusable(file, error) from None


def _unusable(file: Path, error: Unreadable) -> SettingsError:
    return SettingsError(f"The configuration file {file} cannot be used: {error}.")


def _is_guarded(key: str, value: Any) -> bool:
    if key not in JUDGES:
        return key in GUARDED
    judges = value if isinstance(value, list) else [value]
    return any(judge != "embedded" and not str(judge).startswith("recorded:") for judge in judges)


def _pair(key: str, value: Any, most: int | None) -> str:
    """Return an option with its value, made plain, without passwords and cut to `most` characters."""
    from rubriclab.characters import one_line
    from rubriclab.masking import masked

    written = json.dumps(value, ensure_ascii=False, default=str)
    shown = one_line(masked(f"{key} = {written}"))
    return shown if most is None or len(shown) <= most else f"{shown[: most - 1]}…"


def _is_taken(config: Config, command: str, key: str) -> bool:
    """Return whether a command takes an option from the file, if only to refuse it."""
    return command != CONFIRMING or config.named or (key == TAKEN_TO_CONFIRM and config.trusted)


def _default(config: Config, option: click.Option, key: str) -> Any:
    """Return the default of an option: its value in the file, or a function that refuses or resolves it."""
    if not config.trusted and key in config.guarded:
        return partial(config.refuse, key)
    value = config.values[key]
    several = value if option.multiple and isinstance(value, list) else [value]
    if isinstance(option.type, PlaceType):
        return partial(_resolved, option, option.type, several, config.folder)
    return several if option.multiple else value


def _resolved(option: click.Option, kind: PlaceType, values: Sequence[Any], folder: Path) -> Any:
    resolved = [kind.resolved(value, folder) for value in values]
    return resolved if option.multiple else resolved[0]


def _settings(file: Path, method: str, table: Any) -> list[str]:
    if not isinstance(table, Mapping):
        raise SettingsError(
            f"{file}: {method!r} is a table of hyperparameters; got {table!r}.", f"Write [{method}], then k = 10."
        )
    return [f"{method}.{key}={_text(value)}" for key, value in table.items()]


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
