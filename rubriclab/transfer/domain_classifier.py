"""How well two sets of texts can be told apart: the area under the ROC curve of a simple classifier."""

from __future__ import annotations

import numpy as np

from rubriclab.learning.standardise import centers_and_spreads, standardised
from rubriclab.rubric import rounded
from rubriclab.stats.bootstrap import estimate
from rubriclab.stats.correlation import FloatArray, IntArray
from rubriclab.stats.folds import grouped_folds
from rubriclab.transfer.sample import Sample, some_texts
from rubriclab.validation import Interval

FOLDS = 5
# Against the noise of some seventy columns and thirty texts. Measured at 0.01, 0.1 and 1, which made no difference.
INVERSE_PENALTY = 0.1
# Standardised values count at most so much: a rare count would otherwise decide alone.
FARTHEST = 3.0
# Newton steps on some seventy columns: few and short, where the default takes many that threads wait for each other in.
SOLVER = "newton-cholesky"
RESAMPLES = 1000
CONFIDENCE = 0.95
BATCH = 64


def told_apart(home: Sample, target: Sample, seed: int = 0) -> Interval:
    """Return the area under the ROC curve with its bootstrap interval over groups: 0.5 where nothing tells them apart.

    It is the chance that a text of the target looks more like the target than a home text does (Mann-Whitney), in the
    eyes of a logistic regression that saw no text of their groups. Pairs are taken inside a fold, as the scores of two
    classifiers cannot be compared. The classifiers are not fitted again for the resamples. Undefined where a side has a
    single text, or there is no column.

    Args:
        seed: of the folds, of the texts that stand for more than `MOST_TEXTS`, and of the resamples.
    """
    home, target = some_texts(home, seed), some_texts(target, seed)
    if min(len(home), len(target)) < 2 or not home.values.shape[1]:
        return Interval(value=None)
    home_fold, target_fold = _folds(home, target, seed)
    wins, pairs = np.zeros((2, int(home.units.max()) + 1, int(target.units.max()) + 1))
    for fold in np.intersect1d(home_fold, target_fold):
        ours, theirs = home_fold == fold, target_fold == fold
        if ours.all() or theirs.all():
            continue
        of_home, of_target = _judged(
            home.values[~ours], target.values[~theirs], home.values[ours], target.values[theirs]
        )
        cells = np.ix_(home.units[ours], target.units[theirs])
        np.add.at(wins, cells, np.sign(of_target - of_home[:, np.newaxis]) / 2 + 0.5)
        np.add.at(pairs, cells, 1.0)
    return _interval(wins, pairs, home, target, seed)


def _folds(home: Sample, target: Sample, seed: int) -> tuple[IntArray, IntArray]:
    """Return the folds of both sides; a group that is on both sides is in one fold."""
    folds = min(FOLDS, *(int(side.units.max()) + 1 for side in (home, target)))
    of_home, of_target = (grouped_folds(side.groups, folds, seed) for side in (home, target))
    place = dict(zip(home.groups, of_home.tolist(), strict=True)) if len(set(home.groups)) > 1 else {}
    shared = [place.get(group, fold) for group, fold in zip(target.groups, of_target.tolist(), strict=True)]
    return of_home, np.array(shared, dtype=np.int64)


def _judged(
    home: FloatArray, target: FloatArray, left_out_home: FloatArray, left_out_target: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return how much the left out texts of both sides look like the target, by what tells the others apart."""
    from sklearn.linear_model import LogisticRegression

    both = np.concatenate([home, target])
    which = np.repeat([0, 1], [len(home), len(target)])
    scale = centers_and_spreads(both)
    seen, ours, theirs = (
        standardised(values, *scale).clip(-FARTHEST, FARTHEST) for values in (both, left_out_home, left_out_target)
    )
    model = LogisticRegression(C=INVERSE_PENALTY, class_weight="balanced", solver=SOLVER).fit(seen, which)
    return np.asarray(model.decision_function(ours)), np.asarray(model.decision_function(theirs))


def _interval(wins: FloatArray, pairs: FloatArray, home: Sample, target: Sample, seed: int) -> Interval:
    """Return the share of pairs won, with its interval; a group on both sides is drawn for both at once."""
    of_home, of_target, clusters = _clusters(home, target)

    def share(counts: FloatArray) -> FloatArray:
        ours, theirs = counts[:, of_home], counts[:, of_target]
        won, all_pairs = (((ours @ table) * theirs).sum(axis=1) for table in (wins, pairs))
        shares: FloatArray = np.divide(won, all_pairs, out=np.full(len(counts), np.nan), where=all_pairs > 0)
        return shares

    found = estimate(share, clusters, resamples=RESAMPLES, confidence=CONFIDENCE, seed=seed, batch=BATCH)
    return Interval(value=rounded(found.value), low=rounded(found.low), high=rounded(found.high))


def _clusters(home: Sample, target: Sample) -> tuple[IntArray, IntArray, int]:
    """Return what each unit of both sides is drawn with, and how many there are to draw."""
    names = _unit_names(home, "home"), _unit_names(target, "target")
    place = {name: number for number, name in enumerate(sorted({*names[0], *names[1]}))}
    of_home, of_target = (np.array([place[name] for name in each], dtype=np.int64) for each in names)
    return of_home, of_target, len(place)


def _unit_names(side: Sample, which: str) -> list[tuple[str, ...]]:
    """Return a name for each unit, in the order of their numbers; groups are known by the same name on both sides."""
    groups = sorted(set(side.groups))
    return [(group,) for group in groups] if len(groups) > 1 else [(which, str(place)) for place in range(len(side))]
