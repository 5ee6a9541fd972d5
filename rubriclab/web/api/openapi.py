"""The description of a service as OpenAPI 3.1, made from the models of what it takes and returns."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from rubriclab import __version__
from rubriclab.services.rubric_description import RubricDescription
from rubriclab.web.api.models import Health, InputText, InputTexts, ProblemDetails, ScoreResult, ScoreResults
from rubriclab.web.api.problems import MEDIA_TYPE

SCORE, RUBRIC, HEALTH, METRICS, OPENAPI, DOCS = "/v1/score", "/v1/rubric", "/health", "/metrics", "/openapi.json", "/"
OPEN = frozenset({HEALTH, OPENAPI, DOCS})
PATHS = frozenset({SCORE, RUBRIC, HEALTH, METRICS, OPENAPI, DOCS})

# What each status means, wherever it can occur.
PROBLEMS: Mapping[int, str] = {
    400: "The body is not JSON, or incomplete.",
    401: "There is no token, or it is none of this service.",
    402: "The cap on calls or cost is reached: only texts whose answers are in the store are scored.",
    408: "The body was not complete in time.",
    413: "The body is too large, or has too many texts.",
    415: "The body is not sent as application/json, or compressed.",
    421: "Without a token, the service answers under its own address only.",
    422: "The body has another form, or no text has a field that scoring needs.",
    429: "Too many requests in a minute, or at a time; `Retry-After` says when to send it again.",
    500: "An unexpected error, which the log of the service has.",
    502: "The judge refused the request, or it is a recording without an answer about this text.",
    503: "The judge or the store cannot be used at present; `Retry-After` says when to send the request again.",
    504: "No score in time. Answers that arrive later are kept: send the same request again.",
}
OF_SCORING = tuple(PROBLEMS)
OF_READING = (401, 421, 500)
_REF = "#/components/schemas/{model}"
_EXAMPLE = {"output": "The council closes the bridge.", "source": "The council met on Monday and closed the bridge."}


@cache
def description() -> dict[str, Any]:
    """Return the description, which is the same for every rubric."""
    taken: tuple[type[BaseModel], ...] = (InputText, InputTexts)
    returned: tuple[type[BaseModel], ...] = (ScoreResult, ScoreResults, RubricDescription, Health, ProblemDetails)
    modes: list[Any] = [(model, "validation") for model in taken]
    modes += [(model, "serialization") for model in returned]
    schemas = models_json_schema(modes, ref_template=_REF)[1]["$defs"]
    problems = {str(status): _problem(words, status) for status, words in PROBLEMS.items()}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "rubriclab",
            "version": __version__,
            "summary": "Scores texts by a rubric.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "security": [{"token": []}],
        "paths": _paths(),
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": schemas,
            "responses": problems,
        },
    }


def _paths() -> dict[str, Any]:
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
                    **_problems(*OF_SCORING),
                },
            }
        },
        RUBRIC: _get("rubric", "The rubric that scores.", _json("The rubric.", _ref("RubricDescription"))),
        METRICS: _get("metrics", "Metrics for Prometheus.", _content("The metrics.", "text/plain", {"type": "string"})),
        HEALTH: _get(
            "health",
            "Whether the service works.",
            _json("It works.", _ref("Health")),
            503,
            secured=False,
        ),
        OPENAPI: _get("openapi", "This description.", _json("The description.", {"type": "object"}), secured=False),
        DOCS: _get(
            "docs", "This description as a page.", _content("The page.", "text/html", {"type": "string"}), secured=False
        ),
    }


def _get(name: str, summary: str, found: Mapping[str, Any], *statuses: int, secured: bool = True) -> dict[str, Any]:
    general = OF_READING if secured else OF_READING[1:]
    operation = {
        "operationId": name,
        "summary": summary,
        "responses": {"200": found, **_problems(*general, *statuses)},
    }
    return {"get": operation if secured else {**operation, "security": []}}


def _ref(model: str) -> dict[str, Any]:
    return {"$ref": _REF.format(model=model)}


def _one_of(*models: str) -> dict[str, Any]:
    return {"oneOf": [_ref(model) for model in models]}


def _json(words: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    return _content(words, "application/json", schema)


def _content(words: str, media_type: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"description": words, "content": {media_type: {"schema": schema}}}


def _problem(words: str, status: int) -> dict[str, Any]:
    found = _content(words, MEDIA_TYPE, _ref("ProblemDetails"))
    if status in (429, 503, 504):
        found["headers"] = {"Retry-After": {"description": "Seconds.", "schema": {"type": "integer", "minimum": 0}}}
    return found


def _problems(*statuses: int) -> dict[str, Any]:
    return {str(status): {"$ref": f"#/components/responses/{status}"} for status in sorted(statuses)}
