"""The HTTP service that scores texts: its routes, its access control and its log."""

from __future__ import annotations

import asyncio
import hashlib
import ipaddress
import json
import logging
import os
import re
import secrets
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter as RequestCounter, Gauge, Histogram
from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rubriclab.base_options import faults
from rubriclab.errors import BudgetReached, RubriclabError, SettingsError
from rubriclab.judges.connect import is_language_model
from rubriclab.judges.judge import Ledger, RedactingJudge
from rubriclab.judges.metrics import BUCKETS, Metrics
from rubriclab.judges.providers import load_litellm
from rubriclab.models.base import Unreadable, decode_text, parse_json, read_file
from rubriclab.models.characters import describe, preview
from rubriclab.ops.inputs import repeated_id
from rubriclab.ops.options import ScoreOptions, ServeOptions
from rubriclab.ops.score import TextScorer
from rubriclab.ops.scores import Scores
from rubriclab.ops.workspace import RubricLike, UnderWay, Workspace, no_progress
from rubriclab.web import api_models
from rubriclab.web.server import HEADERS, Access, Server, find_owner, is_own_origin, listen, port_of

# Seconds within which the scoring thread has to respond.
HEALTH_TIMEOUT = 10.0

_log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Service:
    """Handlers of the paths. Scoring continues after a request has timed out, so that paid answers reach the store."""

    scorer: TextScorer
    options: ServeOptions
    metrics: Metrics
    has_tokens: bool
    under_way: UnderWay = field(default_factory=UnderWay)

    async def score(self, request: Request) -> Response:
        _check_query(request)
        # A request counts as under way only once its body is complete, so that slow callers do not block others.
        texts, several = await read_texts(request, self.options.max_body_bytes, self.options.max_texts)
        request.state.logged["texts"] = len(texts)
        scores = await self._scores(texts)
        request.state.logged["unscored"] = len(scores.unscored)
        rows = [api_models.score_row(score) for score in scores]
        return _json({"scores": rows, "warnings": scores.warnings} if several else rows[0])

    async def rubric(self, request: Request) -> Response:
        _check_query(request)
        scorer = self.scorer
        described = api_models.describe_rubric(scorer.rubric, scorer.name, scorer.judge, scorer.version)
        return _json(described.model_dump(mode="json"))

    async def read_metrics(self, _request: Request) -> Response:
        return Response(self.metrics.exposition(), media_type=CONTENT_TYPE_LATEST)

    async def health(self, _request: Request) -> Response:
        try:
            async with asyncio.timeout(HEALTH_TIMEOUT):
                await self.scorer.respond()
        except (TimeoutError, RuntimeError):
            detail = "The service does not score at present."
            raise api_models.Refused("not_responding", detail, HEALTH_TIMEOUT) from None
        return _json(api_models.Health(status="ok").model_dump())

    async def openapi(self, _request: Request) -> Response:
        return _json(api_models.description(tokens=self.has_tokens))

    async def _scores(self, texts: Sequence[api_models.InputText]) -> Scores:
        if len(self.under_way) >= self.options.at_once:
            under_way = f"{self.options.at_once:,} requests are under way"
            raise api_models.Refused("too_many_at_once", f"{under_way}; send this one later.", api_models.WHEN_BUSY)
        rows: list[dict[str, Any]] = [text.model_dump(exclude_none=True) for text in texts]
        try:
            async with asyncio.timeout(self.options.request_timeout):
                return await self.under_way.run(self.scorer.score_rows_async(rows))
        except TimeoutError:
            late = f"No score within {self.options.request_timeout:g} seconds."
            advice = "The judge's answers are kept when they arrive: send the same request again."
            raise api_models.Refused("timeout", f"{late} {advice}", api_models.WHEN_BUSY) from None


