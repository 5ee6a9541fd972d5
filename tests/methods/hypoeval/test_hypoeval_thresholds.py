"""Levels that contradict each other, as far as the numbers in them tell."""

import pytest

from rubriclab.methods.hypoeval.replies import level_fault, threshold_conflict
from rubriclab.rubric import Level

NAMES = ["no names", "one name", "two names", "three or four names", "five names or more"]


def levels(*descriptions: str) -> list[Level]:
    return [Level(score=score, description=text) for score, text in enumerate(descriptions, 1)]


@pytest.mark.parametrize(
    ("descriptions", "told"),
    [
        (["at most two names", "one to three names", "more than three names"], "overlap in the number of names"),
        (["no names", "three names", "two names"], "neither rises nor falls"),
    ],
)
def test_levels_at_odds_are_found(descriptions: list[str], told: str):
    assert told in (level_fault(descriptions) or "")


@pytest.mark.parametrize(
    "descriptions",
    [
        NAMES,
        NAMES[::-1],
        ["nothing of it", "a little of it", "much of it"],
        ["at most 2 errors", "two to four errors", "at least 4 errors"][::-1],
        ["Less than a quarter of it", "Up to three quarters of it", "More than three quarters of it"],
        ["No person can be made out.", "One or two persons without a role, a past or a tie to anybody at all.", "x"],
    ],
)
def test_sound_levels_and_those_without_counts_are_left_alone(descriptions: list[str]):
    assert level_fault(descriptions) is None


def test_the_same_count_at_opposite_ends_of_two_hypotheses_is_a_conflict():
    more, fewer = levels(*NAMES), levels(*NAMES[::-1])
    assert "names" in (threshold_conflict(more, fewer) or "")
    assert threshold_conflict(more, more) is None
    assert threshold_conflict(more, levels("no dates", "one date", "two dates")) is None
