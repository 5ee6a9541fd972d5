"""The application of a service: its routes, and what they answer."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import orjson
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from rubriclab.errors import BudgetReached, RubriclabError
from rubriclab.metrics import MetricsRegistry
from rubriclab.services.rubric_description import describe_rubric
from rubriclab.services.scores import Scores
from rubriclab.web.api.body import texts_of
from rubriclab.web.api.gate import AccessLog, Gate
from rubriclab.web.api.models import Health, score_row
from rubriclab.web.api.openapi import DOCS, HEALTH, METRICS, OPEN, OPENAPI, PATHS, RUBRIC, SCORE, description
from rubriclab.web.api.page import docs_view
from rubriclab.web.api.problems import Refused, problem_response, refused
from rubriclab.web.api.scoring import ScoringWork
from rubriclab.web.api.tokens import Tokens
from rubriclab.web.page import report_page

# Seconds within which the thread that scores has to respond.
RESPONSIVE = 10.0

_log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Service:
    """What the routes share."""

    work: ScoringWork
    metrics: MetricsRegistry

    async def score(self, request: Request) -> Response:
        """Score the texts in the body."""
        options = self.work.options
        self.work.begin(request.state.caller)
        try:
            texts, several = await texts_of(request, options.max_body_bytes, options.max_texts)
        except BaseException:
            self.work.end()
            raise
        request.state.noted["texts"] = len(texts)
        scores = await self.work.scores(texts)
        request.state.noted["unscored"] = len(scores.unscored)
        return _json(_results(scores, several=several))

    async def rubric(self, _request: Request) -> Response:
        """Return the rubric that scores."""
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
            raise Refused(503, "not_responding", "The service does not score at present.", RESPONSIVE) from None
        return _json(Health(status="ok").model_dump())

    async def openapi(self, _request: Request) -> Response:
        """Return the description of the service."""
        return _json(description())

    async def docs(self, _request: Request) -> Response:
        """Return the description as a page."""
        return report_page(docs_view())

    @cached_property
    def _rubric(self) -> dict[str, Any]:
        scorer = self.work.scorer
        return describe_rubric(scorer.rubric, scorer.name, scorer.judge, scorer.version).model_dump(mode="json")


def application(
    work: ScoringWork,
    metrics: MetricsRegistry,
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
    service = Service(work, metrics)
    posts: Mapping[str, Callable[[Request], Awaitable[Response]]] = {SCORE: service.score}
    gets: Mapping[str, Callable[[Request], Awaitable[Response]]] = {
        RUBRIC: service.rubric,
        HEALTH: service.health,
        METRICS: service.read_metrics,
        OPENAPI: service.openapi,
        DOCS: service.docs,
    }
    routes = [
        *(Route(path, endpoint, methods=["POST"]) for path, endpoint in posts.items()),
        *(Route(path, endpoint, methods=["GET"]) for path, endpoint in gets.items()),
    ]
    handlers: dict[Any, Callable[[Request, Exception], Response]] = dict.fromkeys(
        (Refused, RubriclabError, HTTPException, Exception), _failed
    )
    return Gate(
        Starlette(routes=routes, exception_handlers=handlers),
        tokens=tokens,
        paths=PATHS,
        open_paths=OPEN,
        hosts=hosts,
        metrics=metrics,
        access_log=access_log,
    )


def _results(scores: Scores, *, several: bool) -> Mapping[str, Any]:
    rows = [score_row(score) for score in scores]
    return {"scores": rows} if several else rows[0]


def _failed(request: Request, error: Exception) -> Response:
    """Return the response to a request that failed; what the caller must not know goes to the log."""
    if isinstance(error, HTTPException):
        codes = {404: "no_such_path", 405: "other_method"}
        code = codes.get(error.status_code, "http_error")
        return problem_response(Refused(error.status_code, code, error.detail), request.state.id, error.headers)
    found = refused(error)
    if isinstance(error, RubriclabError) and (found.status >= 500 or isinstance(error, BudgetReached)):
        _log.warning("request %s: %s: %s", request.state.id, type(error).__name__, error)
    request.state.noted["problem"] = found.code
    return problem_response(found, request.state.id)


def _json(content: Mapping[str, Any]) -> Response:
    return Response(orjson.dumps(content), media_type="application/json")
