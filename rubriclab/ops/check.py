"""Checks of data files and checklists.

`check` tells how the columns of a file or table are read, which rows are faulty, and what the scores of each aspect are
like. If columns or words are not understood, it proposes options, and checks once more with them whether they suffice.
`lint` checks a checklist. `split` divides rows for learning and evaluation. `write_sample` copies the included sample.
"""

from __future__ import annotations

import math
import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from rubriclab.data import check as checks, mapping_proposals
from rubriclab.data.annotations import PairwiseComparison
from rubriclab.data.cells import split_level_words
from rubriclab.data.mapping import ABSENT, ASPECT_FIELDS, FIELDS, look_up, mapping_text, parse_mapping
from rubriclab.data.readers import RawRows, Rows, parse_row, raw_data_rows, raw_file_rows
from rubriclab.data.reading_options import SourceFormat, changed_options
from rubriclab.data.rows import RowError, check_columns
from rubriclab.display import Displayed, python_argument
from rubriclab.errors import ChecklistError, DataError, SettingsError
from rubriclab.learning.gate import CONTRADICTION, rater_scores
from rubriclab.methods.sources import Checklist, parse_checklist, read_checklist
from rubriclab.models import text as text_model
from rubriclab.models.base import Unreadable, content_path, digest, read_stdin
from rubriclab.models.characters import count, describe, join_names, quote
from rubriclab.models.text import Example, Scale, format_score, with_label, words_digest
from rubriclab.ops.inputs import Data, rows_of
from rubriclab.ops.options import CheckOptions, SplitOptions
from rubriclab.ops.workspace import Notify
from rubriclab.stats.intervals import MIN_GROUPS, Interval
from rubriclab.stats.rater_agreement import krippendorff_alpha

# Maximum number of values in a distribution: half points from 1 to 4 are 7 values, and more do not fit in a terminal.
MAX_VALUES = 7
# Words in which two questions with the same meaning may differ.
_ARTICLES_AND_AUXILIARIES = frozenset(["a", "an", "the", "is", "are", "was", "were", "do", "does", "did"])
README, LABELLED, HELDOUT, UNLABELLED = "README.md", "labelled.jsonl", "heldout.jsonl", "unlabelled.jsonl"
RECORDING, PASS_FAIL_LABELLED, PASS_FAIL_HELDOUT = "recording.jsonl", "verdicts-labelled.csv", "verdicts-heldout.csv"
SAMPLE_FILES = (README, LABELLED, HELDOUT, UNLABELLED)
DEMO_FILES = (README, LABELLED, HELDOUT, PASS_FAIL_LABELLED, PASS_FAIL_HELDOUT, RECORDING)


@dataclass(frozen=True, slots=True)
class AspectCheck:
    """The scores of one aspect, with the number of its `labels` and the number of its raters' `reasons`.

    Attributes:
        scale: the given scale, or the scale of the labels; `None` if neither exists.
        distribution: number of labels by value; more than `MAX_VALUES` values are rounded, to integers or tenths.
        agreement: Krippendorff's alpha with confidence interval, for interval data; `None` if no text has two ratings.
        lowest_is_best: whether the lowest score is taken for the best, so that the next command reverses the scores.
    """

    aspect: str
    labels: int
    raters: tuple[str, ...]
    scale: Scale | None
    distribution: Mapping[float, int]
    reasons: int
    agreement: Interval | None
    lowest_is_best: bool = False


def _check_aspect(examples: Sequence[Example], aspect: str, scale: Scale | None) -> AspectCheck:
    examples_with_label = with_label(examples, aspect)
    labels = [example.scores[aspect] for example in examples_with_label]
    single_ratings = [rating for example in examples_with_label for rating in example.annotations.get(aspect, ())]
    scale = scale or (text_model.infer_scale(labels, single_ratings) if labels else None)
    rater_table, _ = rater_scores(examples_with_label, aspect)
    agreement = None
    if rater_table is not None:
        agreement = krippendorff_alpha(rater_table, "interval", [each.group for each in examples_with_label]).rounded()
    distribution = Counter(round(label, 3) for label in labels)
    if len(distribution) > MAX_VALUES:
        bins_per_point = 1 if scale and scale.width > 2 else 10
        # `round` would make 3.5 and 4.5 the same number.
        distribution = Counter(math.floor(label * bins_per_point + 0.5) / bins_per_point for label in labels)
    names = {name for each in examples_with_label for name in text_model.named_annotations(each, aspect)}
    raters = tuple(sorted(names))
    n_reasons = sum(len(text_model.named_reasons(example, aspect)) for example in examples_with_label)
    return AspectCheck(aspect, len(labels), raters, scale, dict(sorted(distribution.items())), n_reasons, agreement)


