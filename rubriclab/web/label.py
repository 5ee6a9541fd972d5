"""The page on which people label texts: its requests, the secrets of its links, and its server.

Each rater of a shared page has a personal link with a secret; on other pages, raters give their name. The store is
accessed in handlers without `async`, which Starlette runs in threads, so that raters do not wait for each other.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import secrets
import socket
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import platformdirs
from pydantic import Field
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from rubriclab.data.write import COMMAS, CsvDialect, write_rows
from rubriclab.errors import RubriclabError, SettingsError
from rubriclab.models.base import FrozenModel
from rubriclab.models.characters import count
from rubriclab.models.judgment import LabelQuestion, check_rater_name
from rubriclab.models.text import Scale
from rubriclab.ops.inputs import Data, detect_dialect
from rubriclab.ops.label import Labeling, LabelResult, Submission, check_no_cell_is_lost, prepare_labeling
from rubriclab.ops.options import LabelOptions
from rubriclab.ops.workspace import Notify, Workspace
from rubriclab.report.results import agreement_words, consistency_words
from rubriclab.web import server

# A reason, the longest part of a request, has at most 2,000 characters.
MAX_REQUEST_BYTES = 64_000
# The largest number of scores that get a button each; on other scales, raters type a number.
MAX_BUTTONS = 11
PORT = 8787  # the preferred port
# A file in the user's data folder. Secrets are derived from the random key in it, so links stay valid after a restart.
KEY_FILE = "page-key"
KEY_BYTES = 32


class _Body(FrozenModel):
    rater: str


class _Judgment(_Body):
    submission: Submission


class _Undo(_Body):
    # If the page sends a request again, it has the same id, and no second judgment is withdrawn.
    id: str = Field(pattern=r"^[A-Za-z0-9-]{8,80}$")


def page_app(labeling: Labeling, access: server.Access, finish: Callable[[], str], stop: Callable[[], None]) -> ASGIApp:
    """Return the application behind its guard; `finish` writes the labels and returns a message for raters."""
    page = _LabelPage(labeling, access, finish, stop)
    routes = [
        Route("/", page.show),
        Route("/item", page.item),
        Route("/judgments", page.submit, methods=["POST"]),
        Route("/undo", page.undo, methods=["POST"]),
        Route("/panel", page.panel),
        Route("/finish", page.finish, methods=["POST"]),
        Route("/stop", page.stop, methods=["POST"]),
        *server.static_routes(),
    ]
    handlers: Mapping[Any, Any] = {RubriclabError: _error_response}
    return server.Guard(Starlette(routes=routes, exception_handlers=handlers), access, MAX_REQUEST_BYTES)


def _error_response(_request: Request, error: RubriclabError) -> Response:
    """Return an error as JSON; after status 503, the page sends the rater's answer again."""
    return JSONResponse({"error": error.text}, 503 if error.retryable else 400)


