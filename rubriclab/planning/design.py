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

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rubriclab.learning.standardise import centers_and_spreads, standardised
from rubriclab.stats.correlation import FloatArray

# Shares of the labels' variance expected of the criteria, of the groups, and of neither, before there is any label.
CRITERIA, GROUPS, REST = 0.4, 0.2, 0.4
# Of what is expected of the criteria this share lies on all of them alike, the rest as the rubric weighs them: where
# the score hangs on a criterion its worth matters more, and yet a weight may prove wrong.
ALIKE = 0.5
# Gains are compared at this many digits: equal ones must not part ways in the last bits of a sum.
COMPARED = 12


@dataclass(frozen=True, eq=False)
class Pick:
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
class Texts:
    """Texts as a design sees them.

    Attributes:
        values: scores by the rubric's criteria, shape (texts, criteria), NaN where one is missing.
        groups: of each text.
    """

    values: FloatArray
    groups: Sequence[str]


def picks(pool: Texts, labelled: Texts, shares: FloatArray, count: int) -> tuple[Pick, ...]:
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
    prior = np.append(CRITERIA * (ALIKE / len(shares) + (1 - ALIKE) * shares), np.full(len(names), GROUPS))
    told: FloatArray = (known.rows.T / known.noise) @ known.rows
    covariance = np.asarray(np.linalg.inv(np.diag(1 / prior) + told), dtype=np.float64)
    return _greedy(unlabelled, len(shares), covariance, count)


def _shared(groups: Sequence[str]) -> list[str]:
    """Return the groups of more than one text; the effect of any other cannot be told from the rest."""
    return sorted(name for name, texts in Counter(groups).items() if texts > 1)


@dataclass(frozen=True, eq=False)
class _Design:
    """What labels are linear in, shape (texts, criteria + groups), and the variance of what they are beside it."""

    rows: FloatArray
    noise: FloatArray


def _design(z: FloatArray, groups: Sequence[str], names: Sequence[str]) -> _Design:
    member = np.array(groups, dtype=str)[:, np.newaxis] == np.array(names, dtype=str)
    return _Design(
        np.hstack([z, member.reshape(len(z), len(names)).astype(float)]), REST + GROUPS * (1 - member.sum(axis=1))
    )


def _greedy(pool: _Design, criteria: int, covariance: FloatArray, count: int) -> tuple[Pick, ...]:
    z = pool.rows[:, :criteria]
    spread = z.T @ z / max(len(z), 1)
    left, found = list(range(len(z))), list[Pick]()
    before = float((spread * covariance[:criteria, :criteria]).sum())
    while left and len(found) < count:
        shared = pool.rows[left] @ covariance
        told_of = shared[:, :criteria]
        uncertain = (shared * pool.rows[left]).sum(axis=1) + pool.noise[left]
        gains = ((told_of @ spread) * told_of).sum(axis=1) / uncertain
        best = int(np.argmax(gains.round(COMPARED)))
        after = before - float(gains[best])
        found.append(Pick(left.pop(best), before, after, told_of[best] ** 2 / uncertain[best]))
        covariance = covariance - np.outer(shared[best], shared[best]) / uncertain[best]
        before = after
    return tuple(found)
