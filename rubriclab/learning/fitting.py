"""From a table of scores to a rubric's numbers, and how well such rubrics do on texts that had no part in them.

Every choice that looks at labels is a step of `fit`: which candidates to keep, which recipe weighs them, how strongly
it shrinks, how raw values are mapped onto the scale. `held_out` takes all of them anew for each fold, so that no label
of a fold has a part in what the fold is measured with (Varma & Simon 2006, "Bias in error estimation when using
cross-validation for model selection", BMC Bioinformatics 7:91; Cawley & Talbot 2010, JMLR 11).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rubriclab.combination import DIGITS, MOST_MISSING, Calibration
from rubriclab.data.scale import Scale
from rubriclab.errors import SettingsError
from rubriclab.learning.bundles import Budget, budget_of, columns_beyond
from rubriclab.learning.calibration import Kind, as_judged, calibrate, chosen_kind
from rubriclab.learning.choice import COMPARED, Choice, Dropped, choose
from rubriclab.learning.folds import in_order, left_out, without_columns
from rubriclab.learning.recipes import RECIPES, SAME, STRENGTHS, centers_and_spreads, standardised, weights
from rubriclab.learning.settings import JointSettings, RecipeName
from rubriclab.learning.table import Table
from rubriclab.stats.correlation import FloatArray, IntArray
from rubriclab.stats.folds import bundled, grouped_folds, units
from rubriclab.stats.jackknife import correlations_without, jackknife_error

# Centers and spreads are kept at this many significant digits: a measure's may be tiny or huge.
SIGNIFICANT = DIGITS + 3


@dataclass(frozen=True)
class Way:
    """A way to weigh: a recipe, and for ridge how strongly it shrinks."""

    recipe: RecipeName
    strength: float = 0.0


# Each recipe's ways.
WAYS: Mapping[RecipeName, tuple[Way, ...]] = {
    name: tuple(Way(name, strength) for strength in STRENGTHS) if name == "ridge" else (Way(name),) for name in RECIPES
}

# The usual ways for few labels and for many, and where many begins. Measured on 20 aspects with the offline judge, mean
# rank correlation on new groups by squared correlations and by ridge: 0.467 and 0.461 at 30 labels, 0.477 and 0.480 at
# 74, 0.489 and 0.502 at 100, 0.520 and 0.542 at 190; with 75 surface measures 0.465 and 0.453, 0.486 and 0.471, 0.486
# and 0.513, 0.508 and 0.530. With a language model's recorded answers and 30 labels, 0.658 and 0.637.
FEW, MANY = Way("squared correlation"), Way("ridge", 100.0)
MANY_TEXTS = 80
# Another way has to be better by so many standard errors: ten are compared, and with one, what chance favoured cost
# 0.003 at 30 labels, 0.012 with surface measures.
MARGIN = 2.0

# Where there are more groups, so many bundles of them are left out one by one: the delete-a-group jackknife (Kott 2001,
# "The delete-a-group jackknife", Journal of Official Statistics 17).
MOST_BUNDLES = 100


@dataclass(frozen=True, eq=False)
class Weighing:
    """Criteria with their weights, as plain numbers.

    Attributes:
        columns: of the table it was fitted to, ascending; none where no candidate tells any two texts apart.
        weights, centers, spreads: of these, shape (columns,); the sizes of the weights sum to 1.
        uncertain: those columns that were kept though they cannot be told from noise.
        dropped: for every other column of the table, why.
    """

    columns: tuple[int, ...]
    weights: FloatArray
    centers: FloatArray
    spreads: FloatArray
    uncertain: tuple[int, ...]
    dropped: Mapping[int, Dropped]

    def raw(self, values: FloatArray) -> FloatArray:
        """Return the weighted sums of standardised scores, shape (n,), from values of shape (n, all columns).

        NaN where the criteria with a score have half of the weight or less, and everywhere if there is no criterion.
        """
        own = values[:, list(self.columns)]
        if not self.columns:
            return np.full(len(values), np.nan)
        missing = np.isnan(own) @ np.abs(self.weights)
        sums = standardised(own, self.centers, self.spreads) @ self.weights
        found: FloatArray = np.where(missing >= MOST_MISSING - 1e-9, np.nan, sums)
        return found


@dataclass(frozen=True, eq=False)
class Fit(Weighing):
    """A weighing and how it came about, with the map onto the raters' scale.

    Attributes:
        recipe: how the weights were found.
        strength: of ridge, else 0.
        calibration: fitted to the same texts.
    """

    recipe: RecipeName
    strength: float
    calibration: Calibration

    def scores(self, values: FloatArray, scale: Scale) -> FloatArray:
        """Return each text's score within the scale, shape (n,), NaN where `raw` is."""
        scores: FloatArray = np.clip(self.calibration.apply(self.raw(values)), scale.low, scale.high)
        return scores


