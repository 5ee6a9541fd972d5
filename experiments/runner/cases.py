"""The cases of a study, and for each of them who is learned from and who is tested: groups that no two sides share."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from experiments.runner.compact import CompactModel
from experiments.runner.sets import Sets
from experiments.runner.study import Study
from rubriclab import Assignment, DataError, Example

# Where texts are drawn, half of the groups are learned from: a set with one text a group would else be learned from a
# few of its groups. More labels may take more, but some must be left to test on.
SHARE, LARGEST_SHARE = 1 / 2, 2 / 3


class Case(CompactModel):
    """One run of all arms.

    Attributes:
        set, aspect: what is tested.
        labels: how many labelled texts are learned from.
        seed: of the learning, and of the choice of texts where that is drawn.
        home: set and aspect that are learned from, where they are not those tested.
        variant: what else the study's design varies from case to case.
    """

    added: ClassVar[frozenset[str]] = frozenset({"home", "variant"})

    set: str
    aspect: str
    labels: int
    seed: int
    home: tuple[str, str] | None = None
    variant: str = ""

    def __str__(self) -> str:
        """Return the case as people read it."""
        home = f", learned on {' '.join(self.home)}" if self.home else ""
        variant = f", {self.variant}" if self.variant else ""
        return f"{self.set} {self.aspect}, {self.labels} labels, seed {self.seed}{home}{variant}"


@dataclass(frozen=True)
class Material:
    """The texts of a case.

    Attributes:
        set: what is tested.
        home: what is learned to be judged.
        learned_from: labelled texts.
        assignment: what is judged in the test.
        test: texts of groups that nothing was learned from.
        split: whether the texts learned from are the official ones.
        benchmarks: the published sets that the texts tested are from.
    """

    set: str
    home: Assignment
    learned_from: tuple[Example, ...]
    assignment: Assignment
    test: tuple[Example, ...]
    split: Literal["official", "drawn"]
    benchmarks: tuple[str, ...] = ()

    @property
    def has_rivals(self) -> bool:
        """Whether texts tested share groups, so that they can be compared within these."""
        return len({example.group for example in self.test}) < len(self.test)


def every_case(study: Study, sets: Sets) -> Iterator[Case]:
    """Yield a case for each seed and each set that is there, with each aspect and number of labels.

    All is run by the first seed before the next one begins, so that a study is worth reading at any time.
    """
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
    for name in study.sets:
        if name not in absent:
            most = min(most_labels(sets.texts(name, aspect)) for aspect in study.sets[name])
            if beyond := [str(labels) for labels in study.labels if labels > most]:
                yield f"{name} is too small to learn from {', '.join(beyond)} labels and still test; at most {most}"


def most_labels(texts: Sequence[Example]) -> int:
    """Return how many texts of a set can be learned from at most, with the smallest groups drawn."""
    sizes: dict[str, int] = {}
    for example in texts:
        sizes[example.group] = sizes.get(example.group, 0) + 1
    return sum(sorted(sizes.values())[: int(LARGEST_SHARE * len(sizes))])


def material(case: Case, study: Study, sets: Sets) -> Material:
    """Return the texts of a case.

    The texts learned from are the first of an order that depends on nothing but the set, its official ids and the seed,
    so that those of a smaller number are among those of a larger one; and whatever the largest number of labels of the
    study touches is left out of the test, so that all of them are tested on the same texts.

    Raises:
        DataError: if the texts are too few for so many labels.
    """
    name, aspect = case.home or (case.set, case.aspect)
    ordered, split = _in_order(sets, name, aspect, study, case.seed)
    own, own_split = _in_order(sets, case.set, case.aspect, study, case.seed)
    touched = {example.group for example in own[: max(study.labels)]}
    test = [example for example in sets.texts(case.set, case.aspect) if example.group not in touched]
    if len(ordered) < case.labels or len({example.group for example in test}) < 2:
        raise DataError(
            f"{case}: {len(ordered)} labelled texts and {len(test)} to test on are too few.",
            "Take fewer labels, or the whole public set.",
        )
    return Material(
        set=case.set,
        benchmarks=(sets.about(case.set).published or case.set,),
        home=sets.assignment(name, aspect),
        learned_from=tuple(ordered[: case.labels]),
        assignment=sets.assignment(case.set, case.aspect),
        test=_some(test, case, study, own_split),
        split=split,
    )


def _in_order(
    sets: Sets, name: str, aspect: str, study: Study, seed: int
) -> tuple[list[Example], Literal["official", "drawn"]]:
    """Return the texts of a set that may be learned from, those to be taken first at the beginning.

    Official ids count only where some groups are without any: their texts are learned from first, then others of the
    groups that they touch.
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
    """Return the groups to learn from: those touched already; without any, half of them, or more for many labels."""
    fewest, most = touched or int(SHARE * len(groups)), int(LARGEST_SHARE * len(groups))
    chosen = set(groups[:fewest])
    for group in groups[fewest:most]:
        if sum(example.group in chosen for example in texts) >= labels:
            break
        chosen.add(group)
    return chosen


def _some(test: list[Example], case: Case, study: Study, split: str) -> tuple[Example, ...]:
    """Return the texts of as many groups as are to be tested on; with the official split the same for every seed."""
    groups = sorted({example.group for example in test})
    random.Random(f"test {case.set}" if split == "official" else f"test {case.set} {case.seed}").shuffle(groups)
    groups = groups[: study.test_groups.get(case.set, len(groups))]
    wanted = study.test_texts or len(test)
    chosen = set[str]()
    for group in groups:
        # Within a single group there is nothing to draw again for an interval.
        if len(chosen) > 1 and sum(example.group in chosen for example in test) >= wanted:
            break
        chosen.add(group)
    return tuple(example for example in test if example.group in chosen)
