"""The gate: whether a rubric agrees better with people than the same judge asked directly, on held-out labels.

A rubric passes if it is better than the direct score in correlation or in error, and worse in neither. It must not have
a larger error than the direct score calibrated on the same labels, and must be better than the best baseline that makes
no calls: otherwise calibration to the mean label would pass. Labels of two levels are compared by AUROC instead of the
correlation and by the Brier score instead of the error.

Correlations are Pearson's: misjudged pairs count more the further people's labels differ, and labels that are close
differ mostly by noise. Simulated, Pearson's finds a true gain among rivals more often than Spearman's at every size of
group (20 groups of 4: 34 against 26 %). Correlations are within groups if most texts have rivals, as scores then
rank rivals, else over all texts. `evaluate` decides by the same rules. Groups with constant labels are left out;
constant scores have correlation 0. Intervals come from the jackknife over groups, paired for differences.

Scores fitted to the other folds must not include their mean label: it is high where the held-out labels are low, which
biases the correlation over all texts downwards (Parker, Gunter & Bedo 2007, "Stratification bias in low signal
microarray studies", BMC Bioinformatics 8).

`more_labels` estimates how many more labels would decide. The chance of a decision is averaged over possible true
differences, given the estimate and a normal prior around 0, and over possible true standard errors (assurance, O'Hagan,
Stevens & Campbell 2005, "Assurance in clinical trial design", Pharmaceutical Statistics 4).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from rubriclab.learning.baselines import CONSTANT, held_out_baselines
from rubriclab.learning.calibration import calibration
from rubriclab.learning.matrix import RatingMatrix
from rubriclab.learning.verdicts import rater_and_others, verdict_statistic
from rubriclab.methods.catalogue import JOINT
from rubriclab.models import version
from rubriclab.models.text import Example, Scale, named_annotations
from rubriclab.stats.agreement import ScoreErrors, correlation_or_zero, difference, less_error, score_errors
from rubriclab.stats.correlation import BoolArray, FloatArray, IntArray, floats, pearson_rows, spearman_rows
from rubriclab.stats.intervals import CONFIDENCE, MIN_GROUPS, Interval, predict_folds, renumber, rounded
from rubriclab.stats.reliability import ceiling, krippendorff_alpha

GateLevel = Literal["group", "dataset"]

# Rivals are the texts of a group of three or more whose labels differ. If half of all texts are rivals, correlations
# are within groups. The number of groups does not decide, as it differs between learning and other labels.
MIN_RIVALS, MIN_SHARE_OF_RIVALS = 3, 0.5


@dataclass(frozen=True, eq=False)
class Evaluator:
    """An evaluator's scores, shape (texts,), NaN where missing; `points` are on the labels' scale."""

    name: str
    kind: Literal["rubric", "judged", "baseline"]
    scores: FloatArray
    calls: float = 0.0
    points: FloatArray | None = None


def validation(
    table: RatingMatrix,
    features: FloatArray,
    held_out: FloatArray,
    fitted: FloatArray,
    fold: IntArray,
    *,
    alone: Mapping[str, FloatArray],
    calls: Mapping[str, float],
    direct: FloatArray | None = None,
    points: FloatArray | None = None,
) -> version.Validation:
    """Return the held-out agreement of a rubric, compared with baselines and other evaluators.

    Args:
        features: shape (texts, features), columns as in `rubriclab.learning.baselines.FEATURE_NAMES`.
        held_out: the rubric's scores, fitted without the labels of a text's fold, and without the mean label.
        fitted: the rubric's scores, fitted to all labels.
        alone: held-out scores by the criteria of each method alone.
        calls: calls per text of the rubric and of each evaluator in `alone`.
        direct: scores by the same judge asked directly; `None` if it was not asked.
        points: the rubric's calibrated held-out scores, for its errors.
    """
    comparison = EvaluatorComparison(table)
    rubric = Evaluator(JOINT, "rubric", held_out, calls[JOINT], points)
    baselines = [
        Evaluator(name, "baseline", scores) for name, scores in held_out_baselines(features, table.labels, fold).items()
    ]
    asked_directly, direct_calibration = list[Evaluator](), None
    if direct is not None:
        points_of = {version.DIRECT: direct, version.CALIBRATED: calibrated_scores(table, fold, direct)}
        asked_directly = [Evaluator(name, "judged", direct, 1.0, on_scale) for name, on_scale in points_of.items()]
        known = ~np.isnan(direct)
        if known.any() and not table.scale.names:
            direct_calibration = calibration(direct[known], table.labels[known], table.scale, parameters=0)
    methods = [Evaluator(name, "judged", scores, calls[name]) for name, scores in alone.items()]
    agreements = {each.name: comparison.evaluator_agreement(each) for each in (*baselines, *asked_directly, *methods)}

    def correlation(name: str) -> float:
        value = agreements[name].order.value
        return -math.inf if value is None else value

    # A rubric that is not better than a constant must not pass because the other baselines are even worse.
    best = max(baselines, key=lambda baseline: (correlation(baseline.name), baseline.name != CONSTANT))
    constant = next(baseline for baseline in baselines if baseline.name == CONSTANT)
    if points is not None:  # the constant's error is only shown: the rule compares baselines in order
        means = predict_folds(fold, lambda training, held_out: np.full(held_out.sum(), table.labels[training].mean()))
        agreements[CONSTANT] = comparison.evaluator_agreement(replace(constant, points=means))
    baseline_verdicts = [comparison.verdict(rubric, baseline) for baseline in dict.fromkeys((best, constant))]
    # Other methods' scores are compared, but the gate does not depend on these comparisons.
    without_outcome = {"outcome": None, "error_outcome": None, "more_labels": None}
    return version.Validation(
        level=comparison.level,
        n=int((~np.isnan(held_out)).sum()),
        groups=len(set(table.groups)),
        folds=len(np.unique(fold)),
        training=comparison.evaluator_agreement(Evaluator(JOINT, "rubric", fitted, calls[JOINT])),
        evaluators=(
            comparison.evaluator_agreement(rubric),
            *(agreements[name] for name in sorted(agreements, key=lambda name: -correlation(name))),
        ),
        verdicts=(
            min(baseline_verdicts, key=lambda verdict: version.WORST_FIRST.index(verdict.outcome or "inconclusive")),
            *(comparison.verdict(rubric, each) for each in asked_directly),
            *(comparison.verdict(rubric, each).model_copy(update=without_outcome) for each in methods),
        ),
        direct_calibration=direct_calibration,
    )


def gate_level(labels: FloatArray, groups: Sequence[str]) -> GateLevel:
    """Return `group` if scores rank rivals for at least `MIN_SHARE_OF_RIVALS` of the texts, else `dataset`."""
    labels_of: dict[str, list[float]] = {}
    for group, label in zip(groups, labels.tolist(), strict=True):
        labels_of.setdefault(group, []).append(label)
    sizes = [len(values) for values in labels_of.values() if min(values) < max(values)]
    rivals = sum(size for size in sizes if size >= MIN_RIVALS)
    return "group" if rivals >= MIN_SHARE_OF_RIVALS * len(labels) else "dataset"


def calibrated_scores(table: RatingMatrix, fold: IntArray, scores: FloatArray) -> FloatArray:
    """Return the scores of `direct` on the scale of the labels, each calibrated on the labels of the other folds."""
    scored = ~np.isnan(scores)

    def predict(training: BoolArray, held_out: BoolArray) -> FloatArray:
        usable = training & scored
        if not usable.any():
            return np.full(held_out.sum(), np.nan)
        # Direct scores are not fitted to labels, so the slope is not shrunk.
        return calibration(scores[usable], table.labels[usable], table.scale, parameters=0).apply(scores[held_out])

    return np.clip(predict_folds(fold, predict), table.scale.low, table.scale.high)


@dataclass(frozen=True, eq=False)
class EvaluatorComparison:
    table: RatingMatrix

    @cached_property
    def level(self) -> GateLevel:
        return "dataset" if self.two_levels else gate_level(self.table.labels, self.table.groups)

    @property
    def two_levels(self) -> bool:
        return self.table.scale.names is not None

    def evaluator_agreement(self, evaluator: Evaluator) -> version.EvaluatorAgreement:
        table, scores, points = self.table, evaluator.scores, evaluator.points
        auroc = brier = errors = None
        spearman, pearson = (
            correlation_or_zero(scores, table.labels, table.groups, level=self.level, coefficient=each).rounded()
            for each in (spearman_rows, pearson_rows)
        )
        if self.two_levels:
            auroc = verdict_statistic("AUROC", [scores], table.labels, table.groups)
            brier = None if points is None else verdict_statistic("Brier score", [points], table.labels, table.groups)
        elif points is not None:
            errors = score_errors(points, table.labels, table.groups, table.scale.width)
        return version.EvaluatorAgreement(
            name=evaluator.name,
            kind=evaluator.kind,
            n=int((~np.isnan(scores)).sum()),
            spearman=spearman,
            pearson=pearson,
            calls=evaluator.calls,
            errors=errors,
            auroc=auroc,
            brier=brier,
        )

    def verdict(self, rubric: Evaluator, other: Evaluator) -> version.GateVerdict:
        """Return whether a rubric agrees better than another evaluator, on the texts that both scored."""
        table, gain = self.table, None
        points = [each.points for each in (other, rubric) if each.points is not None]
        if len(points) == 2 and not np.isnan(sum(points)).all():
            if self.two_levels:
                gain = verdict_statistic("Brier score", points, table.labels, table.groups)
            else:
                gain = less_error(points, table.labels, table.groups)
        clusters = difference(rubric.scores, other.scores, table.labels, table.groups, level=self.level).clusters
        change, labels = self.difference(rubric.scores, other.scores), len(table.labels)
        return verdict_on(other.name, change, gain, table.scale, labels=labels, clusters=clusters)

    def difference(self, first: FloatArray, second: FloatArray) -> Interval:
        if self.two_levels:
            return verdict_statistic("AUROC", [first, second], self.table.labels, self.table.groups)
        return difference(first, second, self.table.labels, self.table.groups, level=self.level).interval.rounded()


def verdict_on(
    other: str, difference: Interval, gain: Interval | None, scale: Scale, *, labels: int, clusters: int
) -> version.GateVerdict:
    """Return the verdict from the `difference` in correlation and the `gain`, less error; `clusters` counts groups."""
    outcome = difference_outcome(difference, version.MIN_EFFECT, clusters)
    min_effect = version.MIN_BRIER_EFFECT if scale.names else version.MIN_ERROR_EFFECT * scale.width
    error_outcome = difference_outcome(gain, min_effect, clusters) if gain else None
    too_few = outcome == "inconclusive" and (difference.low is None or is_small(difference, version.MIN_EFFECT))
    if gain and outcome != "inconclusive" and error_outcome == "inconclusive":
        too_few = is_small(gain, min_effect)
    return version.GateVerdict(
        against=other,
        outcome=outcome,
        difference=difference,
        error_outcome=error_outcome,
        less_error=gain,
        more_labels=more_labels(difference, labels, clusters) if outcome == "inconclusive" and not too_few else None,
        few_groups=clusters if too_few else None,
    )


def difference_outcome(difference: Interval, min_effect: float, clusters: int) -> version.Outcome:
    """Return the outcome for the interval of a difference; improvements below `min_effect` do not count."""
    if difference.low is None or difference.high is None:
        return "inconclusive"
    if difference.high < 0:
        return "worse"
    if is_small(difference, min_effect):
        return "not better" if clusters >= version.MIN_GROUPS_TO_RULE_OUT else "inconclusive"
    return "better" if difference.low > 0 else "inconclusive"


def is_small(difference: Interval, min_effect: float) -> bool:
    return difference.high is not None and difference.high < min_effect


# Correlation with the labels at or below which the judge's own scores contradict them; also a limit of raters' alpha.
CONTRADICTION = -0.3


def contradiction(validation: version.Validation | None) -> tuple[str, str] | None:
    """Return a doubt about labels, and why: the judge's scores fall as labels rise, or raters contradict each other."""
    for each in validation.evaluators if validation else ():
        value = each.order.value if each.name in (version.DIRECT, version.WHOLE) else None
        if value is None:
            continue
        # AUROC is 0.5 at chance, where a correlation is 0.
        name, correlation = ("AUROC", 2 * value - 1) if each.auroc else ("Pearson", value)
        if correlation <= CONTRADICTION:
            why = f"the judge gives texts with higher labels lower scores ({name} {value:.2f})"
            return "the labels look reversed", why
    return raters_contradiction(validation.raters.alpha) if validation and validation.raters else None


