"""What a file of rows is taken for, and whether it can be used, before anything is asked of a judge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rubriclab.data import Comparison, Example, Rows, labelled, parse_scale
from rubriclab.data.check import FEWEST_LABELS, NumberedExample, first_of, training_examples, training_faults
from rubriclab.data.example import named_reasons
from rubriclab.data.fitted import comparison_faults
from rubriclab.data.levels import proposed_level_scores
from rubriclab.data.mapping import FIELDS, TABLES, mapping_text
from rubriclab.data.proposed_mapping import proposed_mapping
from rubriclab.data.raw_rows import RawRows, raw_rows, raw_table
from rubriclab.data.readers import parsed_row
from rubriclab.data.reading import ReadingOptions
from rubriclab.data.row import RowError, check_columns
from rubriclab.data.scale import Scale, scale_of
from rubriclab.data.source_format import SourceFormat
from rubriclab.display import Displayed
from rubriclab.errors import DataError
from rubriclab.learning.raters import ratings
from rubriclab.option_names import command, option
from rubriclab.services.base import ScaleText
from rubriclab.services.inputs import Data
from rubriclab.stats.interval import Interval
from rubriclab.stats.reliability import krippendorff_alpha

if TYPE_CHECKING:
    from rubriclab.report.model import View

# Rows whose cells are kept to describe columns and propose a mapping.
SAMPLED = 200


class CheckOptions(ReadingOptions):
    """What a file is checked for."""

    task: str | None = None
    """The kind of text, for the command to run next."""

    aspect: str | None = None
    """The aspect to learn: what learning needs is then checked too. Default: the only aspect with scores, if one."""

    scale: ScaleText | None = None
    """The raters' scale: `(1, 5)` or `"1:5"`. Default: taken from the labels."""


@dataclass(frozen=True, slots=True)
class ColumnUse:
    """A column, the field that it is read as (`None` if it is not used), and what its cells hold."""

    name: str
    field: str | None
    filled: int
    example: str


@dataclass(frozen=True, slots=True)
class AspectCheck:
    """The scores of one aspect.

    Attributes:
        labels: texts with a score or annotations.
        raters: the raters' names; empty where they are unknown.
        scale: given, or taken from the labels; `None` without labels.
        distribution: the number of labels by value, rounded to whole numbers on a scale wider than 2.
        reasons: the raters' reasons for their scores.
        agreement: Krippendorff's alpha (interval metric) among the raters; `None` unless texts have several ratings.
    """

    aspect: str
    labels: int
    raters: tuple[str, ...]
    scale: Scale | None
    distribution: Mapping[float, int]
    reasons: int
    agreement: Interval | None


@dataclass(frozen=True, repr=False)
class CheckResult(Displayed):
    """What a file is taken for, and whether it can be used.

    Attributes:
        rows: of the file, those with comparisons and faulty ones too.
        texts: usable texts, in `groups`.
        comparisons: pairs that raters compared.
        skipped: faulty rows that were left out.
        duplicates: rows with a text that another row has.
        missing: usable texts without a value, by field.
        problems: what has to be fixed, all of it.
        notes: what is worth knowing.
        next: the command to run next; `None` while there are problems.
        proposal: a mapping, where the columns have other names than the fields.
    """

    source: SourceFormat
    columns: tuple[ColumnUse, ...]
    rows: int
    texts: int
    groups: int
    comparisons: int
    skipped: int
    duplicates: int
    missing: Mapping[str, int]
    aspects: tuple[AspectCheck, ...]
    problems: tuple[str, ...]
    notes: tuple[str, ...]
    next: str | None
    proposal: str | None

    @property
    def usable(self) -> bool:
        """Whether there are no problems."""
        return not self.problems

    def to_row(self) -> dict[str, Any]:
        """Return the result as one JSON object."""
        from rubriclab.report.data_check import check_row

        return check_row(self)

    def view(self) -> View:
        """Return what is shown in a terminal and a notebook."""
        from rubriclab.report.data_check import check_view

        return check_view(self)


