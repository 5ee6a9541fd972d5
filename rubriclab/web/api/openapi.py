"""The description of a service by OpenAPI."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from rubriclab import __version__
from rubriclab.ops.versions import RubricDescription
from rubriclab.web.api.models import Health, InputText, InputTexts, ProblemDetails, ScoreResult, ScoreResults
from rubriclab.web.api.problems import KINDS, MEDIA_TYPE, statuses

SCORE, RUBRIC, HEALTH, METRICS, OPENAPI = "/v1/score", "/v1/rubric", "/health", "/metrics", "/openapi.json"
OPEN = frozenset({HEALTH, OPENAPI})
PATHS = frozenset({SCORE, RUBRIC, HEALTH, METRICS, OPENAPI})

# The problems of requests that are none of those described.
_OF_NO_REQUEST = ("no_such_path", "other_method")
_OF_HEADS = (
    "two_lengths",
    "no_token",
    "wrong_token",
    "other_host",
    "other_origin",
    "large_head",
    "internal_error",
    "stopping",
)
_REF = "#/components/schemas/{model}"
_EXAMPLE = {"output": "The council closes the bridge.", "source": "The council met on Monday and closed the bridge."}


@cache
def description(*, tokens: bool) -> dict[str, Any]:
    """Return the description, which is the same for every rubric.

    Args:
        tokens: whether callers need a token.
    """
    taken: tuple[type[BaseModel], ...] = (InputText, InputTexts)
    returned: tuple[type[BaseModel], ...] = (ScoreResult, ScoreResults, RubricDescription, Health, ProblemDetails)
    modes: list[Any] = [(model, "validation") for model in taken]
    modes += [(model, "serialization") for model in returned]
    schemas = models_json_schema(modes, ref_template=_REF)[1]["$defs"]
    possible = problem_codes(tokens=tokens)
    secured: dict[str, Any] = {"security": [{"token": []}]} if tokens else {}
    schemes = {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}} if tokens else {}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "rubriclab",
            "version": __version__,
            "summary": "Scores texts by a rubric.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        **secured,
        "paths": _paths(possible, tokens=tokens),
        "components": {
            **schemes,
            "schemas": schemas,
            "responses": {str(status): _problem(status, possible) for status in statuses(possible)},
        },
    }


def problem_codes(*, tokens: bool) -> tuple[str, ...]:
    """Return the codes of the problems of a service: one without tokens is for its own pages only."""
    impossible = ("other_host", "other_origin") if tokens else ("no_token", "wrong_token")
    return tuple(code for code in KINDS if code not in impossible)


def _paths(possible: Sequence[str], *, tokens: bool) -> dict[str, Any]:
    def get(name: str, summary: str, found: Mapping[str, Any], *codes: str, is_open: bool = False) -> dict[str, Any]:
        every = [code for code in (*_OF_HEADS, *codes) if code in possible]
        if is_open:
            every = [code for code in every if KINDS[code].status != 401]
        operation = {"operationId": name, "summary": summary, "responses": {"200": found, **_problems(every)}}
        return {"get": {**operation, "security": []} if is_open and tokens else operation}

    return {
        SCORE: {
            "post": {
                "operationId": "score",
                "summary": "Score one text, or several.",
                "description": "A text that cannot be scored has no score but a reason in `unscored`.",
                "requestBody": {
                    "required": True,
                    "content": {
                        "application/json": {"schema": _one_of("InputText", "InputTexts"), "example": _EXAMPLE}
                    },
                },
                "responses": {
                    "200": _json(
                        "The score of the text, or those of all texts.", _one_of("ScoreResult", "ScoreResults")
                    ),
                    **_problems([code for code in possible if code not in (*_OF_NO_REQUEST, "not_responding")]),
                },
            }
        },
        RUBRIC: get(
            "rubric",
            "The rubric that scores.",
            _json("The rubric.", _ref("RubricDescription")),
            "unknown_parameter",
        ),
        METRICS: get("metrics", "Metrics for Prometheus.", _content("The metrics.", "text/plain", {"type": "string"})),
        HEALTH: get(
            "health",
            "Whether the service works.",
            _json("It works.", _ref("Health")),
            "not_responding",
            is_open=True,
        ),
        OPENAPI: get("openapi", "This description.", _json("The description.", {"type": "object"}), is_open=True),
    }


def _ref(model: str) -> dict[str, Any]:
    return {"$ref": _REF.format(model=model)}


def _one_of(*models: str) -> dict[str, Any]:
    return {"oneOf": [_ref(model) for model in models]}


def _json(words: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    return _content(words, "application/json", schema)


def _content(words: str, media_type: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"description": words, "content": {media_type: {"schema": schema}}}


def _problem(status: int, codes: Sequence[str]) -> dict[str, Any]:
    words = " ".join(f"`{code}`: {KINDS[code].meaning}" for code in codes if KINDS[code].status == status)
    found = _content(words, MEDIA_TYPE, _ref("ProblemDetails"))
    if status in (429, 503, 504):
        found["headers"] = {"Retry-After": {"description": "Seconds.", "schema": {"type": "integer", "minimum": 0}}}
    return found


def _problems(codes: Sequence[str]) -> dict[str, Any]:
    return {str(status): {"$ref": f"#/components/responses/{status}"} for status in statuses(codes)}
