"""Agreement at a level as a function of cluster counts.

Turns scored texts into a `rubriclab.stats.jackknife.Statistic`, which gives both the value (all counts 1) and its
interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, get_args

import numpy as np
import numpy.typing as npt

from rubriclab.stats.correlation import FloatArray, IntArray, is_constant
from rubriclab.stats.jackknife import FEWEST_GROUPS, Statistic

Level = Literal["group", "dataset", "system"]
ConstantRule = Literal["skip", "papers"]
Unit = Literal["groups", "texts"]

MEAN_DIGITS = 12
"""Digits of a system's mean, relative to the largest score, so that equal means are ties in any order of summation."""


class Coefficient(Protocol):
    """A correlation of weighted rows, such as `rubriclab.stats.spearman_rows`."""

    def __call__(self, x: FloatArray, y: FloatArray, weights: FloatArray | None = None, /) -> FloatArray: ...


@dataclass(frozen=True, eq=False)
class ScoredTexts:
    """Scored texts sorted by group, system and scores, so that results do not depend on the order of the input."""

    predicted: FloatArray
    """Shape (evaluators, n)."""
    human: FloatArray
    group: IntArray
    """Each text's group: 0 to the number of groups - 1, ascending."""
    system: IntArray
    """Each text's system: 0 to the number of systems - 1."""

    @property
    def systems(self) -> int:
        """Number of systems."""
        return int(self.system.max(initial=-1)) + 1

    @property
    def sizes(self) -> IntArray:
        """How many texts each group has."""
        return np.bincount(self.group)

    @property
    def starts(self) -> IntArray:
        """Where each group begins."""
        starts: IntArray = np.cumsum(self.sizes) - self.sizes
        return starts

    @property
    def constant(self) -> npt.NDArray[np.bool_]:
        """Which groups have two or more texts and one human score for all of them."""
        highest = np.maximum.reduceat(self.human, self.starts)
        lowest = np.minimum.reduceat(self.human, self.starts)
        constant: npt.NDArray[np.bool_] = (highest == lowest) & (self.sizes > 1)
        return constant

    @property
    def unit(self) -> Unit:
        """What the jackknife leaves out: groups, or texts if there is one group or every text is its own group."""
        return "groups" if 1 < len(self.sizes) < len(self.human) else "texts"

    @property
    def cluster(self) -> IntArray:
        """The cluster of each text: its group, or the text itself."""
        return self.group if self.unit == "groups" else np.arange(len(self.human))

    @property
    def clusters(self) -> int:
        """Number of clusters."""
        return len(self.sizes) if self.unit == "groups" else len(self.human)

    @property
    def too_few_groups(self) -> bool:
        """Whether there are too few clusters for an interval."""
        return self.clusters < FEWEST_GROUPS

    def take(self, which: IntArray) -> ScoredTexts:
        """Return only these texts, with groups and systems renumbered."""
        group, system = (np.unique(codes[which], return_inverse=True)[1] for codes in (self.group, self.system))
        return ScoredTexts(self.predicted[:, which], self.human[which], group, system)


def scored_texts(
    predicted: Sequence[npt.ArrayLike],
    human: npt.ArrayLike,
    groups: Sequence[str],
    systems: Sequence[str] | None,
) -> ScoredTexts:
    """The texts that every evaluator scored, in canonical order.

    Raises:
        ValueError: lengths differ, a human score is not finite, a predicted one is infinite, or a group or
            system is no string.
    """
    labels = _scores("human", human, len(groups))
    if not np.all(np.isfinite(labels)):
        raise ValueError("human: expected finite scores, got nan or infinity; leave unlabelled texts out first")
    table = np.stack([_scores("predicted", row, len(groups)) for row in predicted])
    if np.any(np.isinf(table)):
        raise ValueError("predicted: expected finite scores, or nan where there is none, got infinity")
    group = _codes("groups", groups, len(groups))
    system = np.zeros_like(group) if systems is None else _codes("systems", systems, len(groups))
    order = np.lexsort([*table, labels, system, group])
    unscored = np.isnan(table).sum(axis=0)
    return ScoredTexts(table, labels, group, system).take(order[unscored[order] == 0])


def used_texts(texts: ScoredTexts, level: Level, rule: ConstantRule) -> ScoredTexts:
    """Return the texts used at this level.

    At group level groups of one text are left out under either rule, as they have no correlation.
    """
    check_choice("level", level, get_args(Level))
    check_choice("constant", rule, get_args(ConstantRule))
    if level != "group":
        return texts
    left_out = texts.sizes < 2
    if rule == "skip":
        left_out = left_out | texts.constant
    return texts.take(np.flatnonzero(~np.repeat(left_out, texts.sizes)))


