"""What measurements share: labelled texts of an aspect, plans of a joint training, and ratings by every candidate."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from experiments.runner.sets import Sets, sets_in
from rubriclab import Assignment, Example, Lab

SETS = "summeval,newsroom,hanna,topical_chat,qags_cnndm"
SHOTS = 30


@dataclass(frozen=True)
class LabelledAspect:
    """One aspect of a public set in a folder."""

    data: Path
    set: str
    aspect: str

    def __str__(self) -> str:
        """Return set and aspect."""
        return f"{self.set} {self.aspect}"

    @property
    def assignment(self) -> Assignment:
        """What is judged."""
        return _sets(self.data).assignment(self.set, self.aspect)

    @property
    def examples(self) -> tuple[Example, ...]:
        """The texts with a score for the aspect, in the order of the file."""
        return _sets(self.data).rows(self.set, self.aspect)

    @property
    def options(self) -> dict[str, Any]:
        """What `learn` is told of the aspect."""
        about = self.assignment
        return {
            "task": about.words.task,
            "aspect": self.aspect,
            "definition": about.aspect.definition,
            "scale": about.scale,
            "literature_without": [self.set],
        }


@contextmanager
def temporary_lab(judge: str) -> Iterator[Lab]:
    """Return a lab whose store is removed at the end."""
    with TemporaryDirectory() as folder, Lab(Path(folder) / "store.db", judge, progress=None, notify=_ignore) as lab:
        yield lab


def _ignore(_text: str) -> None:
    pass


@lru_cache(maxsize=1)
def _sets(data: Path) -> Sets:
    return sets_in(data)


def labelled_aspects(data: Path, names: str) -> list[LabelledAspect]:
    """Return the aspects named, each SET or SET:ASPECT, separated by commas."""
    sets, found = _sets(data), list[LabelledAspect]()
    for name in filter(None, map(str.strip, names.split(","))):
        of_set, _, aspect = name.partition(":")
        for each in (aspect,) if aspect else tuple(sets.about(of_set).aspects):
            sets.assignment(of_set, each)
            found.append(LabelledAspect(data, of_set, each))
    return found
