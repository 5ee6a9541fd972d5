"""How many more labels would decide: the chances against a simulation, and what is promised."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import t

from rubriclab.learning.gate import PRIOR, decision_chances, more_labels
from rubriclab.models.version import MAX_LABELS, MIN_EFFECT, MoreLabels
from rubriclab.stats.intervals import Interval

LABELS, SPREAD = 30, 1.0


def interval(values: np.ndarray) -> tuple[float, float]:
    """Return the mean of differences, one a label, with half of its interval."""
    margin = t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    return float(values.mean()), float(margin)


def decided(value: float, margin: float) -> bool:
    return value - margin > 0 or value + margin < MIN_EFFECT


@pytest.mark.parametrize("more", [60, 200])
def test_of_open_cases_as_many_are_decided_as_the_chances_say(more: int) -> None:
    rng, promised, found = np.random.default_rng(more), [], []
    while len(found) < 1500:
        values = rng.normal(PRIOR * rng.normal(), SPREAD, LABELS + more)
        value, margin = interval(values[:LABELS])
        if not decided(value, margin):
            promised.append(decision_chances(value, margin, LABELS, LABELS, np.array([float(more)]))[0])
            found.append(decided(*interval(values)))
    likely = np.array(promised) > np.median(promised)
    for half in (likely, ~likely):
        assert np.mean(np.array(found)[half]) == pytest.approx(np.array(promised)[half].mean(), abs=0.05)


def test_where_the_numbers_are_within_reach_they_are_a_range() -> None:
    found = more_labels(Interval(0.28, -0.01, 0.57), LABELS, LABELS)
    assert found is not None
    assert found.even is not None
    assert found.likely is not None
    assert 10 <= found.even < found.likely <= MAX_LABELS


def test_what_the_labels_cannot_tell_is_not_promised() -> None:
    assert more_labels(Interval(0.03, -0.9, 0.96), 200, 10) == MoreLabels(even=None, likely=None)
    assert more_labels(Interval(None), LABELS, LABELS) is None
    assert more_labels(Interval(0.1), LABELS, 4) is None


@given(st.floats(0.01, 0.5), st.floats(0.01, 0.4), st.integers(5, 100))
def test_a_larger_difference_needs_no_more_labels(value: float, above: float, clusters: int) -> None:
    margin = value + above + 0.5
    more = np.arange(10.0, 301.0, 10)
    near, far = (decision_chances(each, margin, 100, clusters, more) for each in (value, value + above))
    assert ((near >= 0) & (near <= 1)).all()
    assert (far >= near - 0.1).all()