def raters_contradiction(alpha: Interval) -> tuple[str, str] | None:
    """Return a warning and its reason if raters' agreement `alpha` is far below chance."""
    if alpha.value is None or alpha.value > CONTRADICTION:
        return None
    why = f"some may have taken the lowest score for the best (Krippendorff's alpha {alpha.value:.2f})"
    return "the raters contradict each other", why


# The standard deviation of true differences between a rubric and a baseline.
PRIOR = 0.2
# Chances of a decision for which `more_labels` gives numbers of labels, in steps of `LABELS_STEP`.
EVEN_CHANCE, LIKELY_CHANCE = 0.5, 0.8
LABELS_STEP = 10
# Number of equally likely true standard errors that are averaged over.
ERRORS = 9


def more_labels(difference: Interval, labels: int, clusters: int) -> version.MoreLabels | None:
    """Return how many labels beyond `labels` would decide a difference in correlation; `None` if undefined."""
    if difference.value is None or difference.low is None or difference.high is None or clusters < MIN_GROUPS:
        return None
    more = np.arange(LABELS_STEP, version.MAX_LABELS + 1, LABELS_STEP, dtype=np.float64)
    chances = decision_chances(difference.value, (difference.high - difference.low) / 2, labels, clusters, more)

    def fewest(chance: float) -> int | None:
        enough = more[chances >= chance]
        return int(enough[0]) if len(enough) else None

    return version.MoreLabels(even=fewest(EVEN_CHANCE), likely=fewest(LIKELY_CHANCE))