@dataclass(frozen=True, slots=True)
class ColumnUse:
    """A column, its fields (`None` if unused), the number of its filled cells, and the first filled cell."""

    name: str
    field: str | None
    filled: int
    example: str


@dataclass(frozen=True, slots=True)
class NextStep:
    """The operation to run next, as a command (`str`) or as a call of `Lab`; `file` is empty for data in memory."""

    operation: Literal["learn", "score"]
    file: str
    options: Mapping[str, str]

    def __str__(self) -> str:
        shorter_names = {"mapping": "map", "level_scores": "levels"}
        arguments = [self.file]
        for name, value in self.options.items():
            arguments += [f"--{shorter_names.get(name, name).replace('_', '-')}", value]
        return shlex.join(["rubriclab", self.operation, *filter(None, arguments)])

    def as_python(self) -> str:
        """Return the call of a `Lab` named `lab`."""
        options = (python_argument(name, value) for name, value in self.options.items())
        return f"lab.{self.operation}({', '.join([quote(self.file) if self.file else 'data', *options])})"


@dataclass(frozen=True, repr=False)
class CheckResult(Displayed):
    """How a file is read, and whether it can be used.

    Attributes:
        rows: the number of all rows, including faulty rows and rows with comparisons.
        missing: by field such as `source`, the number of texts without it, if other texts have it.
        skipped, skipped_scores: with `skip_faulty`, how many rows were left out, and how many scores of other rows.
        duplicates: the number of texts that equal an earlier text.
        problems: what has to be fixed; one problem may stand for several cells, which `problem_count` counts singly.
        proposal: a mapping, if columns have other names than the fields.
        levels: words among the scores that may be levels, each with its score if their order is known.
        missing_words: words in the place of scores that mean that the score is missing.
        usable_as_proposed: whether the file can be used with the proposed mapping, levels and missing words.
        few_groups: the number of groups with labels, if they are too few for a verdict on a rubric.
    """

    source: SourceFormat
    columns: tuple[ColumnUse, ...]
    rows: int
    texts: int
    groups: int
    comparisons: int
    skipped: int
    skipped_scores: int
    duplicates: int
    missing: Mapping[str, int]
    problem_count: int
    aspects: tuple[AspectCheck, ...]
    problems: tuple[str, ...]
    hints: tuple[str, ...]
    notes: tuple[str, ...]
    proposal: str | None
    levels: Mapping[str, int | None]
    missing_words: tuple[str, ...]
    usable_as_proposed: bool
    few_groups: int | None
    next: NextStep | None

    @property
    def usable(self) -> bool:
        return not self.problems

    def to_row(self) -> dict[str, Any]:
        aspects = []
        for aspect in self.aspects:
            scale = aspect.scale.model_dump(mode="json") if aspect.scale else None
            distribution = {format_score(value): number for value, number in aspect.distribution.items()}
            aspects.append({**asdict(aspect), "scale": scale, "distribution": distribution})
        source = {name: value for name, value in asdict(self.source).items() if name != "cells"}
        converted = {"source": source, "aspects": aspects, "next": self.next and str(self.next)}
        return {"usable": self.usable, **asdict(self), **converted}

    def rewrite_messages(self, rewrite: Callable[[str], str]) -> CheckResult:
        """Return the result with each message rewritten, for example with options named as on the command line."""
        notes_on_hidden, details = (tuple(map(rewrite, lines)) for lines in (self.source.hidden, self.source.details))
        problems, hints, notes = (tuple(map(rewrite, lines)) for lines in (self.problems, self.hints, self.notes))
        source = replace(self.source, hidden=notes_on_hidden, details=details)
        return replace(self, source=source, problems=problems, hints=hints, notes=notes)


