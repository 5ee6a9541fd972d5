"""Scoring of texts by a rubric.

- `Scoring`, made by `prepare_scoring`, scores rows as a stream. If there are labels, it estimates the mean human score.
- `resume_scores` lets a `Scoring` continue a file of scores that an interrupted run has left.
- `TextScorer` keeps a rubric and its judge open and scores texts as they come, for a server or a test.

Rivals are texts of one group that are rated together in a call; texts rated in calls of their own are rated apart.
"""

from __future__ import annotations

import math
import shlex
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from io import BytesIO
from itertools import dropwhile
from numbers import Real
from pathlib import Path
from reprlib import repr as short
from typing import Any, Literal

import orjson

from rubriclab.data.cells import JSON_RULES
from rubriclab.data.mapping import FIELDS, NO_MAPPING
from rubriclab.data.readers import Rows
from rubriclab.data.reading_options import ReadingOptions
from rubriclab.data.rows import FieldError, Fields
from rubriclab.data.write import is_pipe_or_device, json_line, replace_file, table_ending
from rubriclab.errors import BelowThreshold, DataError, JudgeError, SettingsError
from rubriclab.judges.cache import short_judge_name
from rubriclab.judges.judge import Judge
from rubriclab.learning.estimate import DryRun, dry_run, estimate_scoring
from rubriclab.learning.scoring import Score, addresses_judge, faulty_row_id, group_limits, score_stream, without_rivals
from rubriclab.methods.holistic import BaselineSettings, whole_aspect_criterion
from rubriclab.models.aggregation import RivalLimits
from rubriclab.models.characters import count, did_you_mean, join_names, preview
from rubriclab.models.evaluation import DIRECT
from rubriclab.models.rubric import Part, Rubric
from rubriclab.models.text import Assignment, Example, WordScore, find_aspect, format_score, parse_scale, task_words
from rubriclab.models.version import Effort, Version
from rubriclab.ops import inputs, scores as results, workspace as work
from rubriclab.ops.inputs import Data
from rubriclab.ops.options import ScoreOptions
from rubriclab.ops.ray import check_workers, score_on_ray
from rubriclab.running import BackgroundLoop, Closing
from rubriclab.stats.intervals import MIN_GROUPS

# The rubric's name in scores without a learned rubric, and in scores by a rubric that is not stored.
UNVALIDATED = "unvalidated"
UNSAVED = "unsaved"


