"""Hooks of pytest: options, the mark and the fixture `rubric`, and the summary; workers of pytest-xdist report to it.

This module is imported whenever pytest starts. What scores texts is imported with the first test that uses `rubric`.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest

from rubriclab.integrations.pytest.settings import (
    MARK_HELP,
    add_options,
    check_settings,
    marked_on,
    settings_of,
)

if TYPE_CHECKING:
    from rubriclab.integrations.pytest.checker import RubricFixture
    from rubriclab.integrations.pytest.run import RubricRun

# What workers of pytest-xdist are given: the folder that all of them share.
SHARED = "rubriclab_shared"
PARTS = "*.part"
# What the attempts of one test scored together, if another plugin repeats it.
TALLIES = pytest.StashKey[Any]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Register the mark and, unless this is a worker of pytest-xdist, what sums up the run."""
    config.addinivalue_line("markers", MARK_HELP)
    if not hasattr(config, "workerinput"):
        check_settings(settings_of(config))
        config.pluginmanager.register(RunSummary(config), "rubriclab-summary")


@pytest.fixture(scope="session")
def _rubric_run(pytestconfig: pytest.Config) -> Generator[RubricRun]:
    """What all tests of this process share."""
    from rubriclab.integrations.pytest.run import RubricRun, without_inner_frames

    settings, worker = settings_of(pytestconfig), getattr(pytestconfig, "workerinput", None)
    record = settings.path("record")
    with ExitStack() as held:
        if worker is None:
            folder = held.enter_context(TemporaryDirectory(prefix="rubriclab-"))
        else:
            folder = worker[SHARED]
            record = record and Path(folder) / PARTS.replace("*", worker["workerid"])
        yield held.enter_context(without_inner_frames(lambda: RubricRun(settings, record, Path(folder))))


@pytest.fixture
def rubric(request: pytest.FixtureRequest, _rubric_run: RubricRun) -> Generator[RubricFixture]:
    """A function that opens a rubric by name, to score texts and assert that they score high enough."""
    from rubriclab.integrations.pytest.checker import RubricFixture
    from rubriclab.integrations.pytest.tally import PROPERTY, Tallies

    test = request.node
    fixture = RubricFixture(_rubric_run, marked_on(test), test.nodeid, test.stash.setdefault(TALLIES, Tallies()))
    yield fixture
    fixture.close()
    others = [(name, value) for name, value in test.user_properties if name != PROPERTY]
    test.user_properties[:] = [*others, (PROPERTY, fixture.tallies.written())]


class RunSummary:
    """Adds up what all tests scored, in the process that reports to the user."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._properties: dict[tuple[str, str], list[tuple[str, Any]]] = {}
        self._folder: TemporaryDirectory[str] | None = None
        self._faults: list[str] = []

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker of pytest-xdist where all workers keep what they share."""
        if self._folder is None:
            self._folder = TemporaryDirectory(prefix="rubriclab-", ignore_cleanup_errors=True)
        node.workerinput[SHARED] = self._folder.name

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep what a test has scored: its last report has the sum of all its attempts."""
        if report.when == "teardown":
            self._properties[report.nodeid, getattr(report, "worker_id", "")] = report.user_properties

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Merge the recordings of the workers; the summary says if one cannot be."""
        record = settings_of(self._config).path("record")
        parts = sorted(Path(self._folder.name).glob(PARTS)) if self._folder else []
        if record and parts:
            from rubriclab.errors import RubriclabError
            from rubriclab.judges.recording import merge_recordings

            try:
                merge_recordings(record, parts)
            except RubriclabError as error:
                self._faults.append(str(error))
                session.exitstatus = session.exitstatus or pytest.ExitCode.USAGE_ERROR

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the table, if texts were scored, append it to the Markdown file that is asked for, and print faults."""
        self._print_table(terminalreporter)
        for fault in self._faults:
            terminalreporter.write_line(f"ERROR: {fault}", red=True)

    def _print_table(self, terminalreporter: pytest.TerminalReporter) -> None:
        settings = settings_of(self._config)
        properties = [each for found in self._properties.values() for each in found]
        if not properties:
            return
        from rubriclab.integrations.pytest.tally import TITLE, read_tally, summary_lines, summary_view

        tallies, record = read_tally(properties), settings.path("record")
        if not tallies.tallies:
            return
        view = summary_view(tallies, str(record) if record else None)
        terminalreporter.section(TITLE)
        for line in summary_lines(view, terminalreporter._tw.fullwidth):
            terminalreporter.write_line(line)
        if place := settings.path("markdown"):
            try:
                with place.open("a", encoding="utf-8") as file:
                    file.write(f"{view.markdown()}\n")
            except OSError as error:
                self._faults.append(f"The table cannot be appended to {place}: {error.strerror}.")

    def pytest_unconfigure(self) -> None:
        """Delete what the workers shared."""
        if self._folder is not None:
            self._folder.cleanup()
