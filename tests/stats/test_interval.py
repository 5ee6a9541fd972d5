"""The one form of a statistic with its interval: rounding, undefined values, and what is stored."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from pydantic import TypeAdapter

from rubriclab.stats.intervals import Interval, rounded

STORED: TypeAdapter[Interval] = TypeAdapter(Interval)


@settings(deadline=None, max_examples=60)
@given(value=st.floats(allow_infinity=False))
def test_figures_are_rounded_and_undefined_is_none(value: float) -> None:
    result = rounded(value)
    if math.isnan(value):
        assert result is None
    else:
        assert result == pytest.approx(value, abs=5.1e-7, rel=1e-12)
        assert rounded(result) == result


def test_rounding_nothing_is_nothing_and_numpy_becomes_plain() -> None:
    assert rounded(None) is None
    assert type(rounded(np.float64(0.123456789))) is float
    assert rounded(np.float64(0.123456789)) == 0.123457


def test_an_undefined_interval_is_stored_as_nulls() -> None:
    assert json.loads(STORED.dump_json(Interval(math.nan, None, math.nan).rounded())) == {
        "value": None,
        "low": None,
        "high": None,
    }
