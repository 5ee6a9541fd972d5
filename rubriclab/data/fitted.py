"""Scores for texts that people compared with others but did not score."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from rubriclab.data.comparisons import Comparison
from rubriclab.data.example import Example, labelled
from rubriclab.data.row import RowError
from rubriclab.data.scale import Scale

# Below so many scores their mean and spread say less of where texts lie than the scale does.
FEWEST_SCORES = 10
# Where nothing else says so, texts are taken to spread so that one in twenty would lie beyond the ends of the scale.
SPREADS_ON_SCALE = 4

Lined = tuple[int, Comparison]


@dataclass(frozen=True, slots=True)
class Fitted:
    """Examples in their order, those that were only compared with a score too, and what the user should be told."""

    examples: tuple[Example, ...]
    notes: tuple[str, ...] = ()


def fit_scores(examples: Sequence[Example], comparisons: Sequence[Comparison], aspect: str, scale: Scale) -> Fitted:
    """Return the examples with a score for `aspect` wherever people scored or compared them.

    Texts with a score keep it. The others get what `rubriclab.stats.paired_comparison.joint_scores` makes of scores and
    comparisons together, unrounded, within the scale. Texts in groups without any score are centred at the mean of all
    scores, or, where there are fewer than ten, at the middle of the scale: nothing places such a group among others.

    `comparisons` are about `aspect`, each between two of the examples in one group.
    """
    scored = {example.id: example.scores[aspect] for example in labelled(examples, aspect)}
    worth = _worth(examples, scored, comparisons, scale) if comparisons else {}
    new = {name: min(max(value, scale.low), scale.high) for name, value in worth.items() if name not in scored}
    known = scored | new
    whole = tuple(
        replace(example, scores={**example.scores, aspect: known[example.id]}) if example.id in known else example
        for example in examples
    )
    return Fitted(whole, tuple(_notes(whole, scored, new, len(comparisons), aspect)))


def about(comparisons: Sequence[Lined], examples: Sequence[Example], aspect: str) -> list[Lined]:
    """Return the comparisons that are about `aspect`; those that name none are about the only one of the file."""
    named = _aspects(comparisons, examples)
    only = next(iter(named)) if named else aspect
    return [(line, comparison) for line, comparison in comparisons if (comparison.aspect or only) == aspect]


def comparison_faults(
    where: str, comparisons: Sequence[Lined], examples: Sequence[Example], faulty_texts: Collection[str] = ()
) -> Iterator[RowError]:
    """Yield, at most one a row, what keeps comparisons from being used: texts that cannot be compared, or no aspect.

    That a text is unknown is not said again where its own row is at fault.
    """
    groups = {example.id: example.group for example in examples}
    several = len(_aspects(comparisons, examples)) > 1
    passed, faulty = frozenset(faulty_texts), set[int]()
    for line, comparison in comparisons:
        if line in faulty or passed & {comparison.better, comparison.worse}:
            continue
        if found := _fault(comparison, groups, several):
            faulty.add(line)
            yield RowError(where, line, *found)


def _fault(comparison: Comparison, groups: Mapping[str, str], several: bool) -> tuple[str | None, str, str] | None:
    pair = (comparison.better, comparison.worse)
    if unknown := [name for name in pair if name not in groups]:
        return None, f"a comparison with {unknown[0]!r}", "the id of a text in the same rows"
    if groups[pair[0]] != groups[pair[1]]:
        came = f"a comparison of {pair[0]!r} (group {groups[pair[0]]!r}) with {pair[1]!r} (group {groups[pair[1]]!r})"
        return None, came, "two texts of one group"
    if several and comparison.aspect is None:
        return "aspect", "nothing", "the aspect of the comparison, as there are several"
    return None


def _aspects(comparisons: Sequence[Lined], examples: Sequence[Example]) -> set[str]:
    named = {comparison.aspect for _, comparison in comparisons if comparison.aspect}
    return named.union(*(example.scores.keys() | example.annotations.keys() for example in examples))


def _worth(
    examples: Sequence[Example], scored: Mapping[str, float], comparisons: Sequence[Comparison], scale: Scale
) -> dict[str, float]:
    """Return what each compared text is worth."""
    import numpy as np

    from rubriclab.stats.paired_comparison import Comparisons, joint_scores

    ids = sorted({example.id: None for example in examples})
    place = {name: number for number, name in enumerate(ids)}
    group_of = {example.id: example.group for example in examples}
    ordered = sorted(comparisons, key=lambda each: (each.better, each.worse, each.tie))
    pairs = Comparisons(
        np.array([place[each.better] for each in ordered]),
        np.array([place[each.worse] for each in ordered]),
        np.array([each.tie for each in ordered]),
    )
    scores = np.array([scored.get(name, np.nan) for name in ids], dtype=float)
    groups = np.unique([group_of[name] for name in ids], return_inverse=True)[1]
    center, spread = scale.low + scale.width / 2, scale.width / SPREADS_ON_SCALE
    if _telling(scored):
        center, spread = float(np.nanmean(scores)), float(np.nanstd(scores))
    latents = joint_scores(scores, groups, pairs, center=center, spread=spread)
    return {name: float(value) for name, value in zip(ids, latents.values, strict=True) if np.isfinite(value)}


def _telling(scored: Mapping[str, float]) -> bool:
    """Return whether scores say where texts lie, and how far apart."""
    return len(scored) >= FEWEST_SCORES and len(set(scored.values())) > 1


def _notes(
    examples: Sequence[Example], scored: Mapping[str, float], new: Mapping[str, float], comparisons: int, aspect: str
) -> Iterator[str]:
    if comparisons and not new:
        yield f"{comparisons} comparisons left out: every text in them has a score for {aspect!r}"
    if not new:
        return
    beside = f" beside {len(scored)} scores" if scored else ""
    yield f"{len(new)} labels are fitted to {comparisons} comparisons{beside}, by a Bradley-Terry model"
    groups = {example.group for example in examples if example.id in new}
    alone = groups - {example.group for example in examples if example.id in scored}
    if alone:
        center = "the mean of the scores" if _telling(scored) else "the middle of the scale"
        yield (
            f"{_counted(len(alone), 'group')} with comparisons alone: only the order within a group is known there, "
            f"and each group is centred at {center}"
        )


def _counted(count: int, what: str) -> str:
    return f"1 {what}" if count == 1 else f"{count} {what}s"
