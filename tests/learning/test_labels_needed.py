"""How many more labels would decide."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2, t

from rubriclab.learning.gate import PRIOR_DEVIATION, more_labels, outcome_chances
from rubriclab.models.evaluation import MIN_EFFECT, MoreLabels
from rubriclab.stats.intervals import Interval

LABELS, SPREAD = 30, 1.0


def interval(values: np.ndarray) -> tuple[float, float]:
    """Return the mean of differences, one a label, with half of its interval."""
    margin = t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    return float(values.mean()), float(margin)


def decided(value: float, margin: float) -> bool:
    return value - margin > 0 or value + margin < MIN_EFFECT


def test_of_open_cases_as_many_are_decided_as_the_chances_say() -> None:
    more = 60
    rng, promised, found = np.random.default_rng(more), [], []
    while len(found) < 1500:
        values = rng.normal(PRIOR_DEVIATION * rng.normal(), SPREAD, LABELS + more)
        value, margin = interval(values[:LABELS])
        if not decided(value, margin):
            promised.append(outcome_chances(value, margin, LABELS, LABELS, np.array([float(more)]))[0])
            found.append(decided(*interval(values)))
    likely = np.array(promised) > np.median(promised)
    for half in (likely, ~likely):
        assert np.mean(np.array(found)[half]) == pytest.approx(np.array(promised)[half].mean(), abs=0.05)


def test_as_many_more_labels_are_named_as_first_have_the_chance() -> None:
    found = more_labels(Interval(0.06, -0.04, 0.16), LABELS, LABELS)
    for number, chance in ((found.even, 0.5), (found.likely, 0.8)):
        chances = outcome_chances(0.06, 0.1, LABELS, LABELS, np.array([number - 10.0, float(number)]))
        assert chances[0] < chance <= chances[1]


def test_what_the_labels_cannot_tell_is_not_promised() -> None:
    assert more_labels(Interval(0.03, -0.9, 0.96), 200, 10) == MoreLabels(even=None, likely=None)
    assert more_labels(Interval(None), LABELS, LABELS) is None
    assert more_labels(Interval(0.1), LABELS, LABELS) is None
    assert [more_labels(Interval(0.06, -0.04, 0.16), LABELS, few) is None for few in (4, 5)] == [True, False]


def test_with_no_further_labels_those_true_errors_decide_whose_interval_excludes_0() -> None:
    """Five groups are too few to rule out a small difference."""
    error_ratios = np.sqrt(4 / chi2.isf((np.arange(9) + 0.5) / 9, 4))
    for value in (0.08, 0.11, 0.15):
        (chance,) = outcome_chances(value, 0.1, LABELS, 5, np.array([1e-9]))
        assert chance == pytest.approx(np.mean(0.1 * error_ratios < value))