@dataclass(frozen=True, eq=False)
class HeldOut:
    """The training texts as rubrics score them that were fitted without their groups.

    Attributes:
        scores, raw: shape (n,), NaN where there is none.
        fold: each text's, from 0.
        fits: by fold, fitted to the texts of the other folds; none for a single text, as there are no others.
    """

    scores: FloatArray
    raw: FloatArray
    fold: IntArray
    fits: tuple[Fit, ...]


def fit(table: Table, settings: JointSettings, calls: Mapping[str, float] | None = None, *, seed: int = 0) -> Fit:
    """Return the rubric's numbers, learned from all texts of the table; the order of the texts does not matter.

    With labels that are all the same, candidates that say nothing, or a single text there is nothing to learn: the fit
    then has the one candidate that varies and comes nearest, or no column at all.

    Args:
        calls: calls per text that each bundle takes; 1 each if not given. Of account with `calls_per_text` only.
        seed: of the folds in which recipes are compared.

    Raises:
        SettingsError: if no candidate is within `calls_per_text`, or `calibration` is `none` with signed candidates.
    """
    ordered = table.rows(in_order(table))
    return fit_within(ordered, settings, budget_of(ordered, settings, calls or {}), seed)


def held_out(
    table: Table, settings: JointSettings, calls: Mapping[str, float] | None = None, *, seed: int = 0
) -> HeldOut:
    """Return each text's score by a rubric fitted to the texts of other folds, with every choice made anew for each.

    A candidate that some text of a fold had a part in making takes no part in that fold. Arguments and errors as for
    `fit`; the folds are those of `grouped_folds`.
    """
    order = in_order(table)
    ordered = table.rows(order)
    back = np.argsort(order)
    found = held_out_within(ordered, settings, budget_of(ordered, settings, calls or {}), seed)
    return replace(found, scores=found.scores[back], raw=found.raw[back], fold=found.fold[back])


def held_out_within(table: Table, settings: JointSettings, budget: Budget | None, seed: int) -> HeldOut:
    """Return what `held_out` does, of a table in order, with the criteria that a budget allows."""
    fold = grouped_folds(table.groups, settings.folds, seed)
    scores, raw = np.full(len(fold), np.nan), np.full(len(fold), np.nan)
    fits = []
    for inside, others in left_out(table, settings.folds, seed):
        found = fit_within(others, settings, budget, seed)
        values = table.values[inside]
        scores[inside], raw[inside] = found.scores(values, table.scale), found.raw(values)
        fits.append(found)
    return HeldOut(scores, raw, fold, tuple(fits))


def fit_within(table: Table, settings: JointSettings, budget: Budget | None, seed: int) -> Fit:
    """Return what `fit` does, of a table in order, with the criteria that a budget allows."""
    beyond = [] if budget is None else columns_beyond(table, settings, budget, seed)
    allowed = without_columns(table, beyond)
    way = _best_way(allowed, settings, seed)
    weighing = weigh(allowed, choose(allowed, settings), way)
    return Fit(
        columns=weighing.columns,
        weights=weighing.weights,
        centers=weighing.centers,
        spreads=weighing.spreads,
        uncertain=weighing.uncertain,
        dropped={**weighing.dropped, **dict.fromkeys(beyond, Dropped("beyond the bound"))},
        recipe=way.recipe,
        strength=way.strength,
        calibration=_calibration(allowed, weighing, way, settings, seed),
    )


