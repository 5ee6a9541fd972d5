from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st
from kinds_samples import LEFT_OUT, checklist_part, overall, question

from rubriclab.report.criteria import Omission, omissions, sub_dimensions
from rubriclab.rubric import DroppedCriterion, Part


def test_questions_stand_with_their_sub_dimension_in_the_order_of_the_rubric() -> None:
    part = checklist_part(
        question("a", "order"), question("b", "links"), question("c", "style"), question("d", "order")
    )
    assert [(sub.name, sub.definition[:10], [one.id for one in sub.questions]) for sub in sub_dimensions(part)] == [
        ("order", "Things are", ["a", "d"]),
        ("links", "Neighbouri", ["b"]),
        ("style", "", ["c"]),
    ]


def test_a_part_without_questions_has_no_sub_dimension() -> None:
    assert sub_dimensions(Part(method="seeval", settings={}, criteria=(overall("Why."),))) == []


@pytest.mark.parametrize(
    ("reason", "shared", "own"),
    [
        ("vague", "vague", ""),
        ("vague: nobody can tell.", "vague", "nobody can tell"),
        ("worded like s01 (98 of 100 in common)", "worded like s01", "98 of 100 in common"),
        ("against the labels (Pearson -0.4): odd: very", "against the labels (Pearson -0.4)", "odd: very"),
        ("in (brackets) only", "in (brackets) only", ""),
        ("two\nlines: more\nwords", "two\nlines", "more\nwords"),
        (": ", ": ", ""),
        ("", "", ""),
    ],
)
def test_a_reason_is_told_apart_from_what_it_adds(reason: str, shared: str, own: str) -> None:
    criterion = question("a")
    assert omissions([DroppedCriterion(criterion=criterion, reason=reason)]) == [Omission(shared, ((criterion, own),))]


def test_what_was_left_out_for_one_reason_stands_together() -> None:
    again, vague, other = (entry.criterion for entry in LEFT_OUT)
    assert omissions(LEFT_OUT) == [
        Omission("redundant", ((again, "asks what s01 asks"), (other, "asks what s01-d1 asks"))),
        Omission("vague", ((vague, ""),)),
    ]


@settings(deadline=None, max_examples=50)
@given(st.lists(st.text(max_size=12), max_size=12))
def test_every_criterion_is_left_out_for_one_reason_and_none_is_lost(reasons: list[str]) -> None:
    dropped = [DroppedCriterion(criterion=question(f"q{n}"), reason=reason) for n, reason in enumerate(reasons)]
    found = omissions(dropped)
    assert len({omission.reason for omission in found}) == len(found)
    ids = [criterion.id for omission in found for criterion, _ in omission.criteria]
    assert sorted(ids) == sorted(entry.criterion.id for entry in dropped)
