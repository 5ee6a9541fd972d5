"""What measurements share: labelled texts of an aspect, plans of a joint training, and ratings by every candidate."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from experiments.runner.sets import Sets, sets_in
from rubriclab import (
    METHODS,
    Assignment,
    ChecklistError,
    Example,
    Judge,
    JudgeOptions,
    Method,
    TrainingInput,
    load_findings,
)
from rubriclab.research import (
    DEFAULT_METHODS,
    Candidates,
    JointSettings,
    Ledger,
    Plan,
    RatingMatrix,
    connect,
    parse_settings,
    resolve_settings,
    seed_questions,
)
from rubriclab.stats import FloatArray

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
    def task(self) -> str:
        """The kind of text."""
        return _sets(self.data).about(self.set).task

    @property
    def assignment(self) -> Assignment:
        """What is judged."""
        return _sets(self.data).assignment(self.set, self.aspect)

    @property
    def examples(self) -> tuple[Example, ...]:
        """The texts with a score for the aspect, in the order of the file."""
        return _sets(self.data).rows(self.set, self.aspect)

    @property
    def official(self) -> tuple[str, ...]:
        """The ids that the set was first learned from; none where not known."""
        return _sets(self.data).official(self.set)


@lru_cache(maxsize=1)
def _sets(data: Path) -> Sets:
    return sets_in(data)


def labelled_aspects(data: Path, names: str) -> list[LabelledAspect]:
    """Return the aspects named, each SET or SET:ASPECT, separated by commas.

    Raises:
        DataError: if there is no such folder.
        SettingsError: if there is no such set or aspect.
    """
    sets, found = _sets(data), list[LabelledAspect]()
    for name in filter(None, map(str.strip, names.split(","))):
        of_set, _, aspect = name.partition(":")
        aspects = (aspect,) if aspect else tuple(sets.about(of_set).aspects)
        for each in aspects:
            sets.assignment(of_set, each)
            found.append(LabelledAspect(data, of_set, each))
    return found


@dataclass(frozen=True)
class Split:
    """How an aspect's texts are divided.

    Attributes:
        name: `official`, or any other text, which seeds the draw of the groups that are learned from.
        shots: texts to learn from, where there are so many.
        test_groups: at most so many groups to test on, drawn; 0 for all.
    """

    name: str
    shots: int = SHOTS
    test_groups: int = 0

    def of(self, aspect: LabelledAspect) -> tuple[list[Example], list[Example]]:
        """Return the texts to learn from, and those of groups that these do not touch.

        Where the official ids touch every group, the other texts of the same groups are tested; the row says so.
        """
        rows, ids = aspect.examples, set(aspect.official)
        if not (self.name == "official" and ids and self.shots == SHOTS):
            draw = random.Random(self.name)
            groups = sorted({row.group for row in rows})
            # QAGS has one text a group: half of the groups, else all learning texts would be of two or three groups.
            drawn = set(draw.sample(groups, len(groups) // 2))
            allowed = sorted(row.id for row in rows if row.group in drawn)
            ids = set(draw.sample(allowed, min(self.shots, len(allowed))))
        learned_from = [row for row in rows if row.id in ids]
        seen = {row.group for row in learned_from}
        test = [row for row in rows if row.group not in seen] or [row for row in rows if row.id not in ids]
        return learned_from, self._some_groups(test)

    def _some_groups(self, test: list[Example]) -> list[Example]:
        groups = sorted({row.group for row in test})
        if not 0 < self.test_groups < len(groups):
            return test
        drawn = set(random.Random(f"test {self.name}").sample(groups, self.test_groups))
        return [row for row in test if row.group in drawn]


def uncached_judge(name: str) -> Judge:
    """Return a judge without cache and budget, as the offline judge and recordings need none."""
    return connect(name, options=JudgeOptions(), ledger=Ledger())


def training_input(
    aspect: LabelledAspect, method: Method, settings: Any, learned_from: Sequence[Example]
) -> TrainingInput:
    """Return what a method with these settings learns from.

    Raises:
        ChecklistError: if it starts from questions, and none ship for this aspect.
    """
    return TrainingInput(
        tuple(learned_from),
        aspect.assignment,
        load_findings(aspect.task, aspect.aspect),
        seed_questions(method.checklists, aspect.task, aspect.aspect, needed=method.needs_checklist(settings)),
    )


def plans(
    aspect: LabelledAspect, learned_from: Sequence[Example], settings: Sequence[str] = ()
) -> tuple[list[Plan], JointSettings]:
    """Return the plans of a joint training of the default methods that have questions for the aspect, and its settings.

    Args:
        settings: as NAME.FIELD=VALUE, where they are not the defaults.
    """
    methods = [METHODS[name] for name in DEFAULT_METHODS]
    resolved = resolve_settings(methods, joint=True, chosen=parse_settings(settings))
    assert resolved.joint
    method_plans = []
    for method in methods:
        own = resolved.methods[method.name]
        with contextlib.suppress(ChecklistError):
            method_plans.append(Plan(method, training_input(aspect, method, own, learned_from), own))
    return method_plans, resolved.joint


async def candidate_values(found: Candidates, texts: Sequence[Example], aspect: Assignment, judge: Judge) -> FloatArray:
    """Return each text's rating by every candidate, shape (texts, candidates), NaN where there is none."""
    parts = found.parts_with(found.ids)
    values = np.full((len(texts), len(found.ids)), np.nan)
    for row, text in enumerate(texts):
        for part in parts:
            for rating in (await METHODS[part.method].score(text, part, aspect, judge))[1]:
                if rating.score is not None:
                    values[row, found.ids.index(rating.criterion)] = rating.score
    return values


def of_other_texts(table: RatingMatrix, values: FloatArray, texts: Sequence[Example], aspect: str) -> RatingMatrix:
    """Return the table with ratings of other texts, which no candidate was made from."""
    return replace(
        table,
        values=values,
        labels=np.array([text.scores[aspect] for text in texts], dtype=float),
        groups=tuple(text.group for text in texts),
        seen=np.zeros(values.shape, dtype=bool),
    )


def unsigned_matrix(
    values: FloatArray, methods: Sequence[str], labels: FloatArray, groups: Sequence[str], scale: Any
) -> RatingMatrix:
    """Return a table of ratings that were recorded method by method, all of them unseen while criteria were made."""
    return RatingMatrix(
        values=values,
        labels=labels,
        groups=tuple(groups),
        methods=tuple(methods),
        signed=np.zeros(len(methods), dtype=bool),
        unit=np.array([method == "checkeval" for method in methods]),
        holistic=np.array([method in ("seeval", "direct") for method in methods]),
        prior_direction=np.ones(len(methods)),
        bundles=tuple(methods),
        seen=np.zeros(values.shape, dtype=bool),
        scale=scale,
        places=tuple(range(len(methods))),
    )
