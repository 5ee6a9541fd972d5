"""The cases of a study, and the texts of each: those to learn from and those to test on share no group."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from experiments.runner.sets import Sets
from experiments.runner.study import Study
from rubriclab import Assignment, DataError, Example
from rubriclab.models.base import FrozenModel

# The share of the groups that drawn texts are learned from, and the largest share for many labels.
SHARE, LARGEST_SHARE = 1 / 2, 2 / 3

SplitName = Literal["official", "drawn"]


class Case(FrozenModel):
    """One run of all arms.

    Attributes:
        set, aspect: those tested on.
        labels: how many labelled texts are learned from.
    """

    set: str
    aspect: str
    labels: int
    seed: int

    def __str__(self) -> str:
        """Return the name of the case."""
        return f"{self.set} {self.aspect}, {self.labels} labels, seed {self.seed}"


@dataclass(frozen=True)
class Material:
    """The texts of a case.

    Attributes:
        learned_from: labelled texts.
        split: whether the official texts are learned from.
        benchmarks: the published set tested on, whose findings are not used.
    """

    set: str
    assignment: Assignment
    learned_from: tuple[Example, ...]
    test: tuple[Example, ...]
    split: SplitName
    benchmarks: tuple[str, ...] = ()

    @property
    def has_rivals(self) -> bool:
        """Whether texts tested share groups, so that they can be compared within these."""
        return len({example.group for example in self.test}) < len(self.test)


def every_case(study: Study, sets: Sets) -> Iterator[Case]:
    """Yield the cases of a study on the sets in the folder; all of the first seed before those of the next."""
    there = [(name, aspect) for name, aspect in study.qualities if sets.path(name)]
    for seed in study.seeds:
        for name, aspect in there:
            most = most_labels(sets.texts(name, aspect))
            for labels in study.labels:
                if labels <= most:
                    yield Case(set=name, aspect=aspect, labels=labels, seed=seed)


def left_out(study: Study, sets: Sets) -> Iterator[str]:
    """Yield in words what of a study cannot be run on the sets in the folder."""
    absent = [name for name in study.sets if not sets.path(name)]
    if absent:
        files = (f"{sets.about(name).file}.jsonl" for name in absent)
        yield f"not in {sets.folder}, so left out: {', '.join(absent)} ({', '.join(dict.fromkeys(files))}, also as .gz)"
    for name in (name for name in study.sets if name not in absent):
        most = min(most_labels(sets.texts(name, aspect)) for aspect in study.sets[name])
        if beyond := [str(labels) for labels in study.labels if labels > most]:
            yield f"{name} is too small to learn from {', '.join(beyond)} labels and still test; at most {most}"


def most_labels(texts: Sequence[Example]) -> int:
    """Return the largest number of texts that can be learned from, if the smallest groups are drawn."""
    sizes = sorted(Counter(example.group for example in texts).values())
    return sum(sizes[: int(LARGEST_SHARE * len(sizes))])


def material(case: Case, study: Study, sets: Sets) -> Material:
    """Return the texts of a case.

    Their order depends on the set, its official ids and the seed alone, so that a smaller number of labels is part of a
    larger one; the groups of the largest number are never tested, so that all are tested on the same texts.
    """
    ordered, split = _in_order(sets, case.set, case.aspect, study, case.seed)
    touched = {example.group for example in ordered[: max(study.labels)]}
    test = [example for example in sets.texts(case.set, case.aspect) if example.group not in touched]
    if len(ordered) < case.labels or len({example.group for example in test}) < 2:
        raise DataError(
            f"{case}: {len(ordered)} labelled texts and {len(test)} to test on are too few.",
            "Take fewer labels, or the whole public set.",
        )
    return Material(
        set=case.set,
        benchmarks=(sets.about(case.set).published or case.set,),
        assignment=sets.assignment(case.set, case.aspect),
        learned_from=tuple(ordered[: case.labels]),
        test=_some(test, case, study, split),
        split=split,
    )


def _in_order(sets: Sets, name: str, aspect: str, study: Study, seed: int) -> tuple[list[Example], SplitName]:
    """Return the texts of a set that may be learned from, in the order in which they are taken.

    The official ones come first, then others of their groups; if they touch nearly all groups, texts are drawn.
    """
    texts = sets.texts(name, aspect)
    groups = sorted({example.group for example in texts})
    official = set(sets.official(name)) if study.split == "official" else set[str]()
    first = [example for example in texts if example.id in official]
    touched = {example.group for example in first}
    if not first or len(touched) > LARGEST_SHARE * len(groups):
        first, touched = [], set()
    draw = random.Random(f"{name} {seed}")
    draw.shuffle(first)
    draw.shuffle(groups)
    in_order = sorted(groups, key=lambda group: group not in touched)
    chosen = _enough(in_order, texts, max(study.labels), len(touched))
    rest = [example for example in texts if example.group in chosen and example not in first]
    draw.shuffle(rest)
    return [*first, *rest], "official" if first else "drawn"


def _enough(groups: Sequence[str], texts: Sequence[Example], labels: int, touched: int) -> set[str]:
    """Return the groups to learn from: those touched; without any, half of all, or more for many labels."""
    fewest, most = touched or int(SHARE * len(groups)), int(LARGEST_SHARE * len(groups))
    chosen = set(groups[:fewest])
    for group in groups[fewest:most]:
        if sum(example.group in chosen for example in texts) >= labels:
            break
        chosen.add(group)
    return chosen


def _some(test: list[Example], case: Case, study: Study, split: str) -> tuple[Example, ...]:
    """Return the texts of as many groups as are tested on; with the official split the same for every seed."""
    groups = sorted({example.group for example in test})
    random.Random(f"test {case.set}" if split == "official" else f"test {case.set} {case.seed}").shuffle(groups)
    groups = groups[: study.test_groups.get(case.set, len(groups))]
    wanted = study.test_texts or len(test)
    chosen = set[str]()
    for group in groups:
        # Intervals are over groups, so there must be two.
        if len(chosen) > 1 and sum(example.group in chosen for example in test) >= wanted:
            break
        chosen.add(group)
    return tuple(example for example in test if example.group in chosen)
