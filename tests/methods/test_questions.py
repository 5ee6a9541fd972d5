"""What labels say of the questions: which ones leave, and which stay."""

from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from checkeval_scripts import question
from hypothesis import given, settings as trying, strategies as st
from scipy.stats import pearsonr

from rubriclab.methods.questions import (
    AnswerMatrix,
    SelectedQuestions,
    p_below,
    select_questions,
)
from rubriclab.models.rubric import Criterion

N = 30
LABELS = np.arange(N) / N
GOOD = (LABELS > 0.5).astype(float)


def column(*zeros: int, n: int = N) -> np.ndarray:
    """Return answers that are good but for the texts named."""
    found = np.ones(n)
    found[list(zeros)] = 0.0
    return found


def sheet(*columns: np.ndarray, labels: np.ndarray = LABELS, not_applicable: Any = ()) -> AnswerMatrix:
    good = np.column_stack(columns)
    applies = np.ones(good.shape, dtype=bool)
    for place in not_applicable:
        applies[:, place] = ~np.isnan(good[:, place])
    return AnswerMatrix(good, applies, labels)


def many(count: int, **fields: Any) -> list[Criterion]:
    return [question(f"q{place}", seed="a1", **fields) for place in range(count)]


def chosen(given_: AnswerMatrix, questions: list[Criterion] | None = None, ends: float = 0) -> SelectedQuestions:
    """Return what is chosen; nothing is tried on the worst and the best texts unless a test asks for it."""
    return select_questions(questions or many(given_.good.shape[1]), given_, ends=ends)


def kept(found: SelectedQuestions) -> list[str]:
    return [each.id for each in found.questions]


RNG = np.random.default_rng(3)
UNRELATED = [RNG.permutation(GOOD) for _ in range(4)]


# Earned by the worst texts


def test_a_question_that_the_worst_texts_earn_as_often_as_the_best_leaves_with_the_figures():
    """Of 30 texts with different labels 0.4 are 12 at each end: texts 0 to 11 and 18 to 29."""
    alike, earned = column(*range(6), *range(24, 30)), column(*range(7), *range(24, 30))
    found = chosen(sheet(GOOD, alike, earned), ends=0.4)
    assert kept(found) == ["q0", "q2"]
    assert found.dropped == {
        "q1": "the worst texts earn it as often as the best: 6 of the 12 rated lowest, 6 of the 12 rated highest"
    }


def test_only_the_texts_at_the_ends_count_and_how_many_they_are_is_a_setting():
    """Texts 0 to 2 earn it and 27 to 29 do not: the worse end wins for 3 texts, not for 12."""
    found = sheet(GOOD, np.where(np.arange(N) < 3, 1.0, np.where(np.arange(N) > 26, 0.0, GOOD)))
    assert kept(chosen(found, ends=0.1)) == ["q0"]
    assert kept(chosen(found, ends=0.4)) == ["q0", "q1"]
    assert kept(chosen(found, ends=0)) == ["q0", "q1"]


def test_texts_of_one_label_stand_at_the_same_end():
    """Twenty labels of 1 and ten of 2: 0.1 of 30 are 3 texts, and all of label 1 share the lowest place."""
    labels = np.array([1.0] * 20 + [2.0] * 10)
    found = chosen(sheet(column(0, 1, 20), column(*range(10)), labels=labels), ends=0.1)
    assert found.dropped == {
        "q0": "the worst texts earn it as often as the best: 18 of the 20 rated lowest, 9 of the 10 rated highest"
    }


@pytest.mark.parametrize(("given_", "stays"), [(2, True), (3, False)])
def test_fewer_than_three_answers_at_an_end_tell_nothing(given_: int, stays: bool):
    answers = np.where((np.arange(N) < given_) | (np.arange(N) >= N - given_), 1.0, np.nan)
    found = chosen(sheet(GOOD, answers), ends=0.4)
    assert ("q1" in kept(found)) == stays


def test_what_a_person_asks_stays_and_a_seed_that_was_generated_does_not():
    by_hand, generated = question("s1"), question("s2", author="prior knowledge")
    alike = column(*range(6), *range(24, 30))
    found = chosen(sheet(GOOD, alike, alike[::-1]), [*many(1), by_hand, generated], ends=0.4)
    assert found.dropped["s2"].startswith("the worst texts earn it")
    assert kept(found) == ["q0", "s1"]


# Never varying


def test_a_question_whose_answer_never_varies_leaves():
    found = chosen(sheet(GOOD, np.ones(N), np.zeros(N)))
    assert kept(found) == ["q0"]
    assert found.dropped == dict.fromkeys(
        ("q1", "q2"), "the same answer for all 30 training texts that it was asked of"
    )


def test_few_answers_that_are_alike_are_no_evidence():
    few = np.where(np.arange(N) < 9, 1.0, np.nan)
    enough = np.where(np.arange(N) < 10, 1.0, np.nan)
    found = chosen(sheet(GOOD, few, enough))
    assert found.dropped == {"q2": "the same answer for all 10 training texts that it was asked of"}


def test_a_question_that_can_be_asked_of_no_text_leaves_but_one_that_failed_throughout_does_not():
    nothing = np.full(N, np.nan)
    found = chosen(sheet(GOOD, nothing, nothing, not_applicable=[1]))
    assert found.dropped == {"q1": "it cannot be asked of any of the 30 training texts"}


