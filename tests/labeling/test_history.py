"""Which judgments apply."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st
from label_samples import judged, question, texts, withdrawn
from pydantic import ValidationError

from rubriclab.errors import SettingsError
from rubriclab.models.judgment import History, LabelQuestion, rater_name
from rubriclab.models.text import parse_scale


def test_the_latest_judgment_applies_and_a_withdrawal_restores_the_one_before() -> None:
    one, two = judged("anna", "a", value=3), judged("anna", "a", value=4)
    history = History([one, two])
    assert history.of("anna") == {("a", False): two}
    assert history.latest("anna", history.of("anna")) == two
    history.add(withdrawn(two))
    assert history.of("anna") == {("a", False): one}
    assert history.latest("anna", history.of("anna")) == one
    history.add(withdrawn(one))
    assert history.of("anna") == {}
    assert history.latest("anna", history.of("anna")) is None
    assert history.raters == ()


def test_raters_and_repeats_are_kept_apart() -> None:
    history = History(
        [judged("anna", "a", value=1), judged("ben", "a", value=2), judged("anna", "a", value=5, again=True)]
    )
    assert [(each.rater, each.again, each.value) for each in history.all()] == [
        ("anna", False, 1),
        ("anna", True, 5),
        ("ben", False, 2),
    ]


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(1, 5) | st.none()), max_size=12))
def test_undoing_everything_leaves_nothing_and_each_step_is_exact(steps: list[tuple[str, int | None]]) -> None:
    """`None` undoes; a list of values for each text is the reference."""
    history, stack = History(), list[tuple[str, int]]()
    for key, value in steps:
        if value is not None:
            history.add(judged("anna", key, value=value))
            stack.append((key, value))
        elif latest := history.latest("anna", history.of("anna")):
            history.add(withdrawn(latest))
            stack.pop()
        assert {item[0]: judgment.value for item, judgment in history.of("anna").items()} == dict(stack)


def test_a_judgment_without_what_its_kind_needs_is_refused() -> None:
    for wrong in (
        {"kind": "rating"},
        {"kind": "skipped", "value": 3},
        {"kind": "withdrawal"},
        {"kind": "rating", "value": float("nan")},
    ):
        with pytest.raises(ValidationError):
            judged("anna", "a", **wrong)


def test_a_question_is_another_one_if_anything_in_it_changes() -> None:
    whole, same = question("1:5:whole"), question("1.0:5.0:whole")
    assert whole.digest == same.digest
    assert whole.digest != question("1:5:any").digest
    assert LabelQuestion(
        whole.words, whole.aspect.model_copy(update={"definition": "x"}), parse_scale("1:5:whole")
    ).digest != (whole.digest)


def test_texts_are_told_apart_by_id_and_content() -> None:
    assert len({text.key for text in texts(3, 3)}) == 9


@pytest.mark.parametrize("name", ["", "  ", None, 3, "a\nb", "a\x00b", "\u202eanna", "x" * 61, "\ud800"])
def test_a_rater_needs_a_name_that_can_be_shown(name: object) -> None:
    with pytest.raises(SettingsError):
        rater_name(name)


@pytest.mark.parametrize("name", ["anna", "Анна", "李", "a.b", "O'Neil <x>", "<script>alert(1)</script>"])
def test_a_rater_may_have_any_name(name: str) -> None:
    assert rater_name(f" {name}\t") == name