def check(data: Data, options: CheckOptions) -> CheckResult:
    """Return what `data` is taken for and every problem that keeps it from being used; no judge is asked.

    Raises:
        DataError: if nothing can be read of the file: it is missing, damaged, or of an unknown format.
        SettingsError: for an option that does not apply to the file.
    """
    raw = raw_rows(data, options) if isinstance(data, str | Path) else raw_table(data, "the data", options)
    return _Reading(raw, options).result(data)


@dataclass
class _Reading:
    """The rows of a file as they are read for a check."""

    raw: RawRows
    options: CheckOptions
    placed: list[NumberedExample] = field(default_factory=list)
    faults: list[RowError] = field(default_factory=list)
    compared: list[tuple[int, Comparison]] = field(default_factory=list)
    sample: list[Mapping[str, Any]] = field(default_factory=list)
    filled: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    proposal: str | None = None
    rows: int = 0

    def result(self, data: Data) -> CheckResult:
        self._read()
        examples = tuple(row.example for row in self.placed)
        aspects = _aspects(examples, self.compared)
        chosen = self.options.aspect or (aspects[0] if len(aspects) == 1 else None)
        scale = self._scale(examples, chosen)
        checked = tuple(_aspect(examples, name, scale if name == chosen else None) for name in aspects)
        if chosen and chosen in aspects:
            self.faults += training_faults(self.placed, chosen, scale)
        self.faults += comparison_faults(self.raw.source.where, self.compared, examples)
        skipped = len({fault.line for fault in self.faults}) if self.options.skip_faulty else 0
        if not self.options.skip_faulty:
            self.problems += self._named_faults()
        notes = self._training(examples, chosen, aspects)
        return CheckResult(
            source=self.raw.source,
            columns=tuple(self._columns()),
            rows=self.rows,
            texts=len(examples),
            groups=len({example.group for example in examples}),
            comparisons=len(self.compared),
            skipped=skipped,
            duplicates=len(examples) - len({(each.output, each.source, each.context) for each in examples}),
            missing=_missing(examples),
            aspects=checked,
            problems=tuple(self.problems),
            notes=tuple(notes),
            next=None if self.problems else self._next(data, chosen, checked),
            proposal=self.proposal,
        )

    def _read(self) -> None:
        where, mapping, rules = self.raw.source.where, self.options.mapping, self.raw.rules
        readable = True
        for line, row in self.raw.numbered:
            self.rows += 1
            if isinstance(row, Mapping):
                self._add_cells(row)
                if self.raw.table and len(self.sample) == 1 and readable:
                    readable = self._check_columns(row)
            if readable:
                self._add(line, parsed_row(row, where, line, mapping, rules))
        self._propose()
        if not self.rows:
            self.problems.append(f"{where} has no rows")

    def _add(self, line: int, parsed: Example | RowError | tuple[Comparison, ...]) -> None:
        if isinstance(parsed, Example):
            self.placed.append(NumberedExample(self.raw.source.where, line, parsed))
        elif isinstance(parsed, RowError):
            self.faults.append(parsed)
        else:
            self.compared += [(line, comparison) for comparison in parsed]

    def _add_cells(self, row: Mapping[str, Any]) -> None:
        if len(self.sample) < SAMPLED:
            self.sample.append(row)
        self.filled.update(str(column) for column, cell in row.items() if not self.raw.rules.is_missing(cell))

    def _check_columns(self, row: Mapping[str, Any]) -> bool:
        try:
            check_columns(row, self.raw.source.where, self.options.mapping)
        except DataError as error:
            self.problems.append(error.message)
            return False
        return True

    def _propose(self) -> None:
        """Propose a mapping for fields that no column is named after or mapped to."""
        given = self.options.mapping.columns
        free = [{name: cell for name, cell in row.items() if name not in given.values()} for row in self.sample]
        found = proposed_mapping(free, self.options.aspect)
        new = {name: column for name, column in found.items() if name not in given}
        if new:
            self.proposal = mapping_text({**given, **new})

    def _scale(self, examples: Sequence[Example], aspect: str | None) -> Scale | None:
        if self.options.scale is None or aspect is None:
            return None
        return parse_scale(self.options.scale, (each.scores[aspect] for each in labelled(examples, aspect)))

    def _named_faults(self) -> list[str]:
        single = [fault for row in sorted(self.faults, key=lambda fault: fault.line) for fault in row.all]
        return [*first_of([str(fault) for fault in single]), *filter(None, [proposed_level_scores(single)])]

    def _training(self, examples: Sequence[Example], chosen: str | None, aspects: Sequence[str]) -> list[str]:
        """Return what learning says of the rows; what keeps it from learning is a problem if the aspect was named."""
        if not examples:
            return []
        if chosen is None:
            several = f"scores of several aspects: {', '.join(aspects)}; name one with {option('aspect')}"
            return [several if aspects else "no scores: the texts can be scored, but nothing can be learned from them"]
        if self.problems:
            return []
        try:
            return list(training_examples(self._rows(), chosen, self.options.scale, skip_faulty=True).notes)
        except DataError as error:
            if self.options.aspect:
                self.problems.append(error.text)
                return []
            return [error.text]

    def _rows(self) -> Rows:
        rows = Rows(self.raw.source, iter([(row.line, None, row.example) for row in self.placed]))
        rows.comparisons = list(self.compared)
        return rows

    def _columns(self) -> Iterable[ColumnUse]:
        fields: dict[str, str] = {column: name for name, column in self.options.mapping.columns.items()}
        names = dict.fromkeys(str(column) for row in self.sample for column in row)
        for name in names:
            native = name if name.partition(".")[0] in (*FIELDS, *TABLES) else None
            cells = [row.get(name) for row in self.sample]
            example = next((str(cell) for cell in cells if not self.raw.rules.is_missing(cell)), "")
            yield ColumnUse(name, fields.get(name, native), self.filled[name], example)

    def _next(self, data: Data, chosen: str | None, aspects: Sequence[AspectCheck]) -> str:
        """Return the command to run next: learning if there are enough labels, else scoring."""
        name = str(data) if isinstance(data, str | Path) else ""
        given = {"mapping": mapping_text(self.options.mapping.columns)} if self.options.mapping.columns else {}
        labels = next((each.labels for each in aspects if each.aspect == chosen), 0)
        if chosen and labels + len(self.compared) >= FEWEST_LABELS:
            scale = {"scale": str(self.options.scale)} if self.options.scale else {}
            return command("learn", name, task=self.options.task or "TASK", aspect=chosen, **scale, **given)
        return command("score", name, rubric="REF", **given)


