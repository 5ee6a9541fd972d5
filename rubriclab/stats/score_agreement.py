"""Agreement of an evaluator's scores with human scores, also called labels, with intervals and counts.

There are three levels:

- ``group``: correlation within each group of texts for one input, averaged over the groups. Papers call it summary
  level (HypoEval section 3, G-Eval, SEEval), story level (HypoEval) or sample level (CheckEval Table 1).
- ``dataset``: one correlation over all texts, as in HypoEval section 3 for WritingPrompt-A.
- ``system``: one correlation over systems, each represented by the mean score of its texts.

At group level, a group counts as 0 if only its predicted scores are constant. If its human scores are constant, the
rule `constant` decides:

- ``skip``: the group is left out, as in G-Eval's published code and in CheckEval;
- ``papers``: the group counts as 1, which raises the agreement of every evaluator. HypoEval Appendix B.1 and the
  implementation of PairS (Liu et al., COLM 2024) do this.

Intervals come from the jackknife over groups (`rubriclab.stats.intervals`), which shows how results vary with the
groups, but not with the systems. At system level an interval is therefore Fisher's for the number of systems, with the
standard errors of Bonett & Wright 2000, "Sample size requirements for estimating Pearson, Kendall and Spearman
correlations", Psychometrika 65 (for Kendall, Fieller, Hartley & Pearson 1957). It is widened to include

- for Pearson, the jackknife's interval (not for rank correlations, whose jackknife fails with few systems);
- for Kendall, the interval of Samara & Randles 1988, "A test for correlation based on Kendall's tau" (Hollander &
  Wolfe 1999, "Nonparametric Statistical Methods", section 8.3); for tau near 0.86, Fisher's interval has 82 % coverage.

In simulations of 5 to 16 systems, intervals for Kendall cover 94 to 100 %, those for Spearman 93 to 99 % (90 % at a
correlation of 0.97). A difference at system level has the interval of Zou 2007, "Toward using confidence intervals to
compare correlations", Psychological Methods 12, from two Fisher intervals. It covers 93 to 97 % for Pearson and 94 to
100 % for Spearman (5 to 16 systems), and is undefined if a correlation is exactly 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import ClassVar, Literal, Protocol, get_args

import numpy as np
import numpy.typing as npt

from rubriclab.stats import correlation
from rubriclab.stats.correlation import BoolArray, FloatArray, IntArray, kendall_rows, pearson_rows, spearman_rows
from rubriclab.stats.intervals import CONFIDENCE, DIGITS, MIN_GROUPS, Interval, Statistic, estimate, renumber

Level = Literal["group", "dataset", "system"]
ConstantRule = Literal["skip", "papers"]
Unit = Literal["groups", "texts"]

# Digits of a system's mean, relative to the largest score, so that equal means are ties in any order of summation.
MEAN_DIGITS = 12
_QUANTILE = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)


class Coefficient(Protocol):
    """A function that returns correlations of weighted rows, such as `rubriclab.stats.correlation.spearman_rows`."""

    def __call__(self, x: FloatArray, y: FloatArray, weights: FloatArray | None = None, /) -> FloatArray: ...


@dataclass(frozen=True, eq=False)
class ScoredTexts:
    """Scored texts sorted by group, system and scores, so that results do not depend on the order of the input.

    Attributes:
        predicted: shape (evaluators, n).
        group, system: the number of each text's group and of its system, from 0; groups are ascending.
        level, constant: how agreement on these texts is computed; see the module's docstring.
    """

    predicted: FloatArray
    human: FloatArray
    group: IntArray
    system: IntArray
    level: Level = "dataset"
    constant: ConstantRule = "skip"

    @property
    def system_count(self) -> int:
        return int(self.system.max(initial=-1)) + 1

    @property
    def sizes(self) -> IntArray:
        """The number of texts of each group."""
        return np.bincount(self.group)

    @property
    def starts(self) -> IntArray:
        """The index of the first text of each group."""
        return np.asarray(np.cumsum(self.sizes) - self.sizes)

    @property
    def has_constant_labels(self) -> BoolArray:
        """Whether each group has two or more texts and one human score for all of them."""
        highest = np.maximum.reduceat(self.human, self.starts)
        lowest = np.minimum.reduceat(self.human, self.starts)
        return np.asarray((highest == lowest) & (self.sizes > 1))

    @property
    def unit(self) -> Unit:
        """What the jackknife leaves out as one cluster."""
        return "groups" if 1 < len(self.sizes) < len(self.human) else "texts"

    @property
    def cluster(self) -> IntArray:
        return self.group if self.unit == "groups" else np.arange(len(self.human))

    @property
    def cluster_count(self) -> int:
        return len(self.sizes) if self.unit == "groups" else len(self.human)

    @property
    def too_few_groups(self) -> bool:
        return self.cluster_count < MIN_GROUPS

    def at_level(self, level: Level, constant: ConstantRule = "skip") -> ScoredTexts:
        """Return the texts used at this level. Groups of one text are left out at group level."""
        for name, value, choices in (("level", level, get_args(Level)), ("constant", constant, get_args(ConstantRule))):
            if value not in choices:
                raise ValueError(f"{name}: expected one of {', '.join(choices)}, got {value!r}")
        texts = replace(self, level=level, constant=constant)
        if level != "group":
            return texts
        left_out = self.sizes < 2
        if constant == "skip":
            left_out = left_out | self.has_constant_labels
        return texts.take(np.flatnonzero(~np.repeat(left_out, self.sizes)))

    def take(self, indices: IntArray) -> ScoredTexts:
        group, system = renumber(self.group[indices]), renumber(self.system[indices])
        predicted, human = self.predicted[:, indices], self.human[indices]
        return replace(self, predicted=predicted, human=human, group=group, system=system)


def scored_texts(
    predicted: Sequence[npt.ArrayLike],
    human: npt.ArrayLike,
    groups: Sequence[str],
    systems: Sequence[str] | None = None,
) -> ScoredTexts:
    """Return the texts that every evaluator scored, in canonical order; ValueError as for `agreement`."""
    columns: list[tuple[str, npt.ArrayLike]] = [("human", human), *(("predicted", scores) for scores in predicted)]
    if systems is not None:
        columns.append(("systems", systems))
    for name, values in columns:
        if np.shape(values) != (len(groups),):
            raise ValueError(f"{name}: expected {len(groups)} values, as many as groups, got shape {np.shape(values)}")
    labels = np.asarray(human, dtype=np.float64)
    if not np.all(np.isfinite(labels)):
        raise ValueError("human: expected finite scores, got nan or infinity; leave unlabelled texts out first")
    table = np.stack([np.asarray(scores, dtype=np.float64) for scores in predicted])
    if np.any(np.isinf(table)):
        raise ValueError("predicted: expected finite scores, or nan where there is none, got infinity")
    group = renumber(np.array(groups, dtype=str))
    system = np.zeros_like(group) if systems is None else renumber(np.array(systems, dtype=str))
    order = np.lexsort([*table, labels, system, group])
    n_missing = np.isnan(table).sum(axis=0)
    return ScoredTexts(table, labels, group, system).take(order[n_missing[order] == 0])


@dataclass(frozen=True)
class Agreement:
    """Agreement of predicted with human scores at one level.

    Attributes:
        n, groups, systems: how many texts, groups and systems are used; `systems` only at system level, else `None`.
        constant_groups: groups of several scored texts with constant human scores.
        single_groups: groups with one scored text, which are left out at group level.
        constant: rule for constant groups.
        unit: what the jackknife leaves out: groups, or texts if there is one group or each group has one text.
        too_few_groups: whether there are fewer of these units than `MIN_GROUPS`, so that there are no intervals.
    """

    level: Level
    n: int
    groups: int
    systems: int | None
    constant_groups: int
    single_groups: int
    constant: ConstantRule
    unit: Unit
    too_few_groups: bool
    spearman: Interval
    pearson: Interval
    kendall: Interval


def agreement(
    predicted: npt.ArrayLike,
    human: npt.ArrayLike,
    groups: Sequence[str],
    systems: Sequence[str] | None = None,
    *,
    level: Level,
    constant: ConstantRule = "skip",
) -> Agreement:
    """Return Spearman, Pearson and Kendall (tau-b) agreement at one level, each with an interval.

    A value is `None` if undefined: no group of two texts, constant scores, fewer than two systems.

    Args:
        predicted: shape (n,), NaN for unscored texts, which are left out.
        human: shape (n,).
        groups: the input of each text.
        systems: the system that wrote each text; needed at system level only.
        level, constant: see the module's docstring.

    Raises ValueError if lengths differ, a human score is not finite, a predicted score is infinite, systems are missing
    at system level, or an option is unknown.
    """
    texts = scored_texts([predicted], human, groups, _systems_at_level(systems, level))
    used = texts.at_level(level, constant)
    return Agreement(
        level=level,
        n=len(used.human),
        groups=len(used.sizes),
        systems=used.system_count if level == "system" else None,
        constant_groups=int(texts.has_constant_labels.sum()),
        single_groups=int((texts.sizes == 1).sum()),
        constant=constant,
        unit=used.unit,
        too_few_groups=used.too_few_groups,
        spearman=coefficient_interval(used, spearman_rows),
        pearson=coefficient_interval(used, pearson_rows),
        kendall=coefficient_interval(used, kendall_rows),
    )


def _systems_at_level(systems: Sequence[str] | None, level: Level) -> Sequence[str] | None:
    if level == "system" and systems is None:
        raise ValueError("systems: expected the system that wrote each text, for system level, got None")
    return systems if level == "system" else None


def agreement_value(
    predicted: npt.ArrayLike, human: npt.ArrayLike, groups: Sequence[str], *, level: Level, coefficient: Coefficient
) -> float:
    """Return a coefficient at group or data-set level, NaN if undefined; arguments as for `agreement`."""
    used = scored_texts([predicted], human, groups).at_level(level)
    if not used.cluster_count:
        return math.nan
    return float(level_statistic(used, 0, coefficient)(np.ones((1, used.cluster_count)))[0])


def coefficient_interval(texts: ScoredTexts, coefficient: Coefficient) -> Interval:
    """Return the agreement of the first evaluator at the level of `texts`, with its interval.

    At system level there is no interval if the correlation is 1 or -1, or with too few systems for a standard error.
    """
    statistic = level_statistic(texts, 0, coefficient)
    n, mean_range = len(texts.human), (-1, 1) if texts.level == "group" else None
    jackknife = estimate(statistic, texts.cluster_count, n_values=n, is_correlation=True, mean_range=mean_range)
    value = jackknife.value
    if texts.level != "system" or value is None or texts.too_few_groups:
        return jackknife
    fisher, widen_to = _fisher_interval(value, texts.system_count, coefficient), jackknife
    if coefficient is spearman_rows:
        return fisher
    if coefficient is kendall_rows:
        # The interval of Samara & Randles.
        count, means = texts.system_count, _system_means(texts)[[0, -1]]
        predicted_signs, human_signs = (np.sign(np.round(row[:, np.newaxis] - row, MEAN_DIGITS)) for row in means)
        concordance = (predicted_signs * human_signs).sum(axis=1)
        squares = float(np.square(concordance - concordance.mean()).sum())
        concordance_variance = 2 * (count - 2) / (count * (count - 1) ** 2) * squares
        margin = _QUANTILE * math.sqrt(2 / (count * (count - 1)) * (concordance_variance + 1 - value**2))
        widen_to = Interval(value, value - margin, value + margin).within(-1, 1)
    if fisher.low is None or fisher.high is None or widen_to.low is None or widen_to.high is None:
        return fisher
    return Interval(value, min(fisher.low, widen_to.low), max(fisher.high, widen_to.high))


def _fisher_interval(value: float, systems: int, coefficient: Coefficient) -> Interval:
    # The squared standard error is numerator / (systems - subtracted).
    numerator, subtracted = 1.0, 3
    if coefficient is spearman_rows:
        numerator = 1 + value**2 / 2
    elif coefficient is kendall_rows:
        numerator, subtracted = 0.437, 4
    if abs(value) > correlation.MAX_CORRELATION or systems <= subtracted:
        return Interval(value)
    center, margin = float(correlation.fisher_z(value)), _QUANTILE * math.sqrt(numerator / (systems - subtracted))
    return Interval(value, math.tanh(center - margin), math.tanh(center + margin))


def correlation_or_zero(
    scores: npt.ArrayLike, human: npt.ArrayLike, groups: Sequence[str], *, level: Level, coefficient: Coefficient
) -> Interval:
    """Return a coefficient, 0 for constant scores, with its interval. Arguments and errors are as for `agreement`."""
    texts = scored_texts([scores], human, groups).at_level(level)
    statistic = level_statistic(texts, 0, zero_if_constant(coefficient))
    n, mean_range = len(texts.human), (-1, 1) if level == "group" and len(np.unique(texts.predicted)) > 1 else None
    return estimate(statistic, texts.cluster_count, n_values=n, is_correlation=True, mean_range=mean_range)


@dataclass(frozen=True)
class AgreementDifference:
    """A coefficient of one evaluator minus another evaluator's, on the texts that both have scored."""

    n: int
    groups: int
    too_few_groups: bool
    interval: Interval

    @property
    def clusters(self) -> int:
        """How many groups, or texts if there is only one group, the interval rests on."""
        return self.groups if self.groups > 1 else self.n


