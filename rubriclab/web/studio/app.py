"""The studio's application: what its pages share, its routes, and how it is served."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import BaseRoute
from starlette.types import ASGIApp

from rubriclab.errors import NotInStore, RubriclabError, StoreError
from rubriclab.judges.stack import Ledger
from rubriclab.models.characters import plain
from rubriclab.models.version import Version, parse_ref
from rubriclab.ops import versions as service
from rubriclab.ops.workspace import Notify, Workspace, no_progress
from rubriclab.web.security import READING, Access, Guard
from rubriclab.web.server import LOOPBACK, listen, port_of, rendered, serve, static_routes
from rubriclab.web.studio.asking import Asking, routes as operation_routes
from rubriclab.web.studio.matrix import Matrix, matrix_of
from rubriclab.web.studio.records import Records

# The port that the studio is served at if it is free, so that its address can be kept.
PORT = 8521
# Larger requests are refused: the largest is a draft with all criteria of a rubric, or a text to explain.
MOST_BYTES = 1_000_000
# The pages of a version by the last part of their path.
TABS: Mapping[str, str] = {
    "": "Overview",
    "versions": "Versions",
    "texts": "Texts",
    "disagreements": "Disagreements",
    "edit": "Edit",
    "explain": "Why this score?",
    "compare": "Compare",
}


@dataclass(frozen=True, eq=False)
class Studio:
    """What the pages share.

    Attributes:
        reading: the store, opened for everything that only reads; how judges are asked, and the caps on calls and
            money, which hold for all pages together.
        judge: who is asked instead of the judge that a rubric was learned with; `None` for that judge.
    """

    reading: Workspace
    access: Access
    judge: str | None = None

    @cached_property
    def matrices(self) -> Records[Matrix]:
        """The labelled texts of the versions that were looked at last."""
        return Records(self.reading, matrix_of, self.background)

    @cached_property
    def background(self) -> ThreadPoolExecutor:
        """A thread that reads ahead what the next page is likely to need."""
        return ThreadPoolExecutor(1, "studio")

    def workspace(self, notify: Notify = lambda _text: None) -> Workspace:
        """Return a workspace for an operation that asks or writes, to be closed after it; its effort is its own."""
        return replace(self.reading, notify=notify, progress=no_progress, ledger=Ledger())

    @cached_property
    def asking(self) -> Asking:
        """The operations of pages that may ask a judge."""
        return Asking(self.workspace)

    def version(self, ref: str) -> Version:
        """Return the version that `NAME`, `NAME@NUMBER` or `NAME@TAG` in an address means.

        Raises:
            NotInStore: if there is none.
        """
        try:
            parse_ref(ref)
        except StoreError as error:
            raise NotInStore(error.message, error.hint) from None
        return service.load(self.reading, ref)

    def page(
        self,
        template: str,
        title: str,
        version: Version | None = None,
        tab: str = "",
        *,
        status: int = 200,
        **fields: Any,
    ) -> HTMLResponse:
        """Return a page from a template that extends `studio/layout.html`.

        Args:
            version: the version that the page is about; its pages are linked.
            tab: which of them this one is, a key of `TABS`.
        """
        shared = {"title": plain(title), "token": self.access.token, "version": version, "tab": tab, "tabs": TABS}
        return rendered(f"studio/{template}", status, **shared, **fields)


def application(studio: Studio) -> ASGIApp:
    """Return the guarded application with all pages of the studio."""
    from rubriclab.web.studio import disagreements, edit, explain, texts, version

    pages = (version, texts, disagreements, edit, explain)
    of_pages = (route for page in pages for route in page.routes(studio))
    routes: list[BaseRoute] = [*static_routes(), *operation_routes(studio.asking), *of_pages]

    def failed(request: Request, error: Exception) -> Response:
        return _failed(studio, request, error)

    @asynccontextmanager
    async def opened(_application: Starlette) -> AsyncIterator[None]:
        with studio.reading, studio.background:
            yield
            studio.background.shutdown(cancel_futures=True)

    handlers: Mapping[Any, Callable[[Request, Exception], Response]] = {RubriclabError: failed, HTTPException: failed}
    return Guard(Starlette(routes=routes, exception_handlers=handlers, lifespan=opened), studio.access, MOST_BYTES)


async def serve_studio(
    settings: Workspace,
    rubric: str | None = None,
    *,
    judge: str | None = None,
    port: int | None = None,
    browser: bool = True,
    on_address: Callable[[str], object] = print,
) -> None:
    """Serve the studio on this computer only, until it is stopped.

    Args:
        rubric: the rubric whose page is opened; without one, the list of rubrics.
        on_address: told the address once the studio is about to be served.

    Raises:
        NoStore: if there is no store.
        NotInStore: if there is no such rubric.
        SettingsError: if the port cannot be used.
    """
    with settings:
        # Fails here rather than in the browser. A name stays one: its page is that of the newest version.
        settings.open_store(access="either")
        with suppress(StoreError):
            # They stay in memory. What is wrong with one is said by the pages that show it.
            service.list_versions(settings)
        if rubric:
            service.load(settings, rubric)
        with listen(LOOPBACK, port, preferred=PORT) as bound:
            studio = Studio(settings, Access.at(port_of(bound)), judge)
            address = f"http://{LOOPBACK}:{port_of(bound)}/{rubric or ''}"
            on_address(address)
            await serve(lambda _stop: application(studio), bound, address, browser=browser)


def _failed(studio: Studio, request: Request, error: Exception) -> Response:
    """Return what a page shows of an error, or what a script gets of it."""
    if isinstance(error, HTTPException):
        status, words = error.status_code, "There is no such page." if error.status_code == 404 else error.detail
    else:
        status, words = _status(error), plain(str(error))
    if request.method not in READING or "application/json" in request.headers.get("accept", ""):
        return JSONResponse({"error": words}, status)
    return studio.page("failed.html", "Not found" if status == 404 else "Error", status=status, words=words)


def _status(error: Exception) -> int:
    """Return the HTTP status of an error: not found, to be mended by the user, or by the provider."""
    if isinstance(error, NotInStore):
        return 404
    return 502 if isinstance(error, RubriclabError) and error.exit_code == 4 else 422
