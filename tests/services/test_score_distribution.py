"""What `score` ends with: mean, spread, histogram, and why texts have no score."""

from __future__ import annotations

import statistics

import pytest
from hypothesis import given, strategies as st

from rubriclab import Scale, Score
from rubriclab.report.lists import summary_blocks
from rubriclab.services.score_distribution import OTHER, REASONS, ScoreDistribution, summarize_scores

SCALE = Scale(low=1, high=5, whole=False)


def summary(*values: float | None, reason: str = "no reply") -> ScoreDistribution:
    scores = (
        Score(f"t{n}", "coherence", value, (), None if value is not None else reason, "news@1", "embedded")
        for n, value in enumerate(values)
    )
    return summarize_scores(scores, SCALE)


@given(st.lists(st.floats(1, 5), min_size=2, max_size=50))
def test_mean_and_spread_are_those_of_the_standard_library(values: list[float]) -> None:
    result = summary(*values)
    assert result.mean == pytest.approx(statistics.fmean(values))
    assert result.standard_deviation == pytest.approx(statistics.stdev(values), abs=1e-9)
    assert sum(result.histogram) == len(values)


def test_the_ends_of_the_scale_lie_in_the_first_and_last_bin() -> None:
    assert summary(1.0, 5.0, 5.0).histogram == (1, 0, 0, 0, 0, 0, 0, 0, 0, 2)


def test_without_scores_there_is_no_mean() -> None:
    result = summary(None, None)
    assert (result.mean, result.standard_deviation, dict(result.unscored)) == (None, None, {"no reply": 2})
    assert [block.words for block in summary_blocks(result)] != []


def test_different_reasons_do_not_grow_without_end() -> None:
    result = ScoreDistribution(SCALE)
    for n in range(1000):
        result.add(Score(f"t{n}", "coherence", None, (), f"reason {n}", "news@1", "embedded"))
    assert len(result.unscored) == REASONS + 1
    assert result.unscored[OTHER] == 1000 - REASONS


@pytest.mark.parametrize(
    ("values", "threshold", "expected"),
    [
        ((3.0, 4.0), 3.5, True),
        ((3.0, 4.0), 3.6, False),
        ((None, 4.0), 3.6, None),
        ((), 3.0, None),
        ((*([4.0] * 9), None), 3.0, True),
    ],
)
def test_a_threshold_is_met_only_where_enough_texts_have_a_score(
    values: tuple[float | None, ...], threshold: float, expected: bool | None
) -> None:
    assert summary(*values).meets(threshold) is expected
