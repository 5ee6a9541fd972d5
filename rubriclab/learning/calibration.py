"""From the weighted sum of standardised scores onto the raters' scale: straight, in steps, or as the judge said.

Weights were found by the same labels that a map is fitted to, so the sum follows these labels more closely than it will
follow others. A straight map is therefore less steep than the labels' own regression line, by what adjusting R squared
for the price of the weights takes away (Copas 1983, "Regression, prediction and shrinkage", JRSS B 45; van Houwelingen
& le Cessie 1990, "Predictive value of statistical models", Statistics in Medicine 9, section 3). Which map is best is
told by squared errors on texts whose group it was not fitted to.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import numpy as np

from rubriclab.aggregation import Calibration, Conformal
from rubriclab.data.scale import Scale
from rubriclab.learning.rating_matrix import BoolArray
from rubriclab.stats.conformal import enough, error_bound, expected_error
from rubriclab.stats.correlation import FloatArray, IntArray
from rubriclab.stats.interval import DIGITS

Kind = Literal["none", "linear", "isotonic"]
Fitter = Callable[[FloatArray, FloatArray], Calibration]

# Degrees of freedom that finding the weights costs. Of 0 to 10, 5 gave the smallest squared error on new groups with 30
# labels (150 learning sets of 18 aspects; 0.835 of the labels' variance, 0.863 without), and 60 (0.817, 0.835 without);
# with 100, where hardly anything is left to shrink, all up to 5 are level (0.768, 0.770 without).
SPENT = 1
# The least share of the steepness that is kept: a flat map would give all texts one score, and lose their order.
LEAST_KEPT = 0.1
# How much wider an interval gets with the disagreement of the criteria. On 300 learning sets of 30 texts and 150 of 80
# (20 aspects; embedded judge, and recorded answers of a language model), nominal 90 % intervals held 90.5 % of the
# labels of new groups, and the fifth of texts with the widest intervals had 1.26 times the mean error; 1.20 without.
# Choosing it anew from each learning set, by likelihood, gained nothing over this: at 30 texts it mostly fits noise.
UNREST = 0.5


def linear(raw: FloatArray, labels: FloatArray, spent: int = SPENT) -> Calibration:
    """Return the straight map of least squares, made less steep for the weights' sake; it never falls.

    Args:
        raw: shape (texts,), without NaN.
        labels: of the same texts.
        spent: degrees of freedom that finding the weights cost these labels.
    """
    n, middle = len(raw), float(raw.mean())
    across = float(np.square(raw - middle).sum())
    up = float(np.square(labels - labels.mean()).sum())
    along = float((raw - middle) @ (labels - labels.mean()))
    if along <= 0 or across * up <= 0:
        return straight(0.0, middle, float(labels.mean()))
    fit = min(along**2 / (across * up), 1.0)
    return straight(along / across * _kept(fit, n, spent), middle, float(labels.mean()))


def isotonic(raw: FloatArray, labels: FloatArray) -> Calibration:
    """Return the map of least squares among all that never fall, by its knots; arguments as for `linear`."""
    from scipy.optimize import isotonic_regression

    # Knots nearer than the last digit kept would fall together when they are written down.
    x, place, count = np.unique(raw.round(DIGITS), return_inverse=True, return_counts=True)
    regression = isotonic_regression(np.bincount(place, labels) / count, weights=count)
    # Between the ends of a level stretch nothing bends.
    ends = np.unique(np.concatenate([regression.blocks[:-1], regression.blocks[1:] - 1]))
    return Calibration(
        kind="isotonic",
        x=tuple(x[ends].tolist()),
        y=tuple(round(float(y), DIGITS) for y in regression.x[ends]),
    )


def as_judged(
    weights: FloatArray, centers: FloatArray, spreads: FloatArray, unit: BoolArray, scale: Scale
) -> Calibration | None:
    """Return the map whose value is the weighted mean of what the judge said, in points of the scale.

    Each criterion counts by weight over spread. `None` where there is no such mean, because a weight is negative or all
    are zero.

    Args:
        weights, centers, spreads: of the criteria, as in `Term`.
        unit: of each, whether its scores are shares, 0 to 1, of the scale's width; all others are points of the scale.
    """
    width, bottom = np.where(unit, scale.width, 1.0), np.where(unit, scale.low, 0.0)
    sizes = weights / (spreads * width)
    total = float(sizes.sum())
    if (weights < 0).any() or total <= 0:
        return None
    average = float(sizes @ (bottom + width * centers)) / total
    return Calibration(kind="none", x=(0.0, 1.0), y=(round(average, DIGITS), round(average + 1 / total, DIGITS)))


def calibrate(
    kind: Kind, raw: FloatArray, labels: FloatArray, judged: Calibration | None, spent: int = SPENT
) -> Calibration:
    """Return the map of that kind; `judged` is the one of kind `none`, from `as_judged`, `spent` as for `linear`.

    Raises:
        ValueError: for `none`, where there is no mean of what the judge said.
    """
    if kind == "none":
        if judged is None:
            raise ValueError("a rubric with negative weights has no mean of what the judge said; calibrate it")
        return judged
    return linear(raw, labels, spent) if kind == "linear" else isotonic(raw, labels)


def chosen_kind(
    raw: FloatArray,
    labels: FloatArray,
    groups: IntArray,
    folds: IntArray,
    *,
    judged: Calibration | None,
    scale: Scale,
) -> Kind:
    """Return the kind of map that fits best: the straight one, unless another is better by a standard error.

    Better is a smaller mean squared error on texts of folds that a map was not fitted to; the standard error is that of
    the mean difference, with texts of one group taken together. Of several that are better, the best; with a single
    fold there is nothing to tell by.

    Args:
        raw: shape (texts,), without NaN, each by weights that were not fitted to the text's fold: on weights fitted to
            the same labels steps look better than they are, and cost 17 % in squared error on new texts where they were
            chosen so.
        labels: of the same texts.
        groups, folds: numbers of each text's group and fold; a group lies within one fold.
        judged: from `as_judged`; `None` leaves that kind out.
    """
    if len(np.unique(folds)) < 2:
        return "linear"
    straight = _errors(linear, raw, labels, folds, scale)
    others: dict[Kind, Fitter] = {"isotonic": isotonic, **({"none": lambda *_: judged} if judged else {})}
    gains = {kind: straight - _errors(fit, raw, labels, folds, scale) for kind, fit in others.items()}
    better = {kind: gain.mean() for kind, gain in gains.items() if gain.mean() > standard_error(gain, groups)}
    return max(better, key=lambda kind: better[kind]) if better else "linear"


def standard_error(values: FloatArray, groups: IntArray) -> float:
    """Return the standard error of the mean of `values` when whole groups are drawn; infinite for a single group."""
    count = len(set(groups.tolist()))
    if count < 2:
        return math.inf
    sums = np.bincount(groups, values - values.mean())
    return float(np.sqrt(count / (count - 1) * np.square(sums).sum()) / len(values))


def conformal(scores: FloatArray, labels: FloatArray, hardness: FloatArray, confidence: float) -> Conformal | None:
    """Return what intervals are made of; `None` where there are too few texts to hold one with that confidence.

    Args:
        scores: on the scale, each by a rubric fitted without the labels of the text's group; NaN where there is none.
        labels: of the same texts.
        hardness: of the same texts, by `rubriclab.aggregation.disagreement`.
    """
    there = ~np.isnan(scores)
    errors, hard = np.abs(scores - labels)[there], hardness[there]
    if not enough(len(errors), confidence):
        return None
    units = np.sort(errors / expected_error(hard, UNREST)).round(DIGITS)
    return Conformal(errors=tuple(units.tolist()), unrest=UNREST, confidence=confidence)


def bounds(
    scores: FloatArray, hardness: FloatArray, conformal: Conformal | None, scale: Scale
) -> tuple[FloatArray, FloatArray]:
    """Return the ends of each score's interval, shape (texts,) each; NaN where there is no score or no interval."""
    if conformal is None:
        return np.full(len(scores), np.nan), np.full(len(scores), np.nan)
    half = error_bound(conformal.errors, conformal.confidence) * expected_error(hardness, conformal.unrest)
    return np.clip(scores - half, scale.low, scale.high), np.clip(scores + half, scale.low, scale.high)


def _errors(fit: Fitter, raw: FloatArray, labels: FloatArray, folds: IntArray, scale: Scale) -> FloatArray:
    """Return each text's squared error by the map fitted to the other folds."""
    squares = np.empty(len(raw))
    for fold in np.unique(folds):
        inside = folds == fold
        calibration = fit(raw[~inside], labels[~inside])
        squares[inside] = np.square(np.clip(calibration.apply(raw[inside]), scale.low, scale.high) - labels[inside])
    return squares


def _kept(fit: float, n: int, spent: int) -> float:
    """Return R squared as adjusted for what the weights cost, as a share of R squared."""
    left = n - 1 - spent
    adjusted = fit - spent * (1 - fit) / left if left > 0 else 0.0
    return max(adjusted / fit, LEAST_KEPT)


def straight(slope: float, x: float, y: float) -> Calibration:
    """Return the straight map of this slope through a point."""
    at_zero = y - slope * x
    return Calibration(kind="linear", x=(0.0, 1.0), y=(round(at_zero, DIGITS), round(at_zero + slope, DIGITS)))
