"""The public sets with human scores: their descriptions in `experiments/sets.toml`, and their texts in a folder."""

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
from rubriclab.base_models import FrozenModel
from rubriclab.data.aspect import Words
from rubriclab.data.formats import lines_of
from rubriclab.digest import canonical, digest
from rubriclab.documents import Unreadable, parse_json, read_file, read_toml, text_of
from rubriclab.pydantic_errors import first_fault

ENDINGS = (".jsonl", ".jsonl.gz")
TRAIN_IDS = "hypoeval_train_ids.json"


class PublicSet(FrozenModel):
    """One public set.

    Attributes:
        file: the name of its file in the data folder, without the ending.
        task: the kind of text.
        train_ids: its key in the file of official training ids, if they are published.
        published: its name for `python -m experiments data`, if there is a reader.
        aspects: each with the scale of its human scores.
        definitions: of aspects that have none in stores/aspects.json.
        half: the half of the groups that is used, by the digests of their names; all by default.
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


def public_sets(file: Path = SETS) -> dict[str, PublicSet]:
    """Return the sets that a file describes.

    Raises:
        SettingsError: if the file cannot be used.
    """
    found = dict[str, PublicSet]()
    try:
        for name, about in read_toml(file).items():
            where = f"{file}, [{name}]"
            found[name] = PublicSet.model_validate(about)
            for aspect, scale in found[name].aspects.items():
                parse_scale(scale)
                find_aspect(found[name].task, aspect, found[name].definitions.get(aspect))
    except Unreadable as error:
        raise SettingsError(f"{file} cannot be used: {error}.") from None
    except (ValidationError, UserError) as error:
        fault = first_fault(error) if isinstance(error, ValidationError) else error.message.rstrip(";.")
        hint = "It needs a file, a task, aspects with scales, and definitions of new aspects (experiments/README.md)."
        raise SettingsError(f"{where}: {fault}.", hint) from None
    return found


@dataclass(frozen=True)
class Sets:
    """The sets in a folder, read when they are first needed."""

    folder: Path
    known: Mapping[str, PublicSet]
    _rows: dict[str, list[Example | RowError]] = field(default_factory=dict)
    _texts: dict[tuple[str, str], tuple[Example, ...]] = field(default_factory=dict)

    def path(self, name: str) -> Path | None:
        """Return the file of a set; `None` if the folder has none."""
        files = (self.folder / f"{self.about(name).file}{ending}" for ending in ENDINGS)
        return next((file for file in files if file.is_file()), None)

    def about(self, name: str) -> PublicSet:
        """Return the description of a set.

        Raises:
            SettingsError: if there is none.
        """
        if name not in self.known:
            own = f"Describe a set of your own in {self.folder / SETS.name}."
            raise SettingsError(f"There is no set {name!r}.", f"There are: {', '.join(self.known)}. {own}")
        return self.known[name]

    def texts(self, name: str, aspect: str) -> tuple[Example, ...]:
        """Return the texts of a set with a score for the aspect, by id.

        Raises:
            DataError: if the file is missing, any of its rows is faulty, or hardly any has a score.
        """
        return tuple(sorted(self.rows(name, aspect), key=lambda example: example.id))

    def rows(self, name: str, aspect: str) -> tuple[Example, ...]:
        """Return the same texts in the order of the file."""
        if (name, aspect) not in self._texts:
            scale = self.assignment(name, aspect).scale
            if name not in self._rows:
                self._rows[name] = _part(list(read(self._present(name))), self.about(name))
            self._texts[name, aspect] = tuple(training_examples(self._rows[name], aspect, scale).examples)
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
        """Return the ids of the official training texts; empty if they are not known.

        Raises:
            DataError: if the folder's file of them cannot be used.
        """
        key, file = self.about(name).train_ids, self.folder / TRAIN_IDS
        if key is None or not file.is_file():
            return ()
        try:
            return tuple(map(str, parse_json(text_of(read_file(file))).get(key, ())))
        except (ValueError, AttributeError, TypeError):
            raise DataError(f"{file} cannot be used.", "Expected an object with a list of ids for each set.") from None

    def digest(self, name: str) -> str:
        """Return the digest of a set's rows, however they are compressed, and of its description."""
        about, found = self.about(name), hashlib.sha256()
        for line in lines_of(self._present(name)):
            found.update(line)
        part: list[object] = [about.half, list(about.without)] if about.half or about.without else []
        part += [dict(about.definitions)] if about.definitions else []
        found.update(canonical([about.task, dict(about.aspects), self.official(name), *part]).encode())
        return f"sha256:{found.hexdigest()}"

    def _present(self, name: str) -> Path:
        if path := self.path(name):
            return path
        file = self.about(name).file
        raise DataError(f"{self.folder} has no {file}.jsonl or {file}.jsonl.gz, the texts of {name}.")


def _part(rows: list[Example | RowError], about: PublicSet) -> list[Example | RowError]:
    """Return the rows of a file that belong to a set."""
    groups = {row.group for row in rows if isinstance(row, Example)}
    ordered = sorted(groups, key=lambda group: digest(["half", group]))
    kept = groups if about.half is None else set(ordered[about.half - 1 :: 2])
    return [
        row
        for row in rows
        if isinstance(row, RowError) or (row.group in kept and (row.system is None or row.system not in about.without))
    ]


def sets_in(folder: str | Path) -> Sets:
    """Return the public sets and those that the folder's own `sets.toml` describes.

    Raises:
        DataError: if there is no such folder.
        SettingsError: if its `sets.toml` cannot be used, or replaces a public set, which stored results are of.
    """
    place = Path(folder)
    if not place.is_dir():
        hint = "Make it with: python -m experiments data SET FILE -o FOLDER/SET.jsonl."
        raise DataError(f"There is no folder {folder} with the public sets.", hint)
    own, known = place / SETS.name, public_sets()
    added = public_sets(own) if own.is_file() else {}
    if both := sorted(known.keys() & added.keys()):
        raise SettingsError(f"{own}: {both[0]!r} is the name of a public set.", "Choose another name.")
    return Sets(place, {**known, **added})
