"""Selection of the labels that are most informative about the weights of a rubric's criteria, by optimal design.

Labels are modelled as linear in the criteria's standardised ratings with uncertain weights: a Bayesian linear
regression. The covariance of the weights gives the variance of each text's score, and how much a further label would
reduce it, before that label is known. The next text is the one whose label most reduces the mean variance over the pool
(V-optimality: Chaloner & Verdinelli 1995, "Bayesian Experimental Design: A Review", Statistical Science 10, section
2.2), selected greedily as if those before it had been labelled (Yu, Bi & Tresp 2006, "Active Learning via Transductive
Experimental Design", ICML, section 4).

Texts of one group share what the criteria do not measure, so each group has a random effect: among texts with equal
ratings groups take turns, and other texts of a labelled group are informative by their differences.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rubriclab.learning.rating_matrix import centers_and_spreads, standardised
from rubriclab.stats.correlation import FloatArray, IntArray

# Prior shares of the labels' variance due to the criteria, to groups, and to neither.
CRITERIA, GROUPS, REST = 0.4, 0.2, 0.4
# This share of the criteria's prior variance is spread evenly over them, the rest by their weights in the rubric: a
# large weight matters more to the score, and yet any weight may prove wrong.
EVEN = 0.5
# Gains are compared at this many digits: ties must not be decided by the last bits of a sum.
DIGITS_COMPARED = 12


@dataclass(frozen=True, eq=False)
class Selection:
    """A text to label, given labels of those selected before it.

    Attributes:
        row: in the pool.
        before, after: mean variance of scores over the pool without and with the label, in units of the labels'
            variance.
        information: by criterion, the reduction of the variance of its weight, shape (criteria,).
    """

    row: int
    before: float
    after: float
    information: FloatArray


@dataclass(frozen=True, eq=False)
class DesignPoints:
    """Texts as points of a design.

    Attributes:
        values: ratings by the rubric's criteria, shape (texts, criteria), NaN where missing.
        groups: of each text.
    """

    values: FloatArray
    groups: Sequence[str]


def select_texts(pool: DesignPoints, labelled: DesignPoints, shares: FloatArray, count: int) -> tuple[Selection, ...]:
    """Return the texts of the pool to label, the most informative first.

    Ties are broken by the order of the pool: sort it, as by ids, for a result independent of the input's order.

    Args:
        pool: texts without a label.
        labelled: texts with one.
        shares: of each criterion in the rubric's score, shape (criteria,), not negative, with the sum 1.
        count: how many, at most the size of the pool.
    """
    names = _shared([*pool.groups, *labelled.groups])
    scale = centers_and_spreads(np.vstack([pool.values, labelled.values]))
    unlabelled, observed = (_design(standardised(part.values, *scale), part.groups, names) for part in (pool, labelled))
    prior = CRITERIA * (EVEN / len(shares) + (1 - EVEN) * shares)
    return _greedy(unlabelled, _posterior(observed, prior, len(names)), count)


def _shared(groups: Sequence[str]) -> list[str]:
    """Return the groups of several texts; the effect of a single text's group is not identifiable."""
    return sorted(name for name, texts in Counter(groups).items() if texts > 1)


@dataclass(frozen=True, eq=False)
class _Design:
    """The predictors of labels: criteria and a group effect.

    Attributes:
        z: standardised ratings, shape (texts, criteria).
        group: of each text, numbered from 0; -1 if no other text shares it.
        noise: residual variance, shape (texts,).
    """

    z: FloatArray
    group: IntArray
    noise: FloatArray


def _design(z: FloatArray, groups: Sequence[str], names: Sequence[str]) -> _Design:
    number_of = {name: number for number, name in enumerate(names)}
    group = np.array([number_of.get(name, -1) for name in groups], dtype=np.int64)
    return _Design(z, group, np.where(group < 0, REST + GROUPS, REST))


