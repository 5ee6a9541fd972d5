"""Accuracy at a price: the best rubric found for each number of calls per text, and the smallest good enough."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from rubriclab.combination import DIGITS
from rubriclab.learning.bundles import FREE, Budget, ranked
from rubriclab.learning.fitting import Fit, fit_within, held_out_within
from rubriclab.learning.folds import in_order
from rubriclab.learning.gate import held_out_pearson
from rubriclab.learning.settings import JointSettings
from rubriclab.learning.table import Table
from rubriclab.rubric import rounded
from rubriclab.stats.correlation import FloatArray
from rubriclab.stats.jackknife import jackknife_error
from rubriclab.trust import FrontierPoint

# Prices tried where there are more: each is cross-validated as a whole. They lie closer together where they are low.
MOST_POINTS = 12


def frontier(
    table: Table, settings: JointSettings, calls: Mapping[str, float] | None = None, *, seed: int = 0
) -> tuple[FrontierPoint, ...]:
    """Return the best rubric found at each price, cheapest first; a price at which nothing else is bought is left out.

    A price buys bundles, in the order in which they help most (`rubriclab.learning.bundles`). Where all criteria are
    asked in one call it counts criteria instead, and at most `MOST_POINTS` prices are tried. Each figure is the
    correlation of the labels with the raw values of `held_out`, taken as the gate takes it, with what to buy chosen
    anew for each fold; only the recipe is that of the whole table's rubric at this price. Errors are jackknifed over
    groups. Labels that are all the same give no figure, and no point.

    Args:
        calls: calls per text that each bundle takes; 1 each if not given.
    """
    return tuple(point for point, _ in frontier_fits(table, settings, calls, seed=seed))


def frontier_fits(
    table: Table, settings: JointSettings, calls: Mapping[str, float] | None = None, *, seed: int = 0
) -> list[tuple[FrontierPoint, Fit]]:
    """Return the points of `frontier`, each with the rubric's numbers; arguments as there."""
    calls = calls or {}
    ordered = table.rows(in_order(table))
    if np.ptp(ordered.labels) == 0:
        return []
    tried: dict[tuple[int, ...], tuple[Fit, FloatArray]] = {}
    chosen: tuple[int, ...] = ()
    for budget, own in _budgets(ordered, settings, calls, seed):
        found = fit_within(ordered, settings, budget, seed)
        if found.columns and found.columns not in tried:
            fixed = settings.model_copy(update={"recipe": found.recipe})
            tried[found.columns] = found, held_out_within(ordered, fixed, budget, seed).raw
        chosen = found.columns if own else chosen
    pairs = [(_point(ordered, found, raw, calls, found.columns == chosen), found) for found, raw in tried.values()]
    return _with_smallest(sorted(pairs, key=lambda pair: (pair[0].calls, pair[0].criteria)))


def _budgets(
    table: Table, settings: JointSettings, calls: Mapping[str, float], seed: int
) -> Iterator[tuple[Budget, bool]]:
    """Yield what may be spent, the least first, and whether it is what the settings ask for."""
    one_call = settings.ask == "in one call"
    keys = tuple(str(place) if one_call and bundle != FREE else bundle for place, bundle in enumerate(table.bundles))
    costs = {key: 1.0 if one_call else calls.get(key, 1.0) for key in dict.fromkeys(keys) if key != FREE}
    bought = np.cumsum([costs[key] for key in ranked(table, settings, keys, seed)]).tolist()
    cheapest = np.cumsum(sorted(costs.values())).tolist()
    bound = 0.0 if one_call else float(settings.calls_per_text)
    most = min(bound, bought[-1]) if bound and bought else max(bought, default=0.0)
    prices = {round(price, 6) for price in [*bought, *cheapest, most, *([0.0] if FREE in keys else [])]}
    for price in _thinned(sorted(prices), round(most, 6)):
        yield Budget(keys, costs, price), price == round(most, 6)


def _thinned(prices: list[float], kept: float) -> list[float]:
    """Return at most `MOST_POINTS` of the prices, closer together where they are low, with the last and `kept`."""
    if len(prices) <= MOST_POINTS:
        return prices
    places = np.geomspace(1, len(prices), MOST_POINTS - 1).round().astype(int) - 1
    return sorted({*(prices[place] for place in places), kept})


def _point(table: Table, found: Fit, raw: FloatArray, calls: Mapping[str, float], chosen: bool) -> FrontierPoint:
    """A text without a score counts as an average one, whose raw value is 0: prices are compared on the same texts."""
    r, without = held_out_pearson(np.nan_to_num(raw), table.labels, table.groups)
    asked = dict.fromkeys(table.bundles[place] for place in found.columns if table.bundles[place] != FREE)
    return FrontierPoint(
        calls=round(sum(calls.get(bundle, 1.0) for bundle in asked), DIGITS),
        criteria=len(found.columns),
        parts=tuple(dict.fromkeys(table.methods[place] for place in found.columns)),
        pearson=round(r, DIGITS),
        error=rounded(float(jackknife_error(without[:, np.newaxis])[0])),
        chosen=chosen,
    )


def _with_smallest(pairs: list[tuple[FrontierPoint, Fit]]) -> list[tuple[FrontierPoint, Fit]]:
    """Mark the cheapest point within one standard error of the best (Breiman et al. 1984, section 3.4.3), if known."""
    best = max((point for point, _ in pairs), key=lambda point: point.pearson, default=None)
    if best is None or best.error is None:
        return pairs
    least = best.pearson - best.error
    enough = next(point for point, _ in pairs if point.pearson >= least)
    return [(point.model_copy(update={"within": point is enough}), found) for point, found in pairs]
