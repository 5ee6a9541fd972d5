"""Which labels would tell most about what a rubric's criteria are worth, by numbers alone.

Labels are taken to be linear in the criteria's standardised scores, with weights that nobody knows for sure: a Bayesian
linear regression. The covariance of the weights says how uncertain the score of any text is, and by how much one more
label would make it less so, before anybody has given that label. The next text is the one whose label takes most off
the mean variance over the pool (V-optimality: Chaloner & Verdinelli 1995, "Bayesian Experimental Design: A Review",
Statistical Science 10, section 2.2), one after the other as if those before it had been labelled (Yu, Bi & Tresp 2006,
"Active Learning via Transductive Experimental Design", ICML, section 4).

Texts of one group share what the criteria cannot see, so each group has an effect of its own: texts with equal scores
come from all groups in turn, and of a group with labels other texts tell how they differ from the labelled ones.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rubriclab.learning.standardise import centers_and_spreads, standardised
from rubriclab.stats.correlation import FloatArray, IntArray

# Shares of the labels' variance expected of the criteria, of the groups, and of neither, before there is any label.
CRITERIA, GROUPS, REST = 0.4, 0.2, 0.4
# Of what is expected of the criteria this share lies on all of them alike, the rest as the rubric weighs them: where
# the score hangs on a criterion its worth matters more, and yet a weight may prove wrong.
ALIKE = 0.5
# Gains are compared at this many digits: equal ones must not part ways in the last bits of a sum.
COMPARED = 12


@dataclass(frozen=True, eq=False)
class Selection:
    """A text to label, as if those picked before it had their labels.

    Attributes:
        place: in the pool.
        before, after: mean variance over the pool of what the criteria say of a text, without the label and with it,
            in units of the labels' variance.
        told: by criterion, how much of the variance of its weight the label takes away, shape (criteria,).
    """

    place: int
    before: float
    after: float
    told: FloatArray


@dataclass(frozen=True, eq=False)
class DesignPoints:
    """Texts as a design sees them.

    Attributes:
        values: scores by the rubric's criteria, shape (texts, criteria), NaN where one is missing.
        groups: of each text.
    """

    values: FloatArray
    groups: Sequence[str]


def picks(pool: DesignPoints, labelled: DesignPoints, shares: FloatArray, count: int) -> tuple[Selection, ...]:
    """Return the texts of the pool to label, the one that tells most first.

    Of texts that tell the same the first in the pool comes first: a pool in an order of its own, such as that of ids,
    gives the same picks however it came.

    Args:
        pool: texts without a label.
        labelled: texts with one.
        shares: of each criterion in the rubric's score, shape (criteria,), not below 0, with the sum 1.
        count: how many; as many as there are if these are fewer.
    """
    names = _shared([*pool.groups, *labelled.groups])
    scores = centers_and_spreads(np.vstack([pool.values, labelled.values]))
    unlabelled, known = (_design(standardised(each.values, *scores), each.groups, names) for each in (pool, labelled))
    prior = CRITERIA * (ALIKE / len(shares) + (1 - ALIKE) * shares)
    return _greedy(unlabelled, _covariance(known, prior, len(names)), count)


def _shared(groups: Sequence[str]) -> list[str]:
    """Return the groups of more than one text; the effect of any other cannot be told from the rest."""
    return sorted(name for name, texts in Counter(groups).items() if texts > 1)


@dataclass(frozen=True, eq=False)
class _Design:
    """What labels are linear in: criteria, and the effect of a shared group.

    Attributes:
        z: standardised scores, shape (texts, criteria).
        group: of each text, numbered from 0; -1 where it is shared with no other text.
        noise: the variance of what labels are beside both, shape (texts,).
    """

    z: FloatArray
    group: IntArray
    noise: FloatArray


def _design(z: FloatArray, groups: Sequence[str], names: Sequence[str]) -> _Design:
    place = {name: number for number, name in enumerate(names)}
    group = np.array([place.get(name, -1) for name in groups], dtype=np.int64)
    return _Design(z, group, np.where(group < 0, REST + GROUPS, REST))


@dataclass(eq=False)
class _Covariance:
    """The covariance of the weights of criteria and groups, by blocks; that of groups with each other is not held.

    A text is of one group at most, so before any label is picked groups depend on each other through the criteria
    alone: their block is `diag(variance) + tied.T @ inner @ tied`. Each pick takes an outer product away.

    Attributes:
        criteria: shape (criteria, criteria).
        across: of criteria with groups, shape (criteria, groups).
        groups: the variances of the groups' effects, shape (groups,).
        variance, tied, inner: as above, before the picks.
        taken: for each pick, what it took away: shape (groups,).
    """

    criteria: FloatArray
    across: FloatArray
    groups: FloatArray
    variance: FloatArray
    tied: FloatArray
    inner: FloatArray
    taken: list[FloatArray]

    def of_group(self, group: int) -> FloatArray:
        """Return the covariance of a group's effect with those of all groups, shape (groups,)."""
        if group < 0:
            return np.zeros(len(self.groups))
        own = self.tied[:, group] @ self.inner @ self.tied
        own[group] += self.variance[group]
        for each in self.taken:
            own = own - each[group] * each
        return np.asarray(own)

    def told(self, design: _Design) -> tuple[FloatArray, FloatArray]:
        """Return each text's covariance with the criteria, shape (texts, criteria), and its variance."""
        # The last row is for texts without a shared group, whose number is -1.
        across = np.vstack([self.across.T, np.zeros(len(self.criteria))])[design.group]
        told = design.z @ self.criteria + across
        variance = ((told + across) * design.z).sum(axis=1) + np.append(self.groups, 0.0)[design.group]
        return told, variance

    def pick(self, z: FloatArray, group: int, told: FloatArray, uncertain: float) -> None:
        """Take away what the label of a text tells; arguments are the text's, as `told` has them."""
        of_groups = (z @ self.across + self.of_group(group)) / math.sqrt(uncertain)
        of_criteria = told / math.sqrt(uncertain)
        self.criteria = self.criteria - np.outer(of_criteria, of_criteria)
        self.across = self.across - np.outer(of_criteria, of_groups)
        self.groups = self.groups - of_groups**2
        self.taken.append(of_groups)