@dataclass(eq=False)
class Scoring:
    """The scoring of texts by one rubric. No request is sent to the judge until `stream` is called."""

    workspace: work.Workspace
    data: Data
    rubric: Rubric
    name: str  # the rubric's name in its scores
    choice: work.JudgeChoice
    options: ScoreOptions
    version: Version | None = None
    judge: Judge | None = None  # a judge that is already connected; by default `choice` is connected
    remaining_rows: Rows | None = None  # if a run is resumed: the rows without a score yet
    counts: results.ScoreCounts = field(default_factory=results.ScoreCounts)
    # Limits of calls about several texts of a group (rivals), or `"apart"`: each text is rated in a call of its own.
    rivals: RivalLimits | Literal["apart"] = field(init=False)

    def __post_init__(self) -> None:
        self.options = inputs.accept_level_names(self.options, self.rubric.score_scale)
        options, aggregation = self.options, self.rubric.aggregation
        learned_limits = aggregation.rivals if aggregation else None
        mode_in_learning = "together" if learned_limits else "apart"
        mode = options.rivals or mode_in_learning
        if aggregation and mode != mode_in_learning:
            name = "the rubric" if self.name == UNSAVED else self.name
            learned_from = f"{name} was learned from scores of texts that were rated {mode_in_learning}"
            warning = f"its agreement and intervals hold for such scores, not for texts rated {mode}"
            self.workspace.notify(f"{learned_from}; {warning}")
        limits = None if mode == "apart" else group_limits(self.rubric, learned_limits or RivalLimits())
        self.rivals = limits or "apart"
        # By Ray, rows are scored in other processes.
        self.on_ray = options.workers > 1 or options.ray_address is not None
        if self.on_ray:
            option = "workers" if options.workers > 1 else "ray_address"
            if limits:
                problem = f"`{option}`: texts that are rated together are scored in one process;"
                raise SettingsError(problem, f"leave `{option}` out, or give `rivals=apart`.")
            if self.judge:
                problem = f"`{option}`: {self.judge.name} is connected in this process, where workers cannot use it;"
                raise SettingsError(problem, f"leave `{option}` out.")
        self.summary = results.ScoreDistribution(self.rubric.score_scale, threshold=self.rubric.threshold)
        self.bad_labels = list[str]()
        self.seen_texts = set[int]()  # hashes of texts, since a text with rows of several raters is counted once
        self.filled_options = set[str]()  # `labels_in` or `by`, once their column has a value in a row
        self.columns = list[str]()  # of the first row

    def estimate(self) -> DryRun:
        calls = estimate_scoring(self.rubric, self._read_rows(), self.rivals)
        return dry_run({"judge": (self.choice.spec, calls)}, self.workspace.options)

    async def stream(self) -> AsyncGenerator[results.ScoredRow]:
        """Yield one scored row for each row, in order; a faulty row is unscored, with its fault as the reason."""
        workspace, rubric, name, notify = self.workspace, self.rubric, self.name, self.workspace.notify
        rival_counts, n_resumed = self.counts.rivals, self.counts.rows
        rows = self._read_rows()
        pending = deque[inputs.ReadRow]()  # the rows that were read and have no score yet
        texts = inputs.yield_and_append(rows, pending)
        if self.on_ray:
            stream = score_on_ray(workspace, without_rivals(rubric), texts, self.choice, name, options=self.options)
        else:
            judge, n_parallel = self.judge or workspace.judge(self.choice), workspace.texts_at_once
            stream = score_stream(rubric, texts, judge, name, n_parallel, rivals=self.rivals, counts=rival_counts)
        async with aclosing(inputs.with_progress(workspace, stream, self.data, n_resumed)) as scores:
            async for score in scores:
                row, example = pending.popleft()
                if self.version and example:
                    self.counts.missing_fields.update(inputs.missing_fields(self.version, [example]))
                scored = results.ScoredRow(score, row, example, bool(example and addresses_judge(example.output)))
                self.count_row(scored)
                yield scored
        inputs.notify_of_left_out_data(rows, notify)
        if rival_counts.calls:
            calls = count(rival_counts.calls, "call")
            notify(f"{name}: {count(rival_counts.texts, 'text')} rated together with their rivals in {calls}")
        if n_alone := rival_counts.single_text_calls:
            advice = "" if n_alone < rival_counts.texts else ": give `group` or `source`"
            notify(f"{name}: {n_alone:,} of these texts had no rival in their call{advice}")
        for warning in self.warnings(self.counts.rows - n_resumed):
            notify(warning)

    def warnings(self, n_texts: int) -> list[str]:
        counts, data_name, warnings = self.counts, inputs.describe_data(self.data), list[str]()
        if self.version:
            warnings += inputs.notes_of_missing_fields(self.version, counts.missing_fields, data_name, n_texts)
        if counts.addresses_judge:
            warnings.append(f"{counts.addresses_judge:,} of {counts.texts:,} texts address the judge")
        return warnings

    def count_row(self, scored: results.ScoredRow) -> None:
        """Count a row, and add it to the summary; a row that repeats a text is added only if it adds a label."""
        row, example = scored.row, scored.example
        group = example.group if example else None
        label, slice_name = math.nan, ""
        if self.options.labels_in and (label_cell := inputs.find_cell(row, self.options.labels_in)) is not None:
            self.filled_options.add("labels_in")
            # Labels of training groups are left out: the rubric was fitted to them, so its errors on them are small.
            if not self.version or group not in self.version.provenance.groups:
                label = self._parse_label(scored.score.id, label_cell)
        if self.options.by and (slice_cell := inputs.find_cell(row, self.options.by)) is not None:
            self.filled_options.add("by")
            slice_name = str(slice_cell)
        is_new_text = True
        if isinstance(row, Mapping):
            self.columns = self.columns or list(map(str, row))
            fields = Fields(row, self.options.mapping, JSON_RULES)
            # Without an id or a rater, a row with the same words as another row is a text of its own.
            if example and (fields.has_value("id") or fields.has_value("rater")):
                text_hash = hash((example.id, example.output, example.source, example.context, slice_name))
                is_new_text = text_hash not in self.seen_texts
                self.seen_texts.add(text_hash)
        self.counts.rows += 1
        if is_new_text:
            self.counts.add(scored)
        if is_new_text or not math.isnan(label):
            self.summary.add(scored.score, group, label, slice_name)

    def _parse_label(self, text_id: str, cell: Any) -> float:
        rules = self.options.rules(typed_cells=False, decimal=self.options.decimal)
        if rules.is_missing(cell):
            return math.nan
        with suppress(FieldError):
            label = Fields({}, NO_MAPPING, rules).parse_number(self.options.labels_in or "", cell)
            if label is None:
                return math.nan
            scale = self.rubric.score_scale
            is_number_off_scale = not (scale.has_two_levels or scale.contains(label) or isinstance(label, WordScore))
            if not is_number_off_scale:  # such a number is only noted; other unsuitable labels are an error
                inputs.check_labels([label], self.rubric, self.name)
                return label
        self.bad_labels.append(f"{text_id}: {cell!r}")
        return math.nan

    def check_labels_in_or_use_training_labels(self) -> None:
        """Check that `labels_in` gives enough labels for the mean human score; without it, use training labels."""
        for name in ("labels_in", "by"):
            column = getattr(self.options, name)
            if column and self.counts.rows and name not in self.filled_options:
                hint = f"The columns are {join_names(self.columns)}." if self.columns else None
                raise DataError(f"`{name}={column}`: no row has a value in this column.", hint)
        column, labelled = self.options.labels_in, self.summary.labelled
        if column is None:
            if version := self.version:
                self.summary.training_labels = results.scored_training_labels(self.workspace, version, self.choice.spec)
            return
        if self.bad_labels:
            cells = f"{count(len(self.bad_labels), 'cell')}; expected scores from {self.rubric.score_scale.describe()}"
            self.workspace.notify(f"left out of `labels_in={column}`: {cells}; the first: {self.bad_labels[0]}")
        n_groups = labelled.group_count if labelled else 0
        if n_groups < MIN_GROUPS:
            got = f"labels of {count(n_groups, 'group')}, not counting those that the rubric was learned from"
            hint = "Label more texts, drawn at random, or leave the option out."
            raise DataError(f"`labels_in={column}`: got {got}; expected at least {MIN_GROUPS}.", hint)

    def _read_rows(self) -> Rows:
        if self.remaining_rows is not None:
            return self.remaining_rows
        rows = inputs.rows_of(self.data, self.options, self.workspace.notify)
        if self.version:
            inputs.check_next_rows(self.version, rows, inputs.describe_data(self.data), self.options)
        return rows

    @property
    def unanswered(self) -> str | None:
        """The message that all replies of the judge failed; `None` if a text has a score, or if no reply failed."""
        counts, ledger = self.counts, self.workspace.ledger
        n_scored = counts.texts - counts.unscored
        return work.no_reply_message(self.choice.spec, self.name, n_scored, counts.latest_reason, ledger)

    def raise_if_unanswered(self) -> None:
        """Raise if no row has a text, if all replies failed, or if `max_unscored` allows fewer unscored texts."""
        counts, max_unscored = self.counts, self.options.max_unscored
        if counts.rows and counts.faulty == counts.rows:
            hint = "If the column of the texts has another name, give it: `mapping=output=COLUMN`."
            problem = f"None of the {count(counts.rows, 'row')} can be scored; the first: {counts.first_fault}."
            raise DataError(problem, hint)
        if self.unanswered:
            raise JudgeError(self.unanswered)
        if max_unscored is not None and counts.unscored > max_unscored * counts.texts:
            problem = f"{counts.unscored:,} of {counts.texts:,} texts have no score"
            raise BelowThreshold(f"{problem}; `max_unscored` allows a share of {max_unscored:.4g}.")


