"""The application of a service: its routes, and what they answer."""

from __future__ import annotations

import asyncio
import json
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import orjson
from prometheus_client import CONTENT_TYPE_LATEST
from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from rubriclab.errors import BudgetReached, RubriclabError
from rubriclab.judges.metrics import Metrics
from rubriclab.models.characters import describe, one_line, preview
from rubriclab.ops.inputs import repeated_id
from rubriclab.ops.score import TextScorer
from rubriclab.ops.scores import Scores
from rubriclab.ops.versions import describe_rubric
from rubriclab.ops.workspace import ServeOptions
from rubriclab.pydantic_errors import faults
from rubriclab.web.api.gate import AccessLog, Gate, Tokens
from rubriclab.web.api.models import Health, InputText, InputTexts, score_row
from rubriclab.web.api.openapi import HEALTH, METRICS, OPEN, OPENAPI, PATHS, RUBRIC, SCORE, description
from rubriclab.web.api.problems import KINDS, WHEN_BUSY, Refused, problem_response, refused


class ScoringWork:
    """The texts that are being scored.

    A request may be given up by its caller or by its time limit. The work for it goes on, and counts: answers that
    have been paid for are kept in the store, where the same request finds them.

    Attributes:
        scorer: the open rubric.
        options: the limits.
    """

    def __init__(self, scorer: TextScorer, options: ServeOptions) -> None:
        self.scorer = scorer
        self.options = options
        self._under_way: set[asyncio.Task[Scores]] = set()

    async def scores(self, texts: Sequence[InputText]) -> Scores:
        """Return the scores of the texts of a request, which counts as under way until they are known.

        Raises:
            Refused: if too many requests are under way, or after the time limit.
            RubriclabError: as `TextScorer.score_rows` does.
        """
        if len(self._under_way) >= self.options.at_once:
            most = f"{self.options.at_once:,} requests are under way"
            raise Refused("too_many_at_once", f"{most}; send this one later.", WHEN_BUSY)
        rows: list[dict[str, Any]] = [text.model_dump(exclude_none=True) for text in texts]
        work = asyncio.create_task(self.scorer.score_rows_async(rows))
        self._under_way.add(work)
        work.add_done_callback(self._ended)
        try:
            async with asyncio.timeout(self.options.request_timeout):
                return await asyncio.shield(work)
        except TimeoutError:
            late = f"No score within {self.options.request_timeout:g} seconds."
            kept = "The judge's answers are kept when they arrive: send the same request again."
            raise Refused("timeout", f"{late} {kept}", WHEN_BUSY) from None

    async def finish(self, patience: float) -> int:
        """Return, once all work has ended or `patience` seconds have passed, how many requests' work is left."""
        if not self._under_way:
            return 0
        _, left = await asyncio.wait(self._under_way, timeout=patience)
        return len(left)

    def _ended(self, work: asyncio.Task[Scores]) -> None:
        self._under_way.discard(work)
        if not work.cancelled():
            work.exception()  # nobody may be waiting for it any more


# Seconds within which the thread that scores has to respond.
RESPONSIVE = 10.0

_log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Service:
    """What the routes share.

    Attributes:
        has_tokens: whether callers need a token.
    """

    work: ScoringWork
    metrics: Metrics
    has_tokens: bool

    async def score(self, request: Request) -> Response:
        """Score the texts in the body."""
        _check_query(request)
        options = self.work.options
        # Before the request counts as under way: a caller whose bodies arrive slowly must not keep others waiting.
        texts, several = await texts_of(request, options.max_body_bytes, options.max_texts)
        request.state.noted["texts"] = len(texts)
        scores = await self.work.scores(texts)
        request.state.noted["unscored"] = len(scores.unscored)
        return _json(_results(scores, several=several))

    async def rubric(self, request: Request) -> Response:
        """Return the rubric that scores."""
        _check_query(request)
        return _json(self._rubric)

    async def read_metrics(self, _request: Request) -> Response:
        """Return the metrics."""
        return Response(self.metrics.exposition(), media_type=CONTENT_TYPE_LATEST)

    async def health(self, _request: Request) -> Response:
        """Return whether the thread that scores responds."""
        try:
            async with asyncio.timeout(RESPONSIVE):
                await self.work.scorer.respond()
        except (TimeoutError, RuntimeError):
            raise Refused("not_responding", "The service does not score at present.", RESPONSIVE) from None
        return _json(Health(status="ok").model_dump())

    async def openapi(self, _request: Request) -> Response:
        """Return the description of the service."""
        return _json(description(tokens=self.has_tokens))

    @cached_property
    def _rubric(self) -> dict[str, Any]:
        scorer = self.work.scorer
        return describe_rubric(scorer.rubric, scorer.name, scorer.judge, scorer.version).model_dump(mode="json")


