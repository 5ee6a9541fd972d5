"""The gate: whether a rubric agrees better with people than its judge asked directly, on held-out labels.

`validate` compares the held-out scores of the rubric and of other evaluators. Each comparison is about two measures:
the correlation of scores and labels, and the error of the scores; for labels of two levels these are AUROC and the
Brier score. The rubric passes if it is better in one measure and worse in neither. Two further conditions keep out a
rubric that is only calibrated to the mean label: its error must not exceed the error of the judge's direct scores
calibrated on the same labels, and it must be better than the best free baseline, which needs no judge. `evaluate`
decides by the same rules.

If half of all texts are in groups of three texts or more with different labels, scores serve to rank the texts of a
group, and correlations are within groups; else they are over all texts. Groups with constant labels are left out;
constant scores have correlation 0. Correlations are Pearson's: close labels differ mostly by noise, and so misjudged
pairs should count more the further apart their labels are. In simulations, Pearson's finds a true gain within groups
more often than Spearman's at every size of group (20 groups of 4: 34 against 26 %). Intervals come from the jackknife
over groups, paired for differences.

Held-out scores, which are fitted to the labels of the other folds, must not include the mean of those labels: it is
high where the held-out labels are low, which biases the correlation over all texts downwards (Parker, Gunter & Bedo
2007, "Stratification bias in low signal microarray studies", BMC Bioinformatics 8).

The last functions estimate how many more labels would make a comparison conclusive, and compare raters with each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from rubriclab.learning.baselines import CONSTANT, held_out_baselines
from rubriclab.learning.calibration import fit_calibration
from rubriclab.learning.matrix import RatingMatrix
from rubriclab.learning.pass_fail import ratings_and_other_means, two_level_statistic
from rubriclab.methods.catalogue import JOINT
from rubriclab.models import evaluation
from rubriclab.models.text import EARLIER_RATER, Example, Scale, named_annotations
from rubriclab.stats.correlation import BoolArray, FloatArray, IntArray, floats, pearson_rows, spearman_rows
from rubriclab.stats.intervals import CONFIDENCE, MIN_GROUPS, Interval, predict_folds, renumber, round_or_none
from rubriclab.stats.rater_agreement import ceiling, krippendorff_alpha
from rubriclab.stats.score_agreement import ScoreErrors, correlation_or_zero, difference, error_difference, score_errors

GateLevel = Literal["group", "dataset"]

# Minimum size of a group whose texts are ranked, and minimum share of such texts for the level `group`. There is no
# minimum number of groups, so that learning and `evaluate`, whose numbers of groups differ, have the same level.
MIN_RANKED, MIN_SHARE_RANKED = 3, 0.5


@dataclass(frozen=True, eq=False)
class GateEvaluator:
    """A named set of scores of the labelled texts, on any scale; shape (texts,)."""

    name: str
    kind: Literal["rubric", "judged", "baseline"]  # `judged`: another evaluator that asks a judge
    scores: FloatArray
    calls: float = 0.0  # per text
    predicted_labels: FloatArray | None = None  # the scores on the labels' scale, if errors are compared


def validate(
    table: RatingMatrix,
    features: FloatArray,
    ranking_scores: FloatArray,
    fitted_scores: FloatArray,
    fold_numbers: IntArray,
    *,
    method_scores: Mapping[str, FloatArray],
    calls: Mapping[str, float],
    direct: FloatArray | None = None,
    predicted_labels: FloatArray | None = None,
) -> evaluation.Validation:
    """Return the held-out agreement of a rubric, compared with baselines and other evaluators.

    Args:
        features: shape (texts, features), columns as in `rubriclab.learning.baselines.FEATURE_NAMES`.
        ranking_scores: the rubric's held-out scores, which do not include the mean label of the other folds.
        fitted_scores: scores by the rubric that is fitted to all labels.
        method_scores: for each method, held-out scores by its criteria alone.
        calls: calls per text of the rubric and of each method in `method_scores`.
        direct: scores by the rubric's judge asked directly; `None` if it was not asked.
        predicted_labels: the rubric's held-out scores, calibrated to the labels, for its errors.
    """
    level = "dataset" if table.scale.has_two_levels else gate_level(table.labels, table.groups)
    rubric = GateEvaluator(JOINT, "rubric", ranking_scores, calls[JOINT], predicted_labels)
    baseline_scores = held_out_baselines(features, table.labels, fold_numbers)
    baselines = [GateEvaluator(name, "baseline", scores) for name, scores in baseline_scores.items()]
    direct_evaluators: list[GateEvaluator] = []
    direct_calibration = None
    if direct is not None:
        calibrated = calibrated_scores(table, fold_numbers, direct)
        direct_evaluators.append(GateEvaluator(evaluation.DIRECT, "judged", direct, 1.0, direct))
        direct_evaluators.append(GateEvaluator(evaluation.CALIBRATED, "judged", direct, 1.0, calibrated))
        has_score = ~np.isnan(direct)
        if has_score.any() and not table.scale.has_two_levels:
            direct_calibration = fit_calibration(direct[has_score], table.labels[has_score], table.scale, shrink=False)
    methods = [GateEvaluator(name, "judged", scores, calls[name]) for name, scores in method_scores.items()]
    others = (*baselines, *direct_evaluators, *methods)
    agreements = {other.name: _agreement(other, table, level) for other in others}
    order_value = {name: -np.inf if each.order.value is None else each.order.value for name, each in agreements.items()}
    # The rubric must be better than the best baseline and than the constant. In a tie, the constant is not the best.
    best = max(baselines, key=lambda baseline: (order_value[baseline.name], baseline.name != CONSTANT))
    constant = next(baseline for baseline in baselines if baseline.name == CONSTANT)
    compared_baselines = [best] if best is constant else [best, constant]
    baseline_verdicts = [_compare(rubric, baseline, table, level) for baseline in compared_baselines]
    if predicted_labels is not None:
        # The constant's error is shown, but no verdict depends on it: baselines are not compared by their errors.
        means = predict_folds(fold_numbers, lambda rest, in_fold: np.full(in_fold.sum(), table.labels[rest].mean()))
        agreements[CONSTANT] = _agreement(replace(constant, predicted_labels=means), table, level)
    best_first = sorted(agreements, key=lambda name: -order_value[name])
    # Other methods' scores are compared, but the gate does not depend on these comparisons.
    without_outcome = {"outcome": None, "error_outcome": None, "more_labels": None}
    return evaluation.Validation(
        level=level,
        n=int((~np.isnan(ranking_scores)).sum()),
        groups=len(set(table.groups)),
        folds=len(np.unique(fold_numbers)),
        training=_agreement(GateEvaluator(JOINT, "rubric", fitted_scores, calls[JOINT]), table, level),
        evaluators=(_agreement(rubric, table, level), *(agreements[name] for name in best_first)),
        verdicts=(
            min(baseline_verdicts, key=lambda verdict: evaluation.WORST_FIRST.index(verdict.overall)),
            *(_compare(rubric, evaluator, table, level) for evaluator in direct_evaluators),
            *(_compare(rubric, method, table, level).model_copy(update=without_outcome) for method in methods),
        ),
        direct_calibration=direct_calibration,
    )


def gate_level(labels: FloatArray, groups: Sequence[str]) -> GateLevel:
    """Return `group` if at least `MIN_SHARE_RANKED` of the texts are in groups to rank, else `dataset`."""
    labels_by_group: dict[str, list[float]] = {}
    for group, label in zip(groups, labels.tolist(), strict=True):
        labels_by_group.setdefault(group, []).append(label)
    sizes = [len(values) for values in labels_by_group.values() if min(values) < max(values)]
    n_ranked = sum(size for size in sizes if size >= MIN_RANKED)
    return "group" if n_ranked >= MIN_SHARE_RANKED * len(labels) else "dataset"


def calibrated_scores(table: RatingMatrix, fold_numbers: IntArray, scores: FloatArray) -> FloatArray:
    """Return scores that a judge gave directly, calibrated for each text to the labels of the other folds."""
    has_score = ~np.isnan(scores)

    def predict(training: BoolArray, held_out: BoolArray) -> FloatArray:
        usable = training & has_score
        if not usable.any():
            return np.full(held_out.sum(), np.nan)
        # Direct scores are not fitted to labels, so the slope is not shrunk.
        return fit_calibration(scores[usable], table.labels[usable], table.scale, shrink=False).apply(scores[held_out])

    return np.clip(predict_folds(fold_numbers, predict), table.scale.low, table.scale.high)


def _agreement(evaluator: GateEvaluator, table: RatingMatrix, level: GateLevel) -> evaluation.EvaluatorAgreement:
    scores, predicted, labels, groups = evaluator.scores, evaluator.predicted_labels, table.labels, table.groups
    auroc = brier = errors = None
    if table.scale.has_two_levels:
        auroc = two_level_statistic("AUROC", [scores], labels, groups)
        if predicted is not None:
            brier = two_level_statistic("Brier score", [predicted], labels, groups)
    elif predicted is not None:
        errors = score_errors(predicted, labels, groups, table.scale.width)
    return evaluation.EvaluatorAgreement(
        name=evaluator.name,
        kind=evaluator.kind,
        n=int((~np.isnan(scores)).sum()),
        spearman=correlation_or_zero(scores, labels, groups, level=level, coefficient=spearman_rows).rounded(),
        pearson=correlation_or_zero(scores, labels, groups, level=level, coefficient=pearson_rows).rounded(),
        calls=evaluator.calls,
        errors=errors,
        auroc=auroc,
        brier=brier,
    )


def _compare(
    rubric: GateEvaluator, other: GateEvaluator, table: RatingMatrix, level: GateLevel
) -> evaluation.GateVerdict:
    """Return whether a rubric agrees better than another evaluator, on the texts that both scored."""
    error_reduction = None
    if other.predicted_labels is not None and rubric.predicted_labels is not None:
        predictions = [other.predicted_labels, rubric.predicted_labels]
        has_both = ~np.isnan(predictions).any(axis=0)
        if has_both.any() and table.scale.has_two_levels:
            error_reduction = two_level_statistic("Brier score", predictions, table.labels, table.groups)
        elif has_both.any():
            error_reduction = error_difference(predictions, table.labels, table.groups, table.scale.width)
    order_gain, clusters = order_difference(rubric.scores, other.scores, table, level)
    sizes = {"n_labels": len(table.labels), "clusters": clusters}
    return gate_verdict(other.name, order_gain, error_reduction, table.scale, **sizes)


def order_difference(
    first: FloatArray, second: FloatArray, table: RatingMatrix, level: GateLevel
) -> tuple[Interval, int]:
    """Return the gain in AUROC or correlation of `first` over `second`, and the number of groups used."""
    labels, groups = table.labels, table.groups
    if table.scale.has_two_levels:
        # AUROC leaves out labels of 0.5; `difference` serves only to count the groups of the other labels.
        counted = difference(np.where(labels == 0.5, np.nan, first), second, labels, groups, level="dataset")
        return two_level_statistic("AUROC", [first, second], labels, groups), counted.clusters
    correlation = difference(first, second, labels, groups, level=level)
    return correlation.interval.rounded(), correlation.clusters


def gate_verdict(
    against: str, order_gain: Interval, error_reduction: Interval | None, scale: Scale, *, n_labels: int, clusters: int
) -> evaluation.GateVerdict:
    """Return the verdict on a rubric by its gain over the evaluator named `against`.

    `order_gain` is the gain in correlation or AUROC. `error_reduction` is `None` if errors are not compared.
    `clusters` is the number of groups behind `order_gain`, or of texts if there is only one group. `n_labels` includes
    labels that add nothing to the gain (0.5, or in a group of equal labels), since new labels will include some too.
    """
    outcome = evaluation.difference_outcome(order_gain, evaluation.MIN_EFFECT, clusters)
    min_reduction = evaluation.min_error_gain(scale)
    error_outcome = evaluation.difference_outcome(error_reduction, min_reduction, clusters) if error_reduction else None
    more, too_few_groups = None, False
    # An interval below the smallest effect is inconclusive only if there are too few groups to rule out the effect.
    if outcome == "inconclusive":
        too_few_groups = order_gain.low is None or order_gain.high is None or order_gain.high < evaluation.MIN_EFFECT
        more = None if too_few_groups else more_labels(order_gain, n_labels, clusters)
    elif error_reduction and error_reduction.high is not None and error_outcome == "inconclusive":
        too_few_groups = error_reduction.high < min_reduction
    return evaluation.GateVerdict(
        against=against,
        outcome=outcome,
        difference=order_gain,
        error_outcome=error_outcome,
        less_error=error_reduction,
        more_labels=more,
        few_groups=clusters if too_few_groups else None,
    )


# The prior for the true difference between a rubric and a baseline is normal around 0 with this standard deviation.
PRIOR_DEVIATION = 0.2
# `more_labels` returns the numbers of labels, in steps of `LABELS_STEP`, that give these chances of a clear outcome.
EVEN_CHANCE, LIKELY_CHANCE = 0.5, 0.8
LABELS_STEP = 10
# The true standard error is unknown, so chances are averaged over this number of equally likely values.
ERROR_QUANTILES = 9


def more_labels(interval: Interval, n_labels: int, clusters: int) -> evaluation.MoreLabels | None:
    """Return how many labels beyond `n_labels` would decide a difference in correlation; `None` without an interval."""
    if interval.value is None or interval.low is None or interval.high is None or clusters < MIN_GROUPS:
        return None
    more = np.arange(LABELS_STEP, evaluation.MAX_MORE_LABELS + 1, LABELS_STEP, dtype=np.float64)
    chances = outcome_chances(interval.value, (interval.high - interval.low) / 2, n_labels, clusters, more)

    def fewest(chance: float) -> int | None:
        enough = more[chances >= chance]
        return int(enough[0]) if len(enough) else None

    return evaluation.MoreLabels(even=fewest(EVEN_CHANCE), likely=fewest(LIKELY_CHANCE))


def outcome_chances(value: float, margin: float, n_labels: int, clusters: int, more: FloatArray) -> FloatArray:
    """Return the chance of a clear outcome for each number of `more` labels; `n_labels` labels gave `value` ± `margin`.

    It is averaged over possible true differences, given the estimate and the prior, and over possible true standard
    errors (assurance, O'Hagan, Stevens & Campbell 2005, "Assurance in clinical trial design", Pharmaceutical
    Statistics 4).
    """
    from scipy.special import chdtri, ndtr, stdtrit

    degrees_of_freedom = clusters - 1
    upper_probability = (1 + CONFIDENCE) / 2
    probabilities = (np.arange(ERROR_QUANTILES) + 0.5) / ERROR_QUANTILES
    true_to_estimated = np.sqrt(degrees_of_freedom / chdtri(degrees_of_freedom, probabilities))
    # Possible true standard errors of `value`, in rows; columns are for the numbers of `more` labels.
    standard_error = (margin / stdtrit(degrees_of_freedom, upper_probability) * true_to_estimated)[:, np.newaxis]
    true_difference_variance = 1 / (1 / PRIOR_DEVIATION**2 + 1 / standard_error**2)
    total_labels = n_labels + more
    share_present = n_labels / total_labels
    total_clusters = clusters * total_labels / n_labels
    # The estimate from all labels is predicted to be normal, with this mean and this standard deviation.
    mean = share_present * value + (1 - share_present) * true_difference_variance * value / standard_error**2
    deviation = (1 - share_present) * np.sqrt(true_difference_variance + standard_error**2 * n_labels / more)
    new_margin = stdtrit(total_clusters - 1, upper_probability) * standard_error * np.sqrt(share_present)
    # The outcome is "not better" or "worse" if the upper end is below `limit`, which is 0 if groups are few.
    limit = np.where(total_clusters >= evaluation.MIN_GROUPS_TO_RULE_OUT, evaluation.MIN_EFFECT, 0.0)
    better = 1 - ndtr((new_margin - mean) / deviation)
    not_better = ndtr((limit - new_margin - mean) / deviation)
    # An interval narrower than the smallest effect always decides.
    return np.asarray(np.where(2 * new_margin < limit, 1.0, better + not_better).mean(axis=0))


# Scores contradict labels, or raters each other, if their correlation or Krippendorff's alpha is at most this.
CONTRADICTION = -0.3


def doubt_about_labels(validation: evaluation.Validation | None) -> tuple[str, str] | None:
    """Return a doubt about the labels and its reason, from the judge's or the raters' agreement; `None` if no doubt."""
    if validation is None:
        return None
    for evaluator in validation.evaluators:  # only the judge's own scores, asked for directly or in the rubric's calls
        value = evaluator.order.value
        if evaluator.name not in (evaluation.DIRECT, evaluation.WHOLE) or value is None:
            continue
        name, correlation = "Pearson", value
        if evaluator.auroc:
            # An AUROC of 0.5, as by chance, corresponds to a correlation of 0.
            name, correlation = "AUROC", 2 * value - 1
        if correlation <= CONTRADICTION:
            why = f"the judge gives texts with higher labels lower scores ({name} {value:.2f})"
            return "the labels look reversed", why
    alpha = validation.raters.alpha.value if validation.raters else None
    if alpha is None or alpha > CONTRADICTION:
        return None
    why = f"some may have taken the lowest score for the best (Krippendorff's alpha {alpha:.2f})"
    return "the raters contradict each other", why


def summarize_raters(examples: Sequence[Example], aspect: str, scale: Scale) -> evaluation.Raters | None:
    """Return the raters' agreement, and the ceiling that it sets; `None` if no text has two ratings."""
    table, raters_known = rater_scores(examples, aspect)
    if table is None:
        return None
    groups = [example.group for example in examples]
    labels = floats(example.scores[aspect] for example in examples)
    ceiling_groups = renumber(np.array(groups)) if gate_level(labels, groups) == "group" else None
    return evaluation.Raters(
        alpha=krippendorff_alpha(table, "interval", groups).rounded(),
        ceiling=round_or_none(ceiling(table, ceiling_groups, raters_known=raters_known)),
        errors=None if scale.has_two_levels else rater_errors(examples, aspect, scale),
        n=sum(len(example.annotations.get(aspect, ())) > 1 for example in examples),
    )


