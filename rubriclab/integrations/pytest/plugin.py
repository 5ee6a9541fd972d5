"""The hooks and fixtures of the pytest plugin.

This module is imported whenever pytest starts, so it imports the settings and nothing else of rubriclab.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

from rubriclab.integrations.pytest.settings import (
    MARK_HELP,
    add_options,
    check_one_process,
    check_settings,
    marked_on,
    settings_of,
)

if TYPE_CHECKING:
    from rubriclab.integrations.pytest.checker import RubricFixture, RubricRun


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
    from rubriclab.integrations.pytest.checker import RubricRun, without_inner_frames

    settings = settings_of(pytestconfig)
    if hasattr(pytestconfig, "workerinput"):
        check_one_process(settings)
    with without_inner_frames(RubricRun)(settings) as run:
        yield run


@pytest.fixture
def rubric(request: pytest.FixtureRequest, _rubric_run: RubricRun) -> Generator[RubricFixture]:
    """A function that opens a rubric by name, to score texts and assert that they score high enough."""
    from rubriclab.integrations.pytest.checker import RubricFixture
    from rubriclab.integrations.pytest.tally import PROPERTY, Tallies

    test = request.node
    tallies = test.stash.setdefault(TALLIES, Tallies())
    yield RubricFixture(_rubric_run, marked_on(test), tallies)
    tallies.notes |= _rubric_run.notes
    others = [(name, value) for name, value in test.user_properties if name != PROPERTY]
    test.user_properties[:] = [*others, (PROPERTY, tallies.written())]


class RunSummary:
    """Adds up what all tests scored, in the process that reports to the user."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._properties: dict[tuple[str, str], list[tuple[str, Any]]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep what a test has scored: its last report has the sum of all its attempts."""
        if report.when == "teardown":
            self._properties[report.nodeid, getattr(report, "worker_id", "")] = report.user_properties

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the table, if texts were scored."""
        properties = [each for found in self._properties.values() for each in found]
        if not properties:
            return
        from rubriclab.integrations.pytest.tally import TITLE, read_tally, summary_lines, summary_view

        tallies, record = read_tally(properties), settings_of(self._config).path("record")
        if not tallies.tallies:
            return
        view = summary_view(tallies, str(record) if record else None)
        terminalreporter.section(TITLE)
        for line in summary_lines(view, terminalreporter._tw.fullwidth):
            terminalreporter.write_line(line)
