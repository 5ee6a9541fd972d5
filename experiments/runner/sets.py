"""The public sets with human scores: what `experiments/sets.toml` says of them, and their texts in a folder."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from experiments import SETS
from rubriclab import (
    Assignment,
    DataError,
    Example,
    RowError,
    SettingsError,
    UserError,
    find_aspect,
    parse_scale,
    read,
    task_words,
    training_examples,
)
from rubriclab.research import (
    FrozenModel,
    Unreadable,
    Words,
    canonical,
    digest,
    first_fault,
    lines_of,
    parse_json,
    read_file,
    read_toml,
    text_of,
)

ENDINGS = (".jsonl", ".jsonl.gz")
TRAIN_IDS = "hypoeval_train_ids.json"


class PublicSet(FrozenModel):
    """One public set.

    Attributes:
        file: what its file in the data folder is called, without the ending.
        task: the kind of text.
        train_ids: its key in the file of official training ids; `None` where none were published.
        published: what `python -m experiments data` calls the file that its authors publish; `None` without a reader.
        aspects: each with the scale of its human scores.
        definitions: of aspects that have none in stores/aspects.json.
        half: the first or the second half of the groups alone, by their names' digests; `None` for all.
        without: systems whose texts are left out.
    """

    file: Words
    task: Words
    train_ids: str | None = None
    published: str | None = None
    aspects: Mapping[Words, Words] = Field(min_length=1)
    definitions: Mapping[Words, Words] = Field(default_factory=dict)
    half: Literal[1, 2] | None = None
    without: tuple[Words, ...] = ()


def public_sets(file: Path | None = None) -> dict[str, PublicSet]:
    """Return the public sets by name, those that ship unless `file` names others.

    Raises:
        SettingsError: if the file cannot be used.
    """
    file = file or SETS
    try:
        raw = read_toml(file)
    except Unreadable as error:
        raise SettingsError(f"{file} cannot be used: {error}.") from None
    return {name: _public_set(name, about, file) for name, about in raw.items()}


def _public_set(name: str, about: object, file: Path) -> PublicSet:
    hint = (
        "It needs a file, a task, aspects with scales, and their definitions unless included (experiments/README.md)."
    )
    try:
        found = PublicSet.model_validate(about)
        for aspect, scale in found.aspects.items():
            parse_scale(scale)
            find_aspect(found.task, aspect, found.definitions.get(aspect))
    except ValidationError as error:
        raise SettingsError(f"{file}, [{name}]: {first_fault(error)}.", hint) from None
    except UserError as error:
        raise SettingsError(f"{file}, [{name}]: {error.message.rstrip(';.')}.", hint) from None
    return found


@dataclass(frozen=True)
class Sets:
    """The public sets that lie in a folder, read when they are first needed."""

    folder: Path
    known: Mapping[str, PublicSet]
    _rows: dict[str, list[Example | RowError]] = field(default_factory=dict)
    _texts: dict[tuple[str, str], tuple[Example, ...]] = field(default_factory=dict)

    def path(self, name: str) -> Path | None:
        """Return the file of a set; `None` where the folder has none."""
        files = (self.folder / f"{self.about(name).file}{ending}" for ending in ENDINGS)
        return next((file for file in files if file.is_file()), None)

    def about(self, name: str) -> PublicSet:
        """Return what is known of a set.

        Raises:
            SettingsError: if nothing is.
        """
        if name not in self.known:
            raise SettingsError(
                f"There is no set {name!r}.",
                f"There are: {', '.join(self.known)}. One of your own is a table in {self.folder / SETS.name}.",
            )
        return self.known[name]

    def texts(self, name: str, aspect: str) -> tuple[Example, ...]:
        """Return the texts of a set that have a score for the aspect, by id.

        Raises:
            DataError: if the file is missing, any of its rows is faulty, or hardly any has a score.
        """
        return tuple(sorted(self.rows(name, aspect), key=lambda example: example.id))

    def rows(self, name: str, aspect: str) -> tuple[Example, ...]:
        """Return the same texts in the order of the file."""
        if (name, aspect) not in self._texts:
            scale = self.assignment(name, aspect).scale
            self._texts[name, aspect] = tuple(training_examples(self._read(name), aspect, scale).examples)
        return self._texts[name, aspect]

    def assignment(self, name: str, aspect: str) -> Assignment:
        """Return what is judged.

        Raises:
            SettingsError: if the set has no such aspect.
        """
        about = self.about(name)
        if aspect not in about.aspects:
            raise SettingsError(f"{name} has no scores for {aspect!r}.", f"It has: {', '.join(about.aspects)}.")
        defined = find_aspect(about.task, aspect, about.definitions.get(aspect))
        return Assignment(task_words(about.task), defined, parse_scale(about.aspects[aspect]))

    def official(self, name: str) -> tuple[str, ...]:
        """Return the ids of the texts that were learned from when the set was first used so; none where not known.

        Raises:
            DataError: if the folder's file of them cannot be used.
        """
        key, file = self.about(name).train_ids, self.folder / TRAIN_IDS
        if key is None or not file.is_file():
            return ()
        try:
            ids = parse_json(text_of(read_file(file))).get(key, ())
            return tuple(map(str, ids))
        except (ValueError, AttributeError, TypeError):
            raise DataError(f"{file} cannot be used;", "it is an object with a list of ids for each set.") from None

    def digest(self, name: str) -> str:
        """Return the digest of a set's rows as they stand in its file, packed or not, and of what is known of them."""
        about, found = self.about(name), hashlib.sha256()
        for line in lines_of(self._present(name)):
            found.update(line)
        part: list[object] = [about.half, list(about.without)] if about.half or about.without else []
        part += [dict(about.definitions)] if about.definitions else []
        found.update(canonical([about.task, dict(about.aspects), self.official(name), *part]).encode())
        return f"sha256:{found.hexdigest()}"

    def _present(self, name: str) -> Path:
        path = self.path(name)
        if path is None:
            file = self.about(name).file
            raise DataError(f"{self.folder} has no {file}.jsonl or {file}.jsonl.gz, the texts of {name}.")
        return path

    def _read(self, name: str) -> list[Example | RowError]:
        if name not in self._rows:
            self._rows[name] = _part(list(read(self._present(name))), self.about(name))
        return self._rows[name]


def _part(rows: list[Example | RowError], about: PublicSet) -> list[Example | RowError]:
    """Return the rows that belong to a set, where it is a part of what its file holds."""
    groups = {row.group for row in rows if isinstance(row, Example)}
    ordered = sorted(groups, key=lambda group: digest(["half", group]))
    kept = groups if about.half is None else set(ordered[about.half - 1 :: 2])
    return [
        row
        for row in rows
        if isinstance(row, RowError) or (row.group in kept and (row.system is None or row.system not in about.without))
    ]


def sets_in(folder: str | Path) -> Sets:
    """Return the public sets as far as they lie in `folder`.

    Raises:
        DataError: if there is no such folder.
    """
    place = Path(folder)
    if not place.is_dir():
        raise DataError(
            f"There is no folder {folder} with the public sets.",
            "Make one of files in rubriclab's row form: python -m experiments data SET FILE -o FOLDER/SET.jsonl.",
        )
    own = place / SETS.name
    # Sets of one's own come after those that ship, and may not replace them: stored results are of these.
    known = public_sets()
    for name, about in (public_sets(own) if own.is_file() else {}).items():
        if name in known:
            raise SettingsError(f"{own}: {name!r} is the name of a public set that ships.", "Choose another name.")
        known[name] = about
    return Sets(place, known)
