"""What every request to a service passes: its id, the caller's token, headers, the log and the metrics."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
import os
import re
import secrets
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from prometheus_client import Counter, Gauge, Histogram
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rubriclab.errors import SettingsError
from rubriclab.judges.metrics import BUCKETS, Metrics
from rubriclab.models.base import Unreadable, read_file, text_of
from rubriclab.web.api.problems import KINDS, WHEN_DOWN, Refused, problem_response, refused
from rubriclab.web.security import HEADERS, is_own_origin

# Bytes of the head of a request.
LARGEST_HEAD = 16_384
# Characters of a path and of a method in the log.
LONGEST_PATH = 200
LONGEST_METHOD = 20
# The status in the log of a request whose caller has gone.
CLIENT_CLOSED = 499
OTHER = "other"
# RFC 6750, section 3; RFC 9112, section 6.1.
_HEADERS: Mapping[str, Mapping[str, str]] = {
    "no_token": {"WWW-Authenticate": "Bearer"},
    "wrong_token": {"WWW-Authenticate": 'Bearer error="invalid_token"'},
    "two_lengths": {"Connection": "close"},
}

AccessLog = Callable[[Mapping[str, Any]], object]

_log = logging.getLogger(__name__)


class Gate:
    """ASGI middleware that refuses requests without a token, and writes a line of the access log about each request.

    `request.state` has `id`, `caller` (the name of the token) and `noted`, to which the application adds what the log
    says of the request.

    Args:
        open_paths: what needs no token.
        hosts: the `HOST:PORT` that requests must name if there are no tokens, so that another site's name cannot be
            pointed to this service (DNS rebinding); pages of other sites are refused too, by their `Origin`.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        tokens: Tokens,
        paths: Collection[str],
        open_paths: Collection[str],
        hosts: Collection[str],
        metrics: Metrics,
        access_log: AccessLog,
    ) -> None:
        self._app = app
        self._tokens = tokens
        self._paths = paths
        self._open = open_paths
        self._hosts = [[host] for host in hosts]
        self._access_log = access_log
        registry = metrics.registry
        self._answered = Counter(
            "rubriclab_http_requests", "Requests to the service, by status.", ["path", "status"], registry=registry
        )
        self._seconds = Histogram(
            "rubriclab_http_request_seconds",
            "Seconds until a request to the service was answered.",
            ["path"],
            buckets=BUCKETS,
            registry=registry,
        )
        self._in_flight = Gauge(
            "rubriclab_http_requests_in_flight", "Requests to the service being answered.", registry=registry
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        state = scope.setdefault("state", {})
        state["id"], state["noted"], state["caller"] = secrets.token_hex(8), {}, None
        began, status = time.monotonic(), CLIENT_CLOSED

        async def send_noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers["X-Request-Id"] = state["id"]
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        self._in_flight.inc()
        try:
            await self._answer(scope, receive, send_noted)
        except Exception as error:
            # The application has answered, unless the response had begun.
            _log.error("request %s: unexpected %s", state["id"], type(error).__name__, exc_info=error)
            if status == CLIENT_CLOSED:
                await problem_response(refused(error), state["id"])(scope, receive, send_noted)
        except asyncio.CancelledError:
            # The server cancels the requests that are still open once its time to shut down is over.
            if status != CLIENT_CLOSED:
                raise
            state["noted"]["problem"] = "stopping"
            late = Refused("stopping", "The service is shutting down; send the request again.", WHEN_DOWN)
            await problem_response(late, state["id"])(scope, receive, send_noted)
        finally:
            self._in_flight.dec()
            self._note(scope, status, time.monotonic() - began)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            self._admit(scope)
        except Refused as error:
            scope["state"]["noted"]["problem"] = error.code
            await problem_response(error, scope["state"]["id"], _HEADERS.get(error.code))(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _admit(self, scope: Scope) -> None:
        headers = Headers(scope=scope)
        address = len(scope["raw_path"]) + len(scope["query_string"])
        if address + sum(len(name) + len(value) for name, value in headers.raw) > LARGEST_HEAD:
            raise Refused("large_head", f"Expected a head of at most {LARGEST_HEAD:,} bytes.")
        if "content-length" in headers and "transfer-encoding" in headers:
            # A proxy may take the other one, and what it takes for the body for the next request (request smuggling).
            raise Refused("two_lengths", KINDS["two_lengths"].meaning)
        if not self._tokens and [host.lower() for host in headers.getlist("host")] not in self._hosts:
            raise Refused("other_host", KINDS["other_host"].meaning)
        if not self._tokens and not all(is_own_origin(each, headers, scope) for each in headers.getlist("origin")):
            raise Refused("other_origin", KINDS["other_origin"].meaning)
        given = headers.getlist("authorization")
        caller = self._tokens.caller(given[0] if len(given) == 1 else "")
        if caller is None and scope["path"] not in self._open:
            if any(is_bearer(each) for each in given):
                raise Refused("wrong_token", "The token is not one of this service.")
            raise Refused("no_token", "Send a token of this service: Authorization: Bearer TOKEN.")
        scope["state"]["caller"] = caller

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        path, state = scope["path"], scope["state"]
        known = path if path in self._paths else OTHER
        self._answered.labels(known, str(status)).inc()
        self._seconds.labels(known).observe(seconds)
        caller = state["caller"]
        self._access_log(
            {
                "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
                "request": state["id"],
                "client": (scope.get("client") or ("",))[0],
                "caller": None if caller == ANYBODY else caller,
                "method": scope["method"][:LONGEST_METHOD],
                "path": scope["raw_path"][:LONGEST_PATH].decode("ascii", "backslashreplace"),
                "status": status,
                "seconds": round(seconds, 4),
                **state["noted"],
            }
        )


VARIABLE = "RUBRICLAB_SERVE_TOKEN"
# Characters: 16 random ones of base64 are 96 bits, which cannot be guessed over a network.
SHORTEST, LONGEST = 16, 1_000
MOST_BYTES = 1_000_000
# The name of the caller with the token of the environment, and of every caller of a service without tokens.
OF_ENVIRONMENT, ANYBODY = "token", "anybody"
_TOKEN = re.compile(r"[A-Za-z0-9\-._~+/]+=*")
_NAME = re.compile(r"[\w.\-]{1,100}", re.ASCII)


@dataclass(frozen=True)
class Tokens:
    """The digest of each caller's token, by the caller's name; none if everybody who reaches the service may use it."""

    digests: Mapping[str, bytes] = field(default_factory=dict, repr=False)

    def __bool__(self) -> bool:
        return bool(self.digests)

    def caller(self, authorization: str) -> str | None:
        """Return whose token an `Authorization` header has, in a time that does not depend on the tokens.

        `None` if it is nobody's; `ANYBODY` if there are no tokens.
        """
        if not self.digests:
            return ANYBODY
        given = authorization.partition(" ")[2].strip() if is_bearer(authorization) else ""
        digest = _digest(given)
        found = None
        for name, own in self.digests.items():
            if hmac.compare_digest(own, digest):
                found = name
        return found


def is_bearer(authorization: str) -> bool:
    """Return whether an `Authorization` header has a bearer token, of whatever service."""
    scheme, _, token = authorization.partition(" ")
    return scheme.lower() == "bearer" and bool(token.strip())


def read_tokens(file: str | Path | None, environment: Mapping[str, str] | None = None) -> Tokens:
    """Return the tokens in a file, and that of the environment.

    Args:
        file: `TOKEN` or `NAME TOKEN` on each line; empty lines and those that begin with # are left out.
        environment: by default that of this process.

    Raises:
        SettingsError: if the file cannot be read, or a token is too short, repeated or not of the form of RFC 6750.
    """
    found: dict[str, bytes] = {}
    given = (os.environ if environment is None else environment).get(VARIABLE, "").strip()
    if given:
        _add(found, OF_ENVIRONMENT, given, VARIABLE)
    if file is not None:
        for number, line in enumerate(_lines(file), 1):
            if line.strip() and not line.lstrip().startswith("#"):
                *names, token = line.split()
                place = f"{file}, line {number}"
                if len(names) > 1 or not all(map(_NAME.fullmatch, names)):
                    raise SettingsError(f"{place}: expected TOKEN, or NAME TOKEN.")
                _add(found, names[0] if names else f"line {number}", token, place)
        if not found:
            raise SettingsError(f"`token_file`: {file} has no token.", "Write one on a line.")
    return Tokens(found)


def _lines(file: str | Path) -> list[str]:
    try:
        return text_of(read_file(Path(file), MOST_BYTES)).splitlines()
    except Unreadable as error:
        raise SettingsError(f"`token_file`: {file} cannot be used: {error}.") from None


def _add(found: dict[str, bytes], name: str, token: str, place: str) -> None:
    # A message must not repeat the token.
    if not SHORTEST <= len(token) <= LONGEST:
        raise SettingsError(
            f"{place}: a token has {SHORTEST} to {LONGEST} characters, this one {len(token)}.",
            "Make one with: openssl rand -base64 32",
        )
    if not _TOKEN.fullmatch(token):
        raise SettingsError(f"{place}: a token consists of letters, digits and -._~+/, with = at its end only.")
    digest = _digest(token)
    if name in found or digest in found.values():
        raise SettingsError(f"{place}: this name or token is there already.", "Give each caller a token of its own.")
    found[name] = digest


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
