"""The kinds an aspect belongs to, and the directions that are usual for it."""

import pytest

from rubriclab.text_features import CATALOGUE, aspect_kinds, prior_directions, usual_directions
from rubriclab.text_features.prior import learned_directions


@pytest.mark.parametrize(
    ("aspect", "kinds"),
    [
        ("coherence", ("coherence",)),
        ("Fluency", ("fluency",)),
        ("informativeness", ("coverage",)),
        ("groundedness", ("faithfulness",)),
        ("engagingness", ("engagement",)),
        ("grammar and structure", ("fluency", "coherence")),
    ],
)
def test_an_aspect_is_recognised_by_its_name(aspect: str, kinds: tuple[str, ...]) -> None:
    assert aspect_kinds(aspect, "Is it interesting?") == kinds


def test_the_definition_decides_where_the_name_says_nothing() -> None:
    assert aspect_kinds("q3", "Are the facts supported by the article?") == ("faithfulness",)


def test_an_aspect_that_nothing_describes_is_of_every_kind() -> None:
    assert set(aspect_kinds("overall")) == {"fluency", "coherence", "coverage", "faithfulness", "engagement"}


def test_directions_cover_the_catalogue_and_stay_within_one() -> None:
    directions = usual_directions("overall", task="summarization")
    assert list(directions) == [feature.name for feature in CATALOGUE]
    assert all(-1 <= value <= 1 for value in directions.values())


def test_repetition_speaks_against_coherence_in_any_task() -> None:
    assert usual_directions("coherence")["repeated_bigrams"] == -1
    assert usual_directions("coherence", task="story")["repeated_bigrams"] == -1


def test_copying_the_source_speaks_for_a_faithful_summary_and_says_nothing_of_a_reply() -> None:
    assert usual_directions("consistency", task="summarization")["copied_share"] == 1
    assert usual_directions("consistency", task="dialogue")["copied_share"] == 0


def test_mixed_kinds_have_the_mean_of_their_directions() -> None:
    assert usual_directions("coherence and informativeness", task="summarization")["words"] == 0.5


def test_learned_directions_name_the_features_of_the_catalogue() -> None:
    assert list(learned_directions()) == [feature.name for feature in CATALOGUE]


def test_prior_directions_are_the_mean_of_both_kinds_with_a_largest_size_of_one() -> None:
    usual = usual_directions("coherence", task="story")
    found = prior_directions("coherence", task="story", learned=dict.fromkeys(usual, 0.0) | {"words": 2.0})
    halves = sum(map(abs, usual.values()))
    expected = {name: value / halves + (name == "words") for name, value in usual.items()}
    largest = max(map(abs, expected.values()))
    assert found == pytest.approx({name: value / largest for name, value in expected.items()})
    assert max(map(abs, found.values())) == 1