def application(service: Service, tokens: Tokens, hosts: Collection[str], access_log: AccessLog) -> ASGIApp:
    routes = [
        Route(api_models.SCORE, service.score, methods=["POST"]),
        Route(api_models.RUBRIC, service.rubric),
        Route(api_models.HEALTH, service.health),
        Route(api_models.METRICS, service.read_metrics),
        Route(api_models.OPENAPI, service.openapi),
    ]
    handlers: dict[Any, Callable[[Request, Exception], Response]] = dict.fromkeys(
        (api_models.Refused, RubriclabError, HTTPException, Exception), _error_response
    )
    starlette = Starlette(routes=routes, exception_handlers=handlers)
    starlette.router.redirect_slashes = False  # its redirects repeat the `Host` header of the request
    return AccessControl(starlette, tokens, hosts, service.metrics.registry, access_log)


def _check_query(request: Request) -> None:
    if names := list(request.query_params):
        detail = f"Expected no query in the address, got {describe(names[0])}: the body says what to do."
        raise api_models.Refused("unknown_parameter", detail)


def _error_response(request: Request, error: Exception) -> Response:
    """Return the response to a failed request; details that the caller must not see go to the log."""
    codes = {404: "no_such_path", 405: "other_method"}
    if isinstance(error, HTTPException) and error.status_code in codes:
        code = request.state.logged["problem"] = codes[error.status_code]
        return api_models.problem_response(api_models.Refused(code), request.state.id, error.headers)
    refusal = api_models.convert_error(error)
    if isinstance(error, RubriclabError) and (refusal.status >= 500 or isinstance(error, BudgetReached)):
        _log.warning("request %s: %s: %s", request.state.id, type(error).__name__, error)
    request.state.logged["problem"] = refusal.code
    return api_models.problem_response(refusal, request.state.id)


def _json(content: Mapping[str, Any]) -> Response:
    return Response(orjson.dumps(content), media_type="application/json")


# Seconds within which the whole body has to arrive.
BODY_TIMEOUT = 30.0


async def read_texts(request: Request, max_bytes: int, max_texts: int) -> tuple[tuple[api_models.InputText, ...], bool]:
    """Return the texts in the body of a request, and whether they came as a list; Refused for a faulty body."""
    # Without a preflight, browsers let other sites send forms and plain text, but no JSON (cross-site request forgery).
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json":
        got = f"got {media_type!r:.80}" if media_type else "there is none"
        raise api_models.Refused("other_media_type", f"Expected the Content-Type application/json; {got}.")
    encodings = request.headers.getlist("content-encoding")
    if any(encoding.strip().lower() != "identity" for encoding in encodings):
        detail = f"Send the body without compression; it is sent as {encodings[0]!r:.80}."
        raise api_models.Refused("compressed_body", detail)
    content = await _content(request, max_bytes)
    try:
        value = parse_json(decode_text(content))
    except Unreadable as error:
        raise api_models.Refused("not_json", f"The body is unusable: {error}.") from None
    several = isinstance(value, dict) and "texts" in value
    try:
        if several:
            texts = api_models.InputTexts.model_validate(value).texts
        else:
            texts = (api_models.InputText.model_validate(value),)
    except ValidationError as error:
        hint = ' Send several texts as {"texts": […]}.' if isinstance(value, list) else ""
        raise api_models.Refused("invalid_body", f"{faults(error)}.{hint}") from None
    if len(texts) > max_texts:
        detail = f"Expected at most {max_texts:,} texts, got {len(texts):,}; send them in several requests."
        raise api_models.Refused("too_many_texts", detail)
    if repeated := repeated_id(text.id for text in texts):
        first, second = repeated
        problem = f"texts[{second}]: the id {preview(texts[second].id or '')} is that of texts[{first}] already"
        raise api_models.Refused("repeated_id", f"{problem}; give each its own, or none.")
    return texts, several


async def _content(request: Request, max_bytes: int) -> bytes:
    content = bytearray()
    try:
        async with asyncio.timeout(BODY_TIMEOUT):
            async for chunk in request.stream():
                content += chunk
                if len(content) > max_bytes:
                    raise api_models.Refused("too_large", f"Expected a body of at most {max_bytes:,} bytes.")
    except TimeoutError:
        raise api_models.Refused("late_body", f"The body was not complete after {BODY_TIMEOUT:g} seconds.") from None
    except ClientDisconnect:
        raise api_models.Refused("incomplete_body") from None
    return bytes(content)


