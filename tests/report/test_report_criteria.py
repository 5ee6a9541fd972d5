from __future__ import annotations

from kinds_samples import LEFT_OUT, checklist_part, overall, question
from report_samples import words_of

from rubriclab.report.criteria import dropped_section, sub_dimensions
from rubriclab.report.model import View
from rubriclab.rubric import Part


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


def test_what_was_dropped_stands_in_one_table_with_its_reason() -> None:
    shown = words_of(View("", (dropped_section(LEFT_OUT),), unfolded=True), 200)
    assert "3 more criteria considered and dropped" in shown
    assert all(f"{each.criterion.id} " in shown and each.reason in shown for each in LEFT_OUT)
