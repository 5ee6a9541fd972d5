"""Two sets of outputs compared, and systems ranked; the statistics beside scipy's."""

from __future__ import annotations

from dataclasses import astuple, replace
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scripted_judge import HYPOTHESES, rubric_of

from rubriclab import CriterionRating, Example, Score
from rubriclab.data.readers import from_rows
from rubriclab.learning.paired_scores import Outputs, pair_outputs
from rubriclab.ops.compare import compare_outputs, scored_sets
from rubriclab.report.results import comparison_view
from rubriclab.stats.intervals import Interval, adjust_p_values
from rubriclab.stats.prediction_powered import difference_by_other_labels

RNG = np.random.default_rng(7)
RUBRIC = rubric_of(HYPOTHESES)


def text(name: str, group: str, **fields: Any) -> Example:
    return Example(id=name, output=f"text {name}", group=group, **fields)


def scored(name: str, value: float | None, ratings: dict[str, float] | None = None) -> Score:
    criteria = tuple(CriterionRating(each, rating, f"because {rating}") for each, rating in (ratings or {}).items())
    return Score(name, "coherence", value, criteria, None if value is not None else "no reply", "news@1", "embedded")


def outputs(
    name: str, rows: list[tuple[str, str, float | None]], ratings: list[dict[str, float]] | None = None
) -> Outputs:
    rated = ratings or [{} for _ in rows]
    return Outputs(
        name,
        tuple(text(row, group) for row, group, _ in rows),
        tuple(scored(row, value, parts) for (row, _, value), parts in zip(rows, rated, strict=True)),
    )


def sets(before: np.ndarray, after: np.ndarray, groups: int | None = None) -> tuple[Outputs, Outputs]:
    def one(name: str, values: np.ndarray) -> Outputs:
        return outputs(name, [(f"t{n}", f"g{n % (groups or len(values))}", float(v)) for n, v in enumerate(values)])

    return one("old", before), one("new", after)


def test_with_one_text_a_group_the_interval_is_that_of_the_paired_t_test() -> None:
    before, after = RNG.normal(3, 1, 25), RNG.normal(2.6, 1, 25)
    result = compare_outputs(RUBRIC, "news@1", *sets(before, after))
    low, high = stats.ttest_rel(after, before).confidence_interval(0.95)
    assert (result.difference.low, result.difference.high) == pytest.approx((low, high), abs=1e-5)
    # Texts that repeat each other in a group do not narrow the interval.
    repeated = compare_outputs(RUBRIC, "news@1", *sets(np.tile(before, 3), np.tile(after, 3), groups=25))
    assert repeated.difference.low == pytest.approx(result.difference.low)


def test_a_pair_whose_source_and_context_differ_is_counted_once() -> None:
    def with_words(side: Outputs, words: str) -> Outputs:
        first, second, *others = side.examples
        first = replace(first, source=f"{words} source", context=f"{words} question")
        return replace(side, examples=(first, replace(second, source="the same source"), *others))

    before, after = sets(np.array([2.0, 3.0, 4.0]), np.array([2.0, 3.0, 5.0]))
    result = compare_outputs(RUBRIC, "news@1", with_words(before, "old"), with_words(after, "new"))
    assert result.other_sources == 1


def test_sets_without_pairs_are_compared_by_welchs_test_over_group_means() -> None:
    first, second = RNG.normal(3, 1, 12), RNG.normal(2, 2, 9)
    before = outputs("old", [(f"a{n}", f"g{n}", float(v)) for n, v in enumerate(first)])
    after = outputs("new", [(f"b{n}", f"h{n}", float(v)) for n, v in enumerate(second)])
    result = compare_outputs(RUBRIC, "news@1", before, after)
    test = stats.ttest_ind(second, first, equal_var=False)
    assert (result.pairing, result.pairs) == (None, 0)
    assert result.difference.high == pytest.approx(test.confidence_interval(0.95)[1], abs=1e-5)


