"""The distance of texts from those that a rubric was learned from."""

from __future__ import annotations

import numpy as np
import pytest

from rubriclab.aggregation import Term
from rubriclab.cli.printing import view_text
from rubriclab.data.example import Example
from rubriclab.report.model import View
from rubriclab.report.shift import shift_blocks
from rubriclab.stats.interval import Interval
from rubriclab.transfer.distribution_shift import SampleComparison, _findings, distribution_shift

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


def test_similar_texts_are_a_small_shift() -> None:
    source, target = plain(30, 0, "h"), plain(60, 1, "t")
    found = distribution_shift(source, target, scores(source, 2), scores(target, 3))
    assert found.severity == "small"
    assert found.warning is None
    assert (found.source_texts, found.source_groups, found.target_texts, found.target_groups) == (30, 15, 60, 30)
    assert found.text_features.outliers.share.value < 0.3
    assert found.criteria.auc.low < 0.65


def test_another_kind_of_text_is_a_large_shift_with_its_outliers() -> None:
    source, target = plain(30, 0, "h"), shouted(20)
    found = distribution_shift(source, target, scores(source, 2), scores(target, 3, up=-3.0))
    assert found.severity == "large"
    assert "label some of them" in found.warning
    assert found.text_features.outliers.ids == tuple(text.id for text in target)
    assert found.text_features.auc.value == 1.0
    assert any("100% of the texts are outliers" in reason for reason in found.reasons)
    assert found.criteria.feature_shifts[0].standardized_shift < -2


@pytest.mark.parametrize(
    ("low", "clearly", "words"),
    [
        (0.7, True, "clearly distinguishes"),
        (0.51, False, "somewhat distinguishes"),
        (0.5, False, "does not distinguish"),
    ],
)
def test_a_classifier_above_chance_is_not_said_to_be_at_chance(low: float, clearly: bool, words: str) -> None:
    comparison = SampleComparison(auc=Interval(0.82, low, 0.99), feature_shifts=(), outliers=None)
    ((severity, sentence),) = _findings("text features", comparison)
    assert words in sentence
    assert severity == ("moderate" if clearly else "small")


def test_ratings_alone_can_show_a_large_shift() -> None:
    source, target = plain(30, 0, "h"), plain(60, 1, "t")
    found = distribution_shift(source, target, scores(source, 2), scores(target, 3, up=-4.0))
    assert found.severity == "large"
    assert all("By criteria" in reason for reason in found.reasons)


def test_source_documents_on_one_side_only_are_reported() -> None:
    source = plain(30, 0, "h")
    target = [Example(text.id, text.output, text.group) for text in plain(60, 1, "t")]
    found = distribution_shift(source, target, {}, {})
    assert found.severity == "moderate"
    assert "length_to_source" in found.text_features.one_sided
    assert not any(each.name == "length_to_source" for each in found.text_features.feature_shifts)
    assert any("Only on one side" in reason for reason in found.reasons)
    assert found.criteria is None


def test_criteria_of_one_side_and_those_without_scores_are_left_out() -> None:
    source, target = plain(30, 0, "h"), plain(30, 1, "t")
    ours, theirs = scores(source, 2), scores(target, 3)
    found = distribution_shift(
        source, target, {**ours, "gone": ours["first"]}, {**theirs, "second": np.full(30, np.nan)}
    )
    assert [each.name for each in found.criteria.feature_shifts] == ["first"]
    assert found.criteria.one_sided == ("second",)


def test_terms_replace_unknown_texts_of_training() -> None:
    target = plain(40, 1, "t")
    found = distribution_shift([], target, {}, scores(target, 3, up=-2.0), terms=terms("first", "second"))
    assert found.severity == "large"
    assert (found.source_texts, found.text_features) == (0, None)
    assert "nothing else can be compared" in found.reasons[0]
    assert all(each.standardized_shift < -2 and each.p_value is None for each in found.criteria.feature_shifts)
    near = distribution_shift([], target, {}, scores(target, 3), terms=terms("first", "second"))
    assert near.severity == "small"


def test_nothing_known_is_a_moderate_shift() -> None:
    target = plain(10, 1, "t")
    found = distribution_shift([], target, {}, scores(target, 3))
    assert found.severity == "moderate"
    assert found.reasons == ("The texts that the rubric was learned from are unknown.",)


def test_the_same_seed_gives_the_same_result() -> None:
    source, target = plain(20, 0, "h"), plain(20, 1, "t")
    ours, theirs = scores(source, 2), scores(target, 3)
    assert distribution_shift(source, target, ours, theirs, seed=4) == distribution_shift(
        source, target, ours, theirs, seed=4
    )


def test_a_single_text_can_be_an_outlier_but_not_classified() -> None:
    source, target = plain(30, 0, "h"), shouted(1)
    found = distribution_shift(source, target, {}, {})
    assert found.severity == "large"
    assert found.text_features.auc.value is None


def test_invalid_input_is_refused() -> None:
    source = plain(10, 0, "h")
    with pytest.raises(ValueError, match="at least one text"):
        distribution_shift(source, [], {}, {})
    with pytest.raises(ValueError, match=r"source_ratings\['first'\]: expected 10 ratings"):
        distribution_shift(source, source, {"first": np.zeros(9)}, {})


def test_the_view_shows_severity_warning_and_shifts() -> None:
    source, target = plain(30, 0, "h"), shouted(20)
    found = distribution_shift(source, target, scores(source, 2), scores(target, 3, up=-3.0))
    shown = " ".join(view_text(View((), tuple(shift_blocks(found)))).split())
    assert "The distribution shift from the texts that the rubric was learned from is large." in shown
    assert "label some of them" in shown
    assert "20 texts in 20 groups, compared with 30 training texts in 15 groups" in shown
    assert "s9 and 10 more" in shown
    assert "Kolmogorov-Smirnov" in shown


def test_the_view_without_texts_of_training_has_no_columns_for_them() -> None:
    target = plain(40, 1, "t")
    found = distribution_shift([], target, {}, scores(target, 3), terms=terms("first", "second"))
    shown = view_text(View((), tuple(shift_blocks(found))))
    assert "compared with the means and standard deviations that the rubric holds" in shown
    assert "Kolmogorov" not in shown
    assert "out of range" not in shown
