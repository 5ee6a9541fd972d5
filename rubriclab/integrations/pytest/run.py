"""The rubrics that the tests of one process have opened: each once, with one budget and one recording."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Self

from rubriclab.errors import SettingsError
from rubriclab.integrations.pytest.budget import BudgetWithin, SharedBudget
from rubriclab.integrations.pytest.settings import JUDGE_OPTIONS, Marked, Settings
from rubriclab.judges.budget import Budget, LocalBudget
from rubriclab.judges.options import JudgeOptions
from rubriclab.judges.recording import PREFIX, read_recording
from rubriclab.option_names import for_reader
from rubriclab.services.rubric_choice import version_of
from rubriclab.services.score import ScoreOptions
from rubriclab.services.text_scorer import TextScorer
from rubriclab.services.workspace import Workspace, judge_options


class RubricRun:
    """What the tests of one process share; close it, or use it in a `with` statement.

    Attributes:
        settings: how texts are scored.
        stored: the baselines that this process has stored.
        notes: what a person should know beside the results, each once.

    Args:
        record: the file that this process records to.
        shared_budget: the file with the budget of all processes; `None` for a single process.
    """

    def __init__(self, settings: Settings, record: Path | None, shared_budget: Path | None) -> None:
        self.settings = settings
        self.stored: set[str] = set()
        self.notes: dict[str, None] = {}
        self._record = record
        self._options = judge_options({name: settings.value(name) for name in JUDGE_OPTIONS})
        self._budget = _budget(_caps(settings), shared_budget)
        self._opened: dict[tuple[str | None, str | None, str], TextScorer] = {}
        self._closing = ExitStack()

    def scorer(self, ref: str, marked: Marked) -> TextScorer:
        """Return the rubric named `ref`, opened the first time.

        Raises:
            RubriclabError: as `Lab.scorer` does.
        """
        store, judge = self.settings.store(marked.store), self.settings.judge(marked.judge)
        key = (store, judge, ref)
        if key not in self._opened:
            self._opened[key] = self._closing.enter_context(self._open(store, judge, ref, self._budget))
        return self._opened[key]

    def capped_scorer(self, ref: str, marked: Marked, budget: Budget) -> TextScorer:
        """Return the rubric named `ref`, opened for one test with a budget of its own; whoever asks closes it."""
        store, judge = self.settings.store(marked.store), self.settings.judge(marked.judge)
        return self._open(store, judge, ref, BudgetWithin(budget, self._budget))

    @contextmanager
    def without_notes(self) -> Iterator[None]:
        """Forget the notes of the work inside."""
        before = dict(self.notes)
        try:
            yield
        finally:
            self.notes = before

    def close(self) -> None:
        """Close all rubrics."""
        self._closing.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _open(self, store: str | None, judge: str | None, ref: str, budget: Budget) -> TextScorer:
        if replay := self.settings.path("replay"):
            judge = _replayed(replay, judge, store, ref)
        workspace = Workspace(store, self._options, notify=self._note, record=self._record, budget=budget)
        return TextScorer(workspace, ref, ScoreOptions(judge=judge))

    def _note(self, text: str) -> None:
        self.notes[for_reader(text)] = None


def budget_of(marked: Marked) -> Budget:
    """Return the budget that the marks of a test say.

    Raises:
        SettingsError: for a cap that is no number, or out of bounds.
    """
    options = judge_options({"max_calls": marked.max_calls, "max_cost": marked.max_cost})
    return LocalBudget(options.max_calls, options.max_cost)


def _caps(settings: Settings) -> JudgeOptions:
    return judge_options({name: settings.value(name) for name in ("max_calls", "max_cost")})


def _budget(caps: JudgeOptions, shared: Path | None) -> Budget:
    if shared is None or (caps.max_calls is None and caps.max_cost is None):
        return LocalBudget(caps.max_calls, caps.max_cost)
    if not shared.parent.is_dir():
        raise SettingsError(
            f"The caps of this run are kept in {shared.parent}, which this process cannot see.",
            "Run all worker processes on one machine, or leave the caps out.",
        )
    return SharedBudget(shared, caps.max_calls, caps.max_cost)


def _replayed(recording: Path, judge: str | None, store: str | None, ref: str) -> str:
    """Return the name of the recorded judge: the one that is named, else the version's, else the only one."""
    recorded = read_recording(recording).judges
    if judge is None:
        with Workspace(store) as workspace:
            own = version_of(workspace, ref).provenance.judge
        judge = own if own in recorded or len(recorded) != 1 else next(iter(recorded))
    return f"{PREFIX}{recording}#{judge}"