@dataclass(frozen=True)
class _LabelPage:
    _labeling: Labeling
    _access: server.Access
    _finish: Callable[[], str]
    _stop: Callable[[], None]

    async def show(self, request: Request) -> Response:
        """Return the page of a rater, or a form for the rater's name."""
        rater = request.state.visitor or self._labeling.options.rater or request.query_params.get("rater")
        question = self._labeling.question
        is_shared = bool(self._access.link_secrets)
        fields: dict[str, Any] = {"token": self._access.token, "question": question, "shared": is_shared}
        title = f"{question.aspect.name} – rubriclab label"
        if not rater:
            # All raters have equally many items. The exact number would reveal that some texts are repeated.
            items = len(self._labeling.items(rater=""))
            texts = f"About {10 * round(items / 10)} texts" if items > 7 else "A few texts"
            return server.page_response("label/name.html", title=title, texts=texts, **fields)
        settings = page_settings(self._labeling, check_rater_name(rater))
        return server.page_response("label/label.html", title=title, settings=settings, **fields)

    def item(self, request: Request) -> Response:
        query = request.query_params
        rater = self._check_rater(request, query.get("rater"))
        if "position" in query:
            if not query["position"].isdecimal():
                raise SettingsError(f"Expected a position, got {query['position']!r:.80}.", "Load the page again.")
            # `int` fails on thousands of digits; no position has more than nine.
            return JSONResponse(self._item_and_progress(rater, int(query["position"][:9])))
        return JSONResponse(self._next_item(rater, among_skipped=query.get("skipped") == "true"))

    async def submit(self, request: Request) -> Response:
        body = await server.read_body(request, _Judgment)
        rater = self._check_rater(request, body.rater)
        position = await run_in_threadpool(self._labeling.store_decision, rater, body.submission)
        among_skipped = body.submission.among_skipped
        return JSONResponse(await run_in_threadpool(self._next_item, rater, position, among_skipped=among_skipped))

    async def undo(self, request: Request) -> Response:
        body = await server.read_body(request, _Undo)
        rater = self._check_rater(request, body.rater)
        position = await run_in_threadpool(self._labeling.undo, rater, body.id)
        fields = {} if position is None else await run_in_threadpool(self._item_and_progress, rater, position)
        return JSONResponse({"undone": position is not None, **fields})

    def panel(self, request: Request) -> Response:
        rater = self._check_rater(request, request.query_params.get("rater"))
        progress, agreement = self._labeling.progress(rater), agreement_words(self._labeling.agreement())
        time_left, consistency = duration_words(progress.seconds_left), consistency_words(progress.consistency)
        return JSONResponse({"left": time_left, "consistency": consistency, "agreement": agreement})

    async def finish(self, request: Request) -> Response:
        self._check_rater(request, (await server.read_body(request, _Body)).rater)
        message = await run_in_threadpool(self._finish)
        if not self._is_organizer(request):  # others may not see file names of this computer
            message = "Your answers are kept, and written to a file of the person who shares this page. Thank you."
        return JSONResponse({"words": message})

    async def stop(self, request: Request) -> Response:
        self._check_rater(request, (await server.read_body(request, _Body)).rater)
        if not self._is_organizer(request):
            raise SettingsError("Only the person who started this page can end it.", "Ask that person.")
        self._stop()
        return JSONResponse({})

    def _is_organizer(self, request: Request) -> bool:
        """Return whether a request is by the person who started the page."""
        return not self._access.link_secrets or request.state.visitor == self._labeling.options.rater

    def _check_rater(self, request: Request, name: str | None) -> str:
        """Return the rater who sends a request; SettingsError if the request has the name of another."""
        owner = request.state.visitor or self._labeling.options.rater
        if owner and name not in (None, owner):
            raise SettingsError(f"This page belongs to {owner}, not to {name!r}.", "Load the page again.")
        return str(owner or check_rater_name(name))

    def _item_and_progress(self, rater: str, position: int | None) -> dict[str, Any]:
        progress = self._labeling.progress(rater)
        shown: dict[str, Any] | None = None
        if position is not None:
            item = self._labeling.shown_item(rater, position)
            shown = {"position": item.position, "total": item.total, "item": item.name, "text": item.text.output}
            shown |= {name: getattr(item.text, name) for name in ("source", "context", "reference")}
            judgment_fields = {"kind", "value", "reason"}
            shown["former"] = item.former.model_dump(mode="json", include=judgment_fields) if item.former else None
        figures = {"done": progress.done, "skipped": progress.skipped, "total": progress.total}
        return {"progress": figures, "shown": shown}

    def _next_item(self, rater: str, after: int = -1, *, among_skipped: bool = False) -> dict[str, Any]:
        return self._item_and_progress(rater, self._labeling.next_position(rater, after, among_skipped=among_skipped))


def duration_words(seconds: float | None) -> str:
    if seconds is None:
        return "known after a few answers"
    if seconds < 60:
        return "less than a minute" if seconds else "none"
    minutes = round(seconds / 60)
    return f"about {minutes} min" if minutes < 90 else f"about {minutes / 60:.1f} h"


def page_settings(labeling: Labeling, rater: str) -> dict[str, Any]:
    question = labeling.question
    scale = question.scale
    field_names = {name: getattr(question.words, name) for name in ("output", "source", "context")}
    for name in ("source", "context"):
        field_names[name] = labeling.options.mapping.columns.get(name, field_names[name])
    scale_settings = scale.model_dump(include={"low", "high", "whole"})
    scale_settings |= {"named": scale.names is not None, "text": scale.describe(), "levels": score_buttons(scale)}
    settings = {"rater": rater, "question": question.digest, "aspect": question.aspect.name}
    return {**settings, "scale": scale_settings, "words": field_names}


def score_buttons(scale: Scale) -> list[dict[str, Any]]:
    """Return a button, with its number key, for each score of the scale; none for decimals or too many scores."""
    if not scale.whole or scale.width >= MAX_BUTTONS:
        return []
    scores = [int(scale.low) + step for step in range(int(scale.width) + 1)]
    keys = {score: str(score) for score in scores if 0 <= score <= 9}
    if scores[0] == 1 and scores[-1] == 10:
        keys[10] = "0"  # the key to the right of 9
    elif len(keys) < len(scores) <= 9:  # not all scores are digits, so the keys number them from the lowest
        keys = {score: str(key) for key, score in enumerate(scores, start=1)}
    names = scale.names or map(str, scores)
    return [{"value": each, "name": name, "key": keys.get(each, "")} for each, name in zip(scores, names, strict=True)]


