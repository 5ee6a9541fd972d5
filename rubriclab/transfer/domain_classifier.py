"""How well a simple classifier distinguishes two samples of texts: the area under its ROC curve."""

from __future__ import annotations

import numpy as np

from rubriclab.learning.rating_matrix import centers_and_spreads, standardised
from rubriclab.stats.bootstrap import estimate
from rubriclab.stats.correlation import FloatArray, IntArray
from rubriclab.stats.folds import grouped_folds
from rubriclab.stats.interval import Interval
from rubriclab.transfer.sample import Sample

FOLDS = 5
# Regularization, for some seventy columns and thirty texts. 0.01, 0.1 and 1 made no measurable difference.
INVERSE_PENALTY = 0.1
# Standardised values are clipped to this: otherwise a single rare count would decide.
MAX_STANDARDISED = 3.0
# Newton's method takes few steps on some seventy columns; the default solver takes many, and its threads wait.
SOLVER = "newton-cholesky"
RESAMPLES = 1000
CONFIDENCE = 0.95
BATCH = 64


def domain_auc(source: Sample, target: Sample, seed: int = 0) -> Interval:
    """Return the area under the ROC curve with its bootstrap interval over groups; 0.5 means indistinguishable.

    It is the probability that a target text scores higher than a source text (Mann-Whitney) by a logistic regression
    fitted without the groups of either. Pairs are compared within a fold, as scores of two classifiers are not
    comparable. Classifiers are not refitted for the resamples. Undefined if a sample has a single text, or there is
    no column.

    Args:
        seed: of the folds, of the texts drawn from large samples, and of the resamples.
    """
    source, target = source.capped(seed), target.capped(seed)
    if min(len(source), len(target)) < 2 or not source.values.shape[1]:
        return Interval(None)
    source_fold, target_fold = _folds(source, target, seed)
    wins, pairs = np.zeros((2, int(source.units.max()) + 1, int(target.units.max()) + 1))
    for fold in np.intersect1d(source_fold, target_fold):
        in_source, in_target = source_fold == fold, target_fold == fold
        if in_source.all() or in_target.all():
            continue
        source_scores, target_scores = _domain_scores(
            source.values[~in_source], target.values[~in_target], source.values[in_source], target.values[in_target]
        )
        cells = np.ix_(source.units[in_source], target.units[in_target])
        np.add.at(wins, cells, np.sign(target_scores - source_scores[:, np.newaxis]) / 2 + 0.5)
        np.add.at(pairs, cells, 1.0)
    return _share_of_pairs(wins, pairs, source, target, seed)


def _folds(source: Sample, target: Sample, seed: int) -> tuple[IntArray, IntArray]:
    """Return the folds of both samples; a group that is in both is in one fold."""
    folds = min(FOLDS, *(int(sample.units.max()) + 1 for sample in (source, target)))
    source_fold, target_fold = (grouped_folds(sample.groups, folds, seed) for sample in (source, target))
    fold_of = dict(zip(source.groups, source_fold.tolist(), strict=True)) if len(set(source.groups)) > 1 else {}
    shared = [fold_of.get(group, fold) for group, fold in zip(target.groups, target_fold.tolist(), strict=True)]
    return source_fold, np.array(shared, dtype=np.int64)


def _domain_scores(
    source: FloatArray, target: FloatArray, held_out_source: FloatArray, held_out_target: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the held-out texts' scores by a classifier fitted to the others; higher means more like the target."""
    from sklearn.linear_model import LogisticRegression

    fitted = np.concatenate([source, target])
    scale = centers_and_spreads(fitted)
    x, x_source, x_target = (
        standardised(values, *scale).clip(-MAX_STANDARDISED, MAX_STANDARDISED)
        for values in (fitted, held_out_source, held_out_target)
    )
    domain = np.repeat([0, 1], [len(source), len(target)])
    model = LogisticRegression(C=INVERSE_PENALTY, class_weight="balanced", solver=SOLVER).fit(x, domain)
    return np.asarray(model.decision_function(x_source)), np.asarray(model.decision_function(x_target))


def _share_of_pairs(wins: FloatArray, pairs: FloatArray, source: Sample, target: Sample, seed: int) -> Interval:
    """Return the share of pairs won, with its interval; a group in both samples is resampled for both at once."""
    names = _unit_names(source, "source"), _unit_names(target, "target")
    number_of = {name: number for number, name in enumerate(sorted({*names[0], *names[1]}))}
    source_clusters, target_clusters = ([number_of[name] for name in sample_names] for sample_names in names)

    def share(counts: FloatArray) -> FloatArray:
        source_counts, target_counts = counts[:, source_clusters], counts[:, target_clusters]
        won, total = (((source_counts @ table) * target_counts).sum(axis=1) for table in (wins, pairs))
        shares: FloatArray = np.divide(won, total, out=np.full(len(counts), np.nan), where=total > 0)
        return shares

    auc = estimate(share, len(number_of), resamples=RESAMPLES, confidence=CONFIDENCE, seed=seed, batch=BATCH)
    return auc.rounded()


def _unit_names(sample: Sample, domain: str) -> list[tuple[str, ...]]:
    """Return a name for each unit, in the order of their numbers; a group has the same name in both samples."""
    groups = sorted(set(sample.groups))
    return [(group,) for group in groups] if len(groups) > 1 else [(domain, str(row)) for row in range(len(sample))]