def level_statistic(
    texts: ScoredTexts, evaluator: int, coefficient: Coefficient, level: Level, rule: ConstantRule
) -> Statistic:
    """Agreement of one evaluator (a row of `texts.predicted`) as a function of `texts.cluster` counts."""
    predicted = texts.predicted[evaluator]
    if level == "system":
        return _over_systems(texts, predicted, coefficient)
    if level == "dataset":
        return _over_texts(texts, predicted, coefficient)
    ruled = _with_rule(coefficient, rule)
    if len(texts.sizes) == 1:
        return _over_texts(texts, predicted, ruled)
    return _over_groups(texts, predicted, ruled)


def _over_texts(texts: ScoredTexts, predicted: FloatArray, coefficient: Coefficient) -> Statistic:
    cluster, human = texts.cluster, texts.human
    # np.take makes the weights of a sample contiguous in memory, unlike indexing: twice as fast.
    return lambda counts: coefficient(predicted, human, np.take(counts, cluster, axis=1))


def _over_groups(texts: ScoredTexts, predicted: FloatArray, coefficient: Coefficient) -> Statistic:
    """The mean over groups."""
    correlations = _group_coefficients(texts, predicted, coefficient)
    return lambda counts: counts @ correlations / counts.sum(axis=1)


def _group_coefficients(texts: ScoredTexts, predicted: FloatArray, coefficient: Coefficient) -> FloatArray:
    """Each group's coefficient, shape (groups,); groups of one size are computed together, as rows of one array."""
    sizes, starts = texts.sizes, texts.starts
    coefficients = np.empty(len(sizes))
    for size in np.unique(sizes):
        groups = np.flatnonzero(sizes == size)
        members = starts[groups][:, np.newaxis] + np.arange(size)
        coefficients[groups] = coefficient(predicted[members], texts.human[members])
    return coefficients


def _over_systems(texts: ScoredTexts, predicted: FloatArray, coefficient: Coefficient) -> Statistic:
    """Agreement over systems; a system without texts in a sample is left out of it.

    Sums over clusters and systems are sparse: with one cluster and one system per text, a dense table would have a cell
    for every pair of texts.
    """
    from scipy.sparse import csr_array

    shape = texts.clusters, texts.systems

    def table(values: FloatArray) -> csr_array:
        return csr_array((values, (texts.cluster, texts.system)), shape=shape)

    sizes = table(np.ones_like(predicted))
    predicted_sums, human_sums = table(_unit_scaled(predicted)), table(_unit_scaled(texts.human))

    def statistic(counts: FloatArray) -> FloatArray:
        present = counts @ sizes
        predicted_means, human_means = (
            np.round(counts @ sums / np.maximum(present, 1), MEAN_DIGITS) for sums in (predicted_sums, human_sums)
        )
        return coefficient(predicted_means, human_means, np.minimum(present, 1))

    return statistic


def _with_rule(coefficient: Coefficient, rule: ConstantRule) -> Coefficient:
    """The coefficient with the rule's values for a constant evaluator and constant human scores."""

    def ruled(x: FloatArray, y: FloatArray, weights: FloatArray | None = None, /) -> FloatArray:
        values = np.nan_to_num(coefficient(x, y, weights), nan=0.0)
        return np.where(is_constant(y, weights), 1.0 if rule == "papers" else np.nan, values)

    return ruled


def _unit_scaled(scores: FloatArray) -> FloatArray:
    return scores / (np.abs(scores).max(initial=0.0) or 1.0)


def _scores(name: str, values: npt.ArrayLike, n: int) -> FloatArray:
    scores = np.asarray(values, dtype=np.float64)
    if scores.shape != (n,):
        raise ValueError(f"{name}: expected {n} scores, as many as groups, got shape {scores.shape}")
    return scores


def _codes(name: str, ids: Sequence[str], n: int) -> IntArray:
    """The index of each id among the sorted distinct ids."""
    if len(ids) != n:
        raise ValueError(f"{name}: expected {n} ids, as many as groups, got {len(ids)}")
    for position, value in enumerate(ids):
        if not isinstance(value, str):
            raise ValueError(f"{name}: expected strings, got {value!r} at position {position}")
    places = {value: place for place, value in enumerate(sorted(set(ids)))}
    return np.array([places[value] for value in ids], dtype=np.int64)


def check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    """Raise `ValueError` if an option is none of its choices."""
    if value not in choices:
        raise ValueError(f"{name}: expected one of {', '.join(choices)}, got {value!r}")
