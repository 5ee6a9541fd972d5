"""The jackknife against its definition, and the coverage of its intervals."""

from __future__ import annotations

import numpy as np
import pytest

from rubriclab.stats.jackknife import correlation_intervals, correlations_without, jackknife_error


def test_each_unit_is_left_out_as_if_it_had_never_been_there():
    rng = np.random.default_rng(0)
    columns, labels, units = rng.normal(size=(24, 5)), rng.normal(size=24), np.arange(24) % 7
    r, without = correlations_without(columns, labels, units)
    assert r == pytest.approx([np.corrcoef(column, labels)[0, 1] for column in columns.T])
    for unit in range(7):
        left = units != unit
        assert without[unit] == pytest.approx([np.corrcoef(column[left], labels[left])[0, 1] for column in columns.T])


def test_error_of_a_mean_is_the_standard_error():
    values = np.random.default_rng(1).normal(size=20)
    without = np.array([[np.delete(values, place).mean()] for place in range(20)])
    assert jackknife_error(without)[0] == pytest.approx(values.std(ddof=1) / np.sqrt(20))


def test_a_correlation_that_hangs_on_one_unit_says_nothing():
    column = np.zeros((10, 1))
    column[3] = 1
    r, low, high = correlation_intervals(column, np.arange(10.0), np.arange(10), 0.9)
    assert (r[0] != 0, low[0], high[0]) == (True, -1, 1)


def test_what_does_not_vary_has_no_correlation():
    found = correlation_intervals(np.ones((6, 1)), np.arange(6.0), np.arange(6), 0.9)
    assert np.isnan(found).all()
    found = correlation_intervals(np.arange(6.0)[:, np.newaxis], np.full(6, 0.3), np.arange(6), 0.9)
    assert np.isnan(found).all()


def test_one_unit_tells_nothing():
    _, low, high = correlation_intervals(np.arange(4.0)[:, np.newaxis], np.arange(4.0) ** 2, np.zeros(4, int), 0.9)
    assert (low[0], high[0]) == (-1, 1)


def test_intervals_cover_the_true_correlation_of_grouped_texts():
    rng = np.random.default_rng(2)
    units = np.repeat(np.arange(15), 2)
    held = []
    for _ in range(30):
        labels = rng.normal(size=30)
        columns = 0.5 * labels[:, np.newaxis] + np.sqrt(0.75) * rng.normal(size=(30, 20))
        _, low, high = correlation_intervals(columns, labels, units, 0.9)
        held.append(((low < 0.5) & (high > 0.5)).mean())
    assert 0.85 < np.mean(held) < 0.95
