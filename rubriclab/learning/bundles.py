"""Which criteria are worth their calls: bundles, which share a call, in the order in which they help most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rubriclab.errors import SettingsError
from rubriclab.learning.choice import COMPARED, track
from rubriclab.learning.folds import left_out
from rubriclab.learning.recipes import centers_and_spreads, standardised
from rubriclab.learning.settings import JointSettings
from rubriclab.learning.table import Table
from rubriclab.stats.correlation import FloatArray
from rubriclab.stats.folds import units
from rubriclab.stats.jackknife import correlations_without

# What costs no call.
FREE = ""


@dataclass(frozen=True)
class Budget:
    """How much of a table may be asked for.

    Attributes:
        keys: of each column, what it is bought together with; `FREE` for what costs nothing.
        costs: of each key, in calls per text, or in criteria where all are asked in one call.
        most: the most that all together may cost.
    """

    keys: tuple[str, ...]
    costs: Mapping[str, float]
    most: float


def budget_of(table: Table, settings: JointSettings, calls: Mapping[str, float]) -> Budget | None:
    """Return what `calls_per_text` allows; `None` where it sets no bound.

    Args:
        calls: calls per text that each bundle takes; 1 for one that is not named.

    Raises:
        SettingsError: if no criterion is within the bound.
    """
    most = float(settings.calls_per_text)
    if most == 0:
        return None
    costs = {key: float(calls.get(key, 1.0)) for key in dict.fromkeys(table.bundles) if key != FREE}
    if costs and min(costs.values()) > most and FREE not in table.bundles:
        raise SettingsError(
            f"No criterion can be asked for in {most:g} calls per text;", f"the least is {min(costs.values()):g}."
        )
    return Budget(table.bundles, costs, most)


def columns_beyond(table: Table, settings: JointSettings, budget: Budget, seed: int) -> list[int]:
    """Return the columns that a budget leaves out: bundles are bought in the order of `ranked`, each that fits."""
    bought, left = {FREE}, budget.most
    for key in ranked(table, settings, budget.keys, seed):
        if budget.costs[key] <= left + 1e-9:
            bought.add(key)
            left -= budget.costs[key]
    return [place for place, key in enumerate(budget.keys) if key not in bought]


def ranked(table: Table, settings: JointSettings, keys: Sequence[str], seed: int) -> list[str]:
    """Return the keys, each next one that which helps most beside those before it: greedy forward selection.

    Helping is correlation with the labels of texts that had no part in the weights. These are squared correlations, as
    they need no fitting to each other: what a set of columns says is then a sum over the columns, and all sets are
    compared without fitting anything twice.
    """
    names = [key for key in dict.fromkeys(keys) if key != FREE]
    member = np.array([[key == name for name in [FREE, *names]] for key in keys], dtype=float)
    member = member.reshape(len(keys), len(names) + 1)
    sums, sizes = (part @ member for part in _parts(table, settings, seed))
    sum_so_far, size_so_far = sums[:, 0], sizes[:, 0]
    unit, order, rest = units(table.groups), list[int](), list(range(1, len(names) + 1))
    while rest:
        size = size_so_far[:, np.newaxis] + sizes[:, rest]
        told = (sum_so_far[:, np.newaxis] + sums[:, rest]) / np.where(size > 0, size, np.inf)
        r = correlations_without(told, table.labels, unit)[0]
        best = rest[int(np.argmax(np.where(np.isnan(r), -1.0, r).round(COMPARED)))]
        sum_so_far, size_so_far = sum_so_far + sums[:, best], size_so_far + sizes[:, best]
        rest.remove(best)
        order.append(best)
    return [names[place - 1] for place in order]


def _parts(table: Table, settings: JointSettings, seed: int) -> tuple[FloatArray, FloatArray]:
    """Return what each column adds to each text's sum, weighed without the text's fold, and the weight's size there."""
    sums, sizes = np.zeros(table.values.shape), np.zeros(table.values.shape)
    for inside, others in left_out(table, settings.folds, seed):
        centers, spreads = centers_and_spreads(others.values)
        found = track(others, standardised(others.values, centers, spreads), settings.confidence)
        use = found.certain | settings.keep_uncertain | ~found.certain.any()
        weight = np.where(use & (found.toward > 0), found.r * np.abs(found.r), 0.0)
        sums[inside] = standardised(table.values[inside], centers, spreads) * weight
        sizes[inside] = np.abs(weight)
    return sums, sizes
