"""The gate: whether a rubric agrees better with people than the same judge asked directly, on held-out labels.

A rubric passes if it is better than the direct score in correlation or in error, and worse in neither. Two further
conditions keep out a rubric that is only calibrated to the mean label: its error must not be larger than that of the
direct score calibrated on the same labels, and it must be better than the best baseline that makes no calls. Labels of
two levels are compared by AUROC instead of the correlation and by the Brier score instead of the error.

Rivals are the texts of a group of three or more whose labels differ. If half of all texts are rivals, scores serve to
rank rivals, and correlations are within groups; else they are over all texts. Correlations are Pearson's: misjudged
pairs count more the further people's labels differ, and labels that are close differ mostly by noise. In simulations,
Pearson's finds a true gain among rivals more often than Spearman's at every size of group (20 groups of 4: 34 against
26 %). `evaluate` decides by the same rules. Groups with constant labels are left out; constant scores have correlation
0. Intervals come from the jackknife over groups, paired for differences.

Held-out scores, which are fitted to the labels of the other folds, must not include the mean of those labels: it is
high where the held-out labels are low, which biases the correlation over all texts downwards (Parker, Gunter & Bedo
2007, "Stratification bias in low signal microarray studies", BMC Bioinformatics 8).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Literal

import numpy as np

from rubriclab.learning.baselines import CONSTANT, held_out_baselines
from rubriclab.learning.calibration import fit_calibration
from rubriclab.learning.decisions import ratings_and_other_means, two_level_statistic
from rubriclab.learning.labels_needed import more_labels
from rubriclab.learning.matrix import RatingMatrix
from rubriclab.methods.catalogue import JOINT
from rubriclab.models import evaluation
from rubriclab.models.text import EARLIER_RATER, Example, Scale, named_annotations
from rubriclab.stats.correlation import BoolArray, FloatArray, IntArray, floats, pearson_rows, spearman_rows
from rubriclab.stats.intervals import Interval, predict_folds, renumber, round_or_none
from rubriclab.stats.rater_agreement import ceiling, krippendorff_alpha
from rubriclab.stats.score_agreement import ScoreErrors, correlation_or_zero, difference, error_difference, score_errors

GateLevel = Literal["group", "dataset"]

# Minimum number of texts of a group of rivals, and minimum share of rivals among all texts for the level `group`. There
# is no minimum number of groups, so that learning and `evaluate`, whose numbers of groups differ, have the same level.
MIN_RIVALS, MIN_SHARE_OF_RIVALS = 3, 0.5


@dataclass(frozen=True, eq=False)
class Evaluator:
    """Scores on any scale and, if errors are compared, on the labels' scale, shape (texts,); `calls` are per text."""

    name: str
    kind: Literal["rubric", "judged", "baseline"]
    scores: FloatArray
    calls: float = 0.0
    predicted_labels: FloatArray | None = None


