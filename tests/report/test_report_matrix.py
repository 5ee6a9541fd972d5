from __future__ import annotations

from joint_samples import joint_record

from rubriclab.report.rubrics import matrix_rows


def test_there_is_a_row_for_each_text_and_criterion() -> None:
    record = joint_record()
    rows = list(matrix_rows(record))
    assert len(rows) == 30 * 12
    assert [row["criterion"] for row in rows[:12]][-3:] == ["h04", "q04", "q05"]
    assert len({(row["text"], row["criterion"]) for row in rows}) == len(rows)


def test_each_row_says_what_was_found_or_why_nothing_was() -> None:
    rows = {(row["text"], row["criterion"]): row for row in matrix_rows(joint_record())}
    missing, inapplicable = rows["school-1", "h02"], rows["harbour-0", "q01"]
    assert (missing["state"], missing["score"], missing["reason"]) == ("missing", None, "The reply was cut off.")
    assert (inapplicable["state"], inapplicable["reason"]) == ("does not apply", "It has no pronoun.")
    assert rows["harbour-0", "h01"]["state"] == "scored"
    assert rows["harbour-0", "h04"]["kept"] is False
