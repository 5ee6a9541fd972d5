"""Texts that are left out together: groups, folds of groups, and bundles of groups."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from rubriclab.stats.correlation import FloatArray, IntArray


def units(groups: Sequence[str]) -> IntArray:
    """Return the unit of each text, from 0: its group, or the text itself if there is only one group."""
    numbers = renumbered(np.array(groups, dtype=str))
    return numbers if numbers.max(initial=0) > 0 else np.arange(len(numbers))


def renumbered(ids: npt.NDArray[np.generic]) -> IntArray:
    """Return the place of each id among the sorted distinct ids, from 0."""
    numbers: IntArray = np.unique(ids, return_inverse=True)[1]
    return numbers


def unit_sums(rows: FloatArray, unit: IntArray) -> FloatArray:
    """Return the sum of the rows of each unit, shape (units, ...).

    Args:
        rows: shape (n, ...).
        unit: of each row, numbered from 0 without gaps, shape (n,).
    """
    sizes = np.bincount(unit)
    starts = np.cumsum(sizes) - sizes
    return np.asarray(np.add.reduceat(rows[np.argsort(unit, kind="stable")], starts, axis=0))


def grouped_folds(groups: Sequence[str], folds: int, seed: int) -> IntArray:
    """Return each text's fold, from 0, shape (n,): `folds` folds, or one for each group if there are fewer groups.

    Groups are assigned to the fold with the fewest texts, the largest groups first and equal ones in random order. If
    all texts are in one group, each text is its own group, in the order given.
    """
    return bundled(units(groups), folds, seed)


def bundled(unit: IntArray, most: int, seed: int) -> IntArray:
    """Return each text's bundle of units, from 0, shape (n,): `most` bundles, or one for each unit if there are fewer.

    Units are assigned as in `grouped_folds`.

    Args:
        unit: of each text, numbered from 0, shape (n,).
        most: bundles, at least 1.
        seed: of the order of units of equal size.
    """
    sizes = np.bincount(unit)
    drawn = np.random.default_rng(seed).permutation(len(sizes))
    filled = [(0, place) for place in range(min(most, len(sizes)))]
    bundle = np.zeros(len(sizes), dtype=np.int64)
    for unit_number in drawn[np.argsort(-sizes[drawn], kind="stable")].tolist():
        texts, place = filled[0]
        bundle[unit_number] = place
        heapq.heapreplace(filled, (texts + int(sizes[unit_number]), place))
    bundle_of_text: IntArray = bundle[unit]
    return bundle_of_text
