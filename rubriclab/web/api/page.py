"""The description of a service as a page, without anything from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rubriclab.report.model import Block, Paragraph, Section, Table, View, quoted, table
from rubriclab.web.api.openapi import description, problem_codes
from rubriclab.web.api.problem_kinds import KINDS

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