def validate(
    table: RatingMatrix,
    features: FloatArray,
    ranking_scores: FloatArray,
    fitted: FloatArray,
    fold: IntArray,
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
        fitted: scores by the rubric that is fitted to all labels.
        method_scores: for each method, held-out scores by its criteria alone.
        calls: calls per text of the rubric and of each method in `method_scores`.
        direct: scores by the same judge asked directly; `None` if it was not asked.
        predicted_labels: the rubric's held-out scores, calibrated to the labels, for its errors.
    """
    comparison = EvaluatorComparison(table)
    rubric = Evaluator(JOINT, "rubric", ranking_scores, calls[JOINT], predicted_labels)
    baseline_scores = held_out_baselines(features, table.labels, fold)
    baselines = [Evaluator(name, "baseline", scores) for name, scores in baseline_scores.items()]
    direct_evaluators: list[Evaluator] = []
    direct_calibration = None
    if direct is not None:
        calibrated = calibrated_scores(table, fold, direct)
        direct_evaluators.append(Evaluator(evaluation.DIRECT, "judged", direct, 1.0, direct))
        direct_evaluators.append(Evaluator(evaluation.CALIBRATED, "judged", direct, 1.0, calibrated))
        has_score = ~np.isnan(direct)
        if has_score.any() and not comparison.labels_have_two_levels:
            direct_calibration = fit_calibration(direct[has_score], table.labels[has_score], table.scale, shrink=False)
    methods = [Evaluator(name, "judged", scores, calls[name]) for name, scores in method_scores.items()]
    others = (*baselines, *direct_evaluators, *methods)
    agreements = {other.name: comparison.evaluator_agreement(other) for other in others}

    def agreement_in_order(name: str) -> float:
        value = agreements[name].order.value
        return -math.inf if value is None else value

    # The rubric must be better than the best baseline and than the constant. In a tie, another baseline is the best.
    best = max(baselines, key=lambda baseline: (agreement_in_order(baseline.name), baseline.name != CONSTANT))
    constant = next(baseline for baseline in baselines if baseline.name == CONSTANT)
    compared_baselines = [best] if best is constant else [best, constant]
    baseline_verdicts = [comparison.verdict(rubric, baseline) for baseline in compared_baselines]
    if predicted_labels is not None:
        # The constant's error is shown, but no verdict depends on it: baselines are not compared by their errors.
        means = predict_folds(fold, lambda training, in_fold: np.full(in_fold.sum(), table.labels[training].mean()))
        agreements[CONSTANT] = comparison.evaluator_agreement(replace(constant, predicted_labels=means))
    best_first = sorted(agreements, key=lambda name: -agreement_in_order(name))
    # Other methods' scores are compared, but the gate does not depend on these comparisons.
    without_outcome = {"outcome": None, "error_outcome": None, "more_labels": None}
    return evaluation.Validation(
        level=comparison.level,
        n=int((~np.isnan(ranking_scores)).sum()),
        groups=len(set(table.groups)),
        folds=len(np.unique(fold)),
        training=comparison.evaluator_agreement(Evaluator(JOINT, "rubric", fitted, calls[JOINT])),
        evaluators=(comparison.evaluator_agreement(rubric), *(agreements[name] for name in best_first)),
        verdicts=(
            min(baseline_verdicts, key=lambda verdict: evaluation.WORST_FIRST.index(verdict.overall)),
            *(comparison.verdict(rubric, evaluator) for evaluator in direct_evaluators),
            *(comparison.verdict(rubric, method).model_copy(update=without_outcome) for method in methods),
        ),
        direct_calibration=direct_calibration,
    )


def gate_level(labels: FloatArray, groups: Sequence[str]) -> GateLevel:
    """Return `group` if at least `MIN_SHARE_OF_RIVALS` of the texts are rivals, else `dataset`."""
    labels_by_group: dict[str, list[float]] = {}
    for group, label in zip(groups, labels.tolist(), strict=True):
        labels_by_group.setdefault(group, []).append(label)
    sizes = [len(values) for values in labels_by_group.values() if min(values) < max(values)]
    rivals = sum(size for size in sizes if size >= MIN_RIVALS)
    return "group" if rivals >= MIN_SHARE_OF_RIVALS * len(labels) else "dataset"


def calibrated_scores(table: RatingMatrix, fold: IntArray, scores: FloatArray) -> FloatArray:
    """Return scores that a judge gave directly, calibrated to the labels of the other folds than the text's."""
    has_score = ~np.isnan(scores)

    def predict(training: BoolArray, held_out: BoolArray) -> FloatArray:
        usable = training & has_score
        if not usable.any():
            return np.full(held_out.sum(), np.nan)
        # Direct scores are not fitted to labels, so the slope is not shrunk.
        return fit_calibration(scores[usable], table.labels[usable], table.scale, shrink=False).apply(scores[held_out])

    return np.clip(predict_folds(fold, predict), table.scale.low, table.scale.high)


@dataclass(frozen=True, eq=False)
class EvaluatorComparison:
    """Comparison of evaluators on the labelled texts of `table`."""

    table: RatingMatrix

    @cached_property
    def level(self) -> GateLevel:
        return "dataset" if self.labels_have_two_levels else gate_level(self.table.labels, self.table.groups)

    @property
    def labels_have_two_levels(self) -> bool:
        return self.table.scale.names is not None

    def evaluator_agreement(self, evaluator: Evaluator) -> evaluation.EvaluatorAgreement:
        table, scores, predicted = self.table, evaluator.scores, evaluator.predicted_labels
        auroc = brier = errors = None
        if self.labels_have_two_levels:
            auroc = two_level_statistic("AUROC", [scores], table.labels, table.groups)
            if predicted is not None:
                brier = two_level_statistic("Brier score", [predicted], table.labels, table.groups)
        elif predicted is not None:
            errors = score_errors(predicted, table.labels, table.groups, table.scale.width)
        correlation = partial(correlation_or_zero, scores, table.labels, table.groups, level=self.level)
        return evaluation.EvaluatorAgreement(
            name=evaluator.name,
            kind=evaluator.kind,
            n=int((~np.isnan(scores)).sum()),
            spearman=correlation(coefficient=spearman_rows).rounded(),
            pearson=correlation(coefficient=pearson_rows).rounded(),
            calls=evaluator.calls,
            errors=errors,
            auroc=auroc,
            brier=brier,
        )

    def verdict(self, rubric: Evaluator, other: Evaluator) -> evaluation.GateVerdict:
        """Return whether a rubric agrees better than another evaluator, on the texts that both scored."""
        table = self.table
        error_reduction = None
        if other.predicted_labels is not None and rubric.predicted_labels is not None:
            predictions = [other.predicted_labels, rubric.predicted_labels]
            has_both = ~np.isnan(predictions).any(axis=0)
            if has_both.any() and self.labels_have_two_levels:
                error_reduction = two_level_statistic("Brier score", predictions, table.labels, table.groups)
            elif has_both.any():
                error_reduction = error_difference(predictions, table.labels, table.groups)
        order, labels, clusters = self.order_difference(rubric.scores, other.scores)
        return gate_verdict(other.name, order, error_reduction, table.scale, n_labels=labels, clusters=clusters)

    def order_difference(self, first: FloatArray, second: FloatArray) -> tuple[Interval, int, int]:
        """Return the first minus the second scores' AUROC or correlation, and the numbers of labels and groups used."""
        labels, groups = self.table.labels, self.table.groups
        if self.labels_have_two_levels:
            # AUROC leaves out labels between the two levels. The others and their groups are counted by `difference`.
            counted = difference(np.where(labels == 0.5, np.nan, first), second, labels, groups, level=self.level)
            return two_level_statistic("AUROC", [first, second], labels, groups), counted.n, counted.clusters
        correlation = difference(first, second, labels, groups, level=self.level)
        return correlation.interval.rounded(), len(labels), correlation.clusters


def gate_verdict(
    other_name: str, order: Interval, error_reduction: Interval | None, scale: Scale, *, n_labels: int, clusters: int
) -> evaluation.GateVerdict:
    """Return the verdict on a rubric; `order` is its advantage in AUROC or correlation, which decides the outcome."""
    outcome = difference_outcome(order, evaluation.MIN_EFFECT, clusters)
    min_reduction = evaluation.MIN_BRIER_EFFECT if scale.names else evaluation.MIN_ERROR_EFFECT * scale.width
    error_outcome = difference_outcome(error_reduction, min_reduction, clusters) if error_reduction else None
    more, too_few_groups = None, False
    # An interval below the smallest effect is inconclusive only if there are too few groups to rule out the effect.
    if outcome == "inconclusive":
        too_few_groups = order.low is None or is_below(order, evaluation.MIN_EFFECT)
        more = None if too_few_groups else more_labels(order, n_labels, clusters)
    elif error_reduction and error_outcome == "inconclusive":
        too_few_groups = is_below(error_reduction, min_reduction)
    return evaluation.GateVerdict(
        against=other_name,
        outcome=outcome,
        difference=order,
        error_outcome=error_outcome,
        less_error=error_reduction,
        more_labels=more,
        few_groups=clusters if too_few_groups else None,
    )


def difference_outcome(interval: Interval, min_effect: float, clusters: int) -> evaluation.Outcome:
    """Return the outcome for the interval of a difference; an improvement below `min_effect` does not count."""
    if interval.low is None or interval.high is None:
        return "inconclusive"
    if interval.high < 0:
        return "worse"
    if is_below(interval, min_effect):
        return "not better" if clusters >= evaluation.MIN_GROUPS_TO_RULE_OUT else "inconclusive"
    return "better" if interval.low > 0 else "inconclusive"


def is_below(interval: Interval, min_effect: float) -> bool:
    return interval.high is not None and interval.high < min_effect


# Scores contradict labels if their correlation is at most this; raters contradict each other if their alpha is.
CONTRADICTION = -0.3


def contradiction(validation: evaluation.Validation | None) -> tuple[str, str] | None:
    """Return a doubt about the labels and its reason, from the judge's or the raters' agreement; `None` if no doubt."""
    if validation is None:
        return None
    for evaluator in validation.evaluators:
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


def summarise_raters(examples: Sequence[Example], aspect: str, scale: Scale) -> evaluation.Raters | None:
    """Return the raters' agreement, and the ceiling that it sets at the gate's level; `None` below two raters."""
    table, raters_known = rater_scores(examples, aspect)
    if table is None:
        return None
    groups = [example.group for example in examples]
    group_numbers = renumber(np.array(groups))
    labels = floats(example.scores[aspect] for example in examples)
    ceiling_groups = group_numbers if gate_level(labels, groups) == "group" else None
    return evaluation.Raters(
        alpha=krippendorff_alpha(table, "interval", group_numbers).rounded(),
        ceiling=round_or_none(ceiling(table, ceiling_groups, raters_known=raters_known)),
        errors=None if scale.names else rater_errors(examples, aspect, scale),
        n=sum(len(example.annotations.get(aspect, ())) > 1 for example in examples),
    )


def rater_errors(examples: Sequence[Example], aspect: str, scale: Scale) -> ScoreErrors | None:
    """Return the errors of single raters, each against the mean of a text's other raters; `None` below two raters."""
    annotations = [example.annotations.get(aspect, ()) for example in examples]
    ratings, other_means, groups = ratings_and_other_means(annotations, [example.group for example in examples])
    return score_errors(ratings, other_means, groups, scale.width) if groups else None


def rater_scores(examples: Sequence[Example], aspect: str) -> tuple[FloatArray | None, bool]:
    """Return single raters' scores of `aspect`, and whether each row of this table is one rater.

    The table has shape (raters, texts), NaN where missing; it is `None` unless some text has two scores. Only names
    identify raters: neither the order of unnamed scores nor the numbers that `label` gave to earlier raters do. If some
    scores have raters' names, scores without a name are left out.
    """
    scores_by_name = [named_annotations(example, aspect) for example in examples]
    has_names = any(scores_by_name)
    if not has_names:
        unnamed_scores = (example.annotations.get(aspect, ()) for example in examples)
        scores_by_name = [{str(number): score for number, score in enumerate(scores)} for scores in unnamed_scores]
    if not any(len(scores) > 1 for scores in scores_by_name):
        return None, has_names
    names = sorted({name for scores in scores_by_name for name in scores})
    table = np.array([[scores.get(name, np.nan) for scores in scores_by_name] for name in names], dtype=float)
    return table, has_names and not any(name.startswith(EARLIER_RATER) for name in names)