def decision_chances(value: float, margin: float, labels: int, clusters: int, more: FloatArray) -> FloatArray:
    """Return the chance of a decision for each number of `more` labels; `margin` is half the interval's width."""
    from scipy.special import chdtri, ndtr, stdtrit

    freedom, upper = clusters - 1, (1 + CONFIDENCE) / 2
    ratios = np.sqrt(freedom / chdtri(freedom, (np.arange(ERRORS) + 0.5) / ERRORS))
    error = (margin / stdtrit(freedom, upper) * ratios)[:, np.newaxis]
    posterior = 1 / (1 / PRIOR**2 + 1 / error**2)
    total = labels + more
    share = labels / total
    middle = share * value + (1 - share) * posterior * value / error**2
    spread = (1 - share) * np.sqrt(posterior + error**2 * labels / more)
    new_margin = stdtrit(clusters * total / labels - 1, upper) * error * np.sqrt(share)
    # With too few groups a small difference is not ruled out, only one below 0.
    limit = np.where(clusters * total / labels >= version.MIN_GROUPS_TO_RULE_OUT, version.MIN_EFFECT, 0.0)
    better, worse = 1 - ndtr((new_margin - middle) / spread), ndtr((limit - new_margin - middle) / spread)
    # An interval narrower than the smallest effect always decides.
    return np.asarray(np.where(2 * new_margin < limit, 1.0, better + worse).mean(axis=0))