# Against the labels


def test_a_question_against_the_labels_leaves_with_the_figures():
    found = chosen(sheet(GOOD, 1 - GOOD, UNRELATED[0]))
    r, p = pearsonr(1 - GOOD, LABELS, alternative="less")
    reason = f"correlation {r:.2f} over 30 training texts, so low by chance in {p:.1%} of cases"
    assert found.dropped == {"q1": f"runs against the labels: {reason}"}


@given(st.floats(-0.999, 0.999), st.integers(4, 200))
def test_chance_is_that_of_scipy(r: float, n: int):
    from scipy.stats import t

    assert p_below(r, n) == pytest.approx(t.cdf(r * np.sqrt((n - 2) / (1 - r * r)), n - 2), abs=1e-12)


def test_a_correlation_slightly_below_zero_is_no_reason():
    weak = next(column for column in _draws() if -0.15 < np.corrcoef(column, LABELS)[0, 1] < -0.05)
    assert chosen(sheet(GOOD, weak)).dropped == {}


def _draws(count: int = 200):
    rng = np.random.default_rng(0)
    for _ in range(count):
        yield rng.permutation(GOOD)


# Repeating


def test_of_two_alike_the_seed_stays():
    questions = [question("a1-e1", seed="a1"), question("b1", trait="Side 2")]
    found = select_questions(questions, sheet(GOOD, GOOD))
    assert kept(found) == ["b1"]
    assert found.dropped == {"a1-e1": "answers as b1 does (correlation 1.00 over 30 texts)"}


@pytest.mark.parametrize(("rare", "stay"), [(1, 3), (2, 3), (3, 2), (4, 2)])
def test_the_same_one_or_two_texts_may_be_chance(rare: int, stay: int):
    alike = column(*range(rare))
    assert len(chosen(sheet(GOOD, alike, alike)).questions) == stay


def test_the_opposite_answers_are_no_repetition():
    assert "answers as" not in "".join(chosen(sheet(GOOD, 1 - GOOD)).dropped.values())


def test_a_question_adds_something_where_the_other_cannot_be_asked():
    half = np.where(np.arange(N) % 2, GOOD, np.nan)
    assert list(chosen(sheet(GOOD, half, not_applicable=[1])).dropped) == ["q1"]
    assert chosen(sheet(half, GOOD, not_applicable=[0])).dropped == {}


@given(st.integers(0, 10_000))
def test_pairs_are_correlated_as_by_numpy(draw: int):
    rng = np.random.default_rng(draw)
    x, y = rng.integers(0, 2, 20).astype(float), rng.integers(0, 2, 20).astype(float)
    x[rng.random(20) < 0.2] = np.nan
    both = ~np.isnan(x)
    with patch.multiple("rubriclab.methods.questions", REPEATED=0.3, FEWEST_ANSWERS=3):
        found = chosen(sheet(x, y, labels=np.zeros(20)))
    if len(set(x[both])) > 1 and len(set(y)) > 1:
        r = np.corrcoef(x[both], y[both])[0, 1] if len(set(y[both])) > 1 else 0.0
        rarer = min(*(min(v[both].sum(), (1 - v[both]).sum()) for v in (x, y)))
        assert ("q1" in found.dropped) == (r >= 0.3 and rarer >= 3)


# Not everything may leave


def test_where_every_question_would_leave_the_best_of_each_sub_dimension_stays():
    questions = [question("a", "Side 1"), question("b", "Side 1"), question("c", "Side 2")]
    strong, weak = 1 - GOOD, 1 - column(*range(8))
    found = select_questions(questions, sheet(strong, 1 - weak[::-1], np.ones(N)))
    assert kept(found) == ["b", "c"]
    assert list(found.dropped) == ["a"]
    assert found.notes == ("the labels speak against every question: the best of each sub-dimension stay (2)",)


@trying(max_examples=50)
@given(st.integers(0, 10_000))
def test_at_least_one_question_stays_and_each_is_kept_or_dropped(draw: int):
    rng = np.random.default_rng(draw)
    n, q = int(rng.integers(1, 25)), int(rng.integers(1, 6))
    good = (rng.random((n, q)) < rng.random(q)).astype(float)
    good[rng.random((n, q)) < rng.choice([0, 0.3])] = np.nan
    questions = [question(f"q{at}", f"Side {at % 2}", seed="a1") for at in range(q)]
    given_ = AnswerMatrix(good, rng.random((n, q)) < 0.9, rng.integers(1, 4, n).astype(float))
    with patch.multiple("rubriclab.methods.questions", FEWEST_ANSWERS=3, AGAINST=0.5):
        found = select_questions(questions, given_)
    assert found.questions
    assert sorted([*kept(found), *found.dropped]) == sorted(each.id for each in questions)


def test_without_any_text_every_question_stays():
    empty = AnswerMatrix(np.zeros((0, 3)), np.zeros((0, 3), dtype=bool), np.zeros(0))
    assert len(chosen(empty).questions) == 3


@trying(max_examples=25)
@given(st.permutations(range(N)))
def test_the_order_of_texts_does_not_matter(order: list[int]):
    given_ = sheet(GOOD, 1 - GOOD, GOOD, *UNRELATED, np.ones(N))
    assert chosen(given_.rows(np.array(order))) == chosen(given_)
