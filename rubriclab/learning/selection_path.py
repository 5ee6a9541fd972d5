"""Which rubric is worth its price: candidate rubrics from one plain question up to everything, and the one to keep.

The candidates are each method alone, several of them asked one after the other, and one call that rates the few best
criteria and then the whole. Kept is the smallest one within one standard error of the best on held-out labels (Breiman,
Friedman, Olshen & Stone 1984, "Classification and Regression Trees", section 3.4.3), with the error of the paired
difference. Its own held-out figure is nested: for each fold the choice is made by the other folds' labels alone (Cawley
& Talbot 2010, "On over-fitting in model selection", JMLR 11).
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
    in_labels,
    insides,
    mean_of,
    told_by,
    usable,
)
from rubriclab.learning.gate import held_out_pearson
from rubriclab.learning.rating_matrix import BoolArray, RatingMatrix, in_order
from rubriclab.learning.settings import JointSettings
from rubriclab.learning.weighting import DesignMatrix, Moments, design, posterior, tracking
from rubriclab.stats.correlation import FloatArray
from rubriclab.stats.correlation_inference import jackknife_error

# What costs no call, and what all that can be asked in one call shares.
FREE, ONE_CALL = "", "one call"
# More criteria than this have to be earned: by more than one standard error.
READABLE = 8
SIZES = (1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24)
# Methods asked one after the other, at most.
MOST_TOGETHER = 4


@dataclass(frozen=True)
class PathRubric:
    """One candidate rubric.

    Attributes:
        name: as a reader sees it.
        pool: what it may ask.
        ask: how.
        methods: whose criteria these are.
    """

    name: str
    pool: CandidatePool
    ask: Ask
    methods: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Step:
    """A rung with its price and what held-out labels say of it.

    Attributes:
        rung: the candidate rubric.
        raw: held out, shape (texts,).
        calls: calls per text.
        criteria: how many it asks.
    """

    rung: PathRubric
    raw: FloatArray
    calls: float
    criteria: int


@dataclass(frozen=True, eq=False)
class SelectionPath:
    """All candidate rubrics, and the one that is kept.

    Attributes:
        steps: cheapest first.
        kept: the place of the one kept. best: of the one with the highest held-out agreement among those that may be
            kept. enough: of the smallest within one standard error of it.
        fit: the rubric kept.
        held_out: nested, of whatever is kept in each fold; `fits` are those.
    """

    steps: tuple[Step, ...]
    kept: int
    best: int
    enough: int
    fit: Fit
    held_out: HeldOut


def rungs(table: RatingMatrix) -> tuple[PathRubric, ...]:
    """Return the candidate rubrics of a table; surface measures, which cost nothing, have a part in every one but the
    first of each pair."""
    free = tuple(place for place, bundle in enumerate(table.bundles) if bundle == FREE)
    judged = [place for place, bundle in enumerate(table.bundles) if bundle not in (FREE, ONE_CALL)]
    designs = [*_by_method(table, judged), *_in_one_call(table)]
    for_nothing = [PathRubric("surface measures", CandidatePool(free), "by method", ("surface",))] if free else []
    return (*for_nothing, *designs, *(_with_measures(rung, free) for rung in designs if free))


def _with_measures(rung: PathRubric, free: tuple[int, ...]) -> PathRubric:
    pool = CandidatePool(rung.pool.columns, (*rung.pool.always, *free), rung.pool.most, rung.pool.reasons)
    return PathRubric(f"{rung.name} + surface measures", pool, rung.ask, (*rung.methods, "surface"))


def _by_method(table: RatingMatrix, own: Sequence[int]) -> Iterator[PathRubric]:
    """Yield sets of methods: the few best criteria of each, and of one method, of all, and of all but one every one."""
    methods = list(dict.fromkeys(table.methods[place] for place in own))
    for size in range(1, min(len(methods), MOST_TOGETHER) + 1):
        for chosen in combinations(methods, size):
            columns = tuple(place for place in own if table.methods[place] in chosen)
            name = " + ".join(chosen)
            one_by_one = size == 1 and len({table.bundles[place] for place in columns}) > 1
            for most in range(1, READABLE + 1) if one_by_one else (READABLE,):
                if most < len(columns):
                    yield PathRubric(f"{name}, best {most}", CandidatePool(columns, (), most), "by method", chosen)
            if len(columns) <= READABLE or size in (1, len(methods) - 1, len(methods)):
                yield PathRubric(name, CandidatePool(columns), "by method", chosen)


def _in_one_call(table: RatingMatrix) -> Iterator[PathRubric]:
    """Yield the few best criteria rated in one call before the scores of the whole."""
    every = [place for place, bundle in enumerate(table.bundles) if bundle == ONE_CALL]
    whole = tuple(place for place in every if table.whole[place])
    others = tuple(place for place in every if not table.whole[place])
    methods = tuple(dict.fromkeys(table.methods[place] for place in every))
    for most in (*(size for size in SIZES if size < len(others)), len(others)):
        if most:
            counted = f"{most} {'criterion' if most == 1 else 'criteria'}"
            name = f"one call: {counted}, then the whole" if whole else f"one call: {counted}"
            yield PathRubric(name, CandidatePool(others, whole, most, reasons=True), "in one call", methods)
    if whole and not others:
        yield PathRubric("one call: the whole", CandidatePool(whole), "in one call", methods)


def climb(
    table: RatingMatrix, settings: JointSettings, calls: Mapping[str, float] | None = None, *, seed: int = 0
) -> SelectionPath:
    """Return all candidate rubrics with their held-out agreement, and the one that is kept, learned from all texts.

    The order of the texts does not matter.

    Args:
        calls: calls per text that each bundle takes; 1 for one that is not named.
        seed: of the folds.

    Raises:
        SettingsError: if no candidate is within `calls_per_text`.
    """
    order = in_order(table)
    work = _Work(design(table.rows(order), float(settings.repeated)), settings, calls or {}, seed)
    return work.ladder(np.argsort(order))


@dataclass
class _Work:
    """One table's candidates, each fitted without every fold and every two folds."""

    matrix: DesignMatrix
    settings: JointSettings
    calls: Mapping[str, float]
    seed: int

    def __post_init__(self) -> None:
        self.table = self.matrix.table
        self.every: BoolArray = np.ones(len(self.table.labels), dtype=bool)
        self.whole = self.matrix.moments(self.every)
        self.rungs = rungs(self.table)
        if not any(self._within(self._price(rung, self.whole, ())[0]) for rung in self.rungs):
            raise SettingsError(
                f"No criterion can be asked for in {float(self.settings.calls_per_text):g} calls per text;",
                f"the least is {min(self._price(rung, self.whole, ())[0] for rung in self.rungs):g}.",
            )

    def ladder(self, back: np.ndarray) -> SelectionPath:
        """Return the ladder, with the texts put back into their order."""
        folds = divisions(self.table.groups, self.settings, self.seed)
        raws, nested, scores, fits = [], [], [], []
        for fold in folds:
            outer, own, score, found = self._division(fold)
            raws.append(outer)
            nested.append(own)
            scores.append(score)
            fits.append(found)
        steps = self._steps(mean_of(raws), self.whole, ())
        kept, best, enough = pick(steps, self.table, self.settings)
        held_out_raw = None if np.isnan(steps[kept].raw).all() else steps[kept].raw
        fit = fit_part(
            self.matrix,
            self.every,
            self.whole,
            steps[kept].rung.pool,
            self.settings,
            held_out_raw=held_out_raw,
            seed=self.seed,
        )
        left = HeldOut(mean_of(scores)[back], mean_of(nested)[back], folds[:, back], tuple(fits))
        placed = [Step(step.rung, step.raw[back], step.calls, step.criteria) for step in steps]
        order = sorted(range(len(steps)), key=lambda place: (steps[place].calls, steps[place].criteria, place))
        return SelectionPath(
            steps=tuple(placed[place] for place in order),
            kept=order.index(kept),
            best=order.index(best),
            enough=order.index(enough),
            fit=fit,
            held_out=left,
        )

    def _division(self, fold: np.ndarray) -> tuple[FloatArray, FloatArray, FloatArray, tuple[Fit, ...]]:
        """Return what one division into folds gives.

        Returns:
            Held-out raw values by every rung, shape (rungs, texts); raw values and scores by the rung that is kept
            without each fold, shape (texts,) each; and the rubrics of these.
        """
        parts = insides(fold)
        sums = [self.matrix.moments(inside) for inside in parts]
        outer = np.full((len(self.rungs), len(fold)), np.nan)
        inner = np.full((len(parts), len(self.rungs), len(fold)), np.nan)
        for one, inside in enumerate(parts):
            outer[:, inside] = self._raws(self.whole - sums[one], told_by(self.table, inside), inside)
            for two in range(one):
                both = inside | parts[two]
                if not both.all():
                    raws = self._raws(self.whole - sums[one] - sums[two], told_by(self.table, both), both)
                    inner[one][:, parts[two]] = raws[:, parts[two][both]]
                    inner[two][:, inside] = raws[:, inside[both]]
        raw, score, fits = np.full(len(fold), np.nan), np.full(len(fold), np.nan), []
        for one, inside in enumerate(parts):
            fit = self._fold_fit(inside, self.whole - sums[one], inner[one])
            values = self.table.values[inside]
            raw[inside], score[inside] = in_labels(fit.raw(values), fit), fit.scores(values, self.table.scale)
            fits.append(fit)
        return outer, raw, score, tuple(fits)

    def _fold_fit(self, inside: BoolArray, moments: Moments, inner: FloatArray) -> Fit:
        """Return the rubric that the other folds' labels choose and fit."""
        barred = told_by(self.table, inside)
        steps = self._steps(inner, moments, barred)
        there = [Step(step.rung, step.raw[~inside], step.calls, step.criteria) for step in steps]
        kept = pick(there, self.table.rows(~inside), self.settings)[0]
        raw = steps[kept].raw
        held_out_raw = None if np.isnan(raw).all() else raw
        return fit_part(
            self.matrix,
            ~inside,
            moments,
            steps[kept].rung.pool,
            self.settings,
            barred=barred,
            held_out_raw=held_out_raw,
            seed=self.seed,
        )

    def _steps(self, raws: FloatArray, moments: Moments, barred: Sequence[int]) -> list[Step]:
        """Return the rungs that are within the bound on calls."""
        steps = []
        for rung, raw in zip(self.rungs, raws, strict=True):
            price, criteria = self._price(rung, moments, barred)
            if criteria and self._within(price):
                steps.append(Step(rung, raw, price, criteria))
        # Where a fold's labels made everything that could be asked, there is nothing but what all labels would ask.
        return steps or [Step(rung, raw, 0.0, 1) for rung, raw in zip(self.rungs, raws, strict=True)]

    def _price(self, rung: PathRubric, moments: Moments, barred: Sequence[int]) -> tuple[float, int]:
        """Return calls per text and the number of criteria of a rung."""
        columns = self._columns(rung, tracking(self.table, moments), barred)
        bundles = dict.fromkeys(self.table.bundles[place] for place in columns)
        return round(sum(self.calls.get(bundle, 1.0) for bundle in bundles if bundle != FREE), 6), len(columns)

    def _columns(self, rung: PathRubric, toward: FloatArray, barred: Sequence[int]) -> list[int]:
        out = set(barred)
        columns, always = (
            tuple(place for place in own if place not in out) for own in (rung.pool.columns, rung.pool.always)
        )
        return usable(self.matrix, toward, CandidatePool(columns, always, rung.pool.most))[0]

    def _raws(self, moments: Moments, barred: Sequence[int], inside: BoolArray) -> FloatArray:
        """Return raw values of some texts by each rung, shape (rungs, texts); a missing score counts as average."""
        z = self.matrix.z[inside]
        raws, toward = np.full((len(self.rungs), len(z)), np.nan), tracking(self.table, moments)
        for place, rung in enumerate(self.rungs):
            columns = self._columns(rung, toward, barred)
            if columns:
                weights = posterior(self.table, moments, columns)
                raws[place] = z[:, columns] @ weights.mean * (weights.spread or 1.0)
        return raws

    def _within(self, calls: float) -> bool:
        most = float(self.settings.calls_per_text)
        return most == 0 or calls <= most + 1e-9


