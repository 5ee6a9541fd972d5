"""Plain words for data that does not fit its model."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from pydantic_core._pydantic_core import list_all_errors

from rubriclab.base_options import LONGEST_MESSAGE, faults, first_fault

PYDANTIC = re.compile(
    r"Input should|Field required|Extra inputs|Value error|valid (string|integer|number|tuple|dict)|type=|pydantic"
)


class Inner(BaseModel):
    kind: Literal["a", "b"] = "a"
    count: int = Field(1, ge=1, le=9)


class Outer(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str = Field(min_length=1, max_length=5)
    parts: tuple[Inner, ...] = Field((), min_length=1)
    share: float = Field(0.5, gt=0, lt=1, allow_inf_nan=False)
    sure: bool = False
    at: datetime | None = None
    more: dict[str, Any] = Field(default_factory=dict)

    @field_validator("more")
    @classmethod
    def _small(cls, more: dict[str, Any]) -> dict[str, Any]:
        if more:
            raise ValueError(f"nothing more was expected, got {', '.join(more)}")
        return more


def fault_of(**given: Any) -> str:
    with pytest.raises(ValidationError) as caught:
        Outer.model_validate({"name": "n", "parts": [{}]} | given)
    return first_fault(caught.value, "outer")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"name": ""}, "outer.name: expected a non-empty text, got an empty text"),
        ({"name": "n" * 6}, "outer.name: expected at most 5 characters, got the text 'nnnnnn'"),
        ({"name": 3}, "outer.name: expected a text, got 3"),
        ({"parts": []}, "outer.parts: expected a list of at least 1, got a list of 0"),
        ({"parts": {}}, "outer.parts: expected a list, got an object"),
        ({"parts": [3]}, "outer.parts[0]: expected an object, got 3"),
        ({"parts": [{"kind": "c"}]}, "outer.parts[0].kind: expected 'a' or 'b', got the text 'c'"),
        ({"parts": [{"count": 0}]}, "outer.parts[0].count: expected a number of at least 1, got 0"),
        ({"parts": [{"count": 10}]}, "outer.parts[0].count: expected a number of at most 9, got 10"),
        ({"parts": [{"count": 1.5}]}, "outer.parts[0].count: expected a whole number, got 1.5"),
        ({"share": 0}, "outer.share: expected a number above 0, got 0"),
        ({"share": 1}, "outer.share: expected a number below 1, got 1"),
        ({"share": "much"}, "outer.share: expected a number, got the text 'much'"),
        ({"share": float("nan")}, "outer.share: expected a finite number, got NaN"),
        ({"sure": "perhaps"}, "outer.sure: expected true or false, got the text 'perhaps'"),
        ({"at": "then"}, "outer.at: expected a date and time such as 2026-11-21T12:30:00Z, got the text 'then'"),
        ({"colour": "red"}, "outer.colour: unknown name, got the text 'red'"),
        ({"more": {"a": 1, "b": 2}}, "outer.more: nothing more was expected, got a, b"),
    ],
)
def test_a_fault_is_told_with_its_path_what_was_expected_and_what_came(given: dict[str, Any], said: str) -> None:
    assert fault_of(**given) == said


def test_so_many_faults_are_told_and_the_others_are_counted() -> None:
    with pytest.raises(ValidationError) as caught:
        Outer.model_validate({"name": "n", "parts": [{"count": 0}] * 8})
    told = faults(caught.value)
    assert told.startswith("parts[0].count: expected a number of at least 1, got 0; parts[1].count: ")
    assert told.endswith("; and 3 more")


def test_names_and_messages_from_the_file_are_cut_and_made_plain() -> None:
    told = fault_of(**{"\x1b[31m" + "x" * 1000: "\x1b[0m" + "y" * 1000, "more": {}})
    assert "\x1b" not in told
    assert len(told) < 200
    assert len(fault_of(more={"k" * 5000: 1})) < LONGEST_MESSAGE + 50


@pytest.mark.parametrize("kind", [error["type"] for error in list_all_errors()])
def test_no_kind_of_error_is_told_in_the_words_of_pydantic(kind: str) -> None:
    example = next(error for error in list_all_errors() if error["type"] == kind)
    context = dict(example.get("example_context") or {})
    if "error" in context:
        context["error"] = ValueError("this is not so") if kind in ("value_error", "assertion_error") else "odd"
    error = ValidationError.from_exception_data("Model", [{"type": kind, "loc": ("a", 0), "input": 3, "ctx": context}])
    told = first_fault(error)
    assert told.startswith("a[0]: ")
    assert not PYDANTIC.search(told)