def check(data: Data, options: CheckOptions) -> CheckResult:
    """Return how `data` is read, and every problem that prevents its use; no judge is asked."""
    raw = raw_file_rows(data, options) if isinstance(data, str | Path) else raw_data_rows(data, "the data", options)
    result = _FileCheck(raw, options).result(data)
    raters_note = _note_of_proposed_raters(result, options)
    result = replace(result, notes=(*result.notes, *raters_note))
    has_labels = result.usable and bool(result.aspects)
    if has_labels and result.proposal and result.next:
        # The proposal only adds columns to a mapping that is usable without them.
        return replace(result, next=replace(result.next, options={**result.next.options, "mapping": result.proposal}))
    proposed_options: dict[str, Any] = {"mapping": parse_mapping(result.proposal)} if result.proposal else {}
    if result.levels and not options.level_scores:
        # Levels of unknown order get their positions as scores, only to find out whether the file can be used.
        numbered_levels = enumerate(result.levels.items())
        proposed_options["level_scores"] = {
            word: float(position if score is None else score) for position, (word, score) in numbered_levels
        }
    if result.missing_words and not options.missing:
        proposed_options["missing"] = result.missing_words
    can_be_read_again = raw.is_table or (isinstance(data, str | Path) and Path(data).is_file())
    if has_labels or not proposed_options or not can_be_read_again:
        return result
    try:
        proposed_result = check(data, options.model_copy(update=proposed_options))
    except DataError as error:
        return replace(result, notes=(*result.notes, f"with the mapping below: {error.text}"))
    return _with_outcome_of_proposal(result, proposed_result, raters_note)


def _with_outcome_of_proposal(
    result: CheckResult, proposed_result: CheckResult, raters_note: Sequence[str]
) -> CheckResult:
    usable_as_proposed = proposed_result.usable or proposed_result.usable_as_proposed
    new_problems = [problem for problem in proposed_result.problems if problem not in result.problems]
    problem_notes: tuple[str, ...] = ()
    if new_problems and not usable_as_proposed:
        problem_notes = (f"{'with the mapping below: ' if result.proposal else ''}{new_problems[0]}",)
    # Equal labels cannot be learned from, whatever their levels or columns.
    if problem_notes and checks.ALL_EQUAL in problem_notes[0]:
        return replace(result, levels={}, hints=(), notes=problem_notes)
    result = replace(result, hints=result.hints or proposed_result.hints)
    finds_labels = bool(proposed_result.aspects) or proposed_result.usable_as_proposed
    if not usable_as_proposed or (result.usable and not finds_labels):
        return replace(result, notes=(*result.notes, *problem_notes))
    levels = result.levels or proposed_result.levels
    aspects, notes = proposed_result.aspects, proposed_result.notes
    next_step = proposed_result.next or result.next
    if None in levels.values():
        # The order of the levels is unknown, so what depends on their scores is left out.
        aspects, next_step = result.aspects, None
        notes = tuple(note for note in notes if not note.startswith(checks.TWO_LEVELS))
    fields_of_first_check = ("source", "columns", "problems", "problem_count", "hints", "missing_words")
    values: dict[str, Any] = {name: getattr(result, name) for name in fields_of_first_check}
    values |= {"levels": levels, "aspects": aspects, "notes": (*notes, *raters_note), "next": next_step}
    proposal = proposed_result.proposal or result.proposal
    return replace(proposed_result, usable_as_proposed=True, proposal=proposal, **values)


def _note_of_proposed_raters(result: CheckResult, options: CheckOptions) -> list[str]:
    column_by_field = parse_mapping(result.proposal).columns if result.proposal else {}
    new_fields = [name for name in column_by_field if name not in options.mapping.columns]
    rater_fields = [name for name in new_fields if name.startswith("annotations.")]
    if not rater_fields:
        return []
    aspect = rater_fields[0].split(".")[1]
    column_names = join_names([repr(column_by_field[name]) for name in rater_fields])
    guess = f"the column {column_names} is taken for one person's scores"
    if len(rater_fields) > 1:
        guess = f"the columns {column_names} are taken for scores of {len(rater_fields)} people"
    label_columns = [each.name for each in result.columns if each.field == f"scores.{aspect}"]
    label_column = column_by_field.get(f"scores.{aspect}") or next(iter(label_columns), None)
    if label_column:
        return [f"{guess} beside the label in {label_column!r}; leave them out if they are about something else"]
    return [f"{guess}, whose mean is the label; if one of them is the label, map it alone to scores.{aspect}"]


def check_each(files: Sequence[str | Path], options: CheckOptions) -> list[CheckResult]:
    """Return the check of each file; an error that ends a file's check is the only problem in its result."""
    results = []
    for file in files:
        try:
            results.append(check(file, options))
        except (DataError, SettingsError) as error:
            raw = RawRows(SourceFormat(str(file), "unknown"), iter(()), options.rules(typed_cells=True))
            results.append(_FileCheck(raw, options, problems=[error.text]).result(file))
    return results


