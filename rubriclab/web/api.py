"""The HTTP service that scores texts by a rubric.

`AccessControl` logs every request, and refuses those that may not reach a handler of `Service`. A caller is known by
its token, a secret that it sends with each request. A request is refused by raising `Refused` with the code
of a problem in `problems.toml`, which the response contains.
"""

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
from rubriclab.ops.workspace import RubricLike, Workspace
from rubriclab.running import ShieldedTasks, no_progress
from rubriclab.web import api_models
from rubriclab.web.api_models import RETRY_WHEN_BUSY, RETRY_WHEN_DOWN, Refused, convert_error, problem_response
from rubriclab.web.server import HEADERS, Server, find_owner, is_own_origin, listen, own_hosts, port_of

HEALTH_TIMEOUT = 10.0  # seconds within which the scoring thread has to respond to a health check

_log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Service:
    """Handlers of the paths. Scoring continues after a request has timed out, so that paid answers are stored."""

    scorer: TextScorer
    options: ServeOptions
    metrics: Metrics
    needs_token: bool
    under_way: ShieldedTasks = field(default_factory=ShieldedTasks)  # requests whose texts are being scored

    async def score(self, request: Request) -> Response:
        _check_query(request)
        # The body is read first: a caller who sends it slowly must not count as under way and block others.
        texts, came_as_list = await read_texts(request, self.options.max_body_bytes, self.options.max_texts)
        request.state.log_fields["texts"] = len(texts)
        if len(self.under_way) >= self.options.at_once:
            detail = f"{self.options.at_once:,} requests are under way; send this one later."
            raise Refused("too_many_at_once", detail, RETRY_WHEN_BUSY)
        try:
            async with asyncio.timeout(self.options.request_timeout):
                rows_to_score: list[dict[str, Any]] = [text.model_dump(exclude_none=True) for text in texts]
                scores = await self.under_way.run(self.scorer.score_rows_async(rows_to_score))
        except TimeoutError:
            problem = f"No score within {self.options.request_timeout:g} seconds."
            advice = "The judge's answers are kept when they arrive: send the same request again."
            raise Refused("timeout", f"{problem} {advice}", RETRY_WHEN_BUSY) from None
        request.state.log_fields["unscored"] = len(scores.unscored)
        rows = [api_models.score_row(score) for score in scores]
        return _json_response({"scores": rows, "warnings": scores.warnings} if came_as_list else rows[0])

    async def describe_rubric(self, request: Request) -> Response:
        _check_query(request)
        scorer = self.scorer
        described = api_models.describe_rubric(scorer.rubric, scorer.name, scorer.judge, scorer.version)
        return _json_response(described.model_dump(mode="json"))

    async def read_metrics(self, _request: Request) -> Response:
        return Response(self.metrics.exposition(), media_type=CONTENT_TYPE_LATEST)

    async def check_health(self, _request: Request) -> Response:
        try:
            async with asyncio.timeout(HEALTH_TIMEOUT):
                await self.scorer.respond()
        except (TimeoutError, RuntimeError):
            raise Refused("not_responding", "The service does not score at present.", HEALTH_TIMEOUT) from None
        return _json_response(api_models.Health(status="ok").model_dump())

    async def describe_service(self, _request: Request) -> Response:
        return _json_response(api_models.describe_api(needs_token=self.needs_token))


def make_application(service: Service, tokens: TokenDigests, hosts: Collection[str], access_log: AccessLog) -> ASGIApp:
    routes = [
        Route(api_models.SCORE_PATH, service.score, methods=["POST"]),
        Route(api_models.RUBRIC_PATH, service.describe_rubric),
        Route(api_models.HEALTH_PATH, service.check_health),
        Route(api_models.METRICS_PATH, service.read_metrics),
        Route(api_models.OPENAPI_PATH, service.describe_service),
    ]
    handlers: dict[Any, Callable[[Request, Exception], Response]] = dict.fromkeys(
        (Refused, RubriclabError, HTTPException, Exception), _error_response
    )
    starlette = Starlette(routes=routes, exception_handlers=handlers)
    starlette.router.redirect_slashes = False  # a redirect would lead to any host that the `Host` header names
    return AccessControl(starlette, tokens, hosts, service.metrics.registry, access_log)


def _check_query(request: Request) -> None:
    if names := list(request.query_params):
        detail = f"Expected an address without a query, got the parameter {describe(names[0])}."
        raise Refused("unknown_parameter", detail)


def _error_response(request: Request, error: Exception) -> Response:
    """Return the response to a failed request; details that the caller must not see go to the log."""
    codes = {404: "no_such_path", 405: "other_method"}
    if isinstance(error, HTTPException) and error.status_code in codes:
        code = request.state.log_fields["problem"] = codes[error.status_code]
        return problem_response(Refused(code), request.state.id, error.headers)
    refusal = convert_error(error)
    if isinstance(error, RubriclabError) and (refusal.status >= 500 or isinstance(error, BudgetReached)):
        _log.warning("request %s: %s: %s", request.state.id, type(error).__name__, error)
    request.state.log_fields["problem"] = refusal.code
    return problem_response(refusal, request.state.id)


