"""How much drift is allowed."""

from __future__ import annotations

import pytest
from drift_samples import paired, scorers, version

from rubriclab.comparison import Drift, DriftLimits, check_limits, compare_scores
from rubriclab.comparison.limits import worst_outcome


def drifted(*values: tuple[float | None, float | None]) -> Drift:
    both = scorers(version({"a": 1}), version({"a": 1}, number=2))
    return compare_scores(both, paired(both, [{"a": a} for a, _ in values], [{"a": b} for _, b in values], rivals=1))


MOVED = drifted((2.0, 2.5), (2.5, 3.5), (4.0, 3.5), (4.5, 4.5))


@pytest.mark.parametrize(
    ("limits", "outcome"),
    [
        (DriftLimits(), "within"),
        (DriftLimits(max_shift=0.25), "within"),
        (DriftLimits(max_shift=0.2), "beyond"),
        (DriftLimits(max_flips=0.25), "within"),
        (DriftLimits(max_flips=0.2), "beyond"),
        (DriftLimits(min_rank=0.9), "within"),
        (DriftLimits(min_rank=0.95), "beyond"),
        (DriftLimits(max_shift=0.2, max_flips=0.5, min_rank=0.5), "beyond"),
    ],
)
def test_a_limit_is_passed_only_by_more_than_it_allows(limits: DriftLimits, outcome: str) -> None:
    assert worst_outcome(check_limits(MOVED, limits)) == outcome


def test_each_limit_is_said_with_its_figure() -> None:
    found = check_limits(MOVED, DriftLimits(0.2, 0.5, 0.5))
    assert [(each.limit, each.allowed, each.value, each.outcome) for each in found] == [
        ("max_shift", 0.2, 0.25, "beyond"),
        ("max_flips", 0.5, 0.25, "within"),
        ("min_rank", 0.5, pytest.approx(0.948683, abs=1e-6), "within"),
    ]


def test_scores_that_fall_pass_the_limit_as_well() -> None:
    fallen = drifted((4.0, 3.5), (3.5, 3.0))
    assert worst_outcome(check_limits(fallen, DriftLimits(max_shift=0.4))) == "beyond"


def test_what_has_no_figure_is_unknown_and_not_within() -> None:
    nothing = drifted((2.0, None))
    checks = check_limits(nothing, DriftLimits(1.0, 1.0, -1.0))
    assert [each.outcome for each in checks] == ["unknown"] * 3
    assert worst_outcome(checks) == "unknown"
    constant = drifted((2.0, 3.0), (2.0, 2.0))
    assert worst_outcome(check_limits(constant, DriftLimits(min_rank=0.5))) == "unknown"
    assert worst_outcome(check_limits(constant, DriftLimits(max_shift=0.1, min_rank=0.5))) == "beyond"


def test_where_not_a_single_score_moves_the_ranking_is_the_same() -> None:
    assert worst_outcome(check_limits(drifted((2.0, 2.0), (2.0, 2.0)), DriftLimits(0, 0, 1))) == "within"