def pick(steps: Sequence[Step], table: RatingMatrix, settings: JointSettings) -> tuple[int, int, int]:
    """Return the places of the rubric to keep, of the best, and of the smallest within one standard error of that.

    More than `READABLE` criteria count only if they are ahead of the best with fewer by more than one standard error.
    Where labels or raw values say nothing, the smallest is kept.
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
    enough = max(
        (place for place in near if steps[place].calls == price),
        key=lambda place: (_readable(steps[place]), values[place], -place),
    )
    return (enough if settings.prefer == "smallest" else highest), best, enough


def _readable(step: Step) -> tuple[bool, bool, int]:
    """Return what is preferred among rubrics at one price that held-out labels cannot tell apart.

    The whole scored after criteria in the same call, and as many of these, up to `READABLE`, as share the call: they
    give reasons, and cost no call. The fewest instead, often a single one, agreed less on other groups
    (`experiments/weighing`).
    """
    few = step.criteria <= READABLE
    return few, step.rung.ask == "in one call", step.criteria if few else -step.criteria


def _best(places: Sequence[int], values: FloatArray, steps: Sequence[Step]) -> int:
    return max(
        places, key=lambda place: (round(float(values[place]), 9), -steps[place].calls, -steps[place].criteria, -place)
    )


def _correlations(raws: Sequence[FloatArray], table: RatingMatrix) -> tuple[FloatArray, FloatArray]:
    """Return each one's held-out correlation, taken as the gate takes it, and without each cluster; 0 if undefined."""
    values, without = np.zeros(len(raws)), []
    for place, raw in enumerate(raws):
        value, left = held_out_pearson(np.nan_to_num(raw), table.labels, table.groups)
        values[place] = np.nan_to_num(value)
        without.append(np.nan_to_num(left))
    return values, np.stack(without)


def _error(differences: FloatArray) -> float:
    """Return the standard error of a paired difference, infinite where there is one group only."""
    return float(jackknife_error(differences[:, np.newaxis])[0]) if len(differences) > 1 else float("inf")


def chosen_shares(ladder: SelectionPath, table: RatingMatrix) -> FloatArray:
    """Return for each column of the rubric the share of the folds' rubrics that have its criterion, shape (columns,).

    Folds whose labels had a part in making the criterion do not count; where there is no other, the share is 1.
    """
    kept = np.array([table.places[column] for column in ladder.fit.columns], dtype=int)
    have, may = np.zeros(len(kept)), np.zeros(len(kept))
    for fold, fits in zip(ladder.held_out.folds, ladder.held_out.fits, strict=True):
        for number, found in enumerate(fits):
            seen = table.seen[fold == number].any(axis=0)
            free = ~seen[list(ladder.fit.columns)]
            may += free
            have += free & np.isin(kept, [table.places[column] for column in found.columns])
    shares: FloatArray = np.divide(have, may, out=np.ones(len(kept)), where=may > 0)
    return shares
