"""Which unlabelled texts to label next: whole groups first, spread over the ratings, unusual texts first.

Labels of whole groups, whose texts share an input, raise agreement within groups more than scattered ones. An optimal
design of the labels (V-optimality) was measured to add nothing: see the record of decisions.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rubriclab.learning.rating_matrix import centers_and_spreads, standardised
from rubriclab.stats.correlation import FloatArray


def standardised_ratings(pool: FloatArray, labelled: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the ratings of both, shape (texts, criteria), standardised over both together; missing ones are 0."""
    scale = centers_and_spreads(np.vstack([pool, labelled]))
    return standardised(pool, *scale), standardised(labelled, *scale)


def select_texts(
    pool: FloatArray, groups: Sequence[str], labelled: FloatArray, labelled_groups: Sequence[str], shares: FloatArray
) -> list[int]:
    """Return the rows of the pool in the order of labelling.

    Groups without any label come first. The next group is the one whose mean ratings are farthest from those of all
    groups labelled or selected before it (farthest-first traversal: Gonzalez 1985, "Clustering to minimize the maximum
    intercluster distance", Theoretical Computer Science 38). All its texts follow, those with the largest leverage, the
    distance from the mean of all texts, first. Distances are Euclidean, weighted by the criteria's shares.

    Args:
        pool, labelled: standardised ratings, shape (texts, criteria), as from `standardised_ratings`.
        groups, labelled_groups: of the texts.
        shares: of each criterion in the rubric's score, shape (criteria,), not negative, with the sum 1.
    """
    points, known = pool * np.sqrt(shares), labelled * np.sqrt(shares)
    rows_of = _rows_of(groups)
    names = list(rows_of)
    means = np.array([points[rows].mean(axis=0) for rows in rows_of.values()])
    seen = np.array([known[rows].mean(axis=0) for rows in _rows_of(labelled_groups).values()])
    distance = np.linalg.norm(means[:, np.newaxis] - seen, axis=2).min(axis=1)
    labelled_already = np.isin(names, list(labelled_groups))
    left = np.ones(len(names), dtype=bool)
    selected: list[int] = []
    while left.any():
        eligible = left & ~labelled_already if (left & ~labelled_already).any() else left
        # Equal up to rounding: ties must not be decided by the last bits of a sum.
        best = int(np.argmax(np.where(eligible, distance.round(9), -1.0)))
        left[best] = False
        leverage = np.square(points[rows_of[names[best]]]).sum(axis=1).round(9)
        selected.extend(np.array(rows_of[names[best]])[np.argsort(-leverage, kind="stable")].tolist())
        distance = np.minimum(distance, np.linalg.norm(means - means[best], axis=1))
    return selected


def _rows_of(groups: Sequence[str]) -> dict[str, list[int]]:
    rows: dict[str, list[int]] = {}
    for row, group in enumerate(groups):
        rows.setdefault(group, []).append(row)
    return rows
