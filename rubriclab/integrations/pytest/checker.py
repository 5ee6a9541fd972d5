"""The rubrics that the tests of one process have opened: each once, with one budget and one recording."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, Self, TypeVar

import pytest

from rubriclab.errors import DataError, RubriclabError, SettingsError
from rubriclab.integrations.pytest import tally
from rubriclab.integrations.pytest.settings import (
    CAPS,
    FLAGS,
    JUDGE_OPTIONS,
    Marked,
    OnInconclusive,
    Settings,
    on_inconclusive,
)
from rubriclab.integrations.pytest.tally import Tallies
from rubriclab.judges.options import JudgeOptions
from rubriclab.judges.stack import PREFIX, LocalBudget, read_recording, recorded_name
from rubriclab.learning.paired_scores import MAX_UNSCORED, LimitOutcome, Outputs, SideSummary
from rubriclab.learning.scoring import Score
from rubriclab.models.characters import with_flags
from rubriclab.models.rubric import Rubric
from rubriclab.ops.compare import summary
from rubriclab.ops.inputs import Data
from rubriclab.ops.options import ScoreOptions
from rubriclab.ops.score import TextScorer, row_of_fields
from rubriclab.ops.scores import Scores
from rubriclab.ops.workspace import Workspace, judge_options, version_of

P = ParamSpec("P")
T = TypeVar("T")


def without_inner_frames(work: Callable[P, T]) -> Callable[P, T]:
    """Return `work` with deliberate errors that name options of pytest and come without inner frames."""

    @wraps(work)
    def run(*arguments: P.args, **options: P.kwargs) -> T:
        __tracebackhide__ = True
        try:
            return work(*arguments, **options)
        except RubriclabError as error:
            error.message, error.hint = with_flags(error.message, FLAGS), with_flags(error.hint or "", FLAGS) or None
            raise error.with_traceback(None) from None
        except AssertionError as error:
            raise error.with_traceback(None) from None

    return run


class RubricRun:
    """What the tests of one process share; close it, or use it in a `with` statement.

    Attributes:
        settings: how texts are scored.
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


class RubricFixture:
    """The fixture `rubric` of one test: called with the name of a rubric, it returns that rubric, opened."""

    def __init__(self, run: RubricRun, marked: Marked, tallies: Tallies) -> None:
        self._run = run
        self._marked = marked
        self._tallies = tallies

    @without_inner_frames
    def __call__(self, ref: str | None = None) -> RubricChecker:
        """Return the rubric named `ref` (`NAME`, `NAME@3`, `NAME@production`), or else the one that a mark names.

        Raises:
            RubriclabError: if there is no such rubric, or its judge may not be used.
        """
        named = ref or self._marked.ref
        if named is None:
            raise SettingsError(
                "No rubric is named.", 'Write rubric("NAME"), or mark the test: @pytest.mark.rubric("NAME").'
            )
        return RubricChecker(self._run.scorer(named, self._marked), self._tallies, self._run.settings.inconclusive)


