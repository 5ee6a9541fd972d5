"""What tests call: the fixture `rubric`, which opens a rubric, and the rubric's assertions.

`RubricRun` opens each rubric once in a process. `Tallies` count what was scored by each rubric and judge, for the table
at the end of the test run. `RubricFixture` is the fixture, and `RubricChecker` a rubric with its assertions.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import orjson
import pytest

from rubriclab.display import with_long_options
from rubriclab.errors import DataError, RubriclabError, SettingsError
from rubriclab.integrations.evaluator import criterion_result, scale_text
from rubriclab.integrations.pytest import plugin
from rubriclab.judges.cache import RECORDED_PREFIX, read_recording, short_judge_name
from rubriclab.judges.limits import LocalBudget
from rubriclab.judges.options import JudgeOptions
from rubriclab.learning.paired_scores import MAX_UNSCORED, Outputs, SideSummary
from rubriclab.learning.scoring import Score
from rubriclab.models.characters import count, one_line
from rubriclab.models.rubric import Rubric
from rubriclab.models.text import format_score
from rubriclab.ops.compare import summarize_outputs
from rubriclab.ops.inputs import Data
from rubriclab.ops.options import ScoreOptions
from rubriclab.ops.score import TextScorer, make_row
from rubriclab.ops.scores import Scores
from rubriclab.ops.workspace import GivenAddress, Workspace, load_version
from rubriclab.report import wording
from rubriclab.report.render import view
from rubriclab.store.tables import resolve_store

P = ParamSpec("P")
T = TypeVar("T")

# What the message of a failed assertion shows at most.
MAX_CRITERIA = 3
MAX_TEXTS = 3
MAX_REASON_CHARACTERS = 200
MAX_TEXT_CHARACTERS = 300


def with_errors_for_pytest(work: Callable[P, T]) -> Callable[P, T]:
    """Wrap `work`: its errors name pytest's options, and their tracebacks leave out frames of rubriclab."""

    @wraps(work)
    def run(*arguments: P.args, **options: P.kwargs) -> T:
        __tracebackhide__ = True
        try:
            return work(*arguments, **options)
        except RubriclabError as error:
            error.message = with_long_options(error.message, plugin.LONG_NAMES)
            error.hint = with_long_options(error.hint, plugin.LONG_NAMES) if error.hint else None
            raise error.with_traceback(None) from None
        except AssertionError as error:
            raise error.with_traceback(None) from None

    return run


def make_judge_options(settings: plugin.Settings, names: Iterable[str] = plugin.JUDGE_OPTIONS) -> JudgeOptions:
    """Return the options of judges that are given to pytest; an error says where the option is given."""
    values = {name: settings.value(name) for name in names}
    try:
        return JudgeOptions(**values)
    except SettingsError as error:
        sources = {name: settings.option_or_variable(name) for name in values}
        raise SettingsError(with_long_options(error.text, sources)) from None


class RubricRun:
    """The rubrics that the tests of one process have opened, with one budget and one recording.

    `notes` are messages for the user, each once; `closing` closes the rubrics.
    """

    def __init__(self, settings: plugin.Settings, closing: ExitStack) -> None:
        self.settings = settings
        self.notes: dict[str, None] = {}
        self._closing = closing
        self._options = make_judge_options(settings)
        self._budget = LocalBudget(self._options.max_calls, self._options.max_cost)
        self._opened: dict[tuple[str | None, str | None, str], TextScorer] = {}

    def store(self, marks: plugin.MarkValues) -> str | None:
        """Return the store of a test; `None` for the user's own."""
        store = self.settings.value("store", marks.store)
        return None if store is None else resolve_store(store, self.settings.folder_of("store", marks.store))

    def judge(self, marks: plugin.MarkValues) -> str | None:
        """Return the judge of a test; `None` for the judge that the rubric was learned with."""
        name = self.settings.value("judge", marks.judge)
        if name is None or not name.startswith(RECORDED_PREFIX):
            return name
        return f"{RECORDED_PREFIX}{self.settings.folder_of('judge', marks.judge) / name.removeprefix(RECORDED_PREFIX)}"

    def scorer(self, ref: str, marks: plugin.MarkValues) -> TextScorer:
        """Return the rubric named `ref`, open for scoring; the first call opens it."""
        store, judge = self.store(marks), self.judge(marks)
        key = store, judge, ref
        if key not in self._opened:
            replay_file, record_file = self.settings.path("replay"), self.settings.path("record")
            if replay_file and not judge:  # take the judge that the rubric was learned with, or the only one recorded
                recorded_judges = list(read_recording(replay_file).judges)
                with Workspace(store) as workspace:
                    judge = load_version(workspace, ref).provenance.judge
                if judge not in recorded_judges and len(recorded_judges) == 1:
                    judge = recorded_judges[0]
            if replay_file:
                judge = f"{RECORDED_PREFIX}{replay_file}#{judge}"
            workspace = Workspace(store, self._options, notify=self._note, record=record_file, budget=self._budget)
            # The address `api_base` is for the judge that pytest's options name, even if a mark names another judge.
            judge_in_options = self.judge(plugin.MarkValues())
            workspace.given_address = GivenAddress(self._options.api_base, first_judge=judge_in_options)
            scorer = TextScorer(workspace, ref, ScoreOptions(judge=judge))
            self._opened[key] = self._closing.enter_context(scorer)
        return self._opened[key]

    def _note(self, text: str) -> None:
        self.notes[with_long_options(text, plugin.LONG_NAMES)] = None


