"""Texts from users' data: a path, rows, a data frame, an Arrow table, a Hugging Face data set, examples.

`rows_of` opens data, whose rows are then read lazily. Two functions read rows and notify the user of rows left out:
`read_texts` yields texts as they come, and `usable_texts` returns all texts; those with comparisons and without scores
get labels that are fitted to the comparisons. A version needs the source of texts, or the context, if all texts that
it was learned from had it.
"""

from __future__ import annotations

import codecs
from collections import Counter, deque
from collections.abc import AsyncGenerator, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Any, TypeVar

from rubriclab.data.annotations import comparison_faults, fit_scores, select_comparisons
from rubriclab.data.cells import VERDICT_WORDS
from rubriclab.data.check import fault_messages, first_fault_messages, unassessed_notes, verdict_words
from rubriclab.data.mapping import ABSENT, ASPECT_FIELDS, FIELDS, FieldMap, look_up, mapping_text, parse_mapping
from rubriclab.data.mapping_proposals import MAX_SAMPLED, propose_mapping, propose_scores
from rubriclab.data.readers import DELIMITER_BY_ENDING, Rows, from_rows, join_rows, raw_file_rows, read
from rubriclab.data.reading_options import UTF_8, ReadingOptions
from rubriclab.data.rows import MAX_COLUMN_NAMES_SHOWN, RowError
from rubriclab.data.text_files import read_sample
from rubriclab.data.write import COMMAS, CsvDialect, table_ending
from rubriclab.errors import DataError, SettingsError
from rubriclab.models.characters import count, join_names
from rubriclab.models.rubric import Rubric
from rubriclab.models.text import SHOWN_FIELDS, Example, Scale, WordScore, format_score, with_label
from rubriclab.models.version import Version
from rubriclab.ops.options import TextOptions
from rubriclab.ops.workspace import Notify, Workspace

T = TypeVar("T")
Reading = TypeVar("Reading", bound=ReadingOptions)

# A path or `-`, rows as mappings, texts, examples, or a table of one of the well-known libraries.
Data = Any
# A row as it was read, and the example in it, `None` if the row is faulty.
ReadRow = tuple[Any, Example | None]

BLOCK_BYTES = 2**20  # the size of the blocks in which a file is read to count its lines
ROWS_SEARCHED = 100  # the number of rows that are searched for the fields that a version needs


def rows_of(data: Data, options: ReadingOptions, notify: Notify = lambda _text: None) -> Rows:
    """Return the rows of `data`, each an example or its faults, read lazily."""
    if isinstance(data, str | Path):
        rows = read(data, options)
        if note := rows.source.note():
            notify(note)
        return rows
    if isinstance(data, Rows):
        return data
    if files := input_files(data):
        if files.count(Path("-")) > 1:  # the path that stands for standard input
            raise SettingsError("Standard input is named twice.", "Name it once; it is read to its end.")
        # A file may lack the mapped columns of ratings, since another file may have them; `TextOptions` allow this.
        options_of_files = TextOptions(**{name: getattr(options, name) for name in ReadingOptions.model_fields})
        return join_rows([rows_of(file, options_of_files, notify) for file in files])
    return from_rows(data, options=options)


def accept_level_names(options: Reading, *scales: Scale) -> Reading:
    """Return options by which the names of the scales' levels are read as labels, unless `level_scores` is given.

    Other words for verdicts keep their scores. Names whose scores differ between the scales are not added.
    """
    names = [(name.casefold(), float(level)) for scale in scales for level, name in enumerate(scale.names or ())]
    n_scores = Counter(name for name, _ in dict.fromkeys(names))
    words = {name: level for name, level in names if name not in ("0", "1") and n_scores[name] == 1}
    if options.level_scores or words.items() <= VERDICT_WORDS.items():
        return options
    usual_words = {word: WordScore(score, word, is_default_score=True) for word, score in VERDICT_WORDS.items()}
    return options.model_copy(update={"level_scores": {**usual_words, **words}})


def input_files(data: Data) -> tuple[Path, ...]:
    """Return the files that a list or tuple of paths names; empty for any other data, such as a list of texts."""
    if isinstance(data, list | tuple) and all(isinstance(each, Path) for each in data):
        return tuple(data)
    return ()