class RubricChecker:
    """An open rubric, whose assertions fail with the criteria that lower the score most.

    Attributes:
        scorer: the rubric, as `Lab.scorer` returns it.
    """

    def __init__(self, scorer: TextScorer, tallies: Tallies, inconclusive: OnInconclusive = "fail") -> None:
        self.scorer = scorer
        self._tally = tallies.of(scorer.name, recorded_name(scorer.judge))
        self._inconclusive = inconclusive

    @without_inner_frames
    def score(self, output: str, **fields: Any) -> Score:
        """Return the score of a text, which is `None` in a `Score` that is unscored; `fields` are `source` and others.

        Raises:
            RubriclabError: as `TextScorer` does.
        """
        return self._score([row_of_fields(output, fields)])[0]

    @without_inner_frames
    def score_rows(self, rows: Data) -> Scores:
        """Return the scores of many texts: rows as mappings, a path, or a table.

        Raises:
            RubriclabError: as `TextScorer.score_rows` does.
        """
        return self._score(rows)

    @without_inner_frames
    def assert_at_least(self, threshold: float, output: str, **fields: Any) -> Score:
        """Fail unless the score of a text is at least `threshold`, also if it has no score; return the score.

        Args:
            threshold: on the scale of the rubric.
            output: the text.
            fields: its `source`, `context`, `reference`, `id`, `group`.

        Raises:
            AssertionError: if the score is lower, or there is none.
            RubriclabError: if the text cannot be judged at all: a cap is reached, a reply is not recorded.
        """
        self.scorer.check_threshold(threshold)
        score = self._score([row_of_fields(output, fields)])[0]
        if score.score is None:
            raise self._failure(tally.unscored(score, self.scorer.rubric, output))
        if score.score < threshold:
            raise self._failure(tally.below(score, self.scorer.rubric, threshold, output))
        return score

    @without_inner_frames
    def assert_passes(self, output: str, **fields: Any) -> Score:
        """Fail unless a rubric for verdicts lets a text pass, also if it has no score; return the score.

        Args:
            output: the text.
            fields: its `source`, `context`, `reference`, `id`, `group`.

        Raises:
            AssertionError: if the text does not pass, or has no score.
            SettingsError: if the rubric gives no verdicts.
            RubriclabError: as `assert_at_least` does.
        """
        threshold = self.scorer.rubric.threshold
        if threshold is None:
            raise SettingsError(
                f"{self.scorer.name} gives no verdicts: its labels had more than two levels.",
                "Use `assert_at_least` with a score on its scale.",
            )
        return self.assert_at_least(threshold, output, **fields)

    @without_inner_frames
    def assert_mean_at_least(
        self, rows: Data, threshold: float, *, inconclusive: OnInconclusive | None = None
    ) -> SideSummary:
        """Fail unless the 95 % interval of the mean score, over groups of texts, lies at or above `threshold`.

        For a rubric with verdicts, `threshold` is the share of texts that pass: the mean is of verdicts, 1 for a pass.

        An interval that includes the threshold is inconclusive, and so are too few groups for an interval, or more than
        a tenth of the texts without a score.

        Args:
            rows: texts: rows as mappings, a path, or a table.
            threshold: on the scale of the rubric.
            inconclusive: `fail`, `skip` or `pass`; by default as configured.

        Returns:
            The mean with its interval, and the numbers of texts and groups.

        Raises:
            AssertionError: if the mean is lower, or if that is inconclusive and `inconclusive` is `fail`.
            DataError: for a faulty row, or without rows.
        """
        self.scorer.check_threshold(threshold)
        chosen = on_inconclusive(inconclusive) if inconclusive else self._inconclusive
        scores = self._score(rows)
        _check_rows(scores)
        rubric = self.scorer.rubric
        examples = tuple(scored.example for scored in scores.scored if scored.example)
        values = tuple(_as_verdict(score, rubric) for score in scores)
        side = summary(Outputs(self.scorer.name, examples, values), rubric.scores_on)
        outcome = mean_outcome(side, threshold)
        if outcome == "within":
            return side
        message = tally.mean_below(side, tuple(scores), rubric, threshold, inconclusive=outcome == "inconclusive")
        if outcome == "inconclusive":
            self._tally.inconclusive += 1
            if chosen == "pass":
                return side
            if chosen == "skip":
                pytest.skip(message)
        raise self._failure(message)

    def _score(self, rows: Data) -> Scores:
        """Return the scores of texts, and count them and the calls."""
        before = self.scorer.effort
        try:
            scores = self.scorer.score_rows([rows] if isinstance(rows, dict) else rows)
        finally:
            self._tally.add_effort(before, self.scorer.effort)
        self._tally.add_scores(scores)
        return scores

    def _failure(self, message: str) -> AssertionError:
        self._tally.failed += 1
        return AssertionError(message)


def _as_verdict(score: Score, rubric: Rubric) -> Score:
    """Return the score, or with verdicts 1 for a text that passes and 0 for one that fails."""
    names = rubric.scores_on.names
    return score if names is None or score.verdict is None else replace(score, score=float(score.verdict == names[1]))


def _check_rows(scores: Scores) -> None:
    if not len(scores):
        raise DataError("Expected texts, got no row.", "Give at least one.")
    if faulty := [str(scored.score.unscored) for scored in scores.scored if scored.example is None]:
        raise DataError(f"{len(faulty)} of {len(scores)} rows cannot be used; the first: {faulty[0]}", faults=faulty)


def mean_outcome(side: SideSummary, threshold: float) -> LimitOutcome:
    """Return whether a mean is at least `threshold`: decided by its whole interval, as comparisons are."""
    low, high = side.mean.low, side.mean.high
    if low is None or high is None:
        return "inconclusive"
    if high < threshold:
        return "beyond"
    return "within" if low >= threshold and side.scored >= (1 - MAX_UNSCORED) * side.texts else "inconclusive"
