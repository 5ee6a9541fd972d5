"""How uncertain a held-out agreement is, learning included.

A held-out score hangs on two things that chance has drawn: the text, and the texts that its rubric was learned from.
Resampling finished scores sees the first alone, and with thirty labels the second is as large: intervals come out too
narrow (Bates, Hastie & Tibshirani 2024, "Cross-validation: what does it estimate and how well does it do it?", JASA
119). So here groups are left out, and the rubrics of all folds are fitted again without them: the jackknife of the
whole procedure.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from rubriclab.learning.choice import choose
from rubriclab.learning.fitting import Fit, HeldOut, Way, weigh
from rubriclab.learning.folds import without_columns
from rubriclab.learning.settings import JointSettings
from rubriclab.learning.table import Table
from rubriclab.stats.agreement import agreement
from rubriclab.stats.bootstrap import Estimate
from rubriclab.stats.correlation import FloatArray, IntArray
from rubriclab.stats.folds import grouped_folds
from rubriclab.stats.jackknife import NEARLY_PERFECT, jackknife_error
from rubriclab.stats.levels import Level

# Where there are more groups, so many bundles of them are left out one by one: the delete-a-group jackknife.
MOST_BUNDLES = 50


def agreement_errors(
    table: Table, found: HeldOut, settings: JointSettings, *, level: Level, seed: int = 0
) -> Mapping[str, float]:
    """Return the standard errors of the held-out `spearman` and `pearson` agreement, on Fisher's scale.

    What is chosen and weighed is redone without each group, by the recipe that each fold has found. An error is
    infinite where fewer than two groups can be left out.

    Args:
        found: what `held_out` gives for the table with these settings.
        level: of the agreement, as in `rubriclab.stats.agreement`.
        seed: of the bundles, where there are more than `MOST_BUNDLES` groups.
    """
    bundle = grouped_folds(table.groups, MOST_BUNDLES, seed)
    told = [
        agreement(raw, table.labels, table.groups, level=level, resamples=0)
        for raw in _raw_without(table, found, settings, bundle)
    ]
    return {name: _error([getattr(each, name).value for each in told]) for name in ("spearman", "pearson")}


def fisher_interval(value: float | None, error: float, confidence: float) -> Estimate:
    """Return a correlation with its interval, symmetric on Fisher's scale; no ends where `error` is infinite.

    The quantile is the normal one: the jackknife's error is too large rather than too small (Efron & Stein 1981, "The
    jackknife estimate of variance", Annals of Statistics 9), and Student's on top of it held more than was asked for.
    """
    from scipy.special import ndtri

    if value is None or math.isinf(error):
        return Estimate(value, None, None)
    middle, reach = math.atanh(max(-NEARLY_PERFECT, min(value, NEARLY_PERFECT))), float(ndtri((1 + confidence) / 2))
    return Estimate(value, math.tanh(middle - reach * error), math.tanh(middle + reach * error))


def _raw_without(table: Table, found: HeldOut, settings: JointSettings, bundle: IntArray) -> FloatArray:
    """Return held-out raw values without each bundle, shape (bundles, texts), NaN for the bundle's own texts."""
    raw = np.tile(found.raw, (int(bundle.max(initial=-1)) + 1, 1))
    for number, each in enumerate(found.fits):
        inside = found.fold == number
        allowed = without_columns(table, _barred(table, inside, each))
        for left in np.unique(bundle[~inside]):
            others = ~inside & (bundle != left)
            if others.any():
                rest = allowed.rows(others)
                weighing = weigh(rest, choose(rest, settings), Way(each.recipe, each.strength))
                raw[left, inside] = weighing.raw(table.values[inside])
            else:
                raw[left, inside] = np.nan
    raw[bundle, np.arange(len(bundle))] = np.nan
    return raw


def _barred(table: Table, inside: np.ndarray, fitted: Fit) -> list[int]:
    """Return the columns that the fold's rubric could not have: its texts had a part in them, or calls are bounded."""
    beyond = [place for place, left in fitted.dropped.items() if left.why == "beyond the bound"]
    return [*np.flatnonzero(table.seen[inside].any(axis=0)).tolist(), *beyond]


def _error(values: list[float | None]) -> float:
    defined = np.array([value for value in values if value is not None], dtype=float)
    if len(defined) < 2:
        return math.inf
    scaled = np.arctanh(np.clip(defined, -NEARLY_PERFECT, NEARLY_PERFECT))
    return float(jackknife_error(scaled[:, np.newaxis])[0])
