"""A reply model as the strict JSON schema that providers accept.

They want every field required and nothing beside them, and refuse ranges, lengths and defaults; those are checked here
when the reply is read.
"""

from __future__ import annotations

import copy
import functools
import re
from typing import Any

from pydantic import BaseModel

KEPT = {"type", "properties", "items", "anyOf", "enum", "const", "description", "$defs"}
SAYS_WHAT = {"type", "anyOf", "enum", "const"}
BEYOND = {"oneOf", "allOf", "prefixItems", "patternProperties"}


def response_format(reply: type[BaseModel]) -> dict[str, Any] | None:
    """Return the `response_format` that asks for `reply`; `None` where a strict schema cannot say it."""
    schema = strict_schema(reply)
    if schema is None:
        return None
    name = re.sub(r"[^A-Za-z0-9_-]", "_", reply.__name__)[:64]
    # A copy, because providers' adapters rewrite schemas in place.
    return {"type": "json_schema", "json_schema": {"name": name, "schema": copy.deepcopy(schema), "strict": True}}


@functools.lru_cache(maxsize=128)
def strict_schema(reply: type[BaseModel]) -> dict[str, Any] | None:
    """Return the strict form of the model's JSON schema, fields in their order; `None` if there is none."""
    try:
        strict = _strict(reply.model_json_schema())
    except _Inexpressible:
        return None
    return strict if "properties" in strict else None


class _Inexpressible(Exception):
    """A part without a strict form: keys not known beforehand, anything at all, a tuple, a tagged union."""


def _strict(node: dict[str, Any]) -> dict[str, Any]:
    if "$ref" in node:
        return {"$ref": node["$ref"]}
    if not SAYS_WHAT & node.keys() or BEYOND & node.keys():
        raise _Inexpressible
    kept = {key: _inside(key, value) for key, value in node.items() if key in KEPT}
    if kept.get("type") == "object":
        if "properties" not in kept or isinstance(node.get("additionalProperties"), dict):
            raise _Inexpressible
        kept |= {"required": list(kept["properties"]), "additionalProperties": False}
    return kept


def _inside(key: str, value: Any) -> Any:
    match key:
        case "properties" | "$defs":
            return {name: _strict(node) for name, node in value.items()}
        case "items":
            return _strict(value)
        case "anyOf":
            return [_strict(node) for node in value]
        case _:
            return value
