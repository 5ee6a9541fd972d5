"""Reply models as strict JSON schemas for providers.

These require every field, allow no others, and refuse lengths and defaults, which are checked when the reply is parsed.
Some refuse ranges of numbers too, which are then left out.
"""

from __future__ import annotations

import copy
import functools
import re
from typing import Any

from pydantic import BaseModel

KEYWORDS = {"type", "properties", "items", "anyOf", "enum", "const", "description", "$defs", "minimum", "maximum"}
TYPING = {"type", "anyOf", "enum", "const"}
INEXPRESSIBLE = {"oneOf", "allOf", "prefixItems", "patternProperties"}


def response_format(reply: type[BaseModel], *, ranges: bool = True) -> dict[str, Any] | None:
    """Return the `response_format` for `reply`; `None` if no strict schema can express it.

    Args:
        ranges: whether numbers have their limits.
    """
    schema = strict_schema(reply)
    if schema is None:
        return None
    name = re.sub(r"[^A-Za-z0-9_-]", "_", reply.__name__)[:64]
    # A copy, since providers' adapters modify schemas in place.
    schema = copy.deepcopy(schema) if ranges else _without_ranges(schema)
    return {"type": "json_schema", "json_schema": {"name": name, "schema": schema, "strict": True}}


def _without_ranges(node: Any) -> Any:
    if isinstance(node, dict):
        limited = node.get("type") in ("integer", "number")
        left_out = ("minimum", "maximum") if limited else ()
        return {key: _without_ranges(value) for key, value in node.items() if key not in left_out}
    return [_without_ranges(each) for each in node] if isinstance(node, list) else node


@functools.lru_cache(maxsize=128)
def strict_schema(reply: type[BaseModel]) -> dict[str, Any] | None:
    """Return the strict form of the model's JSON schema, with fields in order; `None` if there is none."""
    try:
        strict = _strict(reply.model_json_schema())
    except _Inexpressible:
        return None
    return strict if "properties" in strict else None


class _Inexpressible(Exception):
    """A part without a strict form: arbitrary keys or values, a tuple, a tagged union."""


def _strict(node: dict[str, Any]) -> dict[str, Any]:
    if "$ref" in node:
        return {"$ref": node["$ref"]}
    if not TYPING & node.keys() or INEXPRESSIBLE & node.keys():
        raise _Inexpressible
    kept = {key: _converted(key, value) for key, value in node.items() if key in KEYWORDS}
    if kept.get("type") == "object":
        if "properties" not in kept or isinstance(node.get("additionalProperties"), dict):
            raise _Inexpressible
        kept |= {"required": list(kept["properties"]), "additionalProperties": False}
    return kept


def _converted(key: str, value: Any) -> Any:
    match key:
        case "properties" | "$defs":
            return {name: _strict(node) for name, node in value.items()}
        case "items":
            return _strict(value)
        case "anyOf":
            return [_strict(node) for node in value]
        case _:
            return value
