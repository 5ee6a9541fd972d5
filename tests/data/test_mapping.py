"""Mappings from the fields of an example to the columns of somebody's rows."""

import pytest

from rubriclab.data.mapping import ABSENT, FIELDS, FieldMap, look_up, parse_mapping
from rubriclab.data.readers import from_rows
from rubriclab.data.rows import RowError
from rubriclab.errors import SettingsError


def only(row, mapping):
    (answer,) = from_rows([row], "texts", mapping=mapping)
    return answer


def test_mapped_columns_are_read_in_place_of_the_fields_own():
    row = {"summary": "A text.", "output": "not this", "coh": 4, "votes": [3, 5], "nr": 12}
    example = only(row, "output=summary, scores.coherence=coh, annotations.coherence = votes, id=nr")
    assert (example.output, example.id) == ("A text.", "12")
    assert example.scores == {"coherence": 4.0}
    assert example.annotations == {"coherence": (3.0, 5.0)}


def test_dotted_paths_reach_into_nested_rows():
    row = {"output": "A", "article": {"body": {"text": "the source"}}, "human": {"coh": 3}}
    example = only(row, "source=article.body.text,scores.coherence=human.coh")
    assert (example.source, example.scores) == ("the source", {"coherence": 3.0})


def test_a_path_through_null_is_null_and_one_through_a_text_is_absent():
    assert look_up({"a": None}, "a.b") is None
    assert look_up({"a": "text"}, "a.b") is ABSENT
    assert look_up({"a": {}}, "a.b") is ABSENT


def test_an_absent_mapped_column_is_a_fault_that_names_both():
    fault = only({"output": "A", "coherence": 4}, "scores.coherence=coh")
    assert isinstance(fault, RowError)
    assert fault.field == "scores.coherence"
    assert "'coh'" in fault.expected
    assert "'coherence'" in fault.expected  # the columns that there are


@pytest.mark.parametrize("text", ["", "output", "output=", "=summary", "output=summary,", "output=summary,,id=nr"])
def test_what_is_no_mapping_is_refused_with_the_form_that_is(text):
    with pytest.raises(SettingsError, match="FIELD=COLUMN"):
        parse_mapping(text)


@pytest.mark.parametrize("field", ["text", "Output", "scores.", "annotations. ", "source.text", "scors.coherence"])
def test_unknown_fields_are_refused_with_the_list_of_fields(field):
    with pytest.raises(SettingsError) as refused:
        parse_mapping(f"{field}=a")
    assert all(name in str(refused.value) for name in FIELDS)
    with pytest.raises(SettingsError):
        FieldMap({field: "a"})


def test_a_field_cannot_be_mapped_twice():
    with pytest.raises(SettingsError, match="'output' is mapped twice, to 'a' and 'b'"):
        parse_mapping("output=a,output=b")