@dataclass
class _FileCheck:
    """The check of one file or table. All fields but the first two are set while `result` reads and checks the rows."""

    raw: RawRows
    options: CheckOptions
    example_rows: list[checks.ExampleRow] = field(default_factory=list)
    row_errors: list[RowError] = field(default_factory=list)
    faulty_scores: list[RowError] = field(default_factory=list)  # the rest of their rows is used
    comparisons: list[tuple[int, PairwiseComparison]] = field(default_factory=list)
    first_rows: list[Mapping[str, Any]] = field(default_factory=list)
    filled_counts: Counter[str] = field(default_factory=Counter)  # filled cells by column
    problems: list[str] = field(default_factory=list)
    proposal: str | None = None
    row_numbers: set[int] = field(default_factory=set)
    skipped_scores: int = 0
    learnable: bool = True
    few_groups: int | None = None

    @property
    def examples(self) -> tuple[Example, ...]:
        return tuple(row.example for row in self.example_rows)

    def result(self, data: Data) -> CheckResult:
        self._read()
        counts = Counter(name for each in self.examples for name in each.scores.keys() | each.annotations.keys())
        counts.update(comparison.aspect for _, comparison in self.comparisons if comparison.aspect)
        aspects = sorted(counts, key=lambda aspect: (-counts[aspect], aspect))
        chosen_aspect = self.options.aspect or (aspects[0] if len(aspects) == 1 else None)
        self._find_faults(chosen_aspect, aspects)
        examples, scale = self.examples, self._scale(chosen_aspect)
        aspect_checks = [_check_aspect(examples, name, scale if name == chosen_aspect else None) for name in aspects]
        faults = [fault for error in sorted(self.row_errors, key=lambda error: error.line) for fault in error.faults]
        skip_faulty = self.options.skip_faulty
        fault_messages = [] if skip_faulty else checks.first_fault_messages(checks.fault_messages(faults))
        self.problems += fault_messages
        notes = [*self._training_notes(chosen_aspect, aspects), *self._output_notes()]
        next_step = None if self.problems else self._next_step(data, chosen_aspect, aspect_checks)
        if next_step and next_step.operation == "learn" and not self.options.level_scores:
            next_step, aspect_checks, notes = self._reverse_grades(next_step, aspect_checks, notes)
        if chosen_aspect is None or not self.learnable:
            notes += checks.notes_on_repeated_texts(examples)
        if skip_faulty and (faults or self.faulty_scores):
            lines = checks.fault_messages([*faults, *self.faulty_scores])
            notes += [f"left out: {line}" for line in checks.first_fault_messages(lines)]
            if not examples:
                self.problems.append("no row can be used: all rows are faulty, and left out")
        notes += self._contradictions(aspect_checks)
        numbers = checks.numeric_scores_beside_words(self.example_rows, [*self.row_errors, *self.faulty_scores])
        words = [fault.word for fault in faults if fault.word]
        levels, missing_words = split_level_words(words, beside_numbers=bool(numbers))
        optional = ("source", "context", "reference", "system")
        missing = {name: sum(getattr(each, name) is None for each in examples) for name in optional}
        return CheckResult(
            source=self.raw.source,
            columns=tuple(self._columns()),
            rows=len(self.row_numbers),
            texts=len(examples),
            groups=len({example.group for example in examples}),
            comparisons=len(self.comparisons),
            skipped=len({fault.line for fault in faults}) if skip_faulty else 0,
            skipped_scores=self.skipped_scores,
            duplicates=len(examples) - len({(each.output, each.source, each.context) for each in examples}),
            missing={name: number for name, number in missing.items() if 0 < number < len(examples)},
            aspects=tuple(aspect_checks),
            problems=tuple(self.problems),
            problem_count=len(self.problems) - len(fault_messages) + (0 if skip_faulty else len(faults)),
            hints=tuple(checks.fault_hints([*faults, *self.faulty_scores], numbers=numbers, scale=scale)),
            notes=tuple(notes),
            next=None if self.problems else next_step,
            proposal=self.proposal,
            levels=levels,
            missing_words=tuple(missing_words),
            usable_as_proposed=False,
            few_groups=self.few_groups,
        )

    def _read(self) -> None:
        where, mapping, rules = self.raw.source.where, self.options.mapping, self.raw.rules
        is_readable = True
        for line, row in self.raw.rows:
            self.row_numbers.add(line)  # a set: with a row for each rating, a text has its first rating's line
            if isinstance(row, Mapping):
                if len(self.first_rows) < mapping_proposals.MAX_SAMPLED:
                    self.first_rows.append(row)
                self.filled_counts.update(str(column) for column, cell in row.items() if not rules.is_missing(cell))
                if self.raw.is_table and len(self.first_rows) == 1 and is_readable:
                    try:
                        check_columns(row, where, mapping)
                    except DataError as error:
                        self.problems.append(error.message)
                        is_readable = False
            if not is_readable:
                continue
            parsed = parse_row(row, where, line, mapping, rules)
            if isinstance(parsed, RowError) and parsed.usable_example and self.options.skip_faulty:
                self.faulty_scores += parsed.faults
                self.skipped_scores += len(parsed.faults)
                parsed = parsed.usable_example
            if isinstance(parsed, Example):
                self.example_rows.append(checks.ExampleRow(where, line, parsed, mapping, row))
            elif isinstance(parsed, RowError):
                self.row_errors.append(parsed)
            else:
                self.comparisons += [(line, comparison) for comparison in parsed]
        self._propose_mapping(is_readable)
        if not self.row_numbers and not self.problems:
            self.problems.append(self.raw.source.no_rows_error().text)

    def _propose_mapping(self, is_readable: bool) -> None:
        mapped, aspect = self.options.mapping.columns, self.options.aspect
        columns = mapped
        if not is_readable:
            columns = mapping_proposals.corrected_columns(self.first_rows[0], self.options.mapping)
            # If there is no column for a field such as `scores.fluency`, columns for its aspect are proposed.
            fields_without_column = (name for name in mapped if name not in columns and "." in name)
            aspect = aspect or next((name.split(".")[1] for name in fields_without_column), None)
        proposed = mapping_proposals.complete_mapping(self.first_rows, columns, aspect)
        if proposed != mapped:
            self.proposal = mapping_text(proposed)

    def _find_faults(self, chosen_aspect: str | None, aspects: Sequence[str]) -> None:
        """Add faults of scores, ids and comparisons to `row_errors`; with `skip_faulty`, remove what is faulty."""
        scale = self._scale(chosen_aspect)
        if self.options.skip_faulty and chosen_aspect:
            self.example_rows, n_dropped = checks.drop_invalid_ratings(self.example_rows, chosen_aspect, scale)
            self.skipped_scores += n_dropped
        if chosen_aspect and chosen_aspect in aspects:
            self.row_errors += checks.training_faults(self.example_rows, chosen_aspect, scale)
        where = self.raw.source.where
        self.row_errors += checks.faults_of_comparisons(where, self.comparisons, self.example_rows, self.row_errors)
        if self.options.skip_faulty:
            faulty_lines = {error.line for error in self.row_errors}
            self.example_rows = [row for row in self.example_rows if row.line not in faulty_lines]
            ids = {example.id for example in self.examples}
            self.comparisons = [
                (line, comparison)
                for line, comparison in self.comparisons
                if line not in faulty_lines and {comparison.better, comparison.worse} <= ids
            ]

    def _scale(self, aspect: str | None) -> Scale | None:
        if self.options.scale is None or aspect is None:
            return None
        labels = (example.scores[aspect] for example in with_label(self.examples, aspect))
        return text_model.parse_scale(self.options.scale, labels)

    def _output_notes(self) -> Iterator[str]:
        columns = mapping_proposals.output_columns(self.first_rows)
        if len(columns) > 1:
            melt = f"frame.melt(id_vars=[...], value_vars={columns!r}, var_name='system', value_name='output')"
            way = f"write a row for each output, with its system in a column; with pandas: {melt}"
            yield f"the columns {', '.join(map(repr, columns))} may each hold an output, but each row takes one: {way}"

    def _reverse_grades(
        self, learn_step: NextStep, aspect_checks: list[AspectCheck], notes: list[str]
    ) -> tuple[NextStep, list[AspectCheck], list[str]]:
        """Return step, checks and notes, with scores reversed if the aspect's columns all have names for grades."""
        aspect = learn_step.options["aspect"]
        grade_columns = checks.find_grade_columns(self.example_rows, aspect)
        if grade_columns is None or grade_columns.columns_named_otherwise:
            return learn_step, aspect_checks, notes
        unused = (column.name for column in self._columns() if column.field is None)
        score_columns = join_names(map(repr, filter(mapping_proposals.is_score_name, unused)))
        other_label = f"; or is the label in {score_columns}?" if score_columns else ""
        reversal = f"so the next command reverses the scores: `level_scores={grade_columns.level_scores}`"
        remedy = "`level_scores` must begin with the worst possible grade; if higher grades are better, leave it out"
        guess = f"1 is taken for the best score in {grade_columns.columns_of_grades}"
        kept_notes = [note for note in notes if not note.startswith(checks.HIGHER_IS_BETTER)]
        return (
            replace(learn_step, options={**learn_step.options, "level_scores": grade_columns.level_scores}),
            [replace(each, lowest_is_best=each.aspect == aspect) for each in aspect_checks],
            [*kept_notes, f"{guess}, {reversal}; {remedy}{other_label}"],
        )

    def _contradictions(self, aspect_checks: Sequence[AspectCheck]) -> Iterator[str]:
        for each in aspect_checks:
            alpha = each.agreement.value if each.agreement else None
            if alpha is None or alpha > CONTRADICTION:
                continue
            columns = self.options.mapping.columns_by_aspect("annotations").items()
            rater_columns = [repr(column) for name, column in columns if name.startswith(f"{each.aspect}.")]
            in_columns = f" in {join_names(rater_columns)}" if rater_columns else ""
            fact = f"the raters of {each.aspect!r} contradict each other{in_columns}"
            question = "did some raters take the lowest score for the best, or rate something else? Ask before learning"
            yield f"{fact} (Krippendorff's alpha {alpha:.2f}): {question}"

    def _training_notes(self, chosen_aspect: str | None, aspects: Sequence[str]) -> tuple[str, ...]:
        """Return notes on learning; set `learnable` and `few_groups`, and add what prevents learning to `problems`."""
        if not self.example_rows:
            return ()
        if chosen_aspect is None:
            note = "no scores: the texts can be scored, but nothing can be learned from them"
            if aspects:
                note = f"scores of several aspects: {', '.join(aspects)}; name one with `aspect`"
            return (note, *filter(None, map(self._describe_equal_labels, aspects)))
        if self.problems:
            return ()
        parsed = iter([(row.line, None, row.example) for row in self.example_rows])
        rows = Rows(self.raw.source, parsed, mapping=self.options.mapping)
        rows.comparisons = list(self.comparisons)
        rows.first_skipped = next(iter((*self.faulty_scores, *self.row_errors)), None)
        try:
            training = checks.training_examples(rows, chosen_aspect, self.options.scale, skip_faulty=True)
            groups = len({example.group for example in training.examples})
            self.few_groups = groups if groups < MIN_GROUPS else None
            return training.notes
        except DataError as error:
            self.learnable = False
            # If the options name no aspect, a note suffices, as texts can be scored; equal labels are always a problem.
            if not (self.options.aspect or self._describe_equal_labels(chosen_aspect)):
                return (error.text,)
            self.problems.append(error.text)
            return ()

    def _describe_equal_labels(self, aspect: str) -> str | None:
        return None if self.comparisons else checks.describe_equal_labels(with_label(self.examples, aspect), aspect)

    def _columns(self) -> Iterable[ColumnUse]:
        fields_by_column: dict[str, list[str]] = {}
        for mapped_field, column in self.options.mapping.columns.items():
            fields_by_column.setdefault(column, []).append(mapped_field)
        counts_and_first_cells = self.raw.source.cells  # by column, if the file has a row for each rating
        for name in counts_and_first_cells or dict.fromkeys(str(column) for row in self.first_rows for column in row):
            field_with_same_name = name if name.partition(".")[0] in (*FIELDS, *ASPECT_FIELDS) else None
            first_cells = [row.get(name) for row in self.first_rows]
            first_cell = next((str(cell) for cell in first_cells if not self.raw.rules.is_missing(cell)), "")
            filled_count, first_cell = counts_and_first_cells.get(name, (self.filled_counts[name], first_cell))
            field_names = ", ".join(fields_by_column.get(name, ())) or field_with_same_name
            yield ColumnUse(name, field_names, filled_count, first_cell)

    def _next_step(self, data: Data, chosen_aspect: str | None, aspect_checks: Sequence[AspectCheck]) -> NextStep:
        file = str(data) if isinstance(data, str | Path) else ""
        n_labels = {each.aspect: each.labels for each in aspect_checks if not self._describe_equal_labels(each.aspect)}
        chosen_aspect = chosen_aspect or max(n_labels, key=lambda aspect: n_labels[aspect], default=None)
        reading_options = changed_options(self.options)
        n_judgments = n_labels.get(chosen_aspect or "", 0) + len(self.comparisons)
        if not chosen_aspect or not self.learnable or n_judgments < checks.MIN_LABELS:
            return NextStep("score", file, {"rubric": "REF", **reading_options})
        learn_options = {"task": self.options.task or "TASK", "aspect": chosen_aspect}
        placeholder = "" if text_model.has_shipped_definition(self.options.task, chosen_aspect) else "TEXT"
        if definition := self.options.definition or placeholder:
            learn_options["definition"] = definition
        if self.options.scale:
            learn_options["scale"] = str(self.options.scale)
        return NextStep("learn", file, learn_options | reading_options)