def _json_response(content: Mapping[str, Any]) -> Response:
    return Response(orjson.dumps(content), media_type="application/json")


BODY_TIMEOUT = 30.0  # seconds within which the whole body has to arrive


async def read_texts(request: Request, max_bytes: int, max_texts: int) -> tuple[tuple[api_models.InputText, ...], bool]:
    """Return the texts in the body of a request, and whether they came as a list; Refused for a faulty body."""
    # Against cross-site request forgery: browsers let other sites send forms and plain text here, but not JSON.
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json":
        got = f"got {media_type!r:.80}" if media_type else "there is none"
        raise Refused("other_media_type", f"Expected the Content-Type application/json; {got}.")
    encodings = request.headers.getlist("content-encoding")
    if any(encoding.strip().lower() != "identity" for encoding in encodings):
        raise Refused("compressed_body", f"Send the body without compression; it is sent as {encodings[0]!r:.80}.")
    try:
        value = parse_json(decode_text(await _read_content(request, max_bytes)))
    except Unreadable as error:
        raise Refused("not_json", f"The body is unusable: {error}.") from None
    came_as_list = isinstance(value, dict) and "texts" in value
    try:
        if came_as_list:
            texts = api_models.InputTexts.model_validate(value).texts
        else:
            texts = (api_models.InputText.model_validate(value),)
    except ValidationError as error:
        hint = ' Send several texts as {"texts": […]}.' if isinstance(value, list) else ""
        raise Refused("invalid_body", f"{faults(error)}.{hint}") from None
    if len(texts) > max_texts:
        detail = f"Expected at most {max_texts:,} texts, got {len(texts):,}; send them in several requests."
        raise Refused("too_many_texts", detail)
    if repeated := repeated_id(text.id for text in texts):
        first, second = repeated
        problem = f"texts[{first}] and texts[{second}] have the same id {preview(texts[second].id or '')}"
        raise Refused("repeated_id", f"{problem}; give each text its own id, or none.")
    return texts, came_as_list


async def _read_content(request: Request, max_bytes: int) -> bytes:
    content = bytearray()
    try:
        async with asyncio.timeout(BODY_TIMEOUT):
            async for chunk in request.stream():
                content += chunk
                if len(content) > max_bytes:
                    raise Refused("too_large", f"Expected a body of at most {max_bytes:,} bytes.")
    except TimeoutError:
        raise Refused("late_body", f"The body was not complete after {BODY_TIMEOUT:g} seconds.") from None
    except ClientDisconnect:
        raise Refused("incomplete_body") from None
    return bytes(content)


MAX_HEAD_BYTES = 16_384  # bytes of a request's path, query and headers
MAX_LOGGED_PATH = 200  # bytes of a path
MAX_LOGGED_METHOD = 20  # characters
# The status in the log if no response was sent, since the caller closed the connection (as in nginx).
NOT_RESPONDED = 499
UNKNOWN_PATH = "other"  # the path label, in metrics, of all paths that the service does not have
# Additional headers of responses, by the code of the problem (RFC 6750, section 3; RFC 9112, section 6.1).
_PROBLEM_HEADERS: Mapping[str, Mapping[str, str]] = {
    "no_token": {"WWW-Authenticate": "Bearer"},
    "wrong_token": {"WWW-Authenticate": 'Bearer error="invalid_token"'},
    "two_lengths": {"Connection": "close"},
}

AccessLog = Callable[[Mapping[str, Any]], object]