@dataclass(slots=True)
class Tally:
    """What was scored by one rubric and judge."""

    rubric: str
    judge: str
    texts: int = 0
    unscored: int = 0
    total: float = 0.0  # sum of the scores
    lowest: float | None = None  # lowest score
    failed: int = 0  # assertions
    inconclusive: int = 0  # assertions
    calls: int = 0
    cached: int = 0  # answers from the store
    cost: float | None = 0.0  # in US dollars; `None` if unknown

    @property
    def mean(self) -> float | None:
        n_scored = self.texts - self.unscored
        return self.total / n_scored if n_scored else None

    def add(self, **counts: Any) -> None:
        """Add counts by name; a `lowest` score replaces a higher one, and an unknown cost stays unknown."""
        cost, lowest = counts.pop("cost", 0.0), counts.pop("lowest", None)
        self.cost = None if self.cost is None or cost is None else self.cost + cost
        if lowest is not None and (self.lowest is None or lowest < self.lowest):
            self.lowest = lowest
        for name, number in counts.items():
            setattr(self, name, getattr(self, name) + number)


@dataclass(slots=True)
class Tallies:
    """What one or several tests scored, by rubric and judge, with messages for the user."""

    by_rubric_and_judge: dict[tuple[str, str], Tally] = field(default_factory=dict)
    notes: dict[str, None] = field(default_factory=dict)

    def tally(self, rubric: str, judge: str) -> Tally:
        return self.by_rubric_and_judge.setdefault((rubric, judge), Tally(rubric, judge))

    def to_json(self) -> str:
        tallies = [asdict(tally) for tally in self.by_rubric_and_judge.values()]
        return orjson.dumps({"rubrics": tallies, "notes": [*self.notes]}).decode()


def summary_lines(json_texts: Iterable[str], recorded: Path | None, width: int) -> list[str]:
    """Return the lines of the table that sums up what tests scored, without its title; none if they scored nothing.

    Args:
        json_texts: the tallies of the tests, by `Tallies.to_json`.
        recorded: the file to which replies were recorded.
    """
    from rich.console import Console

    total = Tallies()
    for row in map(orjson.loads, json_texts):
        for counts in row["rubrics"]:
            total.tally(counts.pop("rubric"), counts.pop("judge")).add(**counts)
        total.notes |= dict.fromkeys(row["notes"])
    if not total.by_rubric_and_judge:
        return []
    tallies = [tally for _, tally in sorted(total.by_rubric_and_judge.items())]
    table = view("tally", title=plugin.SUMMARY_TITLE, tallies=tallies, recorded=recorded, notes=total.notes)
    output = io.StringIO()
    Console(file=output, width=width, color_system=None).print(table)
    _title, *lines = map(str.rstrip, output.getvalue().rstrip().splitlines())
    return lines


class RubricFixture:
    """The fixture `rubric` of one test, which opens a rubric by its name."""

    def __init__(self, run: RubricRun, marks: plugin.MarkValues, tallies: Tallies) -> None:
        self._run = run
        self._marks = marks
        self._tallies = tallies

    @with_errors_for_pytest
    def __call__(self, ref: str | None = None) -> RubricChecker:
        """Return the rubric named `ref` (`NAME`, `NAME@3`, `NAME@production`), or else the rubric of the mark."""
        name = ref or self._marks.ref
        if name is None:
            hint = 'Write rubric("NAME"), or mark the test: @pytest.mark.rubric("NAME").'
            raise SettingsError("No rubric is named.", hint)
        return RubricChecker(self._run.scorer(name, self._marks), self._tallies, self._run.settings.on_inconclusive)