def row_count(data: Data) -> int:
    """Return the number of rows of `data`; 0 if only parsing them would tell."""
    if not isinstance(data, str | Path):
        return len(data) if hasattr(data, "__len__") else 0
    path = Path(data)
    if path.suffix not in (".jsonl", ".ndjson") or not path.is_file():
        return 0
    with path.open("rb") as file:
        # In blocks, since a line may not fit into memory.
        return sum(block.count(b"\n") for block in iter(lambda: file.read(BLOCK_BYTES), b""))


def repeated_id(ids: Iterable[str | None]) -> tuple[int, int] | None:
    """Return the first two indices of a repeated id; `None` if no id is repeated."""
    first_index: dict[str, int] = {}
    for index, text_id in enumerate(ids):
        if text_id is not None and first_index.setdefault(text_id, index) != index:
            return first_index[text_id], index
    return None


def describe_data(data: Data) -> str:
    """Return what messages call `data`: the names of its files, or `the data`."""
    if isinstance(data, str | Path):
        return str(data)
    return ", ".join(map(str, input_files(data))) or "the data"


def read_texts(rows: Rows, notify: Notify, name: str = "", *, use_comparisons: bool = False) -> Iterator[Example]:
    """Yield the texts as they are read; then notify of the rows that are left out, equal faults in one line.

    Comparisons are left out too, unless the caller uses them. DataError if no row can be used.
    """
    n_usable, faults = 0, list[RowError]()
    for row in rows:
        if isinstance(row, Example):
            n_usable += 1
            yield row
        else:
            faults += row.faults
    notify_of_left_out_data(rows, notify, use_comparisons=use_comparisons)
    for message in first_fault_messages(fault_messages(faults)):
        notify(f"left out of {name}: {message}" if name else f"left out: {message}")
    if not n_usable:
        lines = {(rows.where, line) for line, _ in rows.comparisons} | {(fault.where, fault.line) for fault in faults}
        n_rows = len(lines) + rows.skipped
        raise DataError(f"None of the {n_rows} rows of {name or rows.where} can be used.", "Fix the rows named above.")


def notify_of_left_out_data(rows: Rows, notify: Notify, *, use_comparisons: bool = False) -> None:
    skipped = {"faulty row": rows.skipped, "faulty score": rows.skipped_scores}
    left_out = [count(number, noun) for noun, number in skipped.items() if number]
    if left_out:
        notify(f"left out: {' and '.join(left_out)} (`skip_faulty`); the first: {rows.first_skipped}")
    if rows.comparisons and not use_comparisons:
        n_lines = len({line for line, _ in rows.comparisons})
        notify(f"left out: {count(n_lines, 'row')} with only comparisons of texts")


def usable_texts(
    data: Data, options: ReadingOptions, aspects: Collection[tuple[str, Scale]], notify: Notify
) -> tuple[Example, ...]:
    """Return all texts of `data`. Texts with comparisons and no score get a label that is fitted to the comparisons.

    `aspects` are pairs of an aspect and its scale.
    """
    rows = rows_of(data, accept_level_names(options, *(scale for _, scale in aspects)), notify)
    examples = tuple(read_texts(rows, notify, use_comparisons=True))
    faults = list(comparison_faults(rows.where, rows.comparisons, examples))
    for fault in faults:
        notify(f"left out: {fault}")
    faulty_lines = {fault.line for fault in faults}  # no comparison in these lines is used
    usable_comparisons = [(line, comparison) for line, comparison in rows.comparisons if line not in faulty_lines]
    for aspect, scale in aspects:
        comparisons = [comparison for _, comparison in select_comparisons(usable_comparisons, examples, aspect)]
        examples, notes = fit_scores(examples, comparisons, aspect, scale)
        for note in (*unassessed_notes(rows, aspect), *notes):
            notify(note)
    return examples


def labels_on_scale(
    texts: Iterable[Example], aspect: str, scale: Scale, name: str, notify: Notify
) -> tuple[Example, ...]:
    """Return the texts that have a label on the scale; `name` is what an error calls the texts."""
    labelled_texts = with_label(texts, aspect)
    on_scale = tuple(text for text in labelled_texts if scale.contains(text.scores[aspect]))
    if len(on_scale) < len(labelled_texts):
        notify(f"left out: {count(len(labelled_texts) - len(on_scale), 'label')} outside of {scale.describe()}")
    if len({text.id for text in on_scale}) < len(on_scale):
        raise DataError(f"{name}: some labelled texts share an id.", "Give each text its own id.")
    return on_scale