def prepare_scoring(
    workspace: work.Workspace, data: Data, rubric: work.RubricLike | None, options: ScoreOptions
) -> Scoring:
    """Prepare the scoring of texts by a rubric or, without a rubric, by direct judging of an aspect."""
    if options.workers > 1 or options.ray_address is not None:
        check_workers(workspace, options.workers, options.ray_address)
    if rubric is None:
        return _prepare_unvalidated(workspace, data, options)
    ignored_options = [f"`{name}`" for name in ("task", "aspect", "definition", "scale") if getattr(options, name)]
    if ignored_options:
        workspace.notify(f"{', '.join(ignored_options)}: ignored, as the rubric has its own task, aspect and scale")
    if isinstance(rubric, Rubric):
        choice = work.JudgeChoice(work.judge_or_offline(options.judge, workspace.notify))
        return Scoring(workspace, data, rubric, UNSAVED, choice, options)
    version = work.load_version(workspace, rubric)
    choice = work.choose_judge(version, options.judge, workspace.store, workspace.notify)
    if note := version.provenance.note_on_grades:
        workspace.notify(f"{version.ref}: {note}")
    return Scoring(workspace, data, version.rubric, version.ref, choice, options, version)


async def score(
    workspace: work.Workspace, data: Data, rubric: work.RubricLike | None, options: ScoreOptions
) -> results.Scores:
    scoring = await workspace.off_event_loop(prepare_scoring, workspace, data, rubric, options)
    scores = await score_all(scoring)
    await workspace.off_event_loop(scoring.check_labels_in_or_use_training_labels)
    scoring.raise_if_unanswered()
    return scores


