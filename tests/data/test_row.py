"""One row: the example that it holds, or its fault."""

import math
from decimal import Decimal

import pytest
from hypothesis import given, settings, strategies as st

from rubriclab.data.mapping import parse_mapping
from rubriclab.data.rows import RowError, example_of
from rubriclab.models.cells import TYPED, UNTYPED
from rubriclab.models.text import Example, named_annotations


def taken(**fields):
    answer = example_of({"output": "A text.", **fields}, "texts.jsonl", 12)
    assert isinstance(answer, Example), answer
    return answer


def refused(row, rules=TYPED):
    answer = example_of(row, "texts.jsonl", 12, rules=rules)
    assert isinstance(answer, RowError), answer
    assert (answer.where, answer.line) == ("texts.jsonl", 12)
    return answer


def test_a_fault_is_one_line_with_place_field_what_came_and_what_was_expected():
    fault = refused({"id": 7, "output": None})
    assert str(fault) == "texts.jsonl:12: field 'output': got null, expected a non-empty text"
    assert fault.id == "7"


@pytest.mark.parametrize(
    ("output", "came"),
    [
        (None, "null"),
        ("", "an empty text"),
        (" \n\t\u2003", "only white space"),
        (12, "12"),
        (True, "true"),
        (["a", "b"], "a list of 2"),
        ({"text": "a"}, "an object"),
        (math.nan, "NaN"),
        (b"bytes", "a value of type bytes"),
    ],
)
def test_an_output_that_is_no_text_is_named(output, came):
    fault = refused({"output": output})
    assert (fault.field, fault.got, fault.expected) == ("output", came, "a non-empty text")


def test_a_missing_output_names_the_columns_and_how_to_map_one():
    fault = refused({"id": "a", "length": 3, "scores.fluency": "4", "summary": "A summary."})
    assert fault.got == "nothing"
    assert "the columns are 'id', 'length', 'scores.fluency', 'summary'" in fault.expected
    assert "map 'output' to it, such as to 'summary'" in fault.expected


@pytest.mark.parametrize("field", ["source", "context", "reference"])
def test_texts_beside_the_output_are_texts_or_nothing(field):
    assert getattr(taken(**{field: None}), field) is None
    assert getattr(taken(**{field: " "}), field) is None
    assert refused({"output": "A", field: 3}).field == field
    assert "join" in refused({"output": "A", field: ["turn", "turn"]}).expected


@pytest.mark.parametrize("field", ["id", "group", "system"])
@pytest.mark.parametrize(("given", "read"), [(12, "12"), (12.0, "12"), (1834567890123456789, "1834567890123456789")])
def test_names_may_be_whole_numbers(field, given, read):
    assert getattr(taken(**{field: given}), field) == read


@pytest.mark.parametrize("name", [True, 1.5, math.nan, math.inf, 1e23, pytest.param(10**5000, id="5001 digits"), ["a"]])
def test_names_that_are_neither_text_nor_exact_numbers_are_refused(name):
    fault = refused({"output": "A", "id": name})
    assert (fault.field, fault.id) == ("id", None)


@pytest.mark.parametrize(
    ("score", "came"),
    [
        (math.nan, "NaN"),
        (math.inf, "Infinity"),
        (-math.inf, "-Infinity"),
        ("4", "the text '4'"),
        ([4], "a list of 1"),
        ({}, "an object"),
        (10**400, "a whole number of more than 64 bits"),
        (Decimal("NaN"), "NaN"),
        (Decimal("sNaN"), "sNaN"),
    ],
)
def test_a_score_that_is_no_finite_number_is_named(score, came):
    fault = refused({"output": "A", "scores": {"fluency": 3, "coherence": score}})
    assert (fault.field, fault.got) == ("scores.coherence", came)
    assert fault.expected.startswith("a finite number")


def test_scores_stand_in_an_object_or_in_columns():
    example = taken(**{"scores": {"coherence": 4, "fluency": None}, "scores.relevance": Decimal("2.5")})
    assert example.scores == {"coherence": 4.0, "relevance": 2.5}