MAX_HEAD_BYTES = 16_384
# Characters of a path and of a method in the log.
MAX_LOGGED_PATH = 200
MAX_LOGGED_METHOD = 20
# The status in the log if the caller closed the connection.
CLIENT_CLOSED = 499
OTHER_PATH = "other"
# The headers of responses to some problems: RFC 6750, section 3; RFC 9112, section 6.1.
_PROBLEM_HEADERS: Mapping[str, Mapping[str, str]] = {
    "no_token": {"WWW-Authenticate": "Bearer"},
    "wrong_token": {"WWW-Authenticate": 'Bearer error="invalid_token"'},
    "two_lengths": {"Connection": "close"},
}

AccessLog = Callable[[Mapping[str, Any]], object]


class AccessControl:
    """ASGI middleware that logs requests, and refuses those without a token, with a large head, or from other sites."""

    def __init__(
        self, app: ASGIApp, tokens: Tokens, hosts: Collection[str], registry: CollectorRegistry, access_log: AccessLog
    ) -> None:
        self._app, self._tokens, self._access_log = app, tokens, access_log
        self._hosts = [[host] for host in hosts]
        by_status = "Requests to the service, by status."
        seconds = "Seconds until a request to the service was answered."
        name = "rubriclab_http_request"
        self._requests = RequestCounter(f"{name}s", by_status, ["path", "status"], registry=registry)
        self._seconds = Histogram(f"{name}_seconds", seconds, ["path"], buckets=BUCKETS, registry=registry)
        self._in_flight = Gauge(f"{name}s_in_flight", "Requests to the service being answered.", registry=registry)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        state = scope.setdefault("state", {})
        state["id"], state["logged"], state["caller"] = secrets.token_hex(8), {}, None
        began, status = time.monotonic(), CLIENT_CLOSED

        async def send_identified(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers["X-Request-Id"] = state["id"]
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        async def refuse(refusal: api_models.Refused) -> None:
            respond = api_models.problem_response(refusal, state["id"], _PROBLEM_HEADERS.get(refusal.code))
            await respond(scope, receive, send_identified)

        self._in_flight.inc()
        try:
            self._admit(scope)
            await self._app(scope, receive, send_identified)
        except api_models.Refused as refusal:
            # Raised by `_admit`; the application responds to its own refusals.
            state["logged"]["problem"] = refusal.code
            await refuse(refusal)
        except Exception as error:
            # Starlette raises an error of a handler again, usually after it has sent a response.
            _log.error("request %s: unexpected %s", state["id"], type(error).__name__, exc_info=error)
            if status == CLIENT_CLOSED:
                await refuse(api_models.convert_error(error))
        except asyncio.CancelledError:
            # The server cancels requests that are still open when its grace period ends.
            if status != CLIENT_CLOSED:
                raise
            state["logged"]["problem"] = "stopping"
            detail = "The service is shutting down; send the request again."
            await refuse(api_models.Refused("stopping", detail, api_models.WHEN_DOWN))
        finally:
            self._in_flight.dec()
            self._log_request(scope, status, time.monotonic() - began)

    def _admit(self, scope: Scope) -> None:
        headers = Headers(scope=scope)
        address_bytes = len(scope["raw_path"]) + len(scope["query_string"])
        if address_bytes + sum(len(name) + len(value) for name, value in headers.raw) > MAX_HEAD_BYTES:
            raise api_models.Refused("large_head", f"Expected a head of at most {MAX_HEAD_BYTES:,} bytes.")
        if "content-length" in headers and "transfer-encoding" in headers:
            # A proxy may use the other header, and so see another end of the body (request smuggling).
            raise api_models.Refused("two_lengths")
        if not self._tokens and [host.lower() for host in headers.getlist("host")] not in self._hosts:
            raise api_models.Refused("other_host")
        if not self._tokens and not all(is_own_origin(each, headers, scope) for each in headers.getlist("origin")):
            raise api_models.Refused("other_origin")
        authorizations = headers.getlist("authorization")
        caller = self._tokens.caller(authorizations[0] if len(authorizations) == 1 else "")
        if caller is None and scope["path"] not in api_models.PATHS_WITHOUT_TOKEN:
            if any(is_bearer(each) for each in authorizations):
                raise api_models.Refused("wrong_token")
            raise api_models.Refused("no_token", "Send a token of this service: Authorization: Bearer TOKEN.")
        scope["state"]["caller"] = caller

    def _log_request(self, scope: Scope, status: int, seconds: float) -> None:
        path, state = scope["path"], scope["state"]
        path_label = path if path in api_models.PATHS else OTHER_PATH
        self._requests.labels(path_label, str(status)).inc()
        self._seconds.labels(path_label).observe(seconds)
        caller = state["caller"]
        self._access_log(
            {
                "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
                "request": state["id"],
                "client": (scope.get("client") or ("",))[0],
                "caller": None if caller == ANYBODY else caller,
                "method": scope["method"][:MAX_LOGGED_METHOD],
                "path": scope["raw_path"][:MAX_LOGGED_PATH].decode("ascii", "backslashreplace"),
                "status": status,
                "seconds": round(seconds, 4),
                **state["logged"],
            }
        )


VARIABLE = "RUBRICLAB_SERVE_TOKEN"
# Characters of a token. 16 random characters of base64 are 96 bits, too many to guess over a network.
MIN_TOKEN, MAX_TOKEN = 16, 1_000
MAX_FILE_BYTES = 1_000_000
# Names of callers: of the one with the token in `VARIABLE`, and of every caller of a service without tokens.
ENVIRONMENT_CALLER, ANYBODY = "token", "anybody"
_TOKEN = re.compile(r"[A-Za-z0-9\-._~+/]+=*")
_NAME = re.compile(r"[\w.\-]{1,100}", re.ASCII)


@dataclass(frozen=True)
class Tokens:
    """The digest of each caller's token, by name; without tokens, everybody who reaches the service may use it."""

    digests: Mapping[str, bytes] = field(default_factory=dict, repr=False)

    def __bool__(self) -> bool:
        return bool(self.digests)

    def caller(self, authorization: str) -> str | None:
        """Return the caller whose token an `Authorization` header has (in constant time); `ANYBODY` without tokens."""
        if not self.digests:
            return ANYBODY
        token = authorization.partition(" ")[2].strip() if is_bearer(authorization) else ""
        return find_owner(_digest(token), self.digests)


def is_bearer(authorization: str) -> bool:
    scheme, _, token = authorization.partition(" ")
    return scheme.lower() == "bearer" and bool(token.strip())


def read_tokens(file: str | Path | None, environment: Mapping[str, str] | None = None) -> Tokens:
    """Return the tokens of the environment and of a file; each line has `TOKEN` or `NAME TOKEN`, # begins a comment.

    Raises:
        SettingsError: if the file cannot be read, or a token is too short, repeated or not of the form of RFC 6750.
    """
    digests: dict[str, bytes] = {}
    variables = os.environ if environment is None else environment
    token = variables.get(VARIABLE, "").strip()
    if token:
        _add(digests, ENVIRONMENT_CALLER, token, VARIABLE)
    if file is not None:
        try:
            lines = decode_text(read_file(Path(file), MAX_FILE_BYTES)).splitlines()
        except Unreadable as error:
            raise SettingsError(f"`token_file`: {file} cannot be used: {error}.") from None
        for number, line in enumerate(lines, 1):
            if line.strip() and not line.lstrip().startswith("#"):
                *names, token = line.split()
                where = f"{file}, line {number}"
                if len(names) > 1 or not all(map(_NAME.fullmatch, names)):
                    raise SettingsError(f"{where}: expected TOKEN, or NAME TOKEN.")
                _add(digests, names[0] if names else f"line {number}", token, where)
        if not digests:
            raise SettingsError(f"`token_file`: {file} has no token.", "Write one on a line.")
    return Tokens(digests)


def _add(digests: dict[str, bytes], name: str, token: str, where: str) -> None:
    # A message must not repeat the token.
    if not MIN_TOKEN <= len(token) <= MAX_TOKEN:
        problem = f"{where}: a token has {MIN_TOKEN} to {MAX_TOKEN} characters, this one {len(token)}."
        raise SettingsError(problem, "Make one with: openssl rand -base64 32")
    if not _TOKEN.fullmatch(token):
        raise SettingsError(f"{where}: a token consists of letters, digits and -._~+/, with = at its end only.")
    digest = _digest(token)
    if name in digests or digest in digests.values():
        raise SettingsError(f"{where}: this name or token is there already.", "Give each caller a token of its own.")
    digests[name] = digest


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


_access = logging.getLogger("rubriclab.access")


def log_access(entry: Mapping[str, Any]) -> None:
    """Log a request as `name=value` pairs with values in JSON, so that no path can look like another pair or line."""
    _access.info(" ".join(f"{name}={json.dumps(value)}" for name, value in entry.items()))


async def serve_rubric(
    workspace: Workspace,
    rubric: RubricLike,
    options: ServeOptions,
    *,
    on_access: AccessLog = log_access,
    on_address: Callable[[str], object] = print,
) -> None:
    """Serve a rubric over HTTP until a signal or cancellation, then finish requests under way.

    Raises:
        NotInStore: if there is no such rubric.
        NotConfirmed: if an imported rubric names the judge and was not confirmed.
        SettingsError, StoreError: for an unusable address, token or store, or if others could score without a token.
    """
    tokens = read_tokens(options.token_file)
    host = _address(options.host, tokens)
    if workspace.options.batch:
        raise SettingsError("`batch`: batches take hours, and callers wait;", "leave `batch` out.")
    ledger = Ledger()
    metrics = Metrics(ledger)
    with listen(host, options.port or None) as bound:
        served = replace(workspace, progress=no_progress, ledger=ledger, metrics=metrics)
        scorer = await asyncio.to_thread(TextScorer, served, rubric, ScoreOptions(judge=options.judge), RedactingJudge)
        service = Service(scorer, options, metrics, bool(tokens))
        server: Server | None = None
        try:
            if is_language_model(scorer.judge):
                served.store.check_writable()
                await asyncio.to_thread(load_litellm)  # otherwise the first caller waits some seconds for it
            host_in_url = f"[{host}]" if ":" in host else host
            address = f"http://{host_in_url}:{port_of(bound)}"
            hosts = Access.at(port_of(bound), [host_in_url]).hosts

            text_fields = scorer.version.provenance.text_fields if scorer.version else None
            example = orjson.dumps({field: f"The {field}." for field in ("output", *(text_fields or ()))}).decode()

            def announce() -> None:
                on_address(address)
                token = ' -H "Authorization: Bearer $TOKEN"' if tokens else ""
                headers = f"{token} -H 'Content-Type: application/json'"
                workspace.notify(f"score a text: curl {address}{api_models.SCORE}{headers} -d '{example}'")

            server = Server(application(service, tokens, hosts, on_access), bound, announce, patience=options.grace)
            await server.run_until_stopped()
        finally:
            if left := await service.under_way.finish(server.seconds_left if server else 0):
                requests = "1 request was" if left == 1 else f"{left} requests were"
                workspace.notify(f"{requests} still being scored when the service ended and got no score")
            await asyncio.to_thread(scorer.close)


def _address(host: str, tokens: Tokens) -> str:
    try:
        address = ipaddress.ip_address("127.0.0.1" if host == "localhost" else host.strip("[]"))
    except ValueError:
        problem = f"`host`: expected an address such as 127.0.0.1, got {host!r}."
        raise SettingsError(problem, "0.0.0.0 is every address.") from None
    if not tokens and not address.is_loopback:
        problem = f"`host={host}`: others can reach the service at this address, and there is no token."
        hint = "or give `token_file=FILE`; without `host` it is reached from this computer only."
        raise SettingsError(problem, f"Set {VARIABLE}, {hint}")
    return str(address)