def rater_errors(examples: Sequence[Example], aspect: str, scale: Scale) -> ScoreErrors | None:
    """Return the errors of single raters, each against the mean of a text's other raters; `None` if no text has two."""
    annotations = [example.annotations.get(aspect, ()) for example in examples]
    ratings, other_means, groups = ratings_and_other_means(annotations, [example.group for example in examples])
    return score_errors(ratings, other_means, groups, scale.width) if groups else None


def rater_scores(examples: Sequence[Example], aspect: str) -> tuple[FloatArray | None, bool]:
    """Return single raters' scores of `aspect`, and whether each row of this table is one rater.

    The table has shape (raters, texts), NaN where missing; it is `None` unless some text has two scores. A row has
    the scores under one name. A name such as `earlier 1`, which the command `label` gives to unknown raters, may stand
    for several raters. If some scores have raters' names, scores without a name are left out.
    """
    # For each text: its scores by their raters' names or, if no text has names, by their numbers.
    scores_by_rater = [named_annotations(example, aspect) for example in examples]
    has_names = any(scores_by_rater)
    if not has_names:
        unnamed_scores = (example.annotations.get(aspect, ()) for example in examples)
        scores_by_rater = [{str(number): score for number, score in enumerate(scores)} for scores in unnamed_scores]
    if not any(len(scores) > 1 for scores in scores_by_rater):
        return None, has_names
    names = sorted({name for scores in scores_by_rater for name in scores})
    table = np.array([[scores.get(name, np.nan) for scores in scores_by_rater] for name in names], dtype=float)
    return table, has_names and not any(name.startswith(EARLIER_RATER) for name in names)