@dataclass(eq=False)
class _Covariance:
    """The posterior covariance of criteria's weights and group effects, by blocks; the one between groups is implicit.

    A text has one group at most, so before any selection groups depend on each other through the criteria alone: their
    block is `diag(variance) + tied.T @ inner @ tied`. Each selection subtracts an outer product.

    Attributes:
        criteria: shape (criteria, criteria).
        across: of criteria with groups, shape (criteria, groups).
        groups: variances of the group effects, shape (groups,).
        variance, tied, inner: as above, before any selection.
        subtracted: the vector of each selection's outer product, shape (groups,).
    """

    criteria: FloatArray
    across: FloatArray
    groups: FloatArray
    variance: FloatArray
    tied: FloatArray
    inner: FloatArray
    subtracted: list[FloatArray]

    def of_group(self, group: int) -> FloatArray:
        """Return the covariance of a group's effect with the effects of all groups, shape (groups,)."""
        if group < 0:
            return np.zeros(len(self.groups))
        row = self.tied[:, group] @ self.inner @ self.tied
        row[group] += self.variance[group]
        for vector in self.subtracted:
            row = row - vector[group] * vector
        return np.asarray(row)

    def of_scores(self, design: _Design) -> tuple[FloatArray, FloatArray]:
        """Return each text's covariance with the criteria, shape (texts, criteria), and its variance."""
        # The last row is for texts without a shared group (number -1).
        across = np.vstack([self.across.T, np.zeros(len(self.criteria))])[design.group]
        covariance = design.z @ self.criteria + across
        variance = ((covariance + across) * design.z).sum(axis=1) + np.append(self.groups, 0.0)[design.group]
        return covariance, variance

    def condition(self, z: FloatArray, group: int, covariance: FloatArray, variance: float) -> None:
        """Condition on the label of a text; `covariance` is from `of_scores`, `variance` includes its noise."""
        of_groups = (z @ self.across + self.of_group(group)) / math.sqrt(variance)
        of_criteria = covariance / math.sqrt(variance)
        self.criteria = self.criteria - np.outer(of_criteria, of_criteria)
        self.across = self.across - np.outer(of_criteria, of_groups)
        self.groups = self.groups - of_groups**2
        self.subtracted.append(of_groups)


def _posterior(labelled: _Design, prior: FloatArray, groups: int) -> _Covariance:
    """Return the covariance given the labels of `labelled`, by block inversion.

    Args:
        prior: variances of the criteria's weights, shape (criteria,).
        groups: how many there are.
    """
    weighted = labelled.z / labelled.noise[:, np.newaxis]
    shared = labelled.group >= 0
    precision = np.bincount(labelled.group[shared], 1 / labelled.noise[shared], minlength=groups)
    variance = 1 / (1 / GROUPS + precision)
    sums = np.zeros((groups, len(prior)))
    np.add.at(sums, labelled.group[shared], weighted[shared])
    tied = sums.T * variance
    inner = np.asarray(np.linalg.inv(np.diag(1 / prior) + labelled.z.T @ weighted - tied @ sums), dtype=np.float64)
    across = -inner @ tied
    return _Covariance(inner, across, variance - (tied * across).sum(axis=0), variance, tied, inner, [])


def _greedy(pool: _Design, posterior: _Covariance, count: int) -> tuple[Selection, ...]:
    spread = pool.z.T @ pool.z / max(len(pool.z), 1)
    remaining, selections = np.ones(len(pool.z), dtype=bool), list[Selection]()
    before = float((spread * posterior.criteria).sum())
    while remaining.any() and len(selections) < count:
        covariance, variance = posterior.of_scores(pool)
        total = variance + pool.noise
        gains = np.where(remaining, ((covariance @ spread) * covariance).sum(axis=1) / total, -np.inf)
        best = int(np.argmax(gains.round(DIGITS_COMPARED)))
        after = before - float(gains[best])
        selections.append(Selection(best, before, after, covariance[best] ** 2 / total[best]))
        posterior.condition(pool.z[best], int(pool.group[best]), covariance[best], float(total[best]))
        remaining[best], before = False, after
    return tuple(selections)
