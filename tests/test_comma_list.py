"""Lists in one text come back as they were."""

from __future__ import annotations

from hypothesis import given, strategies as st

from rubriclab.models.characters import comma_list, comma_values

VALUES = st.text(st.characters(exclude_categories=["Cs", "Cc", "Z"]) | st.sampled_from(' ,"='), min_size=1)


@given(st.lists(VALUES.map(str.strip).filter(bool), min_size=1))
def test_values_with_commas_and_quotation_marks_come_back(values: list[str]) -> None:
    assert comma_values(comma_list(values)) == values


def test_spaces_around_values_do_not_count() -> None:
    assert comma_values(' a , "b, c" ,d\ne') == ["a", "b, c", "d e"]
    assert comma_values("") == []
