"""The options, hooks and fixture of the pytest plugin.

This module is imported whenever pytest starts, so it imports nothing else of rubriclab.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast, get_args

import pytest

OPTIONS = {  # the metavar and the help of each option `--rubric-NAME`, by name
    "store": ("PATH|URL", "The store of the rubrics and of cached answers."),
    "judge": ("JUDGE", "The judge of all rubrics; default: the one that each rubric was learned with."),
    "record": ("FILE", "Record every request digest and reply in this file."),
    "replay": ("FILE", "Take the replies from this recording; no judge is called."),
    "max_calls": ("N", "The most calls of the whole run."),
    "max_cost": ("USD", "The most that the whole run may cost, in US dollars."),
    "price": ("IN:OUT", "US dollars per million prompt and completion tokens, if the price is unknown."),
    "api_base": ("URL", "The address of your own server, without user name or password."),
    "concurrency": ("N", "The number of concurrent requests of one process; default: 8."),
    "inconclusive": ("fail|skip|pass", "What happens to a test if its mean score is inconclusive; default: fail."),
}
LONG_NAMES = {name: f"--rubric-{name.replace('_', '-')}" for name in OPTIONS}
VARIABLES = {name: f"RUBRICLAB_{name.upper()}" for name in OPTIONS if name != "record"}
CAPS = ("max_calls", "max_cost")
JUDGE_OPTIONS = (*CAPS, "price", "api_base", "concurrency")
OnInconclusive = Literal["fail", "skip", "pass"]
MARK_HELP = "rubric(ref=None, *, store=None, judge=None): the rubric, the store and the judge of a test"
SUMMARY_TITLE = "Texts scored by rubrics"
SCORES_PROPERTY = "rubriclab-scores"  # the property of a test's report that tells what the test scored
TALLIES_KEY = pytest.StashKey[Any]()  # for a test's `Tallies`, which are kept if another plugin repeats the test


@dataclass(frozen=True, slots=True)
class MarkValues:
    """The values of a test's marks; the nearest mark takes precedence."""

    ref: str | None = None
    store: str | None = None
    judge: str | None = None


@dataclass(frozen=True, slots=True)
class Settings:
    """The options of command line and environment. Their paths are relative to `folder`, paths in marks to `root`."""

    command_line: Mapping[str, str]
    environment: Mapping[str, str]
    folder: Path
    root: Path

    def value(self, name: str, mark_value: str | None = None) -> str | None:
        """Return an option: from the command line, else the `mark_value`, else the environment."""
        return self.command_line.get(name) or mark_value or self.environment.get(name)

    def option_or_variable(self, name: str) -> str:
        return VARIABLES[name] if name in self.environment and name not in self.command_line else LONG_NAMES[name]

    def folder_of(self, name: str, mark_value: str | None) -> Path:
        return self.folder if mark_value is None or name in self.command_line else self.root

    def path(self, name: str) -> Path | None:
        value = self.value(name)
        return None if value is None else self.folder / value

    @property
    def on_inconclusive(self) -> OnInconclusive:
        return parse_inconclusive(self.value("inconclusive") or "fail", self.option_or_variable("inconclusive"))


def settings_of(config: pytest.Config) -> Settings:
    options = {name: config.getoption(f"rubric_{name}") for name in OPTIONS}
    variables = {name: os.environ.get(variable) for name, variable in VARIABLES.items()}
    return Settings(
        command_line={name: value for name, value in options.items() if value},
        environment={name: value for name, value in variables.items() if value},
        folder=config.invocation_params.dir,
        root=config.inipath.parent if config.inipath else config.rootpath,
    )


def parse_inconclusive(value: str, source: str = "inconclusive") -> OnInconclusive:
    values = get_args(OnInconclusive)
    if value not in values:
        raise pytest.UsageError(f"{source}: expected {', '.join(values)}; got {value!r}.")
    return cast(OnInconclusive, value)