async def label(workspace: Workspace, data: Data, output: str | Path | None, options: LabelOptions) -> LabelResult:
    """Serve a page for labelling `data` until a user ends it, and return the labels.

    Raises:
        DataError: if a row is faulty, there is nothing to label, or `output` cannot be written.
        SettingsError: for options that do not go together, a port in use, or rows of `output` that would be lost.
    """
    labeling = prepare_labeling(workspace, data, options)
    if output is not None:
        check_no_cell_is_lost(labeling, output)
    dialect = detect_dialect(data, options)
    if options.no_page:
        return write_labels(labeling, output, dialect, workspace.notify)
    host = server.EVERYWHERE if options.share else server.LOOPBACK
    with server.listen(host, options.port, preferred=PORT) as listener:
        port = server.port_of(listener)
        access = label_access(labeling.question, options, port)
        if access.link_secrets:
            instruction = "Send each rater their own link: whoever opens it rates in that rater's name."
            workspace.notify(f"{instruction} Press Ctrl-C to end.")
            shared_address = f"http://{server.local_address()}:{port}"
            for rater in access.link_secrets:
                workspace.notify(f"{rater}: {shared_address}{access.link_path(rater)}")
        else:
            ending = "until you press Ctrl-C. Every answer is stored at once."
            workspace.notify(f"Label at http://{server.LOOPBACK}:{port}/ {ending}")
        write_lock = threading.Lock()

        def finish() -> str:
            # Several raters may finish at the same time.
            with write_lock:
                result = write_labels(labeling, output, dialect)
            texts = count(result.labelled, "labelled text")
            return f"{texts} written to {output}." if output else f"There are {texts}."

        make_app = partial(page_app, labeling, access, finish)
        address = f"http://{server.LOOPBACK}:{port}/"
        try:
            await server.serve(make_app, listener, address, browser=not options.no_browser and not options.share)
        finally:
            with write_lock:
                result = write_labels(labeling, output, dialect, workspace.notify)
    return result


def label_access(question: LabelQuestion, options: LabelOptions, port: int) -> server.Access:
    """Return who may use the page: everybody at this computer or, if the page is shared, raters with a link."""
    host_names = (server.local_address(), socket.gethostname(), socket.getfqdn()) if options.share else ()
    # Each rater gets a link, also the person at this computer.
    raters = [*options.share, options.rater] if options.share and options.rater else options.share
    link_secrets = {rater: derive_secret("label", "link", question.digest, rater) for rater in raters}
    token = derive_secret("label", "token", question.digest)
    return server.Access.at(port, host_names, token=token, link_secrets=link_secrets)


def write_labels(
    labeling: Labeling, output: str | Path | None, dialect: CsvDialect = COMMAS, notify: Notify = lambda _text: None
) -> LabelResult:
    """Return the labels, and write them to `output` if there are any; notify of texts without a label."""
    result = labeling.result()
    if output is not None and result.rows:
        write_rows(result.rows, output, dialect=dialect)
    if result.unlabelled:
        no_file = "nothing is written; " if output is not None and not result.rows else ""
        notify(f"{no_file}left out: {count(result.unlabelled, 'text')} without a label")
    return result


def derive_secret(*purpose: str) -> str:
    """Return the secret for a purpose, such as a rater's link. It stays the same, since it is made of a stored key."""
    content = "\0".join(purpose).encode("utf-8", "surrogatepass")
    secret = hmac.digest(_read_or_create_key(), content, hashlib.sha256)
    return base64.urlsafe_b64encode(secret).decode().rstrip("=")


def _read_or_create_key() -> bytes:
    file = platformdirs.user_data_path("rubriclab", appauthor=False) / KEY_FILE
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # If several processes create the key at once, the first one wins.
        with suppress(FileExistsError):
            descriptor = os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
            os.write(descriptor, secrets.token_bytes(KEY_BYTES))
            os.close(descriptor)
        key = file.read_bytes()
    except OSError as error:
        problem = f"The key file of the labelling page, {file}, cannot be written or read: {error.strerror}."
        raise SettingsError(problem, "Make the file and its folder writable.") from None
    if len(key) != KEY_BYTES:
        problem = f"The key file of the labelling page, {file}, has {len(key)} bytes instead of {KEY_BYTES}."
        raise SettingsError(problem, "Delete the file.")
    return key
