"""How far texts lie from those that a rubric was learned from."""

from __future__ import annotations

import numpy as np
import pytest

from rubriclab.aggregation import Term
from rubriclab.cli.printing import view_text
from rubriclab.data.example import Example
from rubriclab.report.shift import shift_view
from rubriclab.transfer.distribution_shift import shift

WORDS = ["river", "stone", "lamp", "window", "garden", "bread", "winter", "letter", "market", "horse", "cloud", "paper"]


def sentences(rng: np.random.Generator, count: int, length: int) -> str:
    return " ".join(" ".join(rng.choice(WORDS, length)).capitalize() + "." for _ in range(count))


def plain(count: int, seed: int, prefix: str) -> list[Example]:
    """Some sentences of a few words, two texts to a source."""
    rng = np.random.default_rng(seed)
    sources = [sentences(rng, 12, 8) for _ in range(count // 2 + 1)]
    return [
        Example(
            id=f"{prefix}{place}",
            output=sentences(rng, int(rng.integers(2, 5)), int(rng.integers(5, 10))),
            group=f"{prefix}-{place // 2}",
            source=sources[place // 2],
        )
        for place in range(count)
    ]


def shouted(count: int, *, source: bool = True) -> list[Example]:
    return [
        Example(
            id=f"s{place}",
            output="WHAT?! No - never; " * (20 + place) + "!!! (1999)",
            group=f"s-{place}",
            source=f"Say something {place}." if source else None,
        )
        for place in range(count)
    ]


def scores(texts: list[Example], seed: int, *, up: float = 0.0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {name: rng.normal(3 + up, 0.7, len(texts)) for name in ("first", "second")}


def terms(*names: str) -> list[Term]:
    return [
        Term(criterion=name, weight=1 / len(names), center=3.0, spread=0.7, low=0.1, high=0.9, selected=1.0)
        for name in names
    ]


def test_texts_of_the_same_kind_are_inside() -> None:
    home, target = plain(30, 0, "h"), plain(60, 1, "t")
    found = shift(home, target, scores(home, 2), scores(target, 3))
    assert found.finding == "inside"
    assert found.warning is None
    assert (found.home, found.home_groups, found.target, found.target_groups) == (30, 15, 60, 30)
    assert found.measures.outlying.share.value < 0.3
    assert found.criteria.apart.low < 0.65


def test_texts_of_another_kind_are_outside_and_named() -> None:
    home, target = plain(30, 0, "h"), shouted(20)
    found = shift(home, target, scores(home, 2), scores(target, 3, up=-3.0))
    assert found.finding == "outside"
    assert "label some of these texts" in found.warning
    assert found.measures.outlying.ids == tuple(text.id for text in target)
    assert found.measures.apart.value == 1.0
    assert any("100% of the texts lie outside" in reason for reason in found.reasons)
    assert found.criteria.movements[0].moved < -2


def test_scores_alone_can_tell_that_texts_are_outside() -> None:
    home, target = plain(30, 0, "h"), plain(60, 1, "t")
    found = shift(home, target, scores(home, 2), scores(target, 3, up=-4.0))
    assert found.finding == "outside"
    assert all("criteria's scores" in reason for reason in found.reasons)


def test_a_source_that_only_one_side_has_is_said() -> None:
    home = plain(30, 0, "h")
    target = [Example(text.id, text.output, text.group) for text in plain(60, 1, "t")]
    found = shift(home, target, {}, {})
    assert found.finding == "near the edge"
    assert "length_to_source" in found.measures.foreign
    assert not any(each.name == "length_to_source" for each in found.measures.movements)
    assert any("On one side only" in reason for reason in found.reasons)
    assert found.criteria is None


def test_criteria_of_one_side_and_those_without_scores_are_left_out() -> None:
    home, target = plain(30, 0, "h"), plain(30, 1, "t")
    ours, theirs = scores(home, 2), scores(target, 3)
    found = shift(home, target, {**ours, "gone": ours["first"]}, {**theirs, "second": np.full(30, np.nan)})
    assert [each.name for each in found.criteria.movements] == ["first"]
    assert found.criteria.foreign == ("second",)


def test_without_texts_of_training_means_and_spreads_stand_in() -> None:
    target = plain(40, 1, "t")
    found = shift([], target, {}, scores(target, 3, up=-2.0), terms=terms("first", "second"))
    assert found.finding == "outside"
    assert (found.home, found.measures) == (0, None)
    assert "nothing else can be compared" in found.reasons[0]
    assert all(each.moved < -2 and each.chance is None for each in found.criteria.movements)
    near = shift([], target, {}, scores(target, 3), terms=terms("first", "second"))
    assert near.finding == "inside"


def test_without_anything_known_it_says_so() -> None:
    target = plain(10, 1, "t")
    found = shift([], target, {}, scores(target, 3))
    assert found.finding == "near the edge"
    assert found.reasons == ("Nothing is known of the texts that the rubric was learned from.",)


def test_the_same_seed_finds_the_same() -> None:
    home, target = plain(20, 0, "h"), plain(20, 1, "t")
    ours, theirs = scores(home, 2), scores(target, 3)
    assert shift(home, target, ours, theirs, seed=4) == shift(home, target, ours, theirs, seed=4)


def test_a_single_text_is_compared_as_far_as_that_goes() -> None:
    home, target = plain(30, 0, "h"), shouted(1)
    found = shift(home, target, {}, {})
    assert found.finding == "outside"
    assert found.measures.apart.value is None


def test_what_cannot_be_compared_is_refused() -> None:
    home = plain(10, 0, "h")
    with pytest.raises(ValueError, match="at least one text"):
        shift(home, [], {}, {})
    with pytest.raises(ValueError, match=r"home_scores\['first'\]: expected 10 scores"):
        shift(home, home, {"first": np.zeros(9)}, {})


def test_the_view_says_the_finding_its_reasons_and_what_moved() -> None:
    home, target = plain(30, 0, "h"), shouted(20)
    found = shift(home, target, scores(home, 2), scores(target, 3, up=-3.0))
    shown = " ".join(view_text(shift_view(found)).split())
    assert "These texts lie outside of what the rubric was learned from." in shown
    assert "label some of these texts" in shown
    assert "20 texts in 20 groups, beside 30 texts of training in 15 groups" in shown
    assert "s9 and 10 more" in shown
    assert "Kolmogorov-Smirnov" in shown


def test_the_view_without_texts_of_training_has_no_columns_for_them() -> None:
    target = plain(40, 1, "t")
    shown = view_text(shift_view(shift([], target, {}, scores(target, 3), terms=terms("first", "second"))))
    assert "beside the means and spreads that the rubric holds" in shown
    assert "Kolmogorov" not in shown
    assert "beyond" not in shown