def difference(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    human: npt.ArrayLike,
    groups: Sequence[str],
    systems: Sequence[str] | None = None,
    *,
    level: Level,
    constant: ConstantRule = "skip",
    coefficient: Coefficient = pearson_rows,
) -> AgreementDifference:
    """Return the first evaluator's coefficient, Pearson's by default, minus the second's, with a paired interval.

    Both are compared on the texts that both scored; constant scores have correlation 0. All else is as in `agreement`.
    """
    used = scored_texts([first, second], human, groups, _systems_at_level(systems, level)).at_level(level, constant)
    coefficient_or_zero = zero_if_constant(coefficient)
    first_agreement = level_statistic(used, 0, coefficient_or_zero)
    second_agreement = level_statistic(used, 1, coefficient_or_zero)
    interval = estimate(
        lambda weights: first_agreement(weights) - second_agreement(weights),
        used.cluster_count,
        n_values=len(used.human),
        mean_range=(-2, 2) if level == "group" else None,
    )
    if level == "system" and interval.value is not None and not used.too_few_groups:
        interval = _system_difference(used, coefficient)
    return AgreementDifference(len(used.human), len(used.sizes), used.too_few_groups, interval)


def _system_difference(texts: ScoredTexts, coefficient: Coefficient) -> Interval:
    """Return the difference of two evaluators' correlations with the same human scores over systems, by Zou 2007."""
    first, second, human = _system_means(texts)
    pairs = ((human, first), (human, second), (first, second))
    r1, r2, r12 = (float(np.nan_to_num(coefficient(*pair)[0])) for pair in pairs)
    ci1, ci2 = (_fisher_interval(value, texts.system_count, coefficient) for value in (r1, r2))
    if ci1.low is None or ci1.high is None or ci2.low is None or ci2.high is None:
        return Interval(r1 - r2)
    unexplained = 1 - r1**2 - r2**2 - r12**2
    error_correlation = ((r12 - r1 * r2 / 2) * unexplained + r12**3) / ((1 - r1**2) * (1 - r2**2))

    def margin(margin1: float, margin2: float) -> float:
        return math.sqrt(max(margin1**2 + margin2**2 - 2 * error_correlation * margin1 * margin2, 0.0))

    low = r1 - r2 - margin(r1 - ci1.low, ci2.high - r2)
    high = r1 - r2 + margin(ci1.high - r1, r2 - ci2.low)
    return Interval(r1 - r2, low, high)