@dataclass(frozen=True, eq=False)
class RaterScores:
    """Single raters' scores, shape (raters, texts), NaN where missing; without `names` a row may mix persons."""

    names: tuple[str, ...]
    table: FloatArray


def raters(examples: Sequence[Example], aspect: str, scale: Scale) -> version.Raters | None:
    """Return the raters' agreement and the ceiling that agreement sets at the gate's level; `None` below two raters."""
    rated, group_names = rater_scores(examples, aspect), [example.group for example in examples]
    if rated is None:
        return None
    groups, labels = renumber(np.array(group_names)), floats(example.scores[aspect] for example in examples)
    group_numbers = groups if gate_level(labels, group_names) == "group" else None
    return version.Raters(
        alpha=krippendorff_alpha(rated.table, "interval", groups).rounded(),
        ceiling=rounded(ceiling(rated.table, group_numbers, raters_known=bool(rated.names))),
        errors=None if scale.names else rater_errors(examples, aspect, scale),
        n=sum(len(example.annotations.get(aspect, ())) > 1 for example in examples),
    )


def rater_errors(examples: Sequence[Example], aspect: str, scale: Scale) -> ScoreErrors | None:
    """Return the errors of single raters, each against the mean of a text's other raters; `None` below two raters."""
    annotations = [example.annotations.get(aspect, ()) for example in examples]
    single, other_means, groups = rater_and_others(annotations, [example.group for example in examples])
    return score_errors(single, other_means, groups, scale.width) if groups else None


def rater_scores(examples: Sequence[Example], aspect: str) -> RaterScores | None:
    """Return single raters' scores of `aspect`; `None` unless some text has two scores.

    Raters are identified by name. If no text has names and all lists are equally long, they are identified by position.
    If some scores have raters' names, scores without are left out.
    """
    by_rater = [named_annotations(example, aspect) for example in examples]
    has_names = any(by_rater)
    if not has_names:
        lists = (example.annotations.get(aspect, ()) for example in examples)
        by_rater = [{str(number): score for number, score in enumerate(scores, start=1)} for scores in lists]
    if not any(len(scores) > 1 for scores in by_rater):
        return None
    names = sorted({name for scores in by_rater for name in scores}, key=lambda name: (has_names or int(name), name))
    table = np.array([[scores.get(name, np.nan) for scores in by_rater] for name in names], dtype=float)
    identified = has_names or len({len(scores) for scores in by_rater if scores}) == 1
    return RaterScores(tuple(names) if identified else (), table)
