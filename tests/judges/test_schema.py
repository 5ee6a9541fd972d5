"""Reply models as strict schemas."""

from __future__ import annotations

from typing import Annotated, Any, Generic, Literal, TypeVar

import pytest
from pydantic import BaseModel, Field

from rubriclab.judges.llm import response_format, strict_schema

T = TypeVar("T")


class Box(BaseModel, Generic[T]):
    value: T


class Level(BaseModel):
    score: float = Field(ge=1, le=5)
    description: str = Field(min_length=1, max_length=100)


class Proposal(BaseModel):
    """What is proposed."""

    reasoning: str
    kind: Literal["a", "b"] = "a"
    levels: Annotated[list[Level], Field(min_length=2, max_length=5)]
    note: str | None = None
    best: Level = Field(description="the best")


def nodes(schema: Any) -> list[dict[str, Any]]:
    if isinstance(schema, list):
        return [node for part in schema for node in nodes(part)]
    return [schema, *(node for part in schema.values() for node in nodes(part))] if isinstance(schema, dict) else []


def test_every_object_is_closed_and_every_field_required() -> None:
    objects = [node for node in nodes(strict_schema(Proposal)) if node.get("type") == "object"]
    assert len(objects) == 2
    for node in objects:
        assert node["additionalProperties"] is False
        assert node["required"] == list(node["properties"])


def test_lengths_and_defaults_are_left_to_the_reader() -> None:
    refused = {"minLength", "maxLength", "minItems", "maxItems", "default"}
    assert all(not refused & node.keys() for node in nodes(strict_schema(Proposal)))


def test_fields_keep_their_order() -> None:
    schema = strict_schema(Proposal)
    assert schema is not None
    assert list(schema["properties"]) == ["reasoning", "kind", "levels", "note", "best"]


def test_field_named_like_a_keyword_is_kept() -> None:
    class Odd(BaseModel):
        default: str
        minimum: float

    schema = strict_schema(Odd)
    assert schema is not None
    assert list(schema["properties"]) == ["default", "minimum"]


class FreeKeys(BaseModel):
    scores: dict[str, float]


class Anything(BaseModel):
    value: Any


class Pair(BaseModel):
    value: tuple[int, str]


@pytest.mark.parametrize("reply", [FreeKeys, Anything, Pair])
def test_what_no_strict_schema_can_say_gets_none(reply: type[BaseModel]) -> None:
    assert strict_schema(reply) is None
    assert response_format(reply) is None


def test_name_holds_only_what_providers_take() -> None:
    named = response_format(Box[int])
    assert named is not None
    assert named["json_schema"]["name"] == "Box_int_"


def test_ranges_of_numbers_can_be_left_out() -> None:
    def schema_of(**options: bool) -> Any:
        found = response_format(Proposal, **options)
        assert found is not None
        return found["json_schema"]["schema"]

    with_ranges, without = schema_of(), schema_of(ranges=False)
    assert any("minimum" in node for node in nodes(with_ranges))
    assert not any({"minimum", "maximum"} & node.keys() for node in nodes(without))
    assert strict_schema(Proposal) == with_ranges