async def score_all(scoring: Scoring) -> results.Scores:
    scored_rows = tuple([row async for row in scoring.stream()])
    warnings = tuple(scoring.warnings(len(scored_rows)))
    return results.Scores(scored_rows, scoring.name, scoring.workspace.effort(), scoring.summary, warnings)


def _prepare_unvalidated(workspace: work.Workspace, data: Data, options: ScoreOptions) -> Scoring:
    if not (options.task and options.aspect):
        hint = "give `rubric=REF`, or `task` and `aspect` for texts without labels."
        raise SettingsError("There is nothing to score by;", hint)
    aspect = find_aspect(options.task, options.aspect, options.definition)
    assignment = Assignment(task_words(options.task), aspect, parse_scale(options.scale or "1:5"))
    judge = work.judge_or_offline(options.judge, workspace.notify)
    learn_command = ["rubriclab", "learn", "LABELLED", "--task", options.task, "--aspect", aspect.name]
    if options.definition:
        learn_command += ["--definition", options.definition]
    warning = "no label says how far these scores agree with people's"
    workspace.notify(f"unvalidated: {warning}; label about 30 texts and run `{shlex.join(learn_command)}`")
    workspace.open_store(create=True)
    criterion = whole_aspect_criterion(assignment, aspect.definition)
    part = Part(method=DIRECT, settings=BaselineSettings().model_dump(mode="json"), criteria=(criterion,))
    rubric = Rubric(task=assignment.words.task, aspect=aspect, scale=assignment.scale, parts=(part,))
    return Scoring(workspace, data, rubric, UNVALIDATED, work.JudgeChoice(judge), options)


_RESTART_HINT = "Leave `resume` out to begin again, or give another `output`."


def why_not_resumable(scoring: Scoring, output: str) -> SettingsError | None:
    """Return why a run that writes its scores to `output` cannot be resumed, `None` if it can."""
    if scoring.version is None:
        return SettingsError("`resume`: expected a rubric that is stored as a version.", _RESTART_HINT)
    if scoring.rivals != "apart":
        return SettingsError("`resume`: a run that rates texts together cannot be resumed.", _RESTART_HINT)
    if output == "-" or table_ending(output) or is_pipe_or_device(output):
        why = "a pipe or device" if is_pipe_or_device(output) else "a table, which is written at the end"
        target = "standard output" if output == "-" else f"{output}, {why}"
        return SettingsError(f"`resume`: got {target}; expected a file of JSON Lines.", "Name one that ends in .jsonl.")
    return None