def level_statistic(texts: ScoredTexts, evaluator: int, coefficient: Coefficient) -> Statistic:
    """Return the agreement of one evaluator, a row of `texts.predicted`, as a `Statistic`."""
    predicted, human, cluster, sizes = texts.predicted[evaluator], texts.human, texts.cluster, texts.sizes
    if texts.level == "system":
        return _system_statistic(texts, predicted, coefficient)

    coefficient_by_rule = zero_if_constant(coefficient, 1.0 if texts.constant == "papers" else math.nan)
    if texts.level == "dataset" or len(sizes) == 1:
        used_coefficient = coefficient if texts.level == "dataset" else coefficient_by_rule
        # Twice as fast as indexing, since np.take makes the weights of the texts in each sample contiguous in memory.
        return lambda weights: used_coefficient(predicted, human, np.take(weights, cluster, axis=1))
    coefficients = np.empty(len(sizes))
    # Groups of one size are computed together, as rows of one array.
    for size in np.unique(sizes):
        groups = np.flatnonzero(sizes == size)
        members = texts.starts[groups][:, np.newaxis] + np.arange(size)
        coefficients[groups] = coefficient_by_rule(predicted[members], human[members])
    return lambda weights: weights @ coefficients / weights.sum(axis=1)


def _system_statistic(texts: ScoredTexts, predicted: FloatArray, coefficient: Coefficient) -> Statistic:
    """Return the agreement over systems as a `Statistic`; systems without texts are left out."""
    from scipy.sparse import csr_array

    # Sparse: if each text has its own cluster and system, a dense table would have a cell for every pair of texts.
    def table(values: FloatArray) -> csr_array:
        return csr_array((values, (texts.cluster, texts.system)), shape=(texts.cluster_count, texts.system_count))

    sizes = table(np.ones_like(predicted))
    predicted_sums, human_sums = table(correlation.scaled(predicted)), table(correlation.scaled(texts.human))

    def statistic(weights: FloatArray) -> FloatArray:
        text_counts = weights @ sizes
        divisors = np.maximum(text_counts, 1)
        predicted_means = np.round(weights @ predicted_sums / divisors, MEAN_DIGITS)
        human_means = np.round(weights @ human_sums / divisors, MEAN_DIGITS)
        return coefficient(predicted_means, human_means, np.minimum(text_counts, 1))

    return statistic