@dataclass(frozen=True)
class Duplicate:
    """The id and text of a question that means the same as an earlier question, whose id is `repeats`."""

    question: str
    text: str
    repeats: str


@dataclass(frozen=True, repr=False)
class LintResult(Displayed):
    checklist: Checklist
    duplicates: tuple[Duplicate, ...]

    def to_row(self) -> dict[str, Any]:
        return {"questions": len(self.checklist.questions), "duplicates": list(map(asdict, self.duplicates))}

    def lines(self) -> Iterator[str]:
        for each in self.duplicates:
            yield f"{each.question}: asks the same as {each.repeats!r}; keep one of them: {each.text}"
        duplicates = count(len(self.duplicates), "duplicate") if self.duplicates else "no duplicates"
        yield f"{count(len(self.checklist.questions), 'question')}, {duplicates}"


def lint(source: str | Path | Checklist) -> LintResult:
    """Return the duplicate questions of a checklist, or of a checklist file (`-` for standard input).

    Questions are duplicates if they differ only in articles, auxiliaries, case, punctuation and plurals.
    """
    if not isinstance(source, str | Path | Checklist):
        raise ChecklistError(f"Expected a checklist, got {describe(source)}.", "Give the path of a checklist file.")
    if isinstance(source, Checklist):
        checklist = source
    elif source != "-":
        checklist = read_checklist(Path(source))
    else:
        try:
            checklist = parse_checklist(read_stdin(), "standard input")
        except Unreadable as error:
            raise ChecklistError(f"Standard input is no checklist: {error}.") from None
    first_id_by_words: dict[tuple[str, ...], str] = {}
    duplicates = []
    for question in checklist.questions:
        words = re.findall(r"[\w<>=%+'-]+", question.text.casefold())
        compared_words = tuple(word.removesuffix("s") for word in words if word not in _ARTICLES_AND_AUXILIARIES)
        first_id = first_id_by_words.setdefault(compared_words, question.id)
        if first_id != question.id:
            duplicates.append(Duplicate(question.id, question.text, first_id))
    return LintResult(checklist, tuple(duplicates))


