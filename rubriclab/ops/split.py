"""Rows split in two by whole groups: some to learn from, the others held out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field

from rubriclab.data.check import first_of
from rubriclab.data.mapping import ABSENT, ReadingOptions, look_up
from rubriclab.data.readers import ParsedRow
from rubriclab.data.rows import RowError
from rubriclab.display import Displayed
from rubriclab.errors import DataError, SettingsError
from rubriclab.models.base import content_path, digest
from rubriclab.models.text import Example
from rubriclab.ops.inputs import Data, rows_of
from rubriclab.ops.workspace import Notify
from rubriclab.option_names import option
from rubriclab.report.wording import count, listed

if TYPE_CHECKING:
    from rubriclab.report.model import View


class SplitOptions(ReadingOptions):
    """How rows are split."""

    by: str = "group"
    """What is never divided: `group`, `system`, or a column."""

    train: int = Field(default=30, ge=1)
    """The number of texts to learn from; whole groups are taken until there are as many."""

    seed: int = Field(default=1, ge=0)
    """Decides which groups are taken; the order of the rows does not."""


@dataclass(frozen=True, repr=False)
class SplitResult(Displayed):
    """The rows to learn from and those held out, as they came and in their order, with the groups of each side."""

    train: tuple[Mapping[str, Any], ...]
    heldout: tuple[Mapping[str, Any], ...]
    train_groups: int
    heldout_groups: int

    def view(self) -> View:
        """Return how many rows and groups are on each side."""
        from rubriclab.report.model import Paragraph, View

        sides = (("learn from", self.train, self.train_groups), ("hold out", self.heldout, self.heldout_groups))
        words = (f"{count(len(rows), 'row')} to {name}, in {count(groups, 'group')}" for name, rows, groups in sides)
        return View((), (Paragraph(f"{'; '.join(words)}."),))


def split(data: Data, options: SplitOptions, notify: Notify) -> SplitResult:
    """Return the rows of `data` in two parts that share no group.

    Groups are taken in an order that depends on their names and the seed only, until `train` texts are reached. A row
    of comparisons goes with its texts.

    Raises:
        DataError: if rows are faulty, or there are fewer than two groups, or all of them would be learned from.
    """
    rows = list(rows_of(data, options, notify).every_row())
    faults = [parsed for _, _, parsed in rows if isinstance(parsed, RowError)]
    if faults and not options.skip_faulty:
        named = [str(fault) for fault in faults]
        raise DataError(
            "\n  ".join([f"{count(len(named), 'faulty row')}:", *first_of(named)]),
            f"Fix them, or leave them out: {option('skip_faulty')}.",
            faults=named,
        )
    if faults:
        notify(f"left out: {count(len(faults), 'faulty row')} ({option('skip_faulty')})")
    examples = [(row, parsed) for _, row, parsed in rows if isinstance(parsed, Example)]
    group_like = _group_like([row for row, _ in examples])
    groups = [_group(row, parsed, options.by, group_like) for row, parsed in examples]
    group_of = {parsed.id: group for (_, parsed), group in zip(examples, groups, strict=True)}
    texts = Counter(groups)
    chosen = _chosen(texts, options, notify, group_like)
    sides: tuple[list[Mapping[str, Any]], list[Mapping[str, Any]]] = ([], [])
    for _, row, parsed in rows:
        if not isinstance(parsed, RowError):
            group = _group_of_row(row, parsed, options.by, group_like, group_of)
            sides[group not in chosen].append(row if isinstance(row, Mapping) else asdict(row))
    return SplitResult(tuple(sides[0]), tuple(sides[1]), len(chosen), len(texts) - len(chosen))


def _chosen(texts: Counter[str], options: SplitOptions, notify: Notify, group_like: str) -> frozenset[str]:
    """Return the groups to learn from, at least one and not all."""
    if len(texts) < 2:
        raise DataError(
            f"All {count(sum(texts.values()), 'text')} are of one {options.by}, which is never divided.",
            f"Give more groups, or another column: {option('by', 'COLUMN')}{group_like}.",
        )
    if options.train >= sum(texts.values()):
        raise DataError(
            f"{option('train', str(options.train))} leaves none of {count(sum(texts.values()), 'text')} to hold out.",
            "Give a smaller number.",
        )
    chosen, taken = list[str](), 0
    for group in sorted(texts, key=lambda name: digest([options.seed, name])):
        if taken >= options.train or len(chosen) == len(texts) - 1:
            break
        chosen.append(group)
        taken += texts[group]
    if taken != options.train:
        notify(f"{count(taken, 'text')} to learn from instead of {options.train}, as no {options.by} is divided")
    if len(texts) == sum(texts.values()):
        notify(f"every text is a {options.by} of its own: rivals of one source may be on both sides{group_like}")
    return frozenset(chosen)


def _group(row: Any, example: Example, by: str, group_like: str) -> str:
    if by == "group":
        return example.group
    value = example.system if by == "system" else look_up(row, by) if isinstance(row, Mapping) else ABSENT
    if value is None or value is ABSENT:
        hint = f"Name another column: {option('by', 'COLUMN')}{group_like}."
        raise DataError(f"The text {example.id!r} has no {by!r} to split by.", hint)
    return str(value)


def _group_like(rows: Sequence[Any]) -> str:
    """Return the columns whose values divide the rows into groups, in words; empty if there are none."""
    tables = [row for row in rows if isinstance(row, Mapping)]
    values = {
        column: [row[column] for row in tables if isinstance(row.get(column), str | int)]
        for column in dict.fromkeys(column for row in tables for column in row)
    }
    whole = {column: cells for column, cells in values.items() if len(cells) == len(tables)}
    found = [column for column, cells in whole.items() if 2 <= len(set(cells)) <= len(cells) / 2]
    return f" (columns with repeated values: {listed(map(repr, found))})" if found else ""


def _group_of_row(row: Any, parsed: ParsedRow, by: str, group_like: str, group_of: Mapping[str, str]) -> str:
    """Return the group of a row; that of comparisons is the one of their texts."""
    if isinstance(parsed, Example):
        return _group(row, parsed, by, group_like)
    pairs = () if isinstance(parsed, RowError) else parsed
    names = (name for pair in pairs for name in (pair.better, pair.worse))
    return next((group_of[name] for name in names if name in group_of), "")


README, LABELLED, HELDOUT, UNLABELLED, RECORDING = FILES = (
    "README.md",
    "labelled.jsonl",
    "heldout.jsonl",
    "unlabelled.jsonl",
    "recording.jsonl",
)


@dataclass(frozen=True)
class SampleFiles:
    """The files of the sample in a folder. Its labels are constructed: they are not human ratings.

    Attributes:
        readme: how texts and labels were made.
        labelled: 36 labelled summaries of 6 texts.
        heldout: 72 labelled summaries of 12 other texts.
        unlabelled: the first 24 held-out summaries, without labels.
        recording: a language model's answers to the commands of `rubriclab demo`, for the judge `recorded:PATH`.
    """

    readme: Path
    labelled: Path
    heldout: Path
    unlabelled: Path
    recording: Path


def write_sample(folder: str | Path) -> SampleFiles:
    """Write the sample to `folder`, which is new, empty or already has it, and return its files.

    Raises:
        SettingsError: if `folder` is a file, or has other files but not the sample.
    """
    folder = Path(folder)
    if folder.exists() and not folder.is_dir():
        raise SettingsError(f"{folder} is a file, and the sample needs a folder.", "Name another folder.")
    paths = [folder / name for name in FILES]
    contents = [content_path("sample", name).read_bytes() for name in FILES]
    if folder.exists() and any(folder.iterdir()):
        for path, content in zip(paths, contents, strict=True):
            if not path.is_file() or path.read_bytes() != content:
                problem = "differs from that of the sample" if path.exists() else "is missing"
                raise SettingsError(
                    f"The folder {folder} has other files: it is not empty, and its {path.name} {problem}.",
                    "Name another folder; nothing was written.",
                )
    else:
        folder.mkdir(parents=True, exist_ok=True)
        for path, content in zip(paths, contents, strict=True):
            path.write_bytes(content)
    return SampleFiles(*paths)
