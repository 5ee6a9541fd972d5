"""The advised action: the cheapest of the best."""

from __future__ import annotations

import numpy as np
from hypothesis import given, strategies as st

from rubriclab.provenance import Action
from rubriclab.transfer.recommendation import advise

Scores = dict[Action, np.ndarray]

GROUPS = [f"g{n % 15}" for n in range(60)]


def squared(scores: Scores, labels: np.ndarray) -> Scores:
    return {name: np.square(each - labels) for name, each in scores.items()}


def noisy(labels: np.ndarray, noise: float, seed: int) -> np.ndarray:
    return labels + np.random.default_rng(seed).normal(0, noise, len(labels))


LABELS = np.random.default_rng(1).uniform(1, 5, 60)


def test_what_is_as_good_as_it_is_is_reused() -> None:
    same = noisy(LABELS, 0.5, 2)
    advice = advise(
        squared({"reuse": same, "recalibrate": same, "reweight": same, "relearn": same}, LABELS), LABELS, GROUPS
    )
    assert advice.action == "reuse"
    assert advice.gain.value == 0


def test_a_wrong_level_is_recalibrated_though_relearning_would_mend_it_too() -> None:
    own = noisy(LABELS, 0.5, 2)
    advice = advise(
        squared({"reuse": own - 2, "recalibrate": own, "reweight": own, "relearn": own}, LABELS), LABELS, GROUPS
    )
    assert advice.action == "recalibrate"
    gain = next(each.gain for each in advice.compared if each.action == "recalibrate")
    assert gain.low > 1


def test_what_comes_nearest_is_advised_and_it_is_said_whether_that_may_be_chance() -> None:
    poor, good = noisy(LABELS, 1.5, 2), noisy(LABELS, 0.3, 3)
    advice = advise(squared({"reuse": poor, "recalibrate": poor, "relearn": good}, LABELS), LABELS, GROUPS)
    assert (advice.action, advice.significant, advice.indistinguishable) == ("relearn", True, ())
    alike: Scores = {"reuse": noisy(LABELS, 1, 2), "recalibrate": noisy(LABELS, 1, 3), "relearn": noisy(LABELS, 1, 4)}
    advice = advise(squared(alike, LABELS), LABELS, GROUPS)
    assert not advice.significant
    assert set(advice.indistinguishable) == set(alike) - {advice.action}


def test_of_equals_the_cheapest_is_advised() -> None:
    good = np.square(noisy(LABELS, 0.3, 3) - LABELS)
    advice = advise({"reuse": good + 1, "recalibrate": good, "reweight": good + 1e-9, "relearn": good}, LABELS, GROUPS)
    assert advice.action == "recalibrate"


def test_few_groups_tell_nothing() -> None:
    advice = advise({"reuse": np.ones(60), "recalibrate": np.zeros(60)}, LABELS, [f"g{n % 4}" for n in range(60)])
    assert (advice.action, advice.too_few_groups) == ("reuse", True)


def test_labels_that_are_all_the_same_tell_nothing() -> None:
    advice = advise({"reuse": np.ones(60), "recalibrate": np.zeros(60)}, np.full(60, 3.0), GROUPS)
    assert (advice.action, advice.too_few_groups) == ("reuse", True)


def test_texts_that_some_action_has_not_scored_do_not_count() -> None:
    poor, good = noisy(LABELS, 1.5, 2), noisy(LABELS, 0.3, 3)
    good[:50] = np.nan
    advice = advise(squared({"reuse": poor, "relearn": good}, LABELS), LABELS, GROUPS)
    kept = advise(squared({"reuse": poor[50:], "relearn": good[50:]}, LABELS[50:]), LABELS[50:], GROUPS[50:])
    assert advice == kept


@given(st.permutations(range(60)))
def test_the_order_of_the_texts_does_not_matter(order: list[int]) -> None:
    scores: Scores = {
        "reuse": noisy(LABELS, 1, 2),
        "recalibrate": noisy(LABELS, 0.8, 3),
        "reweight": noisy(LABELS, 0.7, 4),
    }
    advice = advise(squared(scores, LABELS), LABELS, GROUPS)
    turned = {name: values[order] for name, values in scores.items()}
    again = advise(squared(turned, LABELS[order]), LABELS[order], [GROUPS[place] for place in order])
    assert advice.action == again.action


@given(st.floats(0.1, 10), st.floats(-5, 5))
def test_the_unit_of_the_scale_does_not_matter(width: float, start: float) -> None:
    scores: Scores = {
        "reuse": noisy(LABELS, 1, 2),
        "recalibrate": noisy(LABELS, 0.8, 3),
        "reweight": noisy(LABELS, 0.7, 4),
    }
    advice = advise(squared(scores, LABELS), LABELS, GROUPS)
    labels = start + width * LABELS
    moved = advise(squared({name: start + width * each for name, each in scores.items()}, labels), labels, GROUPS)
    assert advice.action == moved.action


def test_where_nothing_can_be_told_the_usual_is_advised() -> None:
    few = [f"g{n % 4}" for n in range(60)]
    squares: Scores = {"reuse": np.zeros(60), "recalibrate": np.ones(60), "reweight": np.ones(60)}
    assert advise(squares, LABELS, few, default="recalibrate").action == "recalibrate"
    assert advise(squares, LABELS, GROUPS, default="recalibrate").action == "reuse"