def record_path(output: str) -> Path:
    """Return the file beside `output` that records the rubric, judge and options of its scores."""
    return Path(f"{output}.resume.json")


def write_record(scoring: Scoring, output: str) -> None:
    """Write the record of a new run, if the run can be resumed."""
    if why_not_resumable(scoring, output) is None:
        replace_file(record_path(output), json_line(_record(scoring)))


def _record(scoring: Scoring) -> dict[str, Any]:
    assert scoring.version
    options = scoring.options.model_dump(mode="json", include=set(ReadingOptions.model_fields))
    return {"rubric": scoring.name, "digest": scoring.version.digest, "judge": scoring.choice.spec, **options}


def resume_scores(scoring: Scoring, output: str) -> int:
    """Let `scoring` continue after the complete rows of a file of scores; return the size of these rows in bytes."""
    path, record_file = Path(output), record_path(output)
    no_record = DataError(f"{record_file} does not name the rubric and judge of the scores in {output}.", _RESTART_HINT)
    with path.open("rb") if path.exists() else BytesIO() as file:
        if not file.readline().endswith(b"\n"):  # no complete row: a new run
            write_record(scoring, output)
            return 0
        # The record must be of a run with the same rubric, judge and options.
        has_record = record_file.exists()
        if has_record:
            written: Any = None
            with suppress(OSError, orjson.JSONDecodeError):
                written = orjson.loads(record_file.read_bytes())
            if not isinstance(written, dict):
                raise no_record
            for name, expected in _record(scoring).items():
                got = written.get(name)
                if got != expected:
                    values = f"got the {name} {preview(str(got))}, expected {preview(str(expected))}"
                    raise DataError(f"{record_file}: {values}: another run wrote {output}.", _RESTART_HINT)
        # Each row of scores must belong to the next row of the texts. It is counted as if it were scored now.
        rows = inputs.rows_of(scoring.data, scoring.options, scoring.workspace.notify)
        scoring.remaining_rows = rows
        file.seek(0)
        size = 0
        judge = short_judge_name(scoring.choice.spec)
        for number, line in enumerate(file, start=1):
            if not line.endswith(b"\n"):
                break
            size += len(line)
            row = _read_score(line, rows, f"{output}:{number}")
            has_same_rubric_and_judge = row.score.rubric == scoring.name and short_judge_name(row.score.judge) == judge
            if not has_record and not has_same_rubric_and_judge:
                raise no_record
            scoring.count_row(row)
    if not has_record and next(rows, None) is not None:  # without a record, only a complete file is accepted
        raise no_record
    return size


def _read_score(line: bytes, rows: Rows, where: str) -> results.ScoredRow:
    """Read the next of `rows`, and return it with the score in `line`; DataError if the score is of another row."""
    try:
        written = orjson.loads(line)
        # The columns before `id` are the text's own. They are dropped: some may be named like fields of a score.
        score_cells = dict(dropwhile(lambda item: item[0] != "id", written.items()))
        score = results.parse_score(score_cells)
        addresses_judge = score_cells["addresses_judge"]
    except (ValueError, KeyError, AttributeError):
        got = preview(line.decode(errors="replace"))
        raise DataError(f"{where}: got {got}, expected a row of scores.", _RESTART_HINT) from None
    row = next(rows, None)
    if row is None:
        problem = f"{where}: there are more scores than rows in {rows.where}: the texts have changed."
        raise DataError(problem, _RESTART_HINT)
    expected = orjson.loads(json_line(results.join_columns(rows.raw_row, score_cells)))
    row_id = row.id if isinstance(row, Example) else faulty_row_id(row)
    if score.id != row_id or written != expected:
        problem = f"the score of the text {preview(score.id)} does not belong to the row {rows.where}:{rows.line}"
        raise DataError(f"{where}: {problem}: the texts have changed.", _RESTART_HINT)
    return results.ScoredRow(score, rows.raw_row, row if isinstance(row, Example) else None, addresses_judge)


