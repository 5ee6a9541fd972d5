"""The options of the plugin, and the settings of a run and of a marked test."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import pytest

OnInconclusive = Literal["fail", "skip", "pass"]
MARK = "rubric"
MARK_HELP = "rubric(ref=None, *, store=None, judge=None): the rubric, the store and the judge of a test"


@dataclass(frozen=True, slots=True)
class PluginOption:
    """An option of pytest.

    Attributes:
        name: as in `--rubric-NAME`, and `RUBRICLAB_NAME` in the environment.
        shared: whether the environment variable sets it too.
    """

    name: str
    metavar: str
    help: str
    shared: bool = True

    @property
    def flag(self) -> str:
        """The option on the command line."""
        return f"--rubric-{self.name.replace('_', '-')}"


OPTIONS = (
    PluginOption("store", "PATH|URL", "The store of the rubrics and of cached answers."),
    PluginOption("judge", "JUDGE", "The judge of all rubrics; default: the one that each rubric was learned with."),
    PluginOption("record", "FILE", "Record every request digest and reply in this file.", shared=False),
    PluginOption("replay", "FILE", "Take the replies from this recording; no judge is called."),
    PluginOption("max_calls", "N", "The most calls of the whole run."),
    PluginOption("max_cost", "USD", "The most that the whole run may cost, in US dollars."),
    PluginOption("price", "IN:OUT", "US dollars per million prompt and completion tokens, if the price is unknown."),
    PluginOption("api_base", "URL", "The address of your own server, without user name or password."),
    PluginOption("concurrency", "N", "The number of concurrent requests of one process; default: 8."),
    PluginOption("inconclusive", "fail|skip|pass", "What an inconclusive mean does to a test; default: fail."),
)
FLAGS = {option.name: option.flag for option in OPTIONS}
JUDGE_OPTIONS = ("price", "api_base", "concurrency")
CAPS = ("max_calls", "max_cost")


@dataclass(frozen=True, slots=True)
class Marked:
    """What the marks of a test say; the nearest mark comes first."""

    ref: str | None = None
    store: str | None = None
    judge: str | None = None


@dataclass(frozen=True, slots=True)
class Settings:
    """How the tests of a run score texts; paths are absolute, since tests may change the working folder.

    Attributes:
        given: the values of options on the command line, as texts.
        environment: those of environment variables.
        folder: the working folder, to which these are relative.
        root: the folder of pytest's configuration, to which paths in marks are relative.
    """

    given: Mapping[str, str]
    environment: Mapping[str, str]
    folder: Path
    root: Path

    def value(self, name: str, marked: str | None = None) -> str | None:
        """Return an option: from the command line, else the mark, else the environment."""
        return self.given.get(name) or marked or self.environment.get(name)

    def source(self, name: str) -> str:
        """Return where an option is given: its flag or environment variable."""
        return f"RUBRICLAB_{name.upper()}" if name in self.environment and name not in self.given else FLAGS[name]

    def store(self, marked: str | None) -> str | None:
        """Return the store; `None` for the user's own."""
        from rubriclab.store.tables import resolve_store

        where = self.value("store", marked)
        return None if where is None else resolve_store(where, self._base("store", marked))

    def judge(self, marked: str | None) -> str | None:
        """Return the judge; `None` for the one that the rubric was learned with."""
        from rubriclab.judges.stack import PREFIX

        named = self.value("judge", marked)
        if named is None or not named.startswith(PREFIX):
            return named
        return PREFIX + str(self._base("judge", marked) / named.removeprefix(PREFIX))

    def path(self, name: str) -> Path | None:
        """Return an option that is a path."""
        value = self.value(name)
        return None if value is None else self.folder / value

    @property
    def inconclusive(self) -> OnInconclusive:
        """What an inconclusive mean does to a test.

        Raises:
            pytest.UsageError: for an unknown value.
        """
        return on_inconclusive(self.value("inconclusive") or "fail", self.source("inconclusive"))

    def _base(self, name: str, marked: str | None) -> Path:
        return self.folder if marked is None or name in self.given else self.root


def on_inconclusive(value: str, source: str = "inconclusive") -> OnInconclusive:
    """Return the value that is given by `source` as one of `OnInconclusive`.

    Raises:
        pytest.UsageError: if it is none.
    """
    for known in get_args(OnInconclusive):
        if value == known:
            return known  # type: ignore[no-any-return]
    raise pytest.UsageError(f"{source}: expected {', '.join(get_args(OnInconclusive))}; got {value!r}.")


def add_options(parser: pytest.Parser) -> None:
    """Add the options to pytest's command line."""
    group = parser.getgroup("rubriclab", "texts scored by rubrics")
    for option in OPTIONS:
        group.addoption(option.flag, dest=f"rubric_{option.name}", metavar=option.metavar, help=option.help)


def settings_of(config: pytest.Config) -> Settings:
    """Return the settings of a run."""
    given = {option.name: config.getoption(f"rubric_{option.name}") for option in OPTIONS}
    shared = [option.name for option in OPTIONS if option.shared]
    return Settings(
        given={name: value for name, value in given.items() if value},
        environment={name: value for name in shared if (value := os.environ.get(f"RUBRICLAB_{name.upper()}"))},
        folder=config.invocation_params.dir,
        root=config.inipath.parent if config.inipath else config.rootpath,
    )


def check_settings(settings: Settings) -> None:
    """Check what can be checked before a test scores a text.

    Options in the environment are checked by the first test that needs them, so that other runs import nothing for it.

    Raises:
        pytest.UsageError: if an option that is given cannot be used, or two exclude each other.
    """
    _ = settings.inconclusive
    if settings.path("record") and settings.path("replay"):
        sources = f"{settings.source('record')} and {settings.source('replay')}"
        raise pytest.UsageError(f"{sources} exclude each other: name one of them.")
    if (path := settings.path("record")) and not path.parent.is_dir():
        raise pytest.UsageError(f"{FLAGS['record']} {path}: there is no folder {path.parent}; create it first.")
    if given := settings.given.keys() & {*JUDGE_OPTIONS, *CAPS}:
        from rubriclab.errors import SettingsError
        from rubriclab.integrations.pytest.checker import judge_options_of

        try:
            judge_options_of(settings, sorted(given))
        except SettingsError as error:
            raise pytest.UsageError(str(error)) from None


def check_one_process(settings: Settings) -> None:
    """Check that no option is given that holds in a single process only.

    Raises:
        SettingsError: if one is.
    """
    from rubriclab.errors import SettingsError

    if given := [settings.source(name) for name in ("record", *CAPS) if settings.value(name)]:
        raise SettingsError(
            f"{given[0]} holds in one process, and pytest-xdist runs the tests in several;", "run pytest with -n 0."
        )


def marked_on(item: pytest.Item) -> Marked:
    """Return what the marks of a test say.

    Raises:
        pytest.UsageError: for a mark with unknown arguments, or with a name that is not a text.
    """
    found: dict[str, Any] = {}
    known = set(Marked.__slots__)
    for mark in item.iter_markers(MARK):
        if len(mark.args) > 1 or not mark.kwargs.keys() <= known or (mark.args and "ref" in mark.kwargs):
            raise pytest.UsageError(f"{item.nodeid}: expected {MARK_HELP.partition(':')[0]}; got {mark}.")
        named = {"ref": mark.args[0]} if mark.args else {}
        found = {**named, **mark.kwargs, **found}
    for name in known:
        if not isinstance(given := found.get(name), str | None):
            raise pytest.UsageError(f"{item.nodeid}: {MARK}({name}=...): expected a text, got {given!r}.")
    return Marked(**found)