def check_labels(labels: Collection[float], rubric: Rubric, name: str) -> None:
    """Raise DataError if a label is off the rubric's scale, or a word on a scale of numbers; `name` is the rubric's."""
    scale = rubric.score_scale
    off_scale = [each for each in labels if not scale.contains(each) or (verdict_words([each]) and not scale.names)]
    if off_scale:
        example = repr(off_scale[0].word) if isinstance(off_scale[0], WordScore) else format_score(off_scale[0])
        problem = f"Some labels of {rubric.aspect.name!r} are not on the scale of {name}, {scale.describe()}"
        hint = "Give labels on this scale; `rubriclab transfer` measures a rubric on labels of another scale."
        raise DataError(f"{problem}: {len(off_scale):,} of {len(labels):,}, such as {example}.", hint)


def propose_label_mapping(data: Data, options: ReadingOptions, aspect: str) -> str | None:
    """Return a mapping of a column to labels of `aspect`; `None` if no column looks like labels."""
    rows = [row for row, _ in _first_rows(data, options, MAX_SAMPLED) if isinstance(row, Mapping)]
    return propose_scores(rows, aspect, options.mapping.columns)


def own_mapping(version: Version, data: Data, options: ReadingOptions) -> str | None:
    """Return the mapping by which the version's labels were read; `None` if `options` have a mapping or no row fits."""
    if version.imported or options.mapping.columns:
        return None
    mapping = version.provenance.reading.get("mapping")
    with suppress(DataError):
        if mapping and _first_rows(data, options.model_copy(update={"mapping": parse_mapping(mapping)}), 1):
            return mapping
    return None


def _first_rows(data: Data, options: ReadingOptions, max_rows: int) -> list[tuple[Any, Example]]:
    if isinstance(data, Iterator) or (isinstance(data, str) and data == "-"):  # cannot be read again
        return []
    return rows_of(data, options).look_ahead(stop_at=lambda _example: False, max_rows=max_rows)


async def with_progress(
    workspace: Workspace, stream: AsyncGenerator[T], data: Data, n_done: int = 0
) -> AsyncGenerator[T]:
    """Yield the results of a stream over the rows of `data` and show its progress; `n_done` rows were done before."""
    n_rows = row_count(data) if workspace.shows_progress else 0
    with workspace.progress(workspace.ledger) as on_progress:
        async with aclosing(stream):
            async for result in stream:
                yield result
                n_done += 1
                on_progress(f"{n_done:,} texts", n_done / n_rows if n_rows else -1.0)


def yield_and_append(rows: Rows, pending: deque[ReadRow]) -> Iterator[Example | RowError]:
    """Yield the rows, and append each to `pending`, from which the caller takes the row when its score arrives."""
    for row in rows:
        pending.append((rows.raw_row, row if isinstance(row, Example) else None))
        yield row


def find_cell(row: Any, column: str) -> Any:
    """Return the cell of a row in a column or under a dotted path; `None` if there is none."""
    cells = {name: getattr(row, name) for name in FIELDS} if isinstance(row, Example) else row
    cell = look_up(cells, column) if isinstance(cells, Mapping) else None
    return None if cell is ABSENT else cell


def other_columns(row: Any, mapping: FieldMap) -> dict[str, Any]:
    """Return the columns of a user's row that are neither fields nor mapped to fields."""
    paths = mapping.columns.values()
    used_columns = {*FIELDS, *paths, *(path.partition(".")[0] for path in paths)}
    cells = row if isinstance(row, Mapping) else {}
    unused = {str(name): cell for name, cell in cells.items() if name not in used_columns}
    return {name: cell for name, cell in unused.items() if name.partition(".")[0] not in ASPECT_FIELDS}


class FieldMissing(SettingsError):
    """No text has a field that the version needs."""


def check_next_rows(version: Version, rows: Rows, name: str, options: ReadingOptions) -> None:
    """Raise FieldMissing if none of a stream's next rows has a field that the version needs.

    Rows are read ahead, up to the first that has all needed fields; none is consumed.
    """
    needed = version.provenance.text_fields or ()
    ahead = rows.look_ahead(lambda example: all(getattr(example, field) for field in needed), ROWS_SEARCHED)
    searched = f"None of the first {ROWS_SEARCHED} rows" if len(ahead) == ROWS_SEARCHED else "No row"
    first_row = ahead[0][0] if ahead else None
    _check_fields(version, [example for _, example in ahead], f"{searched} of {name} has", first_row, options.mapping)


