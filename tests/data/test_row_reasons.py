"""Raters' reasons in rows: their forms, what is refused, and what they change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import rubriclab as rl
from rubriclab.data.mapping import NATIVE, parse_mapping
from rubriclab.data.rows import LONGEST_REASON, RowError, example_of
from rubriclab.models.base import LONGEST_NAME
from rubriclab.models.cells import UNTYPED
from rubriclab.models.text import (
    Example,
    data_digest,
    named_reasons,
    text_digest,
)

BY_RATER = {"anna": "jumps between two topics", "ben": "no ending"}


def read(mapping: str = "", **fields: Any) -> Example:
    found = example_of({"output": "A", **fields}, "rows", 1, parse_mapping(mapping) if mapping else NATIVE)
    assert isinstance(found, Example), found
    return found


def refused(**fields: Any) -> RowError:
    found = example_of({"output": "A", **fields}, "rows", 1)
    assert isinstance(found, RowError)
    return found


@pytest.mark.parametrize(
    "fields",
    [
        {"reasons": {"coherence": BY_RATER}},
        {"reasons.coherence": BY_RATER},
        {"reasons.coherence.anna": BY_RATER["anna"], "reasons.coherence.ben": BY_RATER["ben"]},
        {"reasons": {"coherence": {**BY_RATER, "carl": None, "dora": " \n"}}},
    ],
)
def test_reasons_by_rater_are_an_object_or_columns(fields: dict[str, Any]) -> None:
    assert named_reasons(read(**fields), "coherence") == BY_RATER


@pytest.mark.parametrize("fields", [{"reasons": {"coherence": " It wanders. "}}, {"reasons.coherence": "It wanders."}])
def test_one_reason_of_an_unknown_rater_is_a_text(fields: dict[str, Any]) -> None:
    example = read(**fields)
    assert example.reasons == {"coherence": "It wanders."}
    assert named_reasons(example, "coherence") == {"": "It wanders."}
    assert named_reasons(example, "fluency") == {}


@pytest.mark.parametrize("reasons", [None, {}, {"coherence": None}, {"coherence": {}}, {"coherence": ""}])
def test_a_row_without_reasons_is_the_same_as_one_that_has_no_such_field(reasons: Any) -> None:
    assert read(reasons=reasons) == read()


@pytest.mark.parametrize(
    ("reasons", "field", "expected"),
    [
        ({"coherence": 4}, "reasons.coherence", "a reason in words"),
        ({"coherence": ["a", "b"]}, "reasons.coherence", "a reason in words"),
        ({"coherence": {"anna": True}}, "reasons.coherence.anna", "a reason in words"),
        ({"coherence": {" ": "x"}}, "reasons.coherence", "names such as 'anna'"),
        ({"coherence": {"x" * (LONGEST_NAME + 1): "y"}}, "reasons.coherence", f"at most {LONGEST_NAME:,}"),
        ({"coherence": {"anna": "a", " anna": "b"}}, "reasons.coherence", "one entry from each rater"),
        ({"coherence": "\ud800"}, "reasons.coherence", "text in UTF-8"),
        ({"coherence": "x" * 100_000}, "reasons.coherence", f"at most {LONGEST_REASON:,} characters"),
        ("It wanders.", "reasons", "an object with a value for each aspect"),
    ],
)
def test_what_is_no_reason_is_refused_with_its_field(reasons: Any, field: str, expected: str) -> None:
    fault = refused(reasons=reasons)
    assert fault.field == field
    assert expected in fault.expected


def test_a_number_is_a_reason_in_json_where_a_person_typed_it_and_a_wrong_column_in_a_table() -> None:
    assert read(reasons={"coherence": "4.5"}).reasons == {"coherence": "4.5"}
    fault = example_of({"output": "A", "reasons.coherence": "4.5"}, "rows", 1, rules=UNTYPED)
    assert isinstance(fault, RowError)
    assert (fault.field, fault.expected) == ("reasons.coherence", "a reason in words")


def test_one_text_beside_named_raters_is_refused() -> None:
    fault = refused(**{"reasons.coherence": "It wanders.", "reasons.coherence.anna": "No ending."})
    assert (fault.field, fault.got) == ("reasons.coherence", "both one text and named raters")


def test_reasons_of_a_csv_file_are_read_and_counted_by_check(tmp_path: Path) -> None:
    rows = ["id,group,output,scores.coherence,reasons.coherence.anna,reasons.coherence"]
    rows += [f'{n},g{n % 3},Text {n}.,{n % 5},"jumps, often",' for n in range(11)] + ["x,g1,Text x.,3,,short"]
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(rows), "utf-8")
    with rl.Lab(tmp_path / "s.db") as lab:
        result = lab.check(path)
    assert result.usable, result.problems
    assert [(each.aspect, each.reasons) for each in result.aspects] == [("coherence", 12)]
    assert "12 for coherence" in str(result)
    assert {column.name: column.field for column in result.columns}["reasons.coherence.anna"] is not None


def test_reasons_change_the_digest_of_the_data_and_not_that_of_a_text() -> None:
    plain, other = read(scores={"coherence": 3}), read(scores={"coherence": 3}, reasons={"fluency": "x"})
    given = read(scores={"coherence": 3}, reasons={"coherence": "It wanders."})
    assert data_digest([plain], "coherence") == data_digest([other], "coherence")
    assert data_digest([given], "coherence") != data_digest([plain], "coherence")
    assert text_digest(given) == text_digest(plain)
    assert plain.id == given.id
