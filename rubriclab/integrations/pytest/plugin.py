"""Hooks of pytest: options, the mark and the fixture `rubric`, and the summary; workers of pytest-xdist report to it.

This module is imported whenever pytest starts. What scores texts is imported with the first test that uses `rubric`.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rubriclab.integrations.pytest.settings import MARK_HELP, add_options, marked_on, settings_of

if TYPE_CHECKING:
    from rubriclab.integrations.pytest.checker import RubricFixture
    from rubriclab.integrations.pytest.run import RubricRun

BUDGETS = "rubriclab_budgets"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Register the mark and, unless this is a worker of pytest-xdist, what sums up the run."""
    config.addinivalue_line("markers", MARK_HELP)
    if not hasattr(config, "workerinput"):
        settings_of(config)
        config.pluginmanager.register(RunSummary(config), "rubriclab-summary")


@pytest.fixture(scope="session")
def _rubric_run(pytestconfig: pytest.Config) -> Generator[RubricRun]:
    """What all tests of this process share."""
    from rubriclab.integrations.pytest.run import RubricRun

    settings, worker = settings_of(pytestconfig), getattr(pytestconfig, "workerinput", None)
    record = settings.path("record")
    if worker is None:
        opened = RubricRun(settings, record, None)
    else:
        part = record.with_name(f"{record.name}.{worker['workerid']}.part") if record else None
        opened = RubricRun(settings, part, Path(worker[BUDGETS]))
    with opened:
        yield opened


@pytest.fixture
def rubric(request: pytest.FixtureRequest, _rubric_run: RubricRun) -> Generator[RubricFixture]:
    """A function that opens a rubric by name, to score texts and assert that they score high enough."""
    from rubriclab.integrations.pytest.checker import RubricFixture
    from rubriclab.integrations.pytest.tally import PROPERTY

    fixture = RubricFixture(_rubric_run, marked_on(request.node), request.node.nodeid)
    yield fixture
    fixture.close()
    request.node.user_properties.append((PROPERTY, fixture.tallies.written()))


class RunSummary:
    """Adds up what all tests scored, in the process that reports to the user."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._properties: list[tuple[str, Any]] = []
        self._folder: Path | None = None

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker of pytest-xdist where all workers keep their common budgets."""
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="rubriclab-"))
        node.workerinput[BUDGETS] = str(self._folder / "budgets.db")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep what a test has scored."""
        if report.when == "teardown":
            self._properties += report.user_properties

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        """Merge the recordings of workers.

        Raises:
            pytest.UsageError: if one cannot be merged.
        """
        record = settings_of(self._config).path("record")
        parts = sorted(record.parent.glob(f"{record.name}.*.part")) if record else []
        if record and parts:
            from rubriclab.errors import RubriclabError
            from rubriclab.judges.recording import merge_recordings

            try:
                merge_recordings(record, parts)
            except RubriclabError as error:
                raise pytest.UsageError(str(error)) from None

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the table, if texts were scored, and append it to the Markdown file that is asked for."""
        settings = settings_of(self._config)
        if not self._properties:
            return
        from rubriclab.integrations.pytest.summary import TITLE, summary_lines, summary_view
        from rubriclab.integrations.pytest.tally import read_tally

        tallies, record = read_tally(self._properties), settings.path("record")
        if not tallies.tallies:
            return
        view = summary_view(tallies, str(record) if record else None)
        terminalreporter.section(TITLE)
        for line in summary_lines(view, terminalreporter._tw.fullwidth):
            terminalreporter.write_line(line)
        if place := settings.path("markdown"):
            with place.open("a", encoding="utf-8") as file:
                file.write(f"{view.markdown()}\n")

    def pytest_unconfigure(self) -> None:
        """Delete the common budgets."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