def make_row(output: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    for name in fields:
        if name.partition(".")[0] not in FIELDS:
            hint = f"{did_you_mean(name, FIELDS)}The known ones are: {', '.join(FIELDS)}."
            raise SettingsError(f"A text has no field {name!r}.", hint)
    return {"output": output, **fields}


class TextScorer(Closing):
    """A rubric that is kept open with its judge, to score texts as they come.

    It may be called from several threads and event loops at once. All texts share the judge's limits, its budget and
    the store's answers. Close it, or use it in a `with` statement. `wrap` is applied to the connected judge.
    """

    rubric: Rubric
    name: str  # the rubric's name in its scores, such as `helpfulness@2`
    version: Version | None  # `None` for a rubric that is not stored
    judge: str

    def __init__(
        self,
        workspace: work.Workspace,
        rubric: work.RubricLike,
        options: ScoreOptions,
        wrap: Callable[[Judge], Judge] = lambda judge: judge,
    ) -> None:
        self._workspace = workspace
        self._loop = BackgroundLoop()

        async def open_rubric() -> None:
            # Called in the loop's thread, since no other thread may use the store.
            scoring = prepare_scoring(workspace, (), rubric, options)
            self.rubric, self.name, self.version = scoring.rubric, scoring.name, scoring.version
            judge = wrap(workspace.judge(scoring.choice))
            self.judge = judge.name
            self._scoring = replace(scoring, judge=judge)

        try:
            self._loop.run(open_rubric)
        except BaseException:
            self.close()
            raise

    def __call__(self, output: str, **fields: Any) -> Score:
        """Return the score of one text, as `score_row` does; `fields` are its `source`, `context`, `id` and others."""
        return self.score_row(make_row(output, fields))

    def score_row(self, row: Mapping[str, Any]) -> Score:
        """Return the score of the text in a row; the score of a faulty row has no number, and the fault as its reason.

        Raises:
            SettingsError: if the text lacks a source or context that all training texts of the version had.
            StoreUnavailable: if the file of the store was removed or replaced.
        """
        return self.score_rows([row])[0]

    async def score_row_async(self, row: Mapping[str, Any]) -> Score:
        """Return the score of the text in a row without blocking the running event loop."""
        return (await self.score_rows_async([row]))[0]

    def score_rows(self, rows: Data) -> results.Scores:
        """Return the scores of several texts, scored at the same time; `rows` is anything that `Lab.score` takes."""
        return self._loop.run(lambda: self._score_all(rows))

    async def score_rows_async(self, rows: Data) -> results.Scores:
        """Return the scores of several texts without blocking the running event loop."""
        return await self._loop.run_async(lambda: self._score_all(rows))

    async def respond(self) -> None:
        """Return once the scoring thread responds; StoreUnavailable if the store's file was removed or replaced."""
        await self._loop.run_async(self._check_store)

    @property
    def effort(self) -> Effort:
        """Calls, tokens and cost since the rubric was opened."""
        return self._workspace.effort()

    def share_of_scale(self, score: float) -> float:
        """Return where a score lies on the rubric's scale, from 0 (the lowest score) to 1 (the highest)."""
        scale = self.rubric.score_scale
        return (score - scale.low) / scale.width

    def check_threshold(self, threshold: float) -> None:
        """Raise SettingsError unless a threshold lies on the scale of the rubric's scores."""
        if isinstance(threshold, bool) or not isinstance(threshold, Real):
            raise SettingsError(f"The threshold is {short(threshold)}, not a number.", "Give a score on the scale.")
        scale = self.rubric.score_scale
        if not scale.contains(threshold):
            ends = f"{format_score(scale.low)} to {format_score(scale.high)}"
            raise SettingsError(f"The threshold {threshold} is not on the scale of {self.name}, {ends}.")

    def close(self) -> None:
        """Stop the scoring of texts, and close the store and the judge's connections."""
        self._loop.close(self._workspace.close)

    async def _check_store(self) -> None:
        self._workspace.store.check_file()  # otherwise answers that are paid for would go into the removed file

    async def _score_all(self, rows: Data) -> results.Scores:
        await self._check_store()
        data = list(rows) if isinstance(rows, Iterator) else rows
        return await score_all(replace(self._scoring, data=data, counts=results.ScoreCounts()))