@dataclass(frozen=True, repr=False)
class SplitResult(Displayed):
    """The rows to learn from (`train`) and evaluate on (`heldout`), unchanged, in order; how many groups each has."""

    train: tuple[Mapping[str, Any], ...]
    heldout: tuple[Mapping[str, Any], ...]
    train_groups: int
    heldout_groups: int

    def lines(self) -> Iterator[str]:
        train = f"{count(len(self.train), 'row')} to learn from, in {count(self.train_groups, 'group')}"
        heldout = f"{count(len(self.heldout), 'row')} to evaluate on, in {count(self.heldout_groups, 'group')}"
        yield f"{train}; {heldout}."


def split(data: Data, options: SplitOptions, notify: Notify) -> SplitResult:
    """Divide the rows of `data` into two sides that share no group, that is, no value of the column `by`.

    Groups join the side to learn from, in an order that depends on the seed, until it has `train` texts. A row that
    compares texts joins the side of these texts.
    """
    rows = [(row, parsed) for _, row, parsed in rows_of(data, options, notify).parsed]
    faults = [str(parsed) for _, parsed in rows if isinstance(parsed, RowError)]
    if faults and not options.skip_faulty:
        problem = "\n  ".join([f"{count(len(faults), 'faulty row')}:", *checks.first_fault_messages(faults)])
        raise DataError(problem, "Fix them, or leave them out: `skip_faulty`.", faults=faults)
    if faults:
        notify(f"left out: {count(len(faults), 'faulty row')} (`skip_faulty`)")
    texts, groups = list[Example](), list[str]()
    for row, parsed in rows:
        if not isinstance(parsed, Example):
            continue
        cell = look_up(row, options.by) if isinstance(row, Mapping) else ABSENT
        group = {"group": parsed.group, "system": parsed.system}.get(options.by, cell)
        if group is None or group is ABSENT:
            problem = f"The text {parsed.id!r} has no {options.by!r} to split by."
            raise DataError(problem, "Name another column: `by=COLUMN`.")
        texts.append(parsed)
        groups.append(str(group))
    group_by_id = dict(zip((text.id for text in texts), groups, strict=True))
    group_sizes = Counter(groups)
    train_groups = _choose_train_groups(group_sizes, options, notify)
    train_digests = {words_digest(text) for text in texts if group_by_id[text.id] in train_groups}
    heldout_digests = [words_digest(text) for text in texts if group_by_id[text.id] not in train_groups]
    if n_same := sum(text_digest in train_digests for text_digest in heldout_digests):
        repeated = "texts to evaluate on that repeat the words of a text to learn from"
        notify(f"{repeated}: {n_same}; the two differ in {options.by!r}")
    train, heldout, groups_of_texts = list[Mapping[str, Any]](), list[Mapping[str, Any]](), iter(groups)
    for row, parsed in rows:
        if isinstance(parsed, RowError):
            continue
        if isinstance(parsed, Example):
            group = next(groups_of_texts)
        else:
            compared_ids = (text_id for pair in parsed for text_id in (pair.better, pair.worse))
            group = next((group_by_id[text_id] for text_id in compared_ids if text_id in group_by_id), "")
        side = train if group in train_groups else heldout
        side.append(row if isinstance(row, Mapping) else asdict(row))
    return SplitResult(tuple(train), tuple(heldout), len(train_groups), len(group_sizes) - len(train_groups))