def test_p_values_are_adjusted_as_scipy_does_and_missing_ones_stay_missing() -> None:
    values = [0.01, None, 0.04, 0.03]
    expected = stats.false_discovery_control([0.01, 0.04, 0.03]).tolist()
    assert adjust_p_values(values) == [expected[0], None, expected[1], expected[2]]
    assert adjust_p_values([None]) == [None]


@pytest.mark.parametrize(
    ("drop", "limit", "outcome"),
    [
        (0.0, None, "inconclusive"),
        (-1.0, None, "within"),
        (1.0, None, "beyond"),
        (1.0, 0.2, "beyond"),
        (0.1, 0.5, "within"),
        (0.2, 0.2, "inconclusive"),
    ],
)
def test_the_interval_and_the_limit_decide(drop: float, limit: float | None, outcome: str) -> None:
    before = np.tile([2.0, 3.0, 4.0], 10)
    noise = np.where(np.arange(30) % 2, 0.1, -0.1)
    result = compare_outputs(RUBRIC, "news@1", *sets(before, before - drop + noise), max_drop=limit)
    (check,) = result.checks
    assert check.value == pytest.approx(drop)
    assert (check.allowed, check.outcome, result.outcome) == (limit, outcome, outcome)
    assert ("BETTER" in str(comparison_view(result))) == (drop == -1.0)


def test_a_comparison_that_cannot_decide_says_how_many_pairs_would() -> None:
    before = RNG.normal(3, 1, 25)
    after = before + np.tile([0.5, -0.7, 0.1, -0.2, 0.2], 5)
    result = compare_outputs(RUBRIC, "news@1", *sets(before, after), max_drop=0.1)
    margin = (result.difference.high - result.difference.low) / 2
    assert result.outcome == "inconclusive"
    assert result.number_needed == pytest.approx(25 * (margin / (0.1 + result.difference.value)) ** 2, abs=1)
    stated = f"(about {result.number_needed} pairs in all for an even chance of a decision)"
    assert stated in str(comparison_view(result))


def test_equal_drops_in_few_groups_do_not_show_a_drop() -> None:
    """A share of groups that rise by 4 is missed by n groups in 5 % of draws if it is the root of the rule of three."""
    for size, outcome in ((4, "inconclusive"), (5, "beyond")):
        found = compare_outputs(RUBRIC, "news@1", *sets(np.full(size, 5.0), np.full(size, 1.0)))
        other = outputs("new", [(f"b{n}", f"h{n}", 1.0) for n in range(size)])
        unpaired = compare_outputs(RUBRIC, "news@1", outputs("old", [(f"a{n}", f"g{n}", 5.0) for n in range(9)]), other)
        for each in (found, unpaired):
            assert each.outcome == outcome
            assert astuple(each.difference) == pytest.approx((-4, -4, -4 + 8 * (1 - 0.05 ** (1 / size))), abs=1e-6)
    for size, outcome in ((72, "inconclusive"), (74, "within")):  # equal scores of other texts
        one, same = sets(np.resize([3.0, 2.0], size), np.resize([3.0, 2.0], size))
        other = replace(same, examples=tuple(replace(each, output="another") for each in same.examples))
        labelled = []
        for side in (one, other):
            texts = (replace(each, scores={"coherence": score}) for each, score in side.scored)
            labelled.append(replace(side, examples=tuple(texts)))
        for before, after in ((one, other), labelled):
            found = compare_outputs(RUBRIC, "news@1", before, after, max_drop=4 * (1 - 0.05 ** (1 / 73)))
            assert (found.outcome, found.number_needed) == (outcome, None)


def read(words: str, **fields: Any) -> Example:
    return next(example for example in from_rows([{"output": words, **fields}]) if isinstance(example, Example))


