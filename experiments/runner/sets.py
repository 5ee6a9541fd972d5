"""The public sets with human scores: their descriptions in `experiments/sets.toml`, and their texts in a folder."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from pydantic import Field

from experiments import SETS
from rubriclab import Assignment, DataError, Example, Scale, SettingsError, find_aspect, parse_scale, read, task_words
from rubriclab.data.check import training_examples
from rubriclab.data.rows import RowError
from rubriclab.data.text_files import read_lines
from rubriclab.models.base import FrozenModel, canonical_json, decode_text, parse_json, parse_toml, read_file
from rubriclab.models.text import Words

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
    """

    file: Words
    task: Words
    train_ids: str | None = None
    published: str | None = None
    aspects: Mapping[Words, Words] = Field(min_length=1)


def public_sets() -> dict[str, PublicSet]:
    """Return the public sets by name."""
    return {name: PublicSet.model_validate(about) for name, about in parse_toml(read_file(SETS)).items()}


@cache
def public_scale(name: str, aspect: str) -> Scale:
    """Return the scale of a public set's human scores."""
    return parse_scale(public_sets()[name].aspects[aspect])


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
        """Return the description of a set."""
        if name not in self.known:
            raise SettingsError(f"There is no set {name!r}.", f"There are: {', '.join(self.known)}.")
        return self.known[name]

    def texts(self, name: str, aspect: str) -> tuple[Example, ...]:
        """Return the texts of a set with a score for the aspect, by id."""
        return tuple(sorted(self.rows(name, aspect), key=lambda example: example.id))

    def rows(self, name: str, aspect: str) -> tuple[Example, ...]:
        """Return the same texts in the order of the file."""
        if (name, aspect) not in self._texts:
            scale = self.assignment(name, aspect).scale
            if name not in self._rows:
                self._rows[name] = list(read(self._present(name)))
            self._texts[name, aspect] = tuple(training_examples(self._rows[name], aspect, scale).examples)
        return self._texts[name, aspect]

    def assignment(self, name: str, aspect: str) -> Assignment:
        """Return what is judged."""
        about = self.about(name)
        if aspect not in about.aspects:
            raise SettingsError(f"{name} has no scores for {aspect!r}.", f"It has: {', '.join(about.aspects)}.")
        defined, scale = find_aspect(about.task, aspect), parse_scale(about.aspects[aspect])
        return Assignment(task_words(about.task), defined, scale)

    def official(self, name: str) -> tuple[str, ...]:
        """Return the ids of the official training texts; empty if they are not known."""
        key, file = self.about(name).train_ids, self.folder / TRAIN_IDS
        if key is None or not file.is_file():
            return ()
        try:
            return tuple(map(str, parse_json(decode_text(read_file(file))).get(key, ())))
        except (ValueError, AttributeError, TypeError):
            raise DataError(f"{file} cannot be used.", "Expected an object with a list of ids for each set.") from None

    def digest(self, name: str) -> str:
        """Return the digest of a set's rows, however they are compressed, and of its description."""
        about, found = self.about(name), hashlib.sha256()
        for line in read_lines(self._present(name)):
            found.update(line)
        found.update(canonical_json([about.task, dict(about.aspects), self.official(name)]).encode())
        return f"sha256:{found.hexdigest()}"

    def _present(self, name: str) -> Path:
        if path := self.path(name):
            return path
        file = self.about(name).file
        raise DataError(f"{self.folder} has no {file}.jsonl or {file}.jsonl.gz, the texts of {name}.")


def sets_in(folder: str | Path) -> Sets:
    """Return the public sets, with their texts in a folder."""
    place = Path(folder)
    if not place.is_dir():
        hint = "Make it with: python -m experiments data SET FILE -o FOLDER/SET.jsonl."
        raise DataError(f"There is no folder {folder} with the public sets.", hint)
    return Sets(place, public_sets())