def _choose_train_groups(group_sizes: Counter[str], options: SplitOptions, notify: Notify) -> frozenset[str]:
    n_texts = group_sizes.total()
    if len(group_sizes) < 2:
        problem = f"All {count(n_texts, 'text')} are of one {options.by}, which is never divided."
        raise DataError(problem, "Give more groups, or another column: `by=COLUMN`.")
    if options.train >= n_texts:
        problem = f"`train={options.train}` leaves none of {count(n_texts, 'text')} to evaluate on."
        raise DataError(problem, "Give a smaller number.")
    chosen_groups, n_chosen = list[str](), 0
    for group in sorted(group_sizes, key=lambda name: digest([options.seed, name])):
        if n_chosen >= options.train or len(chosen_groups) == len(group_sizes) - 1:
            break
        chosen_groups.append(group)
        n_chosen += group_sizes[group]
    if n_chosen != options.train:
        notify(f"texts to learn from: {n_chosen} instead of {options.train}, as no {options.by} is divided")
    if len(group_sizes) == n_texts:
        notify(f"every text is a {options.by} of its own: texts about one source may be on both sides")
    if options.by == "group" and len(chosen_groups) < MIN_GROUPS:
        needed = f"too few to validate a rubric, which needs at least {MIN_GROUPS}"
        notify(f"{count(len(chosen_groups), 'group')} to learn from, {needed}: set a larger `train`")
    return frozenset(chosen_groups)