def _system_means(texts: ScoredTexts) -> FloatArray:
    """Return each evaluator's mean scaled score of each system, labels last; shape (evaluators + 1, systems)."""
    sizes = np.bincount(texts.system)
    rows = correlation.scaled(np.stack((*texts.predicted, texts.human)))
    return np.stack([np.round(np.bincount(texts.system, scores) / sizes, MEAN_DIGITS) for scores in rows])


def zero_if_constant(coefficient: Coefficient, for_constant_labels: float = math.nan) -> Coefficient:
    """Return a coefficient that is 0 if only the scores are constant, and `for_constant_labels` if the labels are."""

    def coefficient_or_zero(x: FloatArray, y: FloatArray, weights: FloatArray | None = None, /) -> FloatArray:
        values = np.nan_to_num(coefficient(x, y, weights), nan=0.0)
        return np.where(correlation.is_constant(y, weights), for_constant_labels, values)

    return coefficient_or_zero


@dataclass(frozen=True)
class ScoreErrors:
    """How far scores are from the labels, in points of the scale.

    Attributes:
        absolute, bias: the mean absolute error, and the mean of score minus label.
        near: the share of texts whose score is at most `point` from the label.
        point: 1 on scales of about 1 to 5 or 1 to 10, else a fifth of the scale's width.
    """

    __pydantic_config__: ClassVar = {"extra": "forbid", "allow_inf_nan": False}

    absolute: Interval
    bias: float
    near: float
    point: float


