"""The rubrics that the tests of one process have opened: each once, with one budget and one recording."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn, Self, TypeVar

import pytest

from rubriclab.data.mapping import ReadingOptions
from rubriclab.data.readers import read
from rubriclab.data.write import json_line
from rubriclab.errors import DataError, RubriclabError, SettingsError
from rubriclab.integrations.pytest import tally
from rubriclab.integrations.pytest.settings import (
    CAPS,
    FLAGS,
    JUDGE_OPTIONS,
    UPDATE,
    Marked,
    OnInconclusive,
    Settings,
    on_inconclusive,
)
from rubriclab.integrations.pytest.tally import Tallies, Tally
from rubriclab.judges.options import JudgeOptions
from rubriclab.judges.stack import PREFIX, LocalBudget, read_recording, recorded_name
from rubriclab.learning.paired_scores import MAX_UNSCORED, Comparison, LimitOutcome, Outputs, PairingRule, SideSummary
from rubriclab.learning.scoring import Score
from rubriclab.models.base import digest
from rubriclab.models.characters import with_flags
from rubriclab.models.rubric import Rubric
from rubriclab.models.text import Example
from rubriclab.ops.compare import summary
from rubriclab.ops.inputs import Data
from rubriclab.ops.options import CompareOptions, ScoreOptions
from rubriclab.ops.score import TextScorer, row_of_fields
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


class RubricFixture:
    """The fixture `rubric` of one test: called with the name of a rubric, it returns that rubric, opened.

    Attributes:
        tallies: what the test has scored so far, in all its attempts.
    """

    def __init__(self, run: RubricRun, marked: Marked, node: str, tallies: Tallies) -> None:
        self.tallies = tallies
        self.run = run
        self._marked = marked
        self._node = node
        self._comparisons = 0
        self._stored: set[str] = set()

    def __call__(self, ref: str | None = None) -> RubricChecker:
        """Return the rubric named `ref` (`NAME`, `NAME@3`, `NAME@production`), or else the one that a mark names.

        Raises:
            RubriclabError: if there is no such rubric, or its judge may not be used.
        """
        __tracebackhide__ = True
        named = ref or self._marked.ref
        if named is None:
            raise SettingsError(
                "No rubric is named.", 'Write rubric("NAME"), or mark the test: @pytest.mark.rubric("NAME").'
            )
        return RubricChecker(self, without_inner_frames(lambda: self.run.scorer(named, self._marked)))

    def baseline_name(self, name: str | None) -> str:
        """Return the name of a baseline: as given, else that of the test.

        Raises:
            SettingsError: if it is not a file name.
        """
        if name is not None:
            return check_name(name)
        self._comparisons += 1
        return name_of_test(self._node, self._comparisons)

    def store_baseline(self, name: str, rows: list[dict[str, Any]]) -> None:
        """Store a baseline; another attempt of the same test replaces it.

        Raises:
            SettingsError: if another comparison of this run has stored it.
            DataError: if it cannot be written.
        """
        owner = self.run.baselines.setdefault(name, self._node)
        if owner != self._node or name in self._stored:
            tests = " and ".join(dict.fromkeys((owner, self._node)))
            raise SettingsError(
                f"Two comparisons store the baseline {name}, in {tests}.", "Give each a name of its own."
            )
        store_baseline(self.run.settings.baselines / f"{name}.jsonl", rows)
        self._stored.add(name)
        self.tallies.baselines[name] = None

    def close(self) -> None:
        """Keep the notes of the run."""
        self.tallies.notes |= self.run.notes


class RubricChecker:
    """An open rubric, whose assertions fail with the criteria that lower the score most.

    Attributes:
        scorer: the rubric, as `Lab.scorer` returns it.
    """

    def __init__(self, fixture: RubricFixture, scorer: TextScorer) -> None:
        self.scorer = scorer
        self._fixture = fixture

    def score(self, output: str, **fields: Any) -> Score:
        """Return the score of a text, which is `None` in a `Score` that is unscored; `fields` are `source` and others.

        Raises:
            RubriclabError: as `TextScorer` does.
        """
        __tracebackhide__ = True
        return self._scored_text(output, fields)

    def score_rows(self, rows: Data) -> Scores:
        """Return the scores of many texts: rows as mappings, a path, or a table.

        Raises:
            RubriclabError: as `TextScorer.score_rows` does.
        """
        __tracebackhide__ = True
        return self._scored(rows)

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
        __tracebackhide__ = True
        self._check_threshold(threshold)
        score = self._scored_text(output, fields)
        if score.score is None:
            self._fail(tally.unscored(score, self.scorer.rubric, output))
        elif score.score < threshold:
            self._fail(tally.below(score, self.scorer.rubric, threshold, output))
        return score

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
        __tracebackhide__ = True
        threshold = self.scorer.rubric.threshold
        if threshold is None:
            raise SettingsError(
                f"{self.scorer.name} gives no verdicts: its labels had more than two levels.",
                "Use `assert_at_least` with a score on its scale.",
            )
        return self.assert_at_least(threshold, output, **fields)

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
        __tracebackhide__ = True
        self._check_threshold(threshold)
        chosen = self._chosen(inconclusive)
        scores = self._scored(rows)
        without_inner_frames(lambda: _check_rows(scores))
        rubric = self.scorer.rubric
        examples = tuple(scored.example for scored in scores.scored if scored.example)
        values = tuple(_as_verdict(score, rubric) for score in scores)
        side = summary(Outputs(self.scorer.name, examples, values), rubric.scores_on)
        outcome = mean_outcome(side, threshold)
        if outcome != "within":
            unknown = outcome == "inconclusive"
            message = tally.mean_below(side, tuple(scores), rubric, threshold, inconclusive=unknown)
            self._conclude(message, "fail" if outcome == "beyond" else chosen, inconclusive=unknown)
        return side

    def assert_not_worse(
        self,
        rows: Data,
        *,
        baseline: str | None = None,
        max_drop: float | None = None,
        pair_by: PairingRule | None = None,
        inconclusive: OnInconclusive | None = None,
    ) -> Comparison | None:
        """Fail if outputs score lower than the stored baseline, as `rubriclab compare` decides.

        It is inconclusive, too, if more than a tenth of the baseline's outputs have no counterpart.

        With `--rubric-update-baseline` the outputs and their scores are stored as the baseline instead.

        Args:
            rows: texts: rows as mappings, a path, or a table.
            baseline: its name; by default that of the test.
            max_drop: the largest acceptable drop of the mean, in points of the scale.
            pair_by: what outputs are paired by; by default id, else group, else the sets are independent.
            inconclusive: `fail`, `skip` or `pass`; by default as configured.

        Returns:
            The comparison; `None` if the baseline was stored.

        Raises:
            AssertionError: if they score lower, if that is inconclusive and `inconclusive` is `fail`, or if there is no
                baseline.
            DataError: for a faulty row, or without rows.
        """
        __tracebackhide__ = True
        chosen = self._chosen(inconclusive)
        options = CompareOptions.given({"max_drop": max_drop, "pair_by": pair_by})
        name = without_inner_frames(lambda: self._fixture.baseline_name(baseline))
        path = self._fixture.run.settings.baselines / f"{name}.jsonl"
        scores = self._scored(rows)
        after = without_inner_frames(lambda: _check_rows(scores))
        if self._fixture.run.settings.update:
            without_inner_frames(lambda: self._store(name, after, scores))
            return None
        if not path.exists():
            self._fail(f"There is no baseline {path}: run pytest with {UPDATE} to store it.")
        without_inner_frames(lambda: check_baseline(path))
        with self._fixture.run.without_notes():  # that the rows carry their scores
            comparison = self._measured(lambda: self.scorer.compare(path, after, options)).result
        assert isinstance(comparison, Comparison)
        outcome = comparison_outcome(comparison)
        if outcome != "within":
            unknown = outcome == "inconclusive"
            how = chosen if unknown else "fail"
            self._conclude(tally.changed(comparison, name, inconclusive=unknown), how, inconclusive=unknown)
        elif unpaired := tally.without_counterpart(comparison):
            self._fixture.tallies.notes[f"{name}: {unpaired}"] = None
        return comparison

    def _store(self, name: str, rows: list[dict[str, Any]], scores: Scores) -> None:
        if len(scores.unscored) > MAX_UNSCORED * len(scores):
            raise DataError(
                f"The baseline {name} is not stored: {len(scores.unscored)} of {len(scores)} texts have no score; the "
                f"first: {scores.unscored[0].unscored}",
                "Run the same again.",
            )
        self._fixture.store_baseline(name, rows)

    def _chosen(self, inconclusive: OnInconclusive | None) -> OnInconclusive:
        return on_inconclusive(inconclusive) if inconclusive else self._fixture.run.settings.inconclusive

    def _check_threshold(self, threshold: float) -> None:
        __tracebackhide__ = True
        without_inner_frames(lambda: self.scorer.check_threshold(threshold))

    def _scored_text(self, output: str, fields: Mapping[str, Any]) -> Score:
        __tracebackhide__ = True
        return self._scored([without_inner_frames(lambda: row_of_fields(output, fields))])[0]

    def _scored(self, rows: Data) -> Scores:
        __tracebackhide__ = True
        data = [rows] if isinstance(rows, dict) else rows
        scores = self._measured(lambda: self.scorer.score_rows(data))
        self._tally().add_scores(scores)
        return scores

    def _measured(self, work: Callable[[], T]) -> T:
        """Return what `work` returns, and count its calls."""
        __tracebackhide__ = True
        before = self.scorer.effort
        try:
            return without_inner_frames(work)
        finally:
            self._tally().add_effort(before, self.scorer.effort)

    def _tally(self) -> Tally:
        return self._fixture.tallies.of(self.scorer.name, recorded_name(self.scorer.judge))

    def _conclude(self, message: str, how: OnInconclusive, *, inconclusive: bool) -> None:
        __tracebackhide__ = True
        if inconclusive:
            self._tally().inconclusive += 1
        if how == "fail":
            self._fail(message)
        if how == "skip":
            pytest.skip(message)

    def _fail(self, message: str) -> NoReturn:
        __tracebackhide__ = True
        self._tally().failed += 1
        raise AssertionError(message)


def _as_verdict(score: Score, rubric: Rubric) -> Score:
    """Return the score, or with verdicts 1 for a text that passes and 0 for one that fails."""
    names = rubric.scores_on.names
    return score if names is None or score.verdict is None else replace(score, score=float(score.verdict == names[1]))


def _check_rows(scores: Scores) -> list[dict[str, Any]]:
    if not len(scores):
        raise DataError("Expected texts, got no row.", "Give at least one.")
    return rows_of(scores)


def mean_outcome(side: SideSummary, threshold: float) -> LimitOutcome:
    """Return whether a mean is at least `threshold`: decided by its whole interval, as comparisons are."""
    low, high = side.mean.low, side.mean.high
    if low is None or high is None:
        return "inconclusive"
    if high < threshold:
        return "beyond"
    return "within" if low >= threshold and side.scored >= (1 - MAX_UNSCORED) * side.texts else "inconclusive"


def comparison_outcome(comparison: Comparison) -> LimitOutcome:
    """Return the outcome of a comparison, unknown also if more than a tenth of the baseline was not compared."""
    unpaired = comparison.unpaired_before if comparison.pairing else 0
    missing = unpaired > MAX_UNSCORED * comparison.before.texts
    return "inconclusive" if missing and comparison.outcome == "within" else comparison.outcome