SAME, OLD, NEW = read("same", source="s1"), read("old", source="s2"), read("new", source="s2")
OTHERS = [text("old-2", "g1"), text("old-1", "g1"), text("old-3", "g2")]
NAMED = [text("new-1", "g1"), text("new-2", "g1"), text("new-3", "g2")]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        # Ids come before groups, and an id that occurs twice pairs nothing.
        ([text("a", "g1"), text("b", "g2"), text("b", "g2")], [text("b", "g2"), text("a", "g1")], ("id", [(0, 1)])),
        # Only unchanged outputs share ids that are derived from them.
        ([SAME, OLD], [SAME, NEW], ("group", [(0, 0), (1, 1)])),
        ([read("same"), read("old")], [read("same"), read("new")], (None, [])),
        # Outputs with other ids are paired in order if both sets have the same groups in order.
        (OTHERS, NAMED, ("group", [(0, 0), (1, 1), (2, 2)])),
        (OTHERS, NAMED[::-1], ("group", [])),
    ],
)
def test_outputs_are_paired_by_ids_that_were_given_once_else_by_groups(
    before: list[Example], after: list[Example], expected: object
) -> None:
    assert pair_outputs(before, after, None) == expected


def test_with_many_texts_unscored_nothing_is_within_the_limit() -> None:
    rows = [(f"t{n}", f"g{n}", 3.0) for n in range(8)]
    before, after = outputs("old", rows), outputs("new", [*rows[:7], ("t7", "g7", None)])
    assert compare_outputs(RUBRIC, "news@1", before, before, max_drop=0.5).outcome == "within"
    assert compare_outputs(RUBRIC, "news@1", before, after, max_drop=0.5).outcome == "inconclusive"


def test_where_nothing_says_which_outputs_of_a_group_belong_together_group_means_are_compared() -> None:
    before = outputs("old", [(f"a{n}", f"g{n // 2}", 3.0 + n % 2) for n in range(8)])
    after = outputs("new", [(f"b{n}", f"g{n % 4}", 3.0 - 0.1 * (n % 4)) for n in range(8)])
    result = compare_outputs(RUBRIC, "news@1", before, after)
    changes = [-0.5, -0.6, -0.7, -0.8]
    low, high = stats.ttest_1samp(changes, 0).confidence_interval(0.95)
    assert (result.pairing, result.pairs, result.fallen) == ("group", 0, ())
    assert astuple(result.difference) == pytest.approx((np.mean(changes), low, high), abs=1e-5)
    assert result.outcome == "beyond"


def test_the_criterion_that_moved_comes_first_and_the_texts_say_why() -> None:
    moved, still = "h2", "h1"
    rows = [(f"t{n}", f"g{n}", 4.0 - n / 10) for n in range(12)]
    fallen = [(name, group, value - 1 - n / 50) for n, (name, group, value) in enumerate(rows)]
    before = outputs("old", [*rows], [{moved: 4.0, still: 3.0} for _ in rows])
    after = outputs("new", [*fallen], [{moved: 2.0 - n % 2, still: 3.0} for n in range(12)])
    result = compare_outputs(RUBRIC, "news@1", before, after)
    first = result.criteria[0]
    assert (first.id, first.significant) == (moved, True)
    assert not next(change for change in result.criteria if change.id == still).significant
    assert result.fallen[0].id == "t11"
    assert result.fallen[0].reasons == ((moved, "because 4.0", "because 1.0"),)


def labelled_sets(groups: int, labelled: int) -> tuple[Outputs, Outputs]:
    """Return two sets of one output a group, of which the judge rates the second too high and people label some."""
    rng = np.random.default_rng(4)
    quality = rng.normal(3, 0.5, groups)
    sides = []
    for name, favour in (("old", 0.0), ("new", 1.0)):
        side = outputs(name, [(f"t{n}", f"g{n}", float(value) + favour) for n, value in enumerate(quality)])
        labels = [{"coherence": float(value + rng.normal(0, 0.1))} for value in quality[:labelled]]
        pairs = zip(side.examples, [*labels, *[{}] * (groups - labelled)], strict=True)
        examples = tuple(replace(each, output=f"{name} {each.id}", scores=scores) for each, scores in pairs)
        sides.append(replace(side, examples=examples))
    return sides[0], sides[1]