class AccessControl:
    """ASGI middleware that logs requests, and refuses those without a token, with a large head, or from other sites."""

    def __init__(
        self, app: ASGIApp, tokens: TokenDigests, hosts: Collection[str], registry: CollectorRegistry, log: AccessLog
    ) -> None:
        self._app, self._tokens, self._access_log = app, tokens, log
        self._hosts = frozenset(hosts)
        requests_help = "Requests to the service, by status."
        seconds_help = "Seconds until a request to the service was answered."
        prefix = "rubriclab_http_request"
        self._requests = RequestCounter(f"{prefix}s", requests_help, ["path", "status"], registry=registry)
        self._seconds = Histogram(f"{prefix}_seconds", seconds_help, ["path"], buckets=BUCKETS, registry=registry)
        self._in_flight = Gauge(f"{prefix}s_in_flight", "Requests to the service being answered.", registry=registry)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        state = scope.setdefault("state", {})
        state["id"], state["log_fields"], state["caller"] = secrets.token_hex(8), {}, None
        began, status = time.monotonic(), NOT_RESPONDED

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers["X-Request-Id"] = state["id"]
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        async def refuse(refusal: Refused) -> None:
            response = problem_response(refusal, state["id"], _PROBLEM_HEADERS.get(refusal.code))
            await response(scope, receive, send_with_headers)

        self._in_flight.inc()
        try:
            self._admit(scope)
            await self._app(scope, receive, send_with_headers)
        except Refused as refusal:
            # Raised by `_admit`; the application responds to its own refusals.
            state["log_fields"]["problem"] = refusal.code
            await refuse(refusal)
        except Exception as error:
            # Starlette raises a handler's unexpected error again, usually after it has sent a response.
            _log.error("request %s: unexpected %s", state["id"], type(error).__name__, exc_info=error)
            if status == NOT_RESPONDED:
                await refuse(convert_error(error))
        except asyncio.CancelledError:
            # The server cancels requests that are still open when its grace period ends.
            if status != NOT_RESPONDED:
                raise
            state["log_fields"]["problem"] = "stopping"
            detail = "The service is shutting down; send the request again."
            await refuse(Refused("stopping", detail, RETRY_WHEN_DOWN))
        finally:
            self._in_flight.dec()
            self._log_request(scope, status, time.monotonic() - began)

    def _admit(self, scope: Scope) -> None:
        """Store the caller of a request, or raise Refused if the request may not reach the application."""
        headers = Headers(scope=scope)
        address_bytes = len(scope["raw_path"]) + len(scope["query_string"])
        if address_bytes + sum(len(name) + len(value) for name, value in headers.raw) > MAX_HEAD_BYTES:
            raise Refused("large_head", f"Expected a head of at most {MAX_HEAD_BYTES:,} bytes.")
        if "content-length" in headers and "transfer-encoding" in headers:
            # If a proxy goes by one header and this server by the other, a second request can hide in the body.
            raise Refused("two_lengths")
        # Without tokens, only these checks keep a browser on this computer from using the service for other sites.
        hosts = headers.getlist("host")
        if not self._tokens and (len(hosts) != 1 or hosts[0].lower() not in self._hosts):
            raise Refused("other_host")
        if not self._tokens and not all(is_own_origin(each, headers, scope) for each in headers.getlist("origin")):
            raise Refused("other_origin")
        authorizations = headers.getlist("authorization")
        caller = find_caller(self._tokens, authorizations)
        if caller is None and scope["path"] not in api_models.PATHS_WITHOUT_TOKEN:
            if any(is_bearer(each) for each in authorizations):
                raise Refused("wrong_token")
            raise Refused("no_token", "Send a token of this service: Authorization: Bearer TOKEN.")
        scope["state"]["caller"] = caller

    def _log_request(self, scope: Scope, status: int, seconds: float) -> None:
        path, state = scope["path"], scope["state"]
        path_label = path if path in api_models.PATHS else UNKNOWN_PATH
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
                **state["log_fields"],
            }
        )


TokenDigests = Mapping[str, bytes]  # by the name of the caller; without any digests, everybody may use the service
TOKEN_VARIABLE = "RUBRICLAB_SERVE_TOKEN"
# Numbers of characters. 16 random characters of base64 are 96 bits, too many to guess over a network.
MIN_TOKEN, MAX_TOKEN = 16, 1_000
MAX_TOKEN_FILE_BYTES = 1_000_000
ENVIRONMENT_CALLER = "token"  # the name of the caller with the token in `TOKEN_VARIABLE`
ANYBODY = "anybody"  # the name of every caller of a service without tokens
_TOKEN_FORM = re.compile(r"[A-Za-z0-9\-._~+/]+=*")  # RFC 6750, section 2.1
_CALLER_NAME_FORM = re.compile(r"[\w.\-]{1,100}", re.ASCII)


def find_caller(tokens: TokenDigests, authorizations: Sequence[str]) -> str | None:
    """Return the name of the token's owner, `None` if no valid token was sent, or `ANYBODY` without `tokens`."""
    if not tokens:
        return ANYBODY
    if len(authorizations) != 1 or not is_bearer(authorizations[0]):
        return None
    token = authorizations[0].partition(" ")[2].strip()
    return find_owner(_digest(token), tokens)


def is_bearer(authorization: str) -> bool:
    scheme, _, token = authorization.partition(" ")
    return scheme.lower() == "bearer" and bool(token.strip())