@dataclass(frozen=True)
class SampleFiles:
    """The files of the sample in a folder. The sample's labels are constructed: they are not human ratings."""

    readme: Path
    labelled: Path
    heldout: Path
    unlabelled: Path


def write_sample(folder: str | Path) -> SampleFiles:
    """Write the sample to `folder`, which must be new, empty, or hold the sample already; return the files."""
    return SampleFiles(*write_content("sample", SAMPLE_FILES, Path(folder)))


def write_content(name: str, files: Iterable[str], folder: Path) -> list[Path]:
    """Copy files of the package's content `name` to `folder`; SettingsError if the folder holds other content."""
    if folder.exists() and not folder.is_dir():
        raise SettingsError(f"{folder} is a file, and a folder is needed for the {name}.", "Name another folder.")
    contents = {folder / file: content_path(name, file).read_bytes() for file in files}
    is_empty = not folder.exists() or not any(folder.iterdir())
    folder.mkdir(parents=True, exist_ok=True)
    for path, content in contents.items():
        if is_empty:
            path.write_bytes(content)
        elif not path.is_file() or path.read_bytes() != content:
            problem = f"its {path.name} differs" if path.exists() else f"no {path.name}"
            message = f"Expected an empty folder or the unchanged {name}; {folder} has files, but {problem}."
            raise SettingsError(message, "Name another folder; nothing was written.")
    return list(contents)