class RubricChecker:
    """An open rubric. Its assertions, if they fail, show the criteria that lower the score most."""

    def __init__(self, scorer: TextScorer, tallies: Tallies, on_inconclusive: plugin.OnInconclusive = "fail") -> None:
        self.scorer = scorer
        self._tally = tallies.tally(scorer.name, short_judge_name(scorer.judge))
        self._on_inconclusive = on_inconclusive

    @with_errors_for_pytest
    def score(self, output: str, **fields: Any) -> Score:
        """Return the `Score` of a text; `fields` are `source`, `context`, `reference`, `id` and `group`."""
        return self._score([make_row(output, fields)])[0]

    @with_errors_for_pytest
    def score_rows(self, rows: Data) -> Scores:
        """Return the scores of many texts: rows as mappings, a path, or a table."""
        return self._score(rows)

    @with_errors_for_pytest
    def assert_at_least(self, threshold: float, output: str, **fields: Any) -> Score:
        """Return the score of a text; fail unless it is at least `threshold`, a score on the rubric's scale.

        Raises:
            AssertionError: if the score is lower or missing.
            RubriclabError: if the text cannot be judged at all: a cap is reached, or a reply is not recorded.
        """
        self.scorer.check_threshold(threshold)
        score = self._score([make_row(output, fields)])[0]
        scored_by = _scale_and_judge(score, self.scorer.rubric)
        text = f"text {one_line(score.id)}: {wording.excerpt(one_line(str(output)), MAX_TEXT_CHARACTERS)}"
        if score.score is None:
            raise self._failure(f"{score.rubric}: no score: {_reason(score.unscored or '')} ({scored_by})", text)
        if score.score < threshold:
            interval = f" {wording.score_interval(score.interval)}" if score.interval else ""
            result = f"{score.rubric}: score {wording.rounded(score.score)}{interval}"
            lowering = _lowering_criteria(score, self.scorer.rubric)[:MAX_CRITERIA]
            title = "criteria that lower the score most:" if lowering else "no criterion lowers the score"
            raise self._failure(f"{result} is below {format_score(threshold)} ({scored_by})", title, *lowering, text)
        return score

    @with_errors_for_pytest
    def assert_passes(self, output: str, **fields: Any) -> Score:
        """Return the score of a text; fail as `assert_at_least` does if a rubric with two levels does not pass it."""
        threshold = self.scorer.rubric.threshold
        if threshold is None:
            hint = "Use `assert_at_least` with a score on its scale."
            raise SettingsError(f"{self.scorer.name} gives no verdicts: its labels had more than two levels.", hint)
        return self.assert_at_least(threshold, output, **fields)

    @with_errors_for_pytest
    def assert_mean_at_least(
        self, rows: Data, threshold: float, *, inconclusive: plugin.OnInconclusive | None = None
    ) -> SideSummary:
        """Return a summary of the scores; fail unless the 95 % interval of their mean lies at or above `threshold`.

        The interval is computed over groups of texts. With a rubric of two levels, the mean is the share of texts that
        pass. The result is inconclusive if the interval includes the threshold, if there are too few groups for an
        interval, or if more than a tenth of the texts have no score.

        Args:
            threshold: on the scale of the rubric.
            inconclusive: `fail`, `skip` or `pass`; by default as configured.

        Raises:
            AssertionError: if the interval is below `threshold`, or if an inconclusive result is to `fail`.
            DataError: for a faulty row, or without rows.
        """
        self.scorer.check_threshold(threshold)
        on_inconclusive = plugin.parse_inconclusive(inconclusive) if inconclusive else self._on_inconclusive
        scores, rubric = self._score(rows), self.scorer.rubric
        if not len(scores):
            raise DataError("Expected texts, got no row.", "Give at least one.")
        if faults := [str(row.score.unscored) for row in scores.scored if row.example is None]:
            problem = f"{len(faults)} of {len(scores)} rows cannot be used; the first: {faults[0]}"
            raise DataError(problem, faults=faults)
        examples = tuple(row.example for row in scores.scored if row.example)
        measure, averaged_scores = "mean", list(scores)
        if rubric.score_scale.names:
            # The mean of 1 for each text that passes and 0 for each other is the share of texts that pass.
            _, passing = rubric.score_scale.names
            measure = f"share of {passing!r}"
            for index, score in enumerate(scores):
                if score.verdict:
                    averaged_scores[index] = replace(score, score=float(score.verdict == passing))
        summary = summarize_outputs(Outputs(self.scorer.name, examples, tuple(averaged_scores)), rubric.score_scale)
        why_not_met = _why_not_met(summary, threshold)
        if why_not_met is None:
            return summary
        texts = f"{count(summary.scored, 'text')} in {count(summary.groups, 'group')}"
        result = f"{scores[0].rubric}: {measure} {wording.estimate(summary.mean)} of {texts}"
        lines = [f"{result} ({_scale_and_judge(scores[0], rubric)})", why_not_met]
        for reason, number in summary.unscored.items():
            lines.append(f"{count(number, 'text')} without a score: {_reason(reason)}")
        lines += _lowest_scores(scores, rubric)
        if summary.mean.high is None or summary.mean.high >= threshold:
            self._tally.add(inconclusive=1)
            if on_inconclusive == "pass":
                return summary
            if on_inconclusive == "skip":
                pytest.skip("\n".join(lines))
        raise self._failure(*lines)

    def _score(self, rows: Data) -> Scores:
        before = self.scorer.effort
        try:
            scores = self.scorer.score_rows([rows] if isinstance(rows, dict) else rows)
        finally:
            after = self.scorer.effort
            cost = None
            if before.cost_usd is not None and after.cost_usd is not None:
                cost = after.cost_usd - before.cost_usd
            self._tally.add(calls=after.calls - before.calls, cached=after.cached - before.cached, cost=cost)
        values = [score.score for score in scores if score.score is not None]
        n_unscored, lowest = len(scores) - len(values), min(values, default=None)
        self._tally.add(texts=len(scores), unscored=n_unscored, total=sum(values), lowest=lowest)
        return scores

    def _failure(self, *lines: str) -> AssertionError:
        self._tally.add(failed=1)
        return AssertionError("\n".join(lines))