def read_tokens(file: str | Path | None, environment: Mapping[str, str] | None = None) -> dict[str, bytes]:
    """Return the digests of tokens: the one in `TOKEN_VARIABLE`, and those in a file of lines `TOKEN` or `NAME TOKEN`.

    Raises:
        SettingsError: if the file cannot be read, or a token is too short, repeated or not of the form of RFC 6750.
    """
    digests: dict[str, bytes] = {}
    variables = os.environ if environment is None else environment
    token = variables.get(TOKEN_VARIABLE, "").strip()
    if token:
        _add_token(digests, ENVIRONMENT_CALLER, token, TOKEN_VARIABLE)
    if file is not None:
        try:
            lines = decode_text(read_file(Path(file), MAX_TOKEN_FILE_BYTES)).splitlines()
        except Unreadable as error:
            raise SettingsError(f"`token_file`: {file} cannot be used: {error}.") from None
        for number, line in enumerate(lines, 1):
            if line.strip() and not line.lstrip().startswith("#"):  # neither empty nor a comment
                *names, token = line.split()
                where = f"{file}, line {number}"
                if len(names) > 1 or not all(map(_CALLER_NAME_FORM.fullmatch, names)):
                    problem = f"{where}: expected TOKEN or NAME TOKEN; a NAME has letters, digits and _.- only."
                    raise SettingsError(problem)
                _add_token(digests, names[0] if names else f"line {number}", token, where)
        if not digests:
            raise SettingsError(f"`token_file`: {file} has no token.", "Write one token on each line.")
    return digests


def _add_token(digests: dict[str, bytes], name: str, token: str, where: str) -> None:
    # A message must not repeat the token.
    if not MIN_TOKEN <= len(token) <= MAX_TOKEN:
        problem = f"{where}: a token has {MIN_TOKEN} to {MAX_TOKEN} characters, this one {len(token)}."
        raise SettingsError(problem, "Make one with: openssl rand -base64 32")
    if not _TOKEN_FORM.fullmatch(token):
        raise SettingsError(f"{where}: a token consists of letters, digits and -._~+/, with = at its end only.")
    digest = _digest(token)
    if name in digests or digest in digests.values():
        raise SettingsError(f"{where}: an earlier caller has this name or token.", "No two callers may share either.")
    digests[name] = digest


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


_access_logger = logging.getLogger("rubriclab.access")


def log_access(entry: Mapping[str, Any]) -> None:
    """Log a request as `name=value` pairs with values in JSON, so that no value can look like another pair or line."""
    _access_logger.info(" ".join(f"{name}={json.dumps(value)}" for name, value in entry.items()))


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
    host = _check_host(options.host, tokens)
    if workspace.options.batch:
        raise SettingsError("`batch`: batches take hours, and callers wait;", "leave `batch` out.")
    ledger = Ledger()
    metrics = Metrics(ledger)
    with listen(host, options.port or None) as listener:
        workspace = replace(workspace, progress=no_progress, ledger=ledger, metrics=metrics)
        score_options = ScoreOptions(judge=options.judge)
        scorer = await asyncio.to_thread(TextScorer, workspace, rubric, score_options, wrap=RedactingJudge)
        service = Service(scorer, options, metrics, bool(tokens))
        server: Server | None = None
        try:
            if is_language_model(scorer.judge):
                workspace.store.check_writable()
                await asyncio.to_thread(load_litellm)  # otherwise the first caller waits some seconds for it
            host_in_url = f"[{host}]" if ":" in host else host
            address = f"http://{host_in_url}:{port_of(listener)}"
            hosts = own_hosts(port_of(listener), [host_in_url])

            text_fields = scorer.version.provenance.text_fields if scorer.version else None
            example = orjson.dumps({name: f"The {name}." for name in ("output", *(text_fields or ()))}).decode()

            def announce() -> None:
                on_address(address)
                authorization = ' -H "Authorization: Bearer $TOKEN"' if tokens else ""
                headers = f"{authorization} -H 'Content-Type: application/json'"
                workspace.notify(f"score a text: curl {address}{api_models.SCORE_PATH}{headers} -d '{example}'")

            app = make_application(service, tokens, hosts, on_access)
            server = Server(app, listener, announce, grace=options.grace)
            await server.run_until_stopped()
        finally:
            if unfinished := await service.under_way.finish(server.grace_left if server else 0):
                requests = "1 request was" if unfinished == 1 else f"{unfinished} requests were"
                workspace.notify(f"{requests} still being scored when the service ended and got no score")
            await asyncio.to_thread(scorer.close)


def _check_host(host: str, tokens: TokenDigests) -> str:
    try:
        address = ipaddress.ip_address("127.0.0.1" if host == "localhost" else host.strip("[]"))
    except ValueError:
        problem = f"`host`: expected an IP address such as 127.0.0.1, got {host!r}."
        raise SettingsError(problem, "0.0.0.0 is every address of this computer.") from None
    if not tokens and not address.is_loopback:
        problem = f"`host={host}`: others can reach the service at this address, and there is no token."
        hint = "or give `token_file=FILE`; without `host`, only this computer reaches the service."
        raise SettingsError(problem, f"Set {TOKEN_VARIABLE}, {hint}")
    return str(address)
