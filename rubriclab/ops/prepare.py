"""Data to start from.

`split` divides rows into those to learn from and those to evaluate on, by whole groups. `write_sample` copies the
included sample into a folder.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rubriclab.data.check import first_fault_lines
from rubriclab.data.mapping import ABSENT, look_up
from rubriclab.data.rows import RowError
from rubriclab.display import Displayed
from rubriclab.errors import DataError, SettingsError
from rubriclab.models.base import content_path, digest
from rubriclab.models.characters import count
from rubriclab.models.text import Example, words_digest
from rubriclab.ops.inputs import Data, rows_of
from rubriclab.ops.options import SplitOptions
from rubriclab.ops.workspace import Notify
from rubriclab.stats.intervals import MIN_GROUPS

README, LABELLED, HELDOUT, UNLABELLED = "README.md", "labelled.jsonl", "heldout.jsonl", "unlabelled.jsonl"
RECORDING, VERDICTS, HELDOUT_VERDICTS = "recording.jsonl", "verdicts-labelled.csv", "verdicts-heldout.csv"
SAMPLE_FILES = (README, LABELLED, HELDOUT, UNLABELLED)
DEMO_FILES = (README, LABELLED, HELDOUT, VERDICTS, HELDOUT_VERDICTS, RECORDING)


@dataclass(frozen=True, repr=False)
class SplitResult(Displayed):
    """The rows to learn from and the other rows, unchanged and in order, with each side's number of groups."""

    train: tuple[Mapping[str, Any], ...]
    heldout: tuple[Mapping[str, Any], ...]
    train_groups: int
    heldout_groups: int

    def lines(self) -> Iterator[str]:
        train = f"{count(len(self.train), 'row')} to learn from, in {count(self.train_groups, 'group')}"
        heldout = f"{count(len(self.heldout), 'row')} to evaluate on, in {count(self.heldout_groups, 'group')}"
        yield f"{train}; {heldout}."


def split(data: Data, options: SplitOptions, notify: Notify) -> SplitResult:
    """Divide the rows of `data` into two sides that share no group.

    Groups join the side to learn from, in an order that depends on the seed, until it has `train` texts. A row that
    compares texts joins the side of these texts.
    """
    rows = [(row, parsed) for _, row, parsed in rows_of(data, options, notify).parsed]
    faults = [str(parsed) for _, parsed in rows if isinstance(parsed, RowError)]
    if faults and not options.skip_faulty:
        problem = "\n  ".join([f"{count(len(faults), 'faulty row')}:", *first_fault_lines(faults)])
        raise DataError(problem, "Fix them, or leave them out: `skip_faulty`.", faults=faults)
    if faults:
        notify(f"left out: {count(len(faults), 'faulty row')} (`skip_faulty`)")
    grouped_texts = [(_group(row, text, options.by), text) for row, text in rows if isinstance(text, Example)]
    group_by_id = {text.id: group for group, text in grouped_texts}
    group_sizes = Counter(group for group, _ in grouped_texts)
    train_groups = _choose_train_groups(group_sizes, options, notify)
    train_digests = {words_digest(text) for _, text in grouped_texts if group_by_id[text.id] in train_groups}
    heldout_digests = [words_digest(text) for _, text in grouped_texts if group_by_id[text.id] not in train_groups]
    if n_same := sum(text_digest in train_digests for text_digest in heldout_digests):
        same_words = f"the same words as a text to learn from in another {options.by}"
        notify(f"{count(n_same, 'text')} to evaluate on with {same_words}")
    train, heldout, next_texts = list[Mapping[str, Any]](), list[Mapping[str, Any]](), iter(grouped_texts)
    for row, parsed in rows:
        if isinstance(parsed, RowError):
            continue
        if isinstance(parsed, Example):
            group, _ = next(next_texts)
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
        notify(f"{count(n_chosen, 'text')} to learn from instead of {options.train}, as no {options.by} is divided")
    if len(group_sizes) == n_texts:
        notify(f"every text is a {options.by} of its own: rivals of one source may be on both sides")
    if options.by == "group" and len(chosen_groups) < MIN_GROUPS:
        needed = f"too few to validate a rubric, which needs at least {MIN_GROUPS}"
        notify(f"{count(len(chosen_groups), 'group')} to learn from, {needed}: set a larger `train`")
    return frozenset(chosen_groups)


def _group(row: Any, example: Example, by: str) -> str:
    if by == "group":
        return example.group
    value: object = ABSENT
    if by == "system":
        value = example.system
    elif isinstance(row, Mapping):
        value = look_up(row, by)
    if value is None or value is ABSENT:
        raise DataError(f"The text {example.id!r} has no {by!r} to split by.", "Name another column: `by=COLUMN`.")
    return str(value)


@dataclass(frozen=True)
class SampleFiles:
    """The files of the sample in a folder. Its labels are constructed: they are not human ratings."""

    readme: Path
    labelled: Path
    heldout: Path
    unlabelled: Path


def write_sample(folder: str | Path) -> SampleFiles:
    """Write the sample to `folder`, which must be new, empty, or hold the sample already; return the files."""
    return SampleFiles(*write_content("sample", SAMPLE_FILES, Path(folder)))


def write_content(name: str, files: Iterable[str], folder: Path) -> list[Path]:
    """Copy files of the package's content `name` to `folder`; SettingsError if it holds anything but these files."""
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
