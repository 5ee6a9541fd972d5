"""The description of a service: for programs by OpenAPI, and as a page without anything from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from rubriclab import __version__
from rubriclab.report.model import Block, Paragraph, Section, Table, View, quoted, table
from rubriclab.services.rubric_description import RubricDescription
from rubriclab.web.api.models import Health, InputText, InputTexts, ProblemDetails, ScoreResult, ScoreResults
from rubriclab.web.api.problems import KINDS, MEDIA_TYPE, statuses

SCORE, RUBRIC, HEALTH, METRICS, OPENAPI, DOCS = "/v1/score", "/v1/rubric", "/health", "/metrics", "/openapi.json", "/"
OPEN = frozenset({HEALTH, OPENAPI, DOCS})
PATHS = frozenset({SCORE, RUBRIC, HEALTH, METRICS, OPENAPI, DOCS})

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
        DOCS: get(
            "docs", "This description as a page.", _content("The page.", "text/html", {"type": "string"}), is_open=True
        ),
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


CURL = """curl -X POST ADDRESS/v1/score \\
  {token}-H "Content-Type: application/json" \\
  -d '{"output": "The council closes the bridge.", "source": "The council met on Monday."}'"""


TOKEN = '-H "Authorization: Bearer $RUBRICLAB_SERVE_TOKEN" '


def docs_view(*, tokens: bool) -> View:
    """Return the page: the requests, what they take and return, and the problems.

    Args:
        tokens: whether callers need a token.
    """
    found = description(tokens=tokens)
    components = found["components"]
    problems = [
        (str(KINDS[code].status), quoted(code, "id"), quoted(KINDS[code].meaning))
        for code in problem_codes(tokens=tokens)
    ]
    curl = CURL.replace("{token}", TOKEN if tokens else "")
    blocks: list[Block] = [
        Paragraph("A service that scores texts by a rubric. Its description for programs is /openapi.json.", "lead"),
        Section("Requests", (_requests(found["paths"], tokens=tokens),), name="requests"),
        Section("Example", (Paragraph(quoted(curl), "quote"),), name="example"),
        *(_schema(name, components["schemas"][name]) for name in _named(found["paths"], components["schemas"])),
        Section("Problems", (table(("status", "code", "meaning"), problems),), name="problems"),
    ]
    return View("Scores over HTTP", tuple(blocks), "rubriclab serve")


def _named(part: Any, schemas: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names of the schemas in the order in which a reader of the requests needs them, each once."""
    seen = set[str]()

    def names(inside: Any) -> Iterator[str]:
        if isinstance(inside, Mapping):
            name = str(inside.get("$ref", "")).removeprefix("#/components/schemas/")
            if name in schemas and name not in seen:
                seen.add(name)
                yield name
                yield from names(schemas[name])
            inside = inside.values()
        for each in inside if not isinstance(inside, str | int | float | bool | None) else ():
            yield from names(each)

    yield from names(part)
    yield from (name for name in schemas if name not in seen)


def _requests(paths: Mapping[str, Any], *, tokens: bool) -> Table:
    rows = [
        (
            quoted(f"{method.upper()} {path}", "id"),
            quoted(operation["summary"]),
            *(("no" if operation.get("security") == [] else "yes",) if tokens else ()),
        )
        for path, operations in paths.items()
        for method, operation in operations.items()
    ]
    return table(("request", "what it does", *(("needs a token",) if tokens else ())), rows)


def _schema(name: str, schema: Mapping[str, Any]) -> Section:
    required = schema.get("required", ())
    rows = [
        (
            quoted(field, "id"),
            quoted(_type(own)),
            "yes" if field in required else "no",
            quoted(own.get("description", "")),
        )
        for field, own in schema.get("properties", {}).items()
    ]
    fields = table(("field", "type", "required", "meaning"), rows)
    return Section(quoted(name), (Paragraph(quoted(schema.get("description", ""))), fields), name=name.lower())


def _type(schema: Mapping[str, Any]) -> str:
    """Return the type of a field in words."""
    return " or ".join(dict.fromkeys(_types(schema)))


def _types(schema: Mapping[str, Any]) -> Iterator[str]:
    if "$ref" in schema:
        yield schema["$ref"].rpartition("/")[2]
    elif "anyOf" in schema:
        yield from _all_types(schema["anyOf"])
    elif "enum" in schema:
        yield from map(str, schema["enum"])
    elif "const" in schema:
        yield str(schema["const"])
    elif schema.get("type") == "array":
        items = [schema["items"]] if isinstance(schema.get("items"), Mapping) else schema.get("prefixItems", [])
        yield f"list of {' or '.join(dict.fromkeys(_all_types(items)))}"
    else:
        yield str(schema.get("type", "any"))


def _all_types(schemas: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for each in schemas:
        yield from _types(each)