@pytest.mark.parametrize("table", ["scores", "annotations"])
def test_a_table_that_is_no_object_is_refused_with_both_ways_to_write_it(table):
    fault = refused({"output": "A", table: [4, 5]})
    assert fault.field == table
    assert f"{table}.coherence" in fault.expected


def test_an_aspect_needs_a_name():
    assert refused({"output": "A", "scores": {" ": 4}}).got == "an aspect without a name"


@pytest.mark.parametrize("ratings", [4, "4 5", [4, None], [4, "5"], [4, math.nan]])
def test_annotations_are_lists_of_finite_numbers(ratings):
    assert refused({"output": "A", "annotations": {"coherence": ratings}}).field == "annotations.coherence"


@pytest.mark.parametrize(("cell", "score"), [("4", 4.0), (" 3.5 ", 3.5), ("-1e-1", -0.1), (".5", 0.5), ("2.", 2.0)])
def test_untyped_rows_write_numbers_as_text(cell, score):
    assert example_of({"output": "A", "scores.x": cell}, "t.csv", 2, rules=UNTYPED).scores == {"x": score}


@pytest.mark.parametrize("cell", ["nan", "inf", "1e999", "four", "4,5", "1_0", "0x4", "4 5", "٤"])
def test_untyped_cells_that_are_no_number_are_refused(cell):
    assert refused({"output": "A", "scores.x": cell}, rules=UNTYPED).field == "scores.x"


def test_empty_cells_of_untyped_rows_give_nothing():
    cells = dict.fromkeys(["id", "group", "source", "scores", "annotations", "scores.x", "annotations.x"], " ")
    example = example_of({"output": "A", **cells}, "t.csv", 2, rules=UNTYPED)
    assert (example.source, example.scores, example.annotations) == (None, {}, {})
    assert example.group == example.id


@pytest.mark.parametrize("cell", ["4 5", "4, 5", "[4.0, 5.0]", "4;5", "[4. 5.]"])
def test_untyped_annotations_are_numbers_with_something_between(cell):
    assert example_of({"output": "A", "annotations.x": cell}, "t.csv", 2, rules=UNTYPED).annotations == {
        "x": (4.0, 5.0)
    }


@pytest.mark.parametrize("field", ["output", "source", "id"])
def test_text_that_cannot_be_written_as_utf_8_is_refused(field):
    fault = refused({"output": "A", field: "caf\udce9"})
    assert fault.field == field
    assert fault.got == r"bytes that are not UTF-8, in 'caf\udce9'"


@pytest.mark.parametrize("row", [None, 3, "text", [], [{"output": "A"}], math.nan])
def test_a_row_that_is_no_object_is_a_fault_of_the_whole_row(row):
    fault = refused(row)
    assert fault.field is None
    assert "an object with a field 'output'" in fault.expected


def test_a_derived_id_depends_on_what_is_shown_alone():
    known = taken(source="S")
    assert known.id == taken(source="S", scores={"coherence": 1}, reference="R").id
    others = [{"source": "S2"}, {"context": "C"}, {"system": "s"}, {"group": "g"}, {"output": "B"}]
    assert len({known.id, *(taken(**{"source": "S", **other}).id for other in others)}) == 6


def test_rows_about_one_source_are_one_group():
    first, second, third = taken(source="S"), taken(source="S", output="B"), taken(source="S2")
    assert first.group == second.group != third.group
    assert taken(context="C").group == taken(context="C", output="B").group
    assert taken(source="S", context="C").group == first.group


