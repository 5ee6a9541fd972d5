"""Criteria in a person's own words."""

from __future__ import annotations

import pytest
from edit_samples import hypothesis, question
from hypothesis import given, strategies as st

from rubriclab.errors import SettingsError
from rubriclab.models.rubric import Criterion, Evidence
from rubriclab.models.text import Scale
from rubriclab.ops.edits import (
    RatedRubric,
    added,
    edited_id,
    levels,
    merged,
    reworded,
    trait_of,
)

SCALE = Scale(low=1, high=5, whole=True)


def test_a_question_keeps_its_better_answer_unless_another_is_given() -> None:
    asked = question("q", "Is it long?")
    same, other = (reworded(asked, "checkeval", text, "q.2") for text in ("Is it dull?", "Is it dull? (better: no)"))
    assert (same.statement, same.question.better) == ("Is it dull?", "yes")
    assert (other.statement, other.question.better) == ("Is it dull?", "no")


def test_a_merged_criterion_has_the_evidence_of_all_and_levels_of_its_own() -> None:
    one, two = (
        hypothesis(name, name).model_copy(update={"evidence": Evidence(origin="labels", examples=examples)})
        for name, examples in (("a", ("t1", "t2")), ("b", ("t2", "t3")))
    )
    found = merged([one, two], "Order: it is in order.", SCALE, "a+b")
    assert found.evidence.examples == ("t1", "t2", "t3")
    assert found.levels == levels(SCALE)
    assert (found.id, found.trait, found.weight) == ("a+b", "Order", 2.0)


def test_computed_and_holistic_criteria_have_no_wording_to_change() -> None:
    feature, score = (
        Criterion(id=name, kind=kind, trait="t", statement="s", evidence=Evidence(origin="definition"))
        for name, kind in (("words", "feature"), ("direct", "score"))
    )
    with pytest.raises(SettingsError, match="words is a text feature, which is computed"):
        reworded(feature, "text_features", "x", "words.2")
    with pytest.raises(SettingsError, match=r"direct asks by the aspect's definition\. Change that: `definition"):
        reworded(score, "direct", "x", "direct.2")
    with pytest.raises(SettingsError, match="words cannot be merged: it is a feature"):
        merged([feature, feature], "x", SCALE, "x")


def test_what_ends_with_a_question_mark_is_a_question_and_all_else_a_statement(rated: RatedRubric) -> None:
    method, criterion = added("Is it short? (better: no) ", rated.rubric, ())
    assert (method, criterion.kind, criterion.statement) == ("checkeval", "question", "Is it short?")
    assert criterion.question.better == "no"
    method, criterion = added("It is short.", rated.rubric, {"a01"})
    assert (method, criterion.kind, criterion.id) == ("hypoeval", "hypothesis", "a02")
    assert [level.score for level in criterion.levels] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("name", "taken", "expected"),
    [
        ("h03", ("h03",), "h03.2"),
        ("h03", ("h03", "h03.2"), "h03.3"),
        ("h03.2", ("h03.2",), "h03.3"),
        ("a.b", ("a.b",), "a.b.2"),
        ("v1.5", ("v1.5", "v1.2"), "v1.3"),
    ],
)
def test_a_reworded_criterion_gets_the_next_free_number(name: str, taken: tuple[str, ...], expected: str) -> None:
    assert edited_id(name, taken) == expected


@given(st.text(min_size=1, max_size=90).filter(str.strip))
def test_every_statement_has_a_name(statement: str) -> None:
    assert trait_of(statement)


@given(st.integers(-5, 5), st.integers(1, 12), st.booleans())
def test_levels_run_from_untrue_to_true_over_the_scale(low: int, width: int, whole: bool) -> None:
    scale = Scale(low=low, high=low + width, whole=whole)
    found = levels(scale)
    assert (found[0].score, found[-1].score) == (scale.low, scale.high)
    assert (found[0].description, found[-1].description) == ("Not true of it at all.", "Entirely true of it.")
    assert len({level.description for level in found}) == min(len(found), 7)
