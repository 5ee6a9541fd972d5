"""What measurements share: labelled texts of an aspect, plans of a joint training, and ratings by every candidate."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from experiments.runner.arms import course
from experiments.runner.sets import Sets, sets_in
from experiments.runner.study import Arm
from rubriclab import Assignment, Example, Judge
from rubriclab.learning.candidates import Candidates, Plan
from rubriclab.learning.matrix import RatingMatrix
from rubriclab.methods.catalogue import METHODS
from rubriclab.stats.correlation import FloatArray

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

    def split(self, test_groups: int) -> tuple[list[Example], list[Example]]:
        """Return texts to learn from, by the official ids or drawn, and those of other groups.

        If the official ids touch every group, the other texts of the same groups are tested.

        Args:
            test_groups: the largest number of groups to test on; 0 for all.
        """
        rows, ids = self.examples, set(_sets(self.data).official(self.set))
        if not ids:
            draw = random.Random("official")
            groups = sorted({row.group for row in rows})
            # QAGS has one text per group: all learning texts would be of two or three groups.
            drawn = set(draw.sample(groups, len(groups) // 2))
            allowed = sorted(row.id for row in rows if row.group in drawn)
            ids = set(draw.sample(allowed, min(SHOTS, len(allowed))))
        learned_from = [row for row in rows if row.id in ids]
        seen = {row.group for row in learned_from}
        test = [row for row in rows if row.group not in seen] or [row for row in rows if row.id not in ids]
        groups = sorted({row.group for row in test})
        if 0 < test_groups < len(groups):
            kept = set(random.Random("test official").sample(groups, test_groups))
            test = [row for row in test if row.group in kept]
        return learned_from, test


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


def joint_plans(aspect: LabelledAspect, learned_from: Sequence[Example]) -> tuple[Plan, ...]:
    """Return the plans of a joint training of the default methods that have questions for the aspect."""
    return course(Arm(name="joint", method="joint"), learned_from, aspect.assignment).plans


async def candidate_values(found: Candidates, texts: Sequence[Example], aspect: Assignment, judge: Judge) -> FloatArray:
    """Return each text's rating by every candidate, shape (texts, candidates), NaN if there is none."""
    parts = found.parts_with(found.ids)
    values = np.full((len(texts), len(found.ids)), np.nan)
    for row, text in enumerate(texts):
        for part in parts:
            for rating in (await METHODS[part.method].score(text, part, aspect, judge))[1]:
                if rating.score is not None:
                    values[row, found.ids.index(rating.criterion)] = rating.score
    return values


def of_other_texts(table: RatingMatrix, values: FloatArray, texts: Sequence[Example], aspect: str) -> RatingMatrix:
    """Return the table with ratings of other texts, from which no candidate was made."""
    return replace(
        table,
        values=values,
        labels=np.array([text.scores[aspect] for text in texts], dtype=float),
        groups=tuple(text.group for text in texts),
        seen=np.zeros(values.shape, dtype=bool),
    )
