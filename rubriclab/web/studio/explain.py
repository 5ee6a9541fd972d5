"""Why a text has its score: of a text that is pasted, or of one that the rubric was learned from."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from pydantic import Field
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from rubriclab.errors import RubriclabError, SettingsError
from rubriclab.models.characters import is_blank, listed
from rubriclab.models.text import Example
from rubriclab.models.version import Version
from rubriclab.ops.explain import Explaining, ExplainOptions, prepare_explanation
from rubriclab.ops.workspace import Workspace, finish
from rubriclab.report.explanation import explanation_view
from rubriclab.report.html import body
from rubriclab.web.studio.app import Studio
from rubriclab.web.studio.asking import Allowance, PriceQuote, body_of

# The most characters of a pasted text and of its source: ten times the longest that is common.
LONGEST = 1_000_000
SUGGESTED = 20
PASTED = "pasted text"
FIELDS = ("source", "context")


class PastedText(Allowance):
    """A text whose score is to be explained."""

    output: str = Field(max_length=LONGEST)
    source: str = Field(default="", max_length=LONGEST)
    context: str = Field(default="", max_length=LONGEST)

    def example(self, version: Version) -> Example:
        """Return the text as a row.

        Raises:
            SettingsError: if it is empty, or lacks what the texts had that the version was learned from.
        """
        if is_blank(self.output):
            raise SettingsError("Expected a text, got an empty one.", "Paste the text to explain.")
        given = {name: None if is_blank(text) else text for name, text in self.beside.items()}
        if missing := [name for name in version.provenance.text_fields or () if given.get(name, "") is None]:
            raise SettingsError(
                f"{version.ref} was learned from texts with their {listed(missing)}, and its scores are comparable "
                "only with the same.",
                f"Give the {listed(missing)} of the text.",
            )
        return Example(PASTED, self.output, PASTED, given["source"], given["context"])

    @property
    def beside(self) -> dict[str, str]:
        """What the text was made from, and what came before it."""
        return {"source": self.source, "context": self.context}


def routes(studio: Studio) -> list[BaseRoute]:
    """Return the routes of the page, of its answers, and of the texts that it suggests."""

    def page(request: Request) -> Response:
        version, name = studio.version(request.path_params["ref"]), request.query_params.get("id")
        shown, fault = _labelled(studio, version, name) if name else (None, None)
        return studio.page(
            "explain.html",
            "Why this score?",
            version,
            "explain",
            status=404 if fault else 200,
            name=name or "",
            beside={field: field in (version.provenance.text_fields or ()) for field in FIELDS},
            shown=shown,
            fault=fault,
        )

    async def explain(request: Request) -> Response:
        pasted, ref = await body_of(request, PastedText), request.path_params["ref"]

        def prepare(workspace: Workspace) -> Explaining:
            version = studio.version(ref)
            example = pasted.example(version)
            return prepare_explanation(workspace, version, [example], ExplainOptions(judge=studio.judge))

        found = await studio.asking.run(prepare, pasted)
        if isinstance(found, PriceQuote):
            return JSONResponse({"price": found.to_row()})
        shown = body(explanation_view(found.result))
        return JSONResponse({"html": shown, "notices": found.notices})

    def suggestions(request: Request) -> Response:
        return JSONResponse(list(islice(_ids(studio, request), SUGGESTED)))

    return [
        Route("/{ref}/explain", page),
        Route("/{ref}/explain", explain, methods=["POST"]),
        Route("/{ref}/explain/texts", suggestions),
    ]


def _labelled(studio: Studio, version: Version, name: str) -> tuple[Any, str | None]:
    """Return the explanation of a labelled text as HTML, or else why there is none. Its kept ratings are used."""
    with studio.workspace() as workspace:
        try:
            explaining = prepare_explanation(workspace, version, None, ExplainOptions(id=name))
            return body(explanation_view(finish(explaining.run))), None
        except RubriclabError as error:
            return None, str(error)


def _ids(studio: Studio, request: Request) -> Iterator[str]:
    """Yield the ids of labelled texts that hold what is looked for, in the id or in the text."""
    wanted = request.query_params.get("q", "").casefold()
    for text in studio.matrices.get(studio.version(request.path_params["ref"])).record.texts:
        if wanted in text.id.casefold() or wanted in text.output.casefold():
            yield text.id
