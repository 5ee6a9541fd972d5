"""What a data set writes for "there is none" is no source, context or reference; an output is never taken for that."""

import pytest

from rubriclab.data.rows import example_of, without_placeholder

PLACEHOLDERS = ["_nofact", "N/A", "none", "None", "null", "[none]", " n/a. ", "<null>", "NaN", "-", "(not available)"]
TEXTS = ["None of the dams held.", "Null Island lies off Ghana.", "n/a: see below", "No.", "0", "Nan baked bread."]


@pytest.mark.parametrize("said", PLACEHOLDERS)
def test_a_placeholder_is_no_source_context_or_reference(said: str):
    row = {"id": "t", "output": "Yes.", "source": said, "context": said, "reference": said}
    example = example_of(row, "t.jsonl", 1)
    assert (example.source, example.context, example.reference) == (None, None, None)


@pytest.mark.parametrize("said", [*PLACEHOLDERS, *TEXTS])
def test_an_output_an_id_and_a_system_stay_whatever_they_say(said: str):
    example = example_of({"id": said, "output": said, "system": said}, "t.jsonl", 1)
    assert (example.id, example.output, example.system) == (said, said, said)


@pytest.mark.parametrize("said", TEXTS)
def test_a_text_that_merely_begins_like_one_stays(said: str):
    assert without_placeholder(said) == said