def test_a_text_that_both_sets_hold_counts_once_and_is_named() -> None:
    one, _ = labelled_sets(40, 20)
    result = compare_outputs(RUBRIC, "news@1", one, one)
    assert (result.same_texts, result.human and result.human.labels) == (40, 20)
    assert result.difference == (result.human and result.human.difference) == Interval(0.0, 0.0, 0.0)
    assert "Both sets hold the same texts" in str(comparison_view(result))


def test_labels_of_a_set_give_the_errors_of_its_scores() -> None:
    before, after = labelled_sets(40, 20)
    result = compare_outputs(RUBRIC, "news@1", before, after)
    for side, outputs in ((result.before, before), (result.after, after)):
        pairs = zip(outputs.examples, outputs.scores, strict=True)
        errors = [(s.score or 0.0) - e.scores["coherence"] for e, s in pairs if e.scores]
        assert side.labelled == 20
        assert side.errors
        assert side.errors.absolute.value == pytest.approx(np.abs(errors).mean(), abs=1e-6)
        assert side.errors.bias == pytest.approx(np.mean(errors), abs=1e-6)
    known = compare_outputs(RUBRIC, "news@1", before, after, training_groups={f"g{n}" for n in range(20)})
    assert (known.before.labelled, known.before.errors) == (0, None)


def test_labels_of_one_set_leave_a_wide_interval_and_too_few_leave_the_judges_difference() -> None:
    before, after = labelled_sets(40, 20)
    unlabelled = replace(after, examples=tuple(replace(each, scores={}) for each in after.examples))
    result = compare_outputs(RUBRIC, "news@1", before, unlabelled)
    assert result.human is not None
    assert (result.human.labels, result.human.labels_of) == (20, "before")
    of_two = tuple(replace(each, system=f"s{n % 2}") for n, each in enumerate(before.examples))
    by_systems = compare_outputs(RUBRIC, "news@1", replace(before, examples=of_two), unlabelled)
    one, other = scored_sets("coherence", before.scored, unlabelled.scored, (), in_pairs=True)
    labels_of_two = replace(one.labelled, system=np.arange(20) % 2)
    expected = difference_by_other_labels(one, other, labels_of_two).rounded()
    assert result.human.difference != (by_systems.human and by_systems.human.difference) == expected
    few, none = labelled_sets(40, 4)
    unknown = compare_outputs(RUBRIC, "news@1", few, none)
    assert unknown.human is None
    assert "This is the judge's difference" in str(comparison_view(unknown))


def test_sets_without_pairs_are_corrected_by_their_own_labels() -> None:
    before, after = labelled_sets(40, 20)
    other = tuple(replace(each, id=f"new-{each.id}", group=f"new-{each.group}") for each in after.examples)
    result = compare_outputs(RUBRIC, "news@1", before, replace(after, examples=other))
    assert result.pairing is None
    assert result.human is not None
    assert result.human.difference.value == pytest.approx(0, abs=0.2)


def test_labels_of_outputs_without_a_counterpart_are_counted_and_the_rule_is_said() -> None:
    one, other = labelled_sets(8, 8)
    before = replace(one, examples=one.examples[:6], scores=one.scores[:6])
    after = replace(other, examples=other.examples[2:], scores=other.scores[2:])
    result = compare_outputs(RUBRIC, "news@1", before, after)
    assert (result.pairs, result.before.labelled, result.before.unused_labels, result.human) == (4, 4, 2, None)
    shown = " ".join(str(comparison_view(result)).split())
    assert "in at least five groups of pairs" in shown
    assert "4 labels not used: their outputs have no counterpart" in shown