def test_a_text_without_source_is_a_group_of_its_own():
    assert taken(id="a").group == "a"
    assert taken().group == taken().id


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.binary(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
COLUMNS = st.sampled_from(["id", "group", "source", "output", "scores", "annotations", "scores.x", "annotations.x"])


@settings(deadline=None, max_examples=200)
@given(
    row=st.dictionaries(COLUMNS | st.text(max_size=3), VALUES, max_size=6) | VALUES,
    rules=st.sampled_from([TYPED, UNTYPED]),
)
def test_every_row_is_an_example_of_good_values_or_a_fault_in_one_line(row, rules):
    answer = example_of(row, "rows", 1, rules=rules)
    if isinstance(answer, RowError):
        assert len(str(answer).splitlines()) == 1
        str(answer).encode()
    else:
        assert answer.output.strip()
        assert answer.id
        assert answer.group
        assert all(map(math.isfinite, answer.scores.values()))
        assert all(math.isfinite(score) for scores in answer.annotations.values() for score in scores)


def test_annotations_of_raters_with_names_keep_them():
    example = taken(annotations={"coherence": {"anna": 4, "ben": 5, "cem": None}, "fluency": [1, 2]})
    assert example.annotations == {"coherence": (4.0, 5.0), "fluency": (1.0, 2.0)}
    assert example.raters == {"coherence": ("anna", "ben")}
    assert named_annotations(example, "coherence") == {"anna": 4.0, "ben": 5.0}
    assert named_annotations(example, "fluency") == {}


def test_raters_may_have_columns_of_their_own():
    row = {
        "output": "A",
        "annotations.coherence.anna": "4",
        "annotations.coherence.ben": "",
        "annotations.fluency": "4,5",
    }
    example = example_of(row, "table.csv", 2, rules=UNTYPED)
    assert example.annotations == {"coherence": (4.0,), "fluency": (4.0, 5.0)}
    assert example.raters == {"coherence": ("anna",)}
    mapped = example_of({"output": "A", "coh_a": 3}, "rows", 1, parse_mapping("annotations.coherence.anna=coh_a"))
    assert named_annotations(mapped, "coherence") == {"anna": 3.0}  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("fields", "where", "came"),
    [
        ({"annotations": {"coherence": {"anna": 4, " anna ": 5}}}, "annotations.coherence", "the rater 'anna' twice"),
        (
            {"annotations": {"coherence": {"anna": 4}}, "annotations.coherence.anna": 5},
            "annotations.coherence",
            "the rater 'anna' twice",
        ),
        (
            {"annotations": {"coherence": [4]}, "annotations.coherence.anna": 5},
            "annotations.coherence",
            "both a list and named raters",
        ),
        ({"annotations": {"coherence": {"anna": math.nan}}}, "annotations.coherence.anna", "NaN"),
        ({"annotations": {"coherence": {" ": 4}}}, "annotations.coherence", "a rater without a name"),
        ({"annotations.coherence.": 4}, "annotations.coherence", "a rater without a name"),
        ({"annotations": {"coherence": {"anna\ud800": 4}}}, "annotations.coherence", "bytes that are not UTF-8"),
    ],
)
def test_named_annotations_that_cannot_be_are_faults(fields, where, came):
    fault = refused({"output": "A", **fields})
    assert fault.field == where
    assert fault.got.startswith(came)


@pytest.mark.parametrize(
    "annotations", [None, {}, {"coherence": None}, {"coherence": {}}, {"coherence": {"anna": None}}]
)
def test_no_annotations_are_none(annotations):
    example = taken(annotations=annotations)
    assert (example.annotations, example.raters) == ({}, {})


@pytest.mark.parametrize("mapping", ["scores.fluency=rating", "annotations.fluency.anna=rating"])
@pytest.mark.parametrize("column", ["aspect", "dimension"])
def test_a_rating_of_another_aspect_than_the_mapped_one_is_a_fault(mapping: str, column: str) -> None:
    columns = parse_mapping(f"{mapping},aspect={column}" if column != "aspect" else mapping)

    def row_of(aspect: str | None) -> Example | RowError:
        return example_of({"output": "A text.", column: aspect, "rating": 3}, "t", 1, columns)

    other = row_of("simplicity")
    assert isinstance(other, RowError)
    assert (other.field, other.usable) == ("aspect", None)
    assert "'simplicity'" in other.got
    assert "'fluency'" in other.expected
    assert all(isinstance(row_of(same), Example) for same in ("fluency", " Fluency", "", None))
