"""Mappings from the fields of an example to the columns of somebody's rows."""

from __future__ import annotations

import pytest

from rubriclab.data.mapping import FIELDS, FieldMap, parse_mapping
from rubriclab.errors import SettingsError


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
    with pytest.raises(SettingsError, match=r"Each rater has a field: annotations\.ASPECT\.RATER=COLUMN"):
        parse_mapping("annotations.x=A,annotations.x=B")