def _why_not_met(summary: SideSummary, threshold: float) -> str | None:
    low, high = summary.mean.low, summary.mean.high
    if low is None or high is None:
        return "inconclusive: with so few groups there is no interval; give texts of more groups"
    if high < threshold:
        return f"the whole interval is below {format_score(threshold)}"
    if low < threshold:
        return f"inconclusive: the interval includes {format_score(threshold)}; more texts are needed"
    if summary.scored < (1 - MAX_UNSCORED) * summary.texts:
        return "inconclusive: more than a tenth of the texts have no score, so the scored texts may not represent all"
    return None


def _lowest_scores(scores: Scores, rubric: Rubric) -> Iterator[str]:
    """Yield a line for each text with one of the lowest scores, and a line for the criterion that lowers it most."""
    scored = [(score.score, score) for score in scores if score.score is not None]
    for value, score in sorted(scored, key=lambda pair: pair[0])[:MAX_TEXTS]:
        yield f"lowest: {wording.rounded(value)}, text {one_line(score.id)}"
        yield from _lowering_criteria(score, rubric)[:1]


def _scale_and_judge(score: Score, rubric: Rubric) -> str:
    return f"scale {scale_text(rubric)}; judge {one_line(short_judge_name(score.judge))}"


def _reason(text: str) -> str:
    return wording.excerpt(one_line(text), MAX_REASON_CHARACTERS)


def _lowering_criteria(score: Score, rubric: Rubric) -> Sequence[str]:
    """Return a line for each criterion that lowers the score, by contribution or else by rating, the worst first."""
    has_contributions = any(rating.contribution is not None for rating in score.criteria)
    questions = {criterion.id for criterion in rubric.criteria if criterion.kind == "question"}
    lowering: list[tuple[float, str]] = []  # how far each criterion lowers the score, with its line
    for rating in score.criteria:
        if has_contributions:
            effect = rating.contribution or 0.0
        elif rating.score is None:
            continue
        elif rating.id in questions:
            effect = rating.score - 1  # the rating of a question is a share already
        else:
            effect = (rating.score - rubric.scale.low) / rubric.scale.width - 1
        if effect < 0:
            result = criterion_result(rating, rubric, MAX_REASON_CHARACTERS)
            lowering.append((effect, f"  {result}: {_reason(rating.reason)}"))
    return [line for _, line in sorted(lowering, key=lambda pair: pair[0])]
