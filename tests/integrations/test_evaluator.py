"""The rows that evaluators make of the inputs, outputs and metadata of a tool."""

from __future__ import annotations

from typing import Any

import pytest

from rubriclab.errors import DataError
from rubriclab.integrations.evaluator import row_of_text


@pytest.mark.parametrize("field", ["reference", "context", "source"])
def test_a_field_without_a_value_leaves_the_only_other_input_the_source(field: str) -> None:
    assert row_of_text({"question": "Why?", field: None}, "a") == {"source": "Why?", "output": "a"}


@pytest.mark.parametrize(
    ("inputs", "metadata", "expected"),
    [
        ({"question": "Why?"}, {"source": "a ticket"}, {"source": "Why?"}),
        ({"question": "Why?"}, {"context": "Because."}, {"source": "Why?", "context": "Because."}),
        ({"context": "Because."}, {"source": "a ticket"}, {"context": "Because.", "source": "a ticket"}),
        ({"question": "Why?", "style": "short"}, {"source": "S"}, {"source": "S"}),
        ("Why?", {"source": "a ticket", "id": 7}, {"source": "Why?", "id": 7}),
        ({}, {"source": "S"}, {"source": "S"}),
    ],
)
def test_inputs_come_before_metadata(inputs: Any, metadata: dict[str, Any], expected: dict[str, Any]) -> None:
    assert row_of_text(inputs, "a", None, metadata) == {**expected, "output": "a"}


def test_several_inputs_without_the_name_of_a_field_are_listed() -> None:
    with pytest.raises(DataError, match=r"'inputs' has several fields \(question, style\), and none"):
        row_of_text({"question": "Why?", "style": "short", "id": 7, "reference": None}, "a")