def weight_intervals(
    table: Table, found: Fit, settings: JointSettings, *, seed: int = 0
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the ends of the interval of each weight of `found`, and how often its criterion is chosen.

    The interval is that of the weight among the criteria of `found`, by the same recipe and strength: Student's
    quantile times the jackknife's error over groups, and for judged criteria nothing below zero. That error is too
    large rather than too small (Efron & Stein 1981, "The jackknife estimate of variance", Annals of Statistics 9),
    which makes up for what choosing by the same labels adds: nominal 90 % held 88 and 90 % of the weights of simulated
    learning sets of 30 texts, where percentiles of a bootstrap held 78 and 83, expanded ones 85 and 85, and BCa 79
    and 82.

    Groups are left out one by one, or in `MOST_BUNDLES` bundles where there are more of them.

    How often a criterion is chosen is told by a bootstrap: groups are drawn anew with all their texts.

    Returns:
        Three arrays of shape (columns of the fit,): low and high ends, and shares of the resamples.
    """
    beyond = [place for place, left in found.dropped.items() if left.why == "beyond the bound"]
    allowed = without_columns(table.rows(in_order(table)), beyond)
    unit = units(allowed.groups)
    low, high = _weight_ends(allowed, bundled(unit, MOST_BUNDLES, seed), found, settings.confidence)
    return low, high, _selected(allowed, unit, found, settings, seed)


def _weight_ends(table: Table, unit: IntArray, found: Fit, confidence: float) -> tuple[FloatArray, FloatArray]:
    from scipy.special import stdtrit

    count, own, way = int(unit.max(initial=-1)) + 1, list(found.columns), Way(found.recipe, found.strength)
    lowest = np.where(table.signed[own], -1.0, 0.0)
    if count < 2:
        return lowest, np.ones(len(own))
    without = np.stack([_weights(table.rows(unit != number), own, way)[0] for number in range(count)])
    reach = stdtrit(count - 1, (1 + confidence) / 2) * jackknife_error(without)
    return np.maximum(found.weights - reach, lowest), np.minimum(found.weights + reach, 1.0)


def _selected(table: Table, unit: IntArray, found: Fit, settings: JointSettings, seed: int) -> FloatArray:
    """Return the share of the resamples of groups in which each criterion of `found` is chosen."""
    members = [np.flatnonzero(unit == number) for number in range(int(unit.max(initial=-1)) + 1)]
    rng = np.random.default_rng(seed)
    way, own = Way(found.recipe, found.strength), list(found.columns)
    chosen = np.zeros((settings.resamples, len(own)), dtype=bool)
    for place in range(settings.resamples):
        resample = _resample(table, members, rng.integers(len(members), size=len(members)))
        chosen[place] = np.isin(own, weigh(resample, choose(resample, settings), way).columns)
    shares: FloatArray = chosen.mean(axis=0)
    return shares


def _resample(table: Table, members: Sequence[IntArray], drawn: IntArray) -> Table:
    """Return the texts of the groups drawn; one that is drawn twice counts as two groups."""
    rows = np.concatenate([members[number] for number in drawn])
    names = [str(place) for place, number in enumerate(drawn) for _ in members[number]]
    return replace(table.rows(rows), groups=tuple(names))


def _weights(table: Table, columns: list[int], way: Way) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return weights, centers and spreads of these columns."""
    values = table.values[:, columns]
    centers, spreads = centers_and_spreads(values)
    z = standardised(values, centers, spreads)
    found = weights(way.recipe, z, table.labels, table.signed[columns], way.strength)
    return found.round(DIGITS), centers, spreads


def weigh(table: Table, choice: Choice, way: Way) -> Weighing:
    """Return what was chosen with its weights; what weighs nothing leaves too: asking for it would be for nothing."""
    kept = list(choice.kept)
    found, centers, spreads = _weights(table, kept, way)
    heavy = np.abs(found) > 0
    columns = tuple(place for place, weighs in zip(kept, heavy, strict=True) if weighs)
    weightless = {place: Dropped("weightless") for place, weighs in zip(kept, heavy, strict=True) if not weighs}
    return Weighing(
        columns=columns,
        weights=found[heavy],
        centers=significant(centers[heavy]),
        spreads=significant(spreads[heavy]),
        uncertain=tuple(place for place in choice.uncertain if place in columns),
        dropped={**choice.dropped, **weightless},
    )


def _best_way(table: Table, settings: JointSettings, seed: int) -> Way:
    """Return the usual way to weigh so many texts, or the best of those that cross-validation finds clearly better.

    Clearly: correlating more with the labels by `MARGIN` standard errors of the difference, jackknifed over groups.
    """
    recipes = tuple(RECIPES) if settings.recipe == "chosen" else (settings.recipe,)
    ways = [way for recipe in recipes for way in WAYS[recipe]]
    unit = units(table.groups)
    usual = FEW if len(table.labels) < MANY_TEXTS and FEW in ways else MANY
    if len(ways) == 1 or unit.max(initial=0) < 2:
        return usual if usual in ways else ways[0]
    found, without = correlations_without(_told_by_others(table, settings, ways, seed), table.labels, unit)
    r = np.where(np.isnan(found), 0.0, found)
    without = np.where(np.isnan(without), 0.0, without)
    first = ways.index(usual)
    gains = (r - r[first]).round(COMPARED)
    errors = jackknife_error(without - without[:, [first]])
    better = np.flatnonzero(gains > MARGIN * errors + SAME).tolist()
    return ways[max(better, key=lambda place: gains[place], default=first)]


def _told_by_others(table: Table, settings: JointSettings, ways: Sequence[Way], seed: int) -> FloatArray:
    """Return raw values of each text by each way fitted without its fold, shape (texts, ways), 0 where there is none.

    In units of their spread among the texts that they were fitted to, so that folds can be compared.
    """
    raws = np.zeros((len(table.labels), len(ways)))
    for inside, others in left_out(table, settings.folds, seed):
        choice = choose(others, settings)
        for place, way in enumerate(ways):
            weighing = weigh(others, choice, way)
            raws[inside, place] = np.nan_to_num(
                weighing.raw(table.values[inside]) / _spread(weighing.raw(others.values))
            )
    return raws


def _spread(raw: FloatArray) -> float:
    defined = raw[~np.isnan(raw)]
    return float(defined.std()) if len(defined) and defined.std() > 0 else 1.0


def _calibration(table: Table, weighing: Weighing, way: Way, settings: JointSettings, seed: int) -> Calibration:
    """Return the map onto the scale; with nothing to map it gives every text the labels' mean."""
    raw = weighing.raw(table.values)
    there = ~np.isnan(raw)
    if not there.any():
        mean = round(float(table.labels.mean()), DIGITS) if len(table.labels) else table.scale.low
        return Calibration(kind="linear", x=(0.0, 1.0), y=(mean, mean))
    kept = list(weighing.columns)
    judged = None
    if not table.signed[kept].any():
        judged = as_judged(weighing.weights, weighing.centers, weighing.spreads, table.unit[kept], table.scale)
    if settings.calibration == "none" and judged is None:
        raise SettingsError(
            "Calibration `none` is the mean of what the judge said, which surface measures have no part in;",
            "choose another calibration, or leave the measures out.",
        )
    kind = settings.calibration
    if kind == "chosen":
        kind = _kind(table, way, settings, seed, judged=judged, spread=_spread(raw))
    return calibrate(kind, raw[there], table.labels[there], judged)


def _kind(
    table: Table, way: Way, settings: JointSettings, seed: int, *, judged: Calibration | None, spread: float
) -> Kind:
    """Return the kind of map that suits raw values of texts that had no part in their weights."""
    raw = _told_by_others(table, settings, [way], seed)[:, 0] * spread
    fold, unit = grouped_folds(table.groups, settings.folds, seed), units(table.groups)
    return chosen_kind(raw, table.labels, unit, fold, judged=judged, scale=table.scale)


def significant(values: FloatArray) -> FloatArray:
    """Return the values as they are written down."""
    return np.array([float(f"{value:.{SIGNIFICANT}g}") for value in values.tolist()], dtype=float)