def _aspects(examples: Sequence[Example], compared: Sequence[tuple[int, Comparison]]) -> list[str]:
    counts = Counter(aspect for example in examples for aspect in example.scores.keys() | example.annotations.keys())
    counts.update(comparison.aspect for _, comparison in compared if comparison.aspect)
    return sorted(counts, key=lambda aspect: (-counts[aspect], aspect))


def _aspect(examples: Sequence[Example], aspect: str, scale: Scale | None) -> AspectCheck:
    rated = labelled(examples, aspect)
    labels = [example.scores[aspect] for example in rated]
    single = [score for example in rated for score in example.annotations.get(aspect, ())]
    scale = scale or (scale_of(labels, single) if labels else None)
    known = ratings(rated, aspect)
    agreement = None
    if known is not None:
        groups = np.unique([example.group for example in rated], return_inverse=True)[1]
        agreement = krippendorff_alpha(known.table, "interval", groups).rounded()
    step = 0 if scale and scale.width > 2 else 1
    counts = Counter(round(label, step) for label in labels)
    names = known.names if known else ()
    reasons = sum(len(named_reasons(example, aspect)) for example in rated)
    return AspectCheck(aspect, len(labels), names, scale, dict(sorted(counts.items())), reasons, agreement)


def _missing(examples: Sequence[Example]) -> dict[str, int]:
    """Return how many texts lack a field that others have."""
    names = ("source", "context", "reference", "system")
    counts = {name: sum(getattr(each, name) is None for each in examples) for name in names}
    return {name: count for name, count in counts.items() if 0 < count < len(examples)}