def application(
    work: ScoringWork,
    metrics: Metrics,
    *,
    tokens: Tokens,
    hosts: Collection[str],
    access_log: AccessLog,
) -> ASGIApp:
    """Return the guarded application.

    Args:
        hosts: the `HOST:PORT` that requests must name if there are no tokens.
        access_log: told about each request once it is answered.
    """
    service = Service(work, metrics, bool(tokens))
    posts: Mapping[str, Callable[[Request], Awaitable[Response]]] = {SCORE: service.score}
    gets: Mapping[str, Callable[[Request], Awaitable[Response]]] = {
        RUBRIC: service.rubric,
        HEALTH: service.health,
        METRICS: service.read_metrics,
        OPENAPI: service.openapi,
    }
    routes = [
        *(Route(path, endpoint, methods=["POST"]) for path, endpoint in posts.items()),
        *(Route(path, endpoint, methods=["GET"]) for path, endpoint in gets.items()),
    ]
    handlers: dict[Any, Callable[[Request, Exception], Response]] = dict.fromkeys(
        (Refused, RubriclabError, HTTPException, Exception), _failed
    )
    starlette = Starlette(routes=routes, exception_handlers=handlers)
    starlette.router.redirect_slashes = False  # its redirects repeat the `Host` header of the request
    return Gate(
        starlette,
        tokens=tokens,
        paths=PATHS,
        open_paths=OPEN,
        hosts=hosts,
        metrics=metrics,
        access_log=access_log,
    )


def _results(scores: Scores, *, several: bool) -> Mapping[str, Any]:
    rows = [score_row(score) for score in scores]
    return {"scores": rows, "warnings": scores.warnings} if several else rows[0]


def _check_query(request: Request) -> None:
    if names := list(request.query_params):
        raise Refused(
            "unknown_parameter",
            f"Expected no query in the address, got {describe(names[0])}: the body says what to do.",
        )


def _failed(request: Request, error: Exception) -> Response:
    """Return the response to a request that failed; what the caller must not know goes to the log."""
    codes = {404: "no_such_path", 405: "other_method"}
    if isinstance(error, HTTPException) and error.status_code in codes:
        code = request.state.noted["problem"] = codes[error.status_code]
        return problem_response(Refused(code, KINDS[code].meaning), request.state.id, error.headers)
    found = refused(error)
    if isinstance(error, RubriclabError) and (found.status >= 500 or isinstance(error, BudgetReached)):
        _log.warning("request %s: %s: %s", request.state.id, type(error).__name__, error)
    request.state.noted["problem"] = found.code
    return problem_response(found, request.state.id)


def _json(content: Mapping[str, Any]) -> Response:
    return Response(orjson.dumps(content), media_type="application/json")


# Seconds until the whole body has to be there.
PATIENCE = 30.0


async def texts_of(request: Request, most_bytes: int, most_texts: int) -> tuple[tuple[InputText, ...], bool]:
    """Return the texts in the body of a request, and whether it is a list of texts.

    Raises:
        Refused: if the body is no JSON, too large, late, or of another form, or says something twice.
    """
    _check_type(request)
    content = await _content(request, most_bytes)
    try:
        value = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise Refused("not_json", f"The body is not JSON: {one_line(str(error))}.") from None
    _check_keys(content)
    several = isinstance(value, dict) and "texts" in value
    try:
        texts = InputTexts.model_validate(value).texts if several else (InputText.model_validate(value),)
    except ValidationError as error:
        hint = ' Send several texts as {"texts": […]}.' if isinstance(value, list) else ""
        raise Refused("invalid_body", f"{faults(error)}.{hint}") from None
    if len(texts) > most_texts:
        raise Refused(
            "too_many_texts",
            f"Expected at most {most_texts:,} texts, got {len(texts):,}; send them in several requests.",
        )
    _check_ids(texts)
    return texts, several


def _check_type(request: Request) -> None:
    # Pages of other sites can send other types without asking (cross-site request forgery).
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json":
        given = f"got {media_type!r:.80}" if media_type else "there is none"
        raise Refused("other_media_type", f"Expected the Content-Type application/json; {given}.")
    encodings = request.headers.getlist("content-encoding")
    if any(encoding.strip().lower() != "identity" for encoding in encodings):
        raise Refused("compressed_body", f"Send the body without compression; it is sent as {encodings[0]!r:.80}.")


def _check_keys(content: bytes) -> None:
    """Check that no object has a key twice: the reader of JSON would take the last value in silence."""
    try:
        json.loads(content, object_pairs_hook=_unique)
    except RecursionError:
        raise Refused("not_json", "The body is nested too deeply.") from None


def _unique(pairs: Sequence[tuple[str, Any]]) -> Mapping[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        repeated = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise Refused("repeated_key", f"The key {preview(repeated)} occurs twice in an object; send it once.")
    return found


def _check_ids(texts: Sequence[InputText]) -> None:
    if repeated := repeated_id(text.id for text in texts):
        first, second = repeated
        raise Refused(
            "repeated_id",
            f"texts[{second}]: the id {preview(texts[second].id or '')} is that of texts[{first}] already; "
            "give each its own, or none.",
        )


async def _content(request: Request, most: int) -> bytes:
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length) > most:
        raise _too_large(most)
    content = bytearray()
    try:
        async with asyncio.timeout(PATIENCE):
            async for part in request.stream():
                content += part
                if len(content) > most:
                    raise _too_large(most)
    except TimeoutError:
        raise Refused("late_body", f"The body was not complete after {PATIENCE:g} seconds.") from None
    except ClientDisconnect:
        raise Refused("incomplete_body", KINDS["incomplete_body"].meaning) from None
    return bytes(content)


def _too_large(most: int) -> Refused:
    return Refused("too_large", f"Expected a body of at most {most:,} bytes.")