def score_errors(scores: FloatArray, labels: FloatArray, groups: Sequence[str], width: float) -> ScoreErrors | None:
    """Return the errors of the scores that are not NaN, on a scale of this width; `None` if all are NaN."""
    if np.isnan(scores).all():
        return None
    texts = scored_texts([scores], labels, groups)
    errors = texts.predicted[0] - texts.human
    point = 1.0 if 3 <= width <= 9 else width / 5
    return ScoreErrors(
        absolute=_mean_interval(np.abs(errors), texts, (0, width)),
        bias=round(float(errors.mean()), DIGITS),
        near=round(float((np.abs(errors) <= point).mean()), DIGITS),
        point=point,
    )


def error_difference(scores: Sequence[FloatArray], labels: FloatArray, groups: Sequence[str], width: float) -> Interval:
    """Return the first scores' mean absolute error minus the second scores' error, on the texts that have both."""
    texts = scored_texts(scores, labels, groups)
    first_errors, second_errors = np.abs(texts.predicted - texts.human)
    return _mean_interval(first_errors - second_errors, texts, (-width, width))


def _mean_interval(values: FloatArray, texts: ScoredTexts, mean_range: tuple[float, float]) -> Interval:
    sums, sizes, count = np.bincount(texts.cluster, values), np.bincount(texts.cluster), texts.cluster_count
    mean = estimate(lambda weights: weights @ sums / (weights @ sizes), count, n_values=count, mean_range=mean_range)
    return mean.within(*mean_range).rounded()
