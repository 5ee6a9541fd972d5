"""The rubrics that the tests of one process have opened: each once, with one budget and one recording."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Self, TypeVar

from rubriclab.errors import RubriclabError, SettingsError
from rubriclab.integrations.pytest.settings import CAPS, FLAGS, JUDGE_OPTIONS, Marked, Settings
from rubriclab.judges.budget import LocalBudget
from rubriclab.judges.options import JudgeOptions
from rubriclab.judges.recording import PREFIX, read_recording
from rubriclab.option_names import with_flags
from rubriclab.services.score import ScoreOptions
from rubriclab.services.text_scorer import TextScorer
from rubriclab.services.workspace import Workspace, judge_options, version_of

T = TypeVar("T")


def without_inner_frames(work: Callable[[], T]) -> T:
    """Return what `work` returns; its deliberate errors name options of pytest, and come without inner frames."""
    __tracebackhide__ = True
    try:
        return work()
    except RubriclabError as error:
        error.message, error.hint = with_flags(error.message, FLAGS), with_flags(error.hint or "", FLAGS) or None
        raise error.with_traceback(None) from None


class RubricRun:
    """What the tests of one process share; close it, or use it in a `with` statement.

    Attributes:
        settings: how texts are scored.
        baselines: the test that stored each baseline.
        notes: what a person should know beside the results, each once.

    Raises:
        SettingsError: if an option is out of bounds.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.notes: dict[str, None] = {}
        self._options = judge_options_of(settings, JUDGE_OPTIONS)
        self._closing = ExitStack()
        caps = judge_options_of(settings, CAPS)
        self.baselines: dict[str, str] = {}
        self._budget = LocalBudget(caps.max_calls, caps.max_cost)
        self._opened: dict[tuple[str | None, str | None, str], TextScorer] = {}

    def scorer(self, ref: str, marked: Marked) -> TextScorer:
        """Return the rubric named `ref`, opened the first time.

        Raises:
            RubriclabError: as `Lab.scorer` does.
        """
        store, judge = self.settings.store(marked.store), self.settings.judge(marked.judge)
        key = (store, judge, ref)
        if key not in self._opened:
            self._opened[key] = self._closing.enter_context(self._open(store, judge, ref))
        return self._opened[key]

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

    def _open(self, store: str | None, judge: str | None, ref: str) -> TextScorer:
        if replay := self.settings.path("replay"):
            judge = _replayed(replay, judge, store, ref)
        record = self.settings.path("record")
        workspace = Workspace(store, self._options, notify=self._note, record=record, budget=self._budget)
        workspace.give_address_to(self.settings.judge(None))
        return TextScorer(workspace, ref, ScoreOptions(judge=judge))

    def _note(self, text: str) -> None:
        self.notes[with_flags(text, FLAGS)] = None


def judge_options_of(settings: Settings, names: Iterable[str]) -> JudgeOptions:
    """Return the options of judges that are given to pytest.

    Raises:
        SettingsError: if one is out of bounds; it says where the option is given.
    """
    given = {name: settings.value(name) for name in names}
    try:
        return judge_options(given)
    except SettingsError as error:
        raise SettingsError(with_flags(error.text, {name: settings.source(name) for name in given})) from None


def _replayed(recording: Path, judge: str | None, store: str | None, ref: str) -> str:
    """Return the name of the recorded judge: the one that is named, else the version's, else the only one."""
    recorded = read_recording(recording).judges
    if judge is None:
        with Workspace(store) as workspace:
            own = version_of(workspace, ref).provenance.judge
        judge = own if own in recorded or len(recorded) != 1 else next(iter(recorded))
    return f"{PREFIX}{recording}#{judge}"