def check_settings(settings: Settings) -> None:
    """Refuse unusable options before any test runs."""
    _ = settings.on_inconclusive  # raises an error for an unknown value
    record = settings.path("record")
    if record and settings.path("replay"):
        sources = f"{settings.option_or_variable('record')} and {settings.option_or_variable('replay')}"
        raise pytest.UsageError(f"{sources} exclude each other: give only one of them.")
    if record and not record.parent.is_dir():
        raise pytest.UsageError(f"{LONG_NAMES['record']} {record}: there is no folder {record.parent}; create it.")
    # Options of judges in the environment are checked when a test needs a judge, since the check imports rubriclab.
    if names := settings.command_line.keys() & set(JUDGE_OPTIONS):
        from rubriclab.errors import SettingsError
        from rubriclab.integrations.pytest.checker import make_judge_options

        try:
            make_judge_options(settings, sorted(names))
        except SettingsError as error:
            raise pytest.UsageError(str(error)) from None


def read_mark_values(item: pytest.Item) -> MarkValues:
    values: dict[str, Any] = {}
    names = set(MarkValues.__slots__)
    for mark in item.iter_markers("rubric"):
        has_ref_twice = mark.args and "ref" in mark.kwargs
        if len(mark.args) > 1 or not mark.kwargs.keys() <= names or has_ref_twice:
            raise pytest.UsageError(f"{item.nodeid}: expected {MARK_HELP.partition(':')[0]}; got {mark}.")
        positional = {"ref": mark.args[0]} if mark.args else {}
        values = {**positional, **mark.kwargs, **values}
    for name, value in values.items():
        if not isinstance(value, str | None):
            raise pytest.UsageError(f"{item.nodeid}: rubric({name}=...): expected a text, got {value!r}.")
    return MarkValues(**values)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("rubriclab", "texts scored by rubrics")
    for name, (metavar, help_text) in OPTIONS.items():
        group.addoption(LONG_NAMES[name], dest=f"rubric_{name}", metavar=metavar, help=help_text)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARK_HELP)
    if not hasattr(config, "workerinput"):
        check_settings(settings_of(config))
        config.pluginmanager.register(RunSummary(config), "rubriclab-summary")


@pytest.fixture(scope="session")
def _rubric_run(pytestconfig: pytest.Config) -> Generator[Any]:
    from rubriclab.errors import SettingsError
    from rubriclab.integrations.pytest.checker import RubricRun, with_errors_for_pytest

    settings = settings_of(pytestconfig)
    sources = [settings.option_or_variable(name) for name in ("record", *CAPS) if settings.value(name)]
    if sources and hasattr(pytestconfig, "workerinput"):
        problem = f"{sources[0]} applies to a single process, and pytest-xdist runs the tests in several;"
        raise SettingsError(problem, "run pytest with -n 0.")
    with ExitStack() as closing:
        yield with_errors_for_pytest(RubricRun)(settings, closing)


@pytest.fixture
def rubric(request: pytest.FixtureRequest, _rubric_run: Any) -> Generator[Any]:
    """A function that opens a rubric by name, to score texts and make assertions about the scores."""
    from rubriclab.integrations.pytest.checker import RubricFixture, Tallies

    test = request.node
    tallies = test.stash.setdefault(TALLIES_KEY, Tallies())
    yield RubricFixture(_rubric_run, read_mark_values(test), tallies)
    tallies.notes |= _rubric_run.notes
    other_properties = [(name, value) for name, value in test.user_properties if name != SCORES_PROPERTY]
    test.user_properties[:] = [*other_properties, (SCORES_PROPERTY, tallies.to_json())]


class RunSummary:
    """Sums up what all tests scored, in the process that reports to the user."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._json_by_test: dict[tuple[str, str], str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep what a test has scored: its last report has the sum of all its attempts."""
        tallies_json = dict(report.user_properties).get(SCORES_PROPERTY)
        if report.when == "teardown" and tallies_json:
            self._json_by_test[report.nodeid, getattr(report, "worker_id", "")] = str(tallies_json)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not self._json_by_test:
            return
        from rubriclab.integrations.pytest.checker import summary_lines

        record, width = settings_of(self._config).path("record"), terminalreporter._tw.fullwidth
        if lines := summary_lines(self._json_by_test.values(), record, width):
            terminalreporter.section(SUMMARY_TITLE)
            for line in lines:
                terminalreporter.write_line(line)
