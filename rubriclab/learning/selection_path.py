"""Selection of a rubric by price and held-out agreement.

The candidate rubrics are each method alone, several methods together, and a single call that rates the few best
criteria and then the aspect as a whole. The cheapest one within one standard error of the best is selected (Breiman,
Friedman, Olshen & Stone 1984, "Classification and Regression Trees", section 3.4.3), with the error of the paired
difference. Its held-out scores are nested: for each fold the rubric is selected by the labels of the other folds only
(Cawley & Talbot 2010, "On over-fitting in model selection", JMLR 11).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from rubriclab.aggregation import Ask
from rubriclab.errors import SettingsError
from rubriclab.learning.fitting import (
    CandidatePool,
    Fit,
    HeldOut,
    divisions,
    fit_part,
    fold_masks,
    in_label_units,
    leaking_columns,
    mean_over_repetitions,
    usable,
)
from rubriclab.learning.gate import held_out_pearson
from rubriclab.learning.rating_matrix import RatingMatrix, in_order
from rubriclab.learning.settings import JointSettings
from rubriclab.learning.weighting import DesignMatrix, Moments, design, posterior, shrunken_correlations
from rubriclab.stats.correlation import BoolArray, FloatArray
from rubriclab.stats.jackknife_correlations import jackknife_error

# Bundles of candidates without a call, and of those rated in the single call.
FREE, ONE_CALL = "", "one call"
# More criteria than this are selected only if they are better by more than one standard error.
READABLE = 8
SIZES = (1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24)
# The largest number of methods combined, besides all and all but one.
MOST_TOGETHER = 4


@dataclass(frozen=True)
class CandidateRubric:
    """One candidate rubric.

    Attributes:
        name: shown in reports.
        pool: the columns it is selected from.
        ask: how the judge is called.
        methods: the methods that the criteria are from.
    """

    name: str
    pool: CandidatePool
    ask: Ask
    methods: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Step:
    """A candidate rubric with its price and held-out raw values.

    Attributes:
        rubric: the candidate rubric.
        raw: held-out raw values, shape (texts,).
        calls: calls per text.
        criteria: number of criteria.
    """

    rubric: CandidateRubric
    raw: FloatArray
    calls: float
    criteria: int


@dataclass(frozen=True, eq=False)
class SelectionPath:
    """All candidate rubrics, and the selected one.

    Attributes:
        steps: the cheapest first.
        kept: index of the selected one.
        best: index of the one with the highest held-out agreement among those that may be selected.
        cheapest: index of the cheapest one within one standard error of the best.
        fit: the selected rubric.
        held_out: nested: scores and fits of the rubric selected in each fold.
    """

    steps: tuple[Step, ...]
    kept: int
    best: int
    cheapest: int
    fit: Fit
    held_out: HeldOut


def candidate_rubrics(table: RatingMatrix) -> tuple[CandidateRubric, ...]:
    """Return the candidate rubrics of a table, each without and with text features, which take no call."""
    free = tuple(place for place, bundle in enumerate(table.bundles) if bundle == FREE)
    judged = [place for place, bundle in enumerate(table.bundles) if bundle not in (FREE, ONE_CALL)]
    rubrics = [*_by_method(table, judged), *_in_one_call(table)]
    features_only = (
        [CandidateRubric("text features", CandidatePool(free), "by method", ("text_features",))] if free else []
    )
    return (*features_only, *rubrics, *(_with_text_features(rubric, free) for rubric in rubrics if free))


def _with_text_features(rubric: CandidateRubric, free: tuple[int, ...]) -> CandidateRubric:
    pool = CandidatePool(rubric.pool.columns, (*rubric.pool.always, *free), rubric.pool.most, rubric.pool.reasons)
    return CandidateRubric(f"{rubric.name} + text features", pool, rubric.ask, (*rubric.methods, "text_features"))


def _by_method(table: RatingMatrix, columns: Sequence[int]) -> Iterator[CandidateRubric]:
    """Yield sets of methods, with their best criteria only, or with all (of one method, all methods, all but one)."""
    methods = list(dict.fromkeys(table.methods[place] for place in columns))
    for size in range(1, min(len(methods), MOST_TOGETHER) + 1):
        for chosen in combinations(methods, size):
            in_methods = tuple(place for place in columns if table.methods[place] in chosen)
            name = " + ".join(chosen)
            one_by_one = size == 1 and len({table.bundles[place] for place in in_methods}) > 1
            for most in range(1, READABLE + 1) if one_by_one else (READABLE,):
                if most < len(in_methods):
                    yield CandidateRubric(
                        f"{name}, best {most}", CandidatePool(in_methods, (), most), "by method", chosen
                    )
            if len(in_methods) <= READABLE or size in (1, len(methods) - 1, len(methods)):
                yield CandidateRubric(name, CandidatePool(in_methods), "by method", chosen)


def _in_one_call(table: RatingMatrix) -> Iterator[CandidateRubric]:
    """Yield the few best criteria, rated in one call before the holistic scores."""
    every = [place for place, bundle in enumerate(table.bundles) if bundle == ONE_CALL]
    holistic = tuple(place for place in every if table.holistic[place])
    others = tuple(place for place in every if not table.holistic[place])
    methods = tuple(dict.fromkeys(table.methods[place] for place in every))
    for most in (*(size for size in SIZES if size < len(others)), len(others)):
        if most:
            counted = f"{most} {'criterion' if most == 1 else 'criteria'}"
            name = f"one call: {counted}, then the whole" if holistic else f"one call: {counted}"
            yield CandidateRubric(name, CandidatePool(others, holistic, most, reasons=True), "in one call", methods)
    if holistic and not others:
        yield CandidateRubric("one call: the whole", CandidatePool(holistic), "in one call", methods)


def select_rubric(
    table: RatingMatrix, settings: JointSettings, calls: Mapping[str, float] | None = None, *, seed: int = 0
) -> SelectionPath:
    """Return all candidate rubrics with their held-out scores, and the selected one fitted to all texts.

    The order of the texts does not matter.

    Args:
        calls: calls per text of each bundle; 1 for bundles that are not named.
        seed: of the folds.

    Raises:
        SettingsError: if no candidate is within `calls_per_text`.
    """
    order = in_order(table)
    work = _Work(design(table.rows(order)), settings, calls or {}, seed)
    return work.path(np.argsort(order))


@dataclass
class _Work:
    """The candidate rubrics of a table, each fitted without each fold and each pair of folds."""

    matrix: DesignMatrix
    settings: JointSettings
    calls: Mapping[str, float]
    seed: int

    def __post_init__(self) -> None:
        self.table = self.matrix.table
        self.every: BoolArray = np.ones(len(self.table.labels), dtype=bool)
        self.total = self.matrix.moments(self.every)
        self.rubrics = candidate_rubrics(self.table)
        if not any(self._within(self._price(rubric, self.total, ())[0]) for rubric in self.rubrics):
            raise SettingsError(
                f"No criterion can be asked for in {float(self.settings.calls_per_text):g} calls per text;",
                f"the least is {min(self._price(rubric, self.total, ())[0] for rubric in self.rubrics):g}.",
            )

    def path(self, back: np.ndarray) -> SelectionPath:
        """Return the selection path, with the texts in the order of `back`."""
        folds = divisions(self.table.groups, self.settings, self.seed)
        raws, nested, scores, fits = [], [], [], []
        for fold in folds:
            outer, raw, score, fold_fits = self._division(fold)
            raws.append(outer)
            nested.append(raw)
            scores.append(score)
            fits.append(fold_fits)
        steps = self._steps(mean_over_repetitions(raws), self.total, ())
        kept, best, cheapest = pick(steps, self.table, self.settings)
        fit = self._fit(steps[kept], self.every, self.total)
        held_out = HeldOut(
            mean_over_repetitions(scores)[back], mean_over_repetitions(nested)[back], folds[:, back], tuple(fits)
        )
        placed = [Step(step.rubric, step.raw[back], step.calls, step.criteria) for step in steps]
        order = sorted(range(len(steps)), key=lambda place: (steps[place].calls, steps[place].criteria, place))
        return SelectionPath(
            steps=tuple(placed[place] for place in order),
            kept=order.index(kept),
            best=order.index(best),
            cheapest=order.index(cheapest),
            fit=fit,
            held_out=held_out,
        )

    def _division(self, fold: np.ndarray) -> tuple[FloatArray, FloatArray, FloatArray, tuple[Fit, ...]]:
        """Return the results of one division into folds.

        Returns:
            Held-out raw values by every candidate rubric, shape (rubrics, texts); raw values and scores by the rubric
            selected without each fold, shape (texts,) each; and these rubrics.
        """
        parts = fold_masks(fold)
        sums = [self.matrix.moments(inside) for inside in parts]
        outer = np.full((len(self.rubrics), len(fold)), np.nan)
        inner = np.full((len(parts), len(self.rubrics), len(fold)), np.nan)
        for one, inside in enumerate(parts):
            outer[:, inside] = self._raws(self.total - sums[one], leaking_columns(self.table, inside), inside)
            for two in range(one):
                both = inside | parts[two]
                if not both.all():
                    raws = self._raws(self.total - sums[one] - sums[two], leaking_columns(self.table, both), both)
                    inner[one][:, parts[two]] = raws[:, parts[two][both]]
                    inner[two][:, inside] = raws[:, inside[both]]
        raw, score, fits = np.full(len(fold), np.nan), np.full(len(fold), np.nan), []
        for one, inside in enumerate(parts):
            fit = self._fold_fit(inside, self.total - sums[one], inner[one])
            values = self.table.values[inside]
            raw[inside], score[inside] = in_label_units(fit.raw(values), fit), fit.scores(values, self.table.scale)
            fits.append(fit)
        return outer, raw, score, tuple(fits)

    def _fold_fit(self, inside: BoolArray, moments: Moments, inner: FloatArray) -> Fit:
        """Return the rubric selected and fitted by the labels of the other folds."""
        excluded = leaking_columns(self.table, inside)
        steps = self._steps(inner, moments, excluded)
        others = [Step(step.rubric, step.raw[~inside], step.calls, step.criteria) for step in steps]
        kept = pick(others, self.table.rows(~inside), self.settings)[0]
        return self._fit(steps[kept], ~inside, moments, excluded)

    def _fit(self, step: Step, rows: BoolArray, moments: Moments, excluded: Sequence[int] = ()) -> Fit:
        raw = None if np.isnan(step.raw).all() else step.raw
        pool, settings = step.rubric.pool, self.settings
        return fit_part(self.matrix, rows, moments, pool, settings, excluded=excluded, held_out_raw=raw, seed=self.seed)

    def _steps(self, raws: FloatArray, moments: Moments, excluded: Sequence[int]) -> list[Step]:
        """Return the candidate rubrics within the bound on calls."""
        steps = []
        for rubric, raw in zip(self.rubrics, raws, strict=True):
            price, criteria = self._price(rubric, moments, excluded)
            if criteria and self._within(price):
                steps.append(Step(rubric, raw, price, criteria))
        # If all columns were generated from a fold's labels, there are no others to select from.
        return steps or [Step(rubric, raw, 0.0, 1) for rubric, raw in zip(self.rubrics, raws, strict=True)]

    def _price(self, rubric: CandidateRubric, moments: Moments, excluded: Sequence[int]) -> tuple[float, int]:
        """Return calls per text and the number of criteria of a candidate rubric."""
        columns = self._columns(rubric, shrunken_correlations(self.table, moments), excluded)
        bundles = dict.fromkeys(self.table.bundles[place] for place in columns)
        return round(sum(self.calls.get(bundle, 1.0) for bundle in bundles if bundle != FREE), 6), len(columns)

    def _columns(self, rubric: CandidateRubric, shrunken: FloatArray, excluded: Sequence[int]) -> list[int]:
        out = set(excluded)
        columns, always = (
            tuple(place for place in pool_columns if place not in out)
            for pool_columns in (rubric.pool.columns, rubric.pool.always)
        )
        return usable(self.matrix, shrunken, CandidatePool(columns, always, rubric.pool.most))[0]

    def _raws(self, moments: Moments, excluded: Sequence[int], inside: BoolArray) -> FloatArray:
        """Return raw values of some texts by each rubric, shape (rubrics, texts); a missing score counts as average."""
        z = self.matrix.z[inside]
        raws, shrunken = np.full((len(self.rubrics), len(z)), np.nan), shrunken_correlations(self.table, moments)
        for place, rubric in enumerate(self.rubrics):
            columns = self._columns(rubric, shrunken, excluded)
            if columns:
                weights = posterior(self.table, moments, columns)
                raws[place] = z[:, columns] @ weights.mean * (weights.spread or 1.0)
        return raws

    def _within(self, calls: float) -> bool:
        most = float(self.settings.calls_per_text)
        return most == 0 or calls <= most + 1e-9


def pick(steps: Sequence[Step], table: RatingMatrix, settings: JointSettings) -> tuple[int, int, int]:
    """Return the indices of the selected rubric, the best, and the cheapest within one standard error of the best.

    A rubric with more than `READABLE` criteria counts only if it is better than the best with fewer by more than one
    standard error. If no correlation is defined, the cheapest is selected.
    """
    places = range(len(steps))
    values, without = _correlations([step.raw for step in steps], table)
    small = [place for place in places if steps[place].criteria <= READABLE] or list(places)
    best = _best(small, values, steps)
    highest = _best(places, values, steps)
    if values[highest] - values[best] > _error(without[highest] - without[best]):
        best, small = highest, list(places)
    near = [place for place in small if values[best] - values[place] <= _error(without[best] - without[place])]
    price = min(steps[place].calls for place in near)
    cheapest = max(
        (place for place in near if steps[place].calls == price),
        key=lambda place: (_readable(steps[place]), values[place], -place),
    )
    return (cheapest if settings.prefer == "cheapest" else highest), best, cheapest


def _readable(step: Step) -> tuple[bool, bool, int]:
    """Return the order of preference among rubrics at the same price and with the same held-out agreement.

    A single call with as many criteria as possible, up to `READABLE`, before the holistic score: they give reasons
    without additional calls. The fewest, often a single one, agreed less on other groups (`experiments/weighing`).
    """
    few = step.criteria <= READABLE
    return few, step.rubric.ask == "in one call", step.criteria if few else -step.criteria


def _best(places: Sequence[int], values: FloatArray, steps: Sequence[Step]) -> int:
    return max(
        places, key=lambda place: (round(float(values[place]), 9), -steps[place].calls, -steps[place].criteria, -place)
    )


def _correlations(raws: Sequence[FloatArray], table: RatingMatrix) -> tuple[FloatArray, FloatArray]:
    """Return each held-out correlation, at the gate's level, and without each cluster; 0 if undefined."""
    values, without = np.zeros(len(raws)), []
    for place, raw in enumerate(raws):
        value, left = held_out_pearson(np.nan_to_num(raw), table.labels, table.groups)
        values[place] = np.nan_to_num(value)
        without.append(np.nan_to_num(left))
    return values, np.stack(without)


def _error(differences: FloatArray) -> float:
    """Return the standard error of a paired difference, infinite with a single group."""
    return float(jackknife_error(differences[:, np.newaxis])[0]) if len(differences) > 1 else float("inf")


def chosen_shares(path: SelectionPath, table: RatingMatrix) -> FloatArray:
    """Return for each column of the rubric the share of the folds' rubrics with its criterion, shape (columns,).

    Folds with labels that the criterion was generated from do not count; the share is 1 if there are no others.
    """
    kept = np.array([table.places[column] for column in path.fit.columns], dtype=int)
    have, may = np.zeros(len(kept)), np.zeros(len(kept))
    for fold, fits in zip(path.held_out.folds, path.held_out.fits, strict=True):
        for number, fold_fit in enumerate(fits):
            seen = table.seen[fold == number].any(axis=0)
            free = ~seen[list(path.fit.columns)]
            may += free
            have += free & np.isin(kept, [table.places[column] for column in fold_fit.columns])
    shares: FloatArray = np.divide(have, may, out=np.ones(len(kept)), where=may > 0)
    return shares
