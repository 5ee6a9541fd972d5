from __future__ import annotations

from typing import Any

import pytest
from kinds_samples import LEFT_OUT, checklist_part, overall, question
from report_samples import version, words_of

from rubriclab.models.rubric import Part
from rubriclab.models.text import Scale
from rubriclab.report.render import View, macro
from rubriclab.report.rubrics import sub_dimensions


def test_questions_stand_with_their_sub_dimension_in_the_order_of_the_rubric() -> None:
    part = checklist_part(
        question("a", "order"), question("b", "links"), question("c", "style"), question("d", "order")
    )
    assert [(name, definition[:10], [one.id for one in group]) for name, definition, group in sub_dimensions(part)] == [
        ("order", "Things are", ["a", "d"]),
        ("links", "Neighbouri", ["b"]),
        ("style", "", ["c"]),
    ]


def test_a_part_without_questions_has_no_sub_dimension() -> None:
    assert sub_dimensions(Part(method="seeval", settings={}, criteria=(overall("Why."),))) == []


def test_what_was_dropped_stands_in_one_table_with_its_reason() -> None:
    shown = words_of(View(macro("contents", version(parts=(checklist_part(),)).rubric), unfolded=True), 200)
    assert "3 more criteria considered and dropped" in shown
    assert all(f"{each.criterion.id} " in shown and each.reason in shown for each in LEFT_OUT)


VERDICTS = Scale(low=0, high=1, whole=False, names=("bad", "good"))


@pytest.mark.parametrize(
    ("scale", "named", "measure"),
    [(None, "Pearson", "Pearson"), (VERDICTS, "correlation with passing", "point-biserial")],
)
def test_correlations_of_criteria_are_named_for_the_scale_and_said_once_to_be_with_the_labels_that_chose_them(
    scale: Scale | None, named: str, measure: str
) -> None:
    fields: dict[str, Any] = {"scale": scale} if scale else {}
    one = version(**fields)
    shown = " ".join(words_of(View(macro("contents", one.rubric), unfolded=True), 200).split())
    assert shown.count("by which the criteria were also chosen, so optimistic.") == 1
    assert f"{named} 0.61 on 29 training texts" in shown
    assert measure in shown
    assert ("Pearson" in shown) == (scale is None)


def test_correlations_with_labels_that_chose_no_criteria_are_not_marked() -> None:
    one = version()
    assert one.provenance.agreement
    measured = one.provenance.agreement.model_copy(update={"optimistic": False})
    assert "optimistic" not in words_of(View(macro("contents", one.rubric, measured), unfolded=True), 200)
