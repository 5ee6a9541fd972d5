"""Examples as rows that `rubriclab.data.read` reads back."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from rubriclab import Example
from rubriclab.data.example import named_annotations


def native_row(example: Example) -> dict[str, Any]:
    """Return an example as a row of the native form, without the fields that it does not have.

    Where raters have names, the annotations of an aspect are an object by rater: reading the row gives the example.
    """
    given = {field.name: getattr(example, field.name) for field in fields(example) if field.name != "raters"}
    annotations = {
        aspect: named_annotations(example, aspect) or list(numbers) for aspect, numbers in example.annotations.items()
    }
    row = given | {"scores": dict(example.scores), "annotations": annotations}
    return {name: value for name, value in row.items() if value not in (None, {})}