def _covariance(known: _Design, prior: FloatArray, groups: int) -> _Covariance:
    """Return the covariance once the labels of `known` are there, by the inverse of a matrix in blocks.

    Args:
        prior: variances of the criteria's weights, shape (criteria,).
        groups: how many there are.
    """
    weighted = known.z / known.noise[:, np.newaxis]
    own = known.group >= 0
    held = np.bincount(known.group[own], 1 / known.noise[own], minlength=groups)
    variance = 1 / (1 / GROUPS + held)
    sums = np.zeros((groups, len(prior)))
    np.add.at(sums, known.group[own], weighted[own])
    tied = sums.T * variance
    inner = np.asarray(np.linalg.inv(np.diag(1 / prior) + known.z.T @ weighted - tied @ sums), dtype=np.float64)
    across = -inner @ tied
    return _Covariance(inner, across, variance - (tied * across).sum(axis=0), variance, tied, inner, [])


def _greedy(pool: _Design, covariance: _Covariance, count: int) -> tuple[Selection, ...]:
    spread = pool.z.T @ pool.z / max(len(pool.z), 1)
    left, found = np.ones(len(pool.z), dtype=bool), list[Selection]()
    before = float((spread * covariance.criteria).sum())
    while left.any() and len(found) < count:
        told, known = covariance.told(pool)
        uncertain = known + pool.noise
        gains = np.where(left, ((told @ spread) * told).sum(axis=1) / uncertain, -np.inf)
        best = int(np.argmax(gains.round(COMPARED)))
        after = before - float(gains[best])
        found.append(Selection(best, before, after, told[best] ** 2 / uncertain[best]))
        covariance.pick(pool.z[best], int(pool.group[best]), told[best], float(uncertain[best]))
        left[best], before = False, after
    return tuple(found)
