"""`rubriclab.toml`: the same options as on the command line, for a folder.

Options stand at the top level (`max-cost = 2.5`), hyperparameters in a table of their method (`[hypoeval]`, `k = 10`).
The command line comes first, then the environment, then the file.

A file that the user names is used as it is. A file that was found in the working folder may have come with somebody
else's repository, so its settings are printed, and each option has a rule for such a file (`ConfigMaySet`). The rule is
`always` for options of reading and display, and `never` for options that say what a command changes. Other options have
the rule `confirmed`: they are refused until the user has confirmed the file (`rubriclab trust FILE`).

Relative paths in a file are relative to the folder that it really lies in, never to the working folder.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rubriclab import data
from rubriclab.cli.options import ConfigurableOption, PathType, long_name
from rubriclab.errors import NotConfirmed, SettingsError
from rubriclab.models.characters import describe, did_you_mean, one_line

if TYPE_CHECKING:
    from rubriclab.base_options import ConfigMaySet

CONFIG_NAME = "rubriclab.toml"

# The command that confirms a file. A file must not decide on its own confirmation, so of this command's options, a file
# that was found sets only `store`, and only after it has been confirmed.
TRUST = "trust"
ANY_CONTENT = "any"  # stored for a confirmed folder, whose file may have any content; for a file, its digest is stored
MAX_SETTING_LENGTH = 80  # of a setting that is printed; the settings of a file that the user confirms are printed uncut


@dataclass(frozen=True)
class Config:
    """A configuration file: where it is, whether the user named it, and what it holds."""

    file: Path
    named_by_user: bool
    content: bytes

    @cached_property
    def values(self) -> dict[str, Any]:
        """The values of options and the tables of methods; the key `max_cost` becomes `max-cost`."""
        from rubriclab.models.base import Unreadable, parse_toml

        try:
            loaded = parse_toml(self.content)
        except Unreadable as error:
            raise SettingsError(f"The configuration file {self.file} cannot be used: {error}.") from None
        return {key if key in method_names() else key.replace("_", "-"): value for key, value in loaded.items()}

    @cached_property
    def is_trusted(self) -> bool:
        """Whether the user has named the file, confirmed this content at this path, or confirmed the folder."""
        if self.named_by_user:
            return True
        confirmed, path = confirmed_digests(), self.file.resolve()
        is_content_confirmed = confirmed.get(str(path)) == content_digest(self.content)
        return is_content_confirmed or confirmed.get(str(path.parent)) == ANY_CONTENT

    def check_may_set(self, key: str, rule: ConfigMaySet = "confirmed") -> None:
        """Refuse a setting that its rule does not allow in this file."""
        if rule == "always" or self.named_by_user or (rule == "confirmed" and self.is_trusted):
            return
        problem = f"{self.file} in this folder sets {_setting_text(key, self.values[key], MAX_SETTING_LENGTH)}"
        or_set_option = "" if key in method_names() else f"; or set --{key} yourself"
        if rule == "never":
            hint = f"Remove it from the file; or name the file: --config {self.file}{or_set_option}."
            raise SettingsError(f"{problem}; only a configuration file that you name may set this option.", hint)
        file_hint = f"Read it, then confirm it once: `rubriclab trust {self.file}`"
        folder_hint = "If only you change it, `rubriclab trust .` confirms it with later changes too."
        hint = f"{file_hint}; or name it: --config {self.file}{or_set_option}. {folder_hint}"
        raise NotConfirmed(f"{problem} and is not confirmed.", hint)

    def summary(self, keys: Collection[str] | None = None) -> str:
        """Return a line with the settings in `keys`, each cut to `MAX_SETTING_LENGTH`. Without `keys`: all, uncut."""
        wanted = {key: value for key, value in self.values.items() if keys is None or key in keys}
        settings = [(key, value) for key, value in wanted.items() if key not in method_names()]
        for method in method_names():
            if isinstance(wanted.get(method), Mapping):
                settings += [(f"{method}.{name}", value) for name, value in wanted[method].items()]
        max_length = None if keys is None else MAX_SETTING_LENGTH
        return ", ".join(_setting_text(key, value, max_length) for key, value in settings)


def method_names() -> tuple[str, ...]:
    from rubriclab.methods.catalogue import settings_names

    return settings_names()


def load_config(path: Path | None) -> Config | None:
    """Return the configuration file at `path`, by default that in the working folder; `None` if there is none."""
    from rubriclab.models.base import MAX_TOML_BYTES, Unreadable, read_file

    file = path or Path(CONFIG_NAME)
    if not file.exists():
        if path:
            raise SettingsError(f"There is no configuration file {path}.")
        return None
    if path is None and file.resolve().parent != Path.cwd():
        hint = f"Name it to use it: --config {file}; or remove the link."
        raise SettingsError(f"{file} in this folder is a link to a file in another folder.", hint)
    try:
        return Config(file, path is not None, read_file(file, MAX_TOML_BYTES))
    except Unreadable as error:
        raise SettingsError(f"The configuration file {file} cannot be used: {error}.") from None


def defaults_from(config: Config, commands: Mapping[str, Sequence[click.Parameter]]) -> dict[str, dict[str, Any]]:
    """Return click's default map by command.

    Each value is a function that checks and returns a setting. click calls it only if no other source sets the option.
    """
    values, file = config.values, config.file
    options = {name: options_by_key(params) for name, params in commands.items()}
    known_keys = sorted(set().union(*options.values()))
    keys = values.keys() - set(method_names())
    if unknown := sorted(keys - set(known_keys)):
        tables = f"tables for {', '.join(method_names())}"
        hint = f"{did_you_mean(unknown[0], known_keys)}The known ones are: {', '.join(known_keys)}; and {tables}."
        raise SettingsError(f"{file}: {unknown[0]!r} is no option.", hint)
    hyperparameters = list[str]()  # in the form that `--set` expects
    for method in method_names():
        table = values.get(method, {})
        if not isinstance(table, Mapping):
            hint = f"Write [{method}], then k = 10."
            raise SettingsError(f"{file}: {method!r} is a table of hyperparameters; got {table!r}.", hint)
        for name, value in table.items():
            text = str(value).lower() if isinstance(value, bool) else value
            hyperparameters.append(f"{method}.{name}={text}")

    def check_and_return_hyperparameters() -> list[str]:
        # All tables have the same rule, so the first that the file has is checked for all.
        config.check_may_set(next(name for name in method_names() if name in values))
        return hyperparameters

    defaults = dict[str, dict[str, Any]]()
    for name, options_of_command in options.items():
        used_keys = keys
        if name == TRUST and not config.named_by_user:
            used_keys = {"store"} if "store" in keys and config.is_trusted else set()
        defaults[name] = {}
        for key, option in options_of_command.items():
            if key in used_keys:
                defaults[name][str(option.name)] = partial(_checked_value, config, option, key)
        if hyperparameters:
            defaults[name]["configured_hyperparameters"] = check_and_return_hyperparameters
    return defaults


def options_by_key(params: Sequence[click.Parameter]) -> dict[str, click.Option]:
    """Return the options by their keys in a configuration file: `max-cost` for `--max-cost`."""
    visible = [param for param in params if isinstance(param, click.Option) and not param.hidden]
    return {long_name(option).lstrip("-"): option for option in visible}


def _setting_text(key: str, value: Any, max_length: int | None) -> str:
    from rubriclab.judges.providers import mask_keys

    written = json.dumps(value, ensure_ascii=False, default=str)
    line = one_line(mask_keys(f"{key} = {written}"))
    if max_length is not None and len(line) > max_length:
        return f"{line[: max_length - 1]}…"
    return line


def _checked_value(config: Config, option: click.Option, key: str) -> Any:
    """Return the value of an option in a configuration file; a value of the wrong type is an error."""
    types: tuple[type, ...] = (str,)
    expected = "text in quotation marks"
    if option.is_flag:
        types, expected = (bool,), "true or false"
    elif isinstance(option.type, click.types.IntParamType):
        types, expected = (int,), "a whole number"
    elif isinstance(option.type, click.types.FloatParamType):
        types, expected = (int, float), "a number"
    value = config.values[key]
    values = value if option.multiple and isinstance(value, list) else [value]
    for each in values:
        if type(each) not in types:
            or_list = ", or a list of such" if option.multiple else ""
            raise SettingsError(f"{config.file}: {key}: expected {expected}{or_list}, got {describe(each)}.")
    config.check_may_set(key, option.config_may_set if isinstance(option, ConfigurableOption) else "confirmed")
    if isinstance(option.type, PathType):
        folder = config.file.resolve().parent
        values = [option.type.resolve(each, folder) for each in values]
    return values if option.multiple else values[0]


def confirmations_file() -> Path:
    import platformdirs

    return platformdirs.user_config_path("rubriclab", appauthor=False) / "trusted.json"


def confirmed_digests() -> dict[str, str]:
    """Return the digests of confirmed files by absolute path, `ANY_CONTENT` for a folder, sorted by path.

    The digests are in the user's own configuration folder, not in a store, which a configuration file may choose.
    """
    file = confirmations_file()
    try:
        confirmed = json.loads(file.read_bytes())
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise SettingsError(f"{file} cannot be read: {error.strerror}.") from None
    except ValueError:
        confirmed = None
    if not isinstance(confirmed, dict) or not all(isinstance(digest, str) for digest in confirmed.values()):
        raise SettingsError(f"{file} is damaged: expected a JSON object of paths and digests.", "Delete it.")
    return dict(sorted(confirmed.items()))


def set_confirmed_digest(path: Path, digest: str | None) -> bool:
    """Store the digest of a confirmed file, or remove it if `digest` is `None`; return whether there was one."""
    file, key = confirmations_file(), str(path.resolve())
    if digest is None and key not in confirmed_digests():
        return False
    with data.write.name_in_errors(file):
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with data.write.replacing(file) as draft:
            draft.chmod(0o600)
            others = confirmed_digests()
            was_confirmed = others.pop(key, None) is not None
            confirmed = others if digest is None else {**others, key: digest}
            draft.write_text(json.dumps(confirmed, indent=2, sort_keys=True) + "\n", "utf-8")
    return was_confirmed


def content_digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"
