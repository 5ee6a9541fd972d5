"""The rubrics that the tests of one process have opened: each once, with one budget and one recording."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Self, TypeVar

from rubriclab.data.mapping import ReadingOptions
from rubriclab.data.readers import read
from rubriclab.data.write import json_line
from rubriclab.errors import DataError, RubriclabError, SettingsError
from rubriclab.integrations.pytest.settings import CAPS, FLAGS, JUDGE_OPTIONS, UPDATE, Marked, Settings
from rubriclab.judges.llm import JudgeOptions
from rubriclab.judges.stack import PREFIX, LocalBudget, read_recording, recorded_name
from rubriclab.models.base import digest
from rubriclab.models.characters import with_flags
from rubriclab.models.text import Example
from rubriclab.ops.score import ScoreOptions, TextScorer
from rubriclab.ops.scores import ScoredRow, Scores
from rubriclab.ops.workspace import Workspace, judge_options, version_of

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


NAME = re.compile(r"[\w.-]{1,150}", re.ASCII)
FIELDS = ("id", "group", "system", "source", "context", "reference", "output")
# Characters of a test's name that are kept in the name of its baseline.
KEPT = 120


def check_name(name: str) -> str:
    """Return the name of a baseline.

    Raises:
        SettingsError: if it is not a file name.
    """
    if not NAME.fullmatch(name) or name.startswith("."):
        raise SettingsError(
            f"{name!r} cannot name a baseline.", "Use letters, digits, '-', '_' and '.', 150 characters at most."
        )
    return name


def name_of_test(node: str, number: int) -> str:
    """Return the name of the baseline of a test's comparison number `number`, from the test's node id."""
    name = re.sub(r"[^A-Za-z0-9_.-]+", "-", node).strip("-.")
    if len(name) > KEPT:
        name = f"{name[:KEPT]}-{digest(node).removeprefix('sha256:')[:12]}"
    return name if number == 1 else f"{name}-{number}"


def rows_of(scores: Scores) -> list[dict[str, Any]]:
    """Return texts with their scores, as `rubriclab score` writes them.

    Raises:
        DataError: if a row is faulty.
    """
    faulty = [scored.score for scored in scores.scored if scored.example is None]
    if faulty:
        number = f"{len(faulty)} of {len(scores)} rows cannot be used"
        raise DataError(f"{number}; the first: {faulty[0].unscored}", faults=[str(score.unscored) for score in faulty])
    return [_row(scored) for scored in scores.scored]


def _row(scored: ScoredRow) -> dict[str, Any]:
    fields: Mapping[str, Any] = {name: getattr(scored.example, name) for name in FIELDS}
    score = scored.score.to_row()
    return {
        **{name: value for name, value in fields.items() if value is not None},
        **score,
        "judge": recorded_name(score["judge"]),
    }


def check_baseline(path: Path) -> None:
    """Check that there is a baseline, and that every row of it can be used.

    Raises:
        DataError: if there is none, or a row is faulty.
    """
    for row in read(path, ReadingOptions()):
        if not isinstance(row, Example):
            raise DataError(
                f"The baseline is damaged: {row}.",
                f"Restore it from version control, or run pytest with {UPDATE} to store it again.",
            )


def store_baseline(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write a baseline, as rows of `rubriclab score`; an interrupted run leaves the former one.

    Raises:
        DataError: if it cannot be written.
    """
    unfinished = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished.write_bytes(b"".join(map(json_line, rows)))
        unfinished.replace(path)
    except OSError as error:
        raise DataError(f"The baseline {path} cannot be written: {error.strerror}.") from None