def check_text_fields(
    version: Version, texts: Sequence[Example], data: Data, options: ReadingOptions, *, notify: Notify, name: str = ""
) -> None:
    """Raise FieldMissing if none of the texts has a field that the version needs; notify if some texts lack it."""
    name = name or describe_data(data)
    first_row = next((row for row, _ in _first_rows(data, options, 1)), None)
    _check_fields(version, texts, f"No row of {name} has", first_row, options.mapping)
    for note in notes_of_missing_fields(version, missing_fields(version, texts), name, len(texts)):
        notify(note)


def notes_of_missing_fields(version: Version, missing: Mapping[str, int], name: str, n_texts: int) -> list[str]:
    """Return a note for each needed field that some of the `n_texts` scored texts lack; `missing` says how many."""
    why = f"so their scores are less reliable: every text that {version.ref} was learned from had one"
    of_texts = f"of {count(n_texts, 'text')}"
    return [f"{name}: {number:,} {of_texts} have no {field}, {why}" for field, number in missing.items() if number]


def missing_fields(version: Version, examples: Sequence[Example]) -> dict[str, int]:
    """Return for each needed field how many of the texts lack it."""
    needed = version.provenance.text_fields or ()
    return {field: sum(not getattr(example, field) for example in examples) for field in needed}


def _check_fields(version: Version, examples: Sequence[Example], beginning: str, row: Any, mapping: FieldMap) -> None:
    """Raise FieldMissing, with `beginning` in its message and a hint about `row`, if no text has a needed field."""
    needed = version.provenance.text_fields or ()
    missing = [field for field in needed if examples and not any(getattr(each, field) for each in examples)]
    if not missing:
        return
    advice = "Map the column that holds it"
    cells = row if isinstance(row, Mapping) else {}
    mapped = [mapping.columns.get(field, field) for field in missing]
    if cells and all(look_up(cells, column) is not ABSENT for column in mapped):
        columns = join_names(map(repr, mapped))
        advice = f"There is no text in any cell of {columns}. Fill them, or map the column that holds it"
    elif cells:
        column_names = [repr(str(column)) for column in cells][:MAX_COLUMN_NAMES_SHOWN]
        ellipsis = ["..."] if len(cells) > MAX_COLUMN_NAMES_SHOWN else []
        advice = f"The columns are {', '.join(column_names + ellipsis)}. {advice}"
    # The hint proposes a mapping with a column for each missing field, instead of the user's. The user's mapping of a
    # source or context that is not needed is dropped too, since its column may hold a missing field.
    dropped = [field for field in SHOWN_FIELDS if field in missing or field not in needed]
    kept = {field: column for field, column in mapping.columns.items() if field not in dropped}
    fields = (*FIELDS, *ASPECT_FIELDS)
    unread_cells = {name: cell for name, cell in cells.items() if str(name).partition(".")[0] not in fields}
    guesses = propose_mapping([unread_cells], mapped=kept)
    proposal = mapping_text(kept | {field: guesses.get(field, "COLUMN") for field in missing})
    why = f"and every text that {version.ref} was learned from had it, so the scores would not be comparable"
    problem = f"{beginning} the field {join_names(map(repr, missing))}, {why}."
    raise FieldMissing(problem, f"{advice}: `mapping={proposal}`.")


def detect_dialect(data: Data, options: ReadingOptions) -> CsvDialect:
    """Return the CSV dialect for an output: the program that wrote `data` must be able to read it.

    A `.csv` output has the delimiter of a `.csv` input. If the input's scores show no decimal mark, a comma is the
    decimal mark in files with semicolons, as in spreadsheets. If the input is not UTF-8, the output gets a byte order
    mark; without it, a spreadsheet would read the output in the input's encoding.
    """
    kind = table_ending(data) if isinstance(data, str | Path) and Path(data).is_file() else None
    if kind not in DELIMITER_BY_ENDING:
        return COMMAS
    source = raw_file_rows(data, options).source
    usual_decimal_mark = "comma" if source.delimiter == ";" else "point"
    return CsvDialect(
        delimiter=source.delimiter if source.delimiter and kind == ".csv" else COMMAS.delimiter,
        decimal_comma=(source.decimal or usual_decimal_mark) == "comma",
        byte_order_mark=read_sample(Path(data))[0].startswith(codecs.BOM_UTF8) or source.encoding != UTF_8,
    )
