"""What all web applications share: a server that runs until Ctrl-C, templates of pages, and the guard.

The guard refuses requests by pages of other sites, and requests whose header `Host` does not name this server. Requests
other than GET also need the page's token. Visitors of a shared page need a personal link, whose secret a cookie keeps.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
import signal
import socket
import threading
import time
import webbrowser
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import jinja2
import uvicorn
from pydantic import ValidationError
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.responses import FileResponse, HTMLResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from rubriclab.base_options import first_fault
from rubriclab.errors import SettingsError
from rubriclab.models.base import FrozenModel
from rubriclab.models.characters import escape_controls
from rubriclab.report import wording
from rubriclab.report.elements import data_element
from rubriclab.report.outputs import typeset
from rubriclab.report.render import STYLE, inline
from rubriclab.report.wording import excerpt, rounded

LOOPBACK = "127.0.0.1"
EVERYWHERE = "0.0.0.0"
GRACE = 1  # seconds that open requests get, by default, after the server was told to stop
HEAD_TIMEOUT = 10.0  # seconds within which the head of a request has to arrive
BACKLOG = 1024  # connections that may wait to be accepted


def listen(host: str = LOOPBACK, port: int | None = None, *, preferred: int = 0) -> socket.socket:
    """Return a socket at `port`, or by default at `preferred` or any free port; SettingsError if `port` is taken."""
    wanted_ports = (port,) if port else (preferred, 0)
    for wanted_port in wanted_ports:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        # Unless a socket names the protocol TCP, asyncio leaves Nagle's algorithm on, and responses take 40 ms longer.
        listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        # A restarted server can use its port again at once.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, wanted_port))
            listener.listen(BACKLOG)
        except OSError as error:
            listener.close()
            reason = error.strerror
        else:
            return listener
    raise SettingsError(f"`port={port}` cannot be used: {reason}.", "Give another port, or leave out `port`.")


def port_of(listener: socket.socket) -> int:
    return int(listener.getsockname()[1])


def local_address() -> str:
    """Return this computer's address in the local network, or the loopback address without a network."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            # This sends nothing, and only selects the interface; the address is reserved (RFC 5737).
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return LOOPBACK
        return str(probe.getsockname()[0])


class _Connection(H11Protocol):
    """A connection that closes if no complete head arrives within `HEAD_TIMEOUT`; uvicorn has no such limit."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)  # type: ignore[arg-type]
        self.loop.call_later(HEAD_TIMEOUT, self._close_if_idle, self.cycle)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self.loop.call_later(HEAD_TIMEOUT, self._close_if_idle, self.cycle)

    def _close_if_idle(self, last_request: RequestResponseCycle | None) -> None:
        """Close the connection if `last_request` has a response and no request has come after it."""
        has_responded = last_request is None or last_request.response_complete
        if has_responded and self.cycle is last_request:
            self.transport.close()


class Server(uvicorn.Server):
    """Runs an application until `stop`, a signal or cancellation; open requests then have `grace` seconds to end."""

    def __init__(
        self, app: ASGIApp, listener: socket.socket, on_ready: Callable[[], None] = lambda: None, grace: int = GRACE
    ) -> None:
        switched_off = dict.fromkeys(("access_log", "server_header", "date_header", "proxy_headers"), False)
        options: dict[str, Any] = {"log_config": None, "http": _Connection, "ws": "none", **switched_off}
        super().__init__(uvicorn.Config(app, timeout_graceful_shutdown=grace, **options))
        self._listener, self._on_ready, self._grace = listener, on_ready, grace
        self._shutdown_started: float | None = None

    @property
    def grace_left(self) -> float:
        began = self._shutdown_started
        return 0.0 if began is None else max(0.0, began + self._grace - time.monotonic())

    def stop(self) -> None:
        self.should_exit = True

    async def run_until_stopped(self) -> None:
        """Serve until `stop`, SIGINT or SIGTERM; `on_ready` is called once the server accepts requests."""
        try:
            await self.serve(sockets=[self._listener])
        except asyncio.CancelledError:
            await self.shutdown(sockets=[self._listener])
            raise
        finally:
            self._listener.close()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._on_ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._shutdown_started = time.monotonic()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Let SIGINT and SIGTERM stop the server while the block runs, if it runs in the main thread."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        # uvicorn's own version of this method raises the signals again afterwards, which this one does not.
        previous = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)


async def serve(
    make_app: Callable[[Callable[[], None]], ASGIApp], listener: socket.socket, address: str, *, browser: bool = True
) -> None:
    """Serve the application made by `make_app(stop)`, which ends when it calls `stop`; open `address` in a browser."""

    def open_browser() -> None:
        # Some browsers block until the user closes them.
        if browser:
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()

    def stop() -> None:
        server.stop()

    server = Server(make_app(stop), listener, open_browser)
    await server.run_until_stopped()


BodyT = TypeVar("BodyT", bound=FrozenModel)
HERE = Path(__file__).parent
STATIC = "/static/"


@cache
def templates() -> jinja2.Environment:
    """Return the templates of the pages. Values are escaped; an undefined name is an error."""
    loader, undefined = jinja2.FileSystemLoader(HERE / "templates"), jinja2.StrictUndefined
    environment = jinja2.Environment(
        loader=loader, autoescape=True, undefined=undefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.globals |= {"data_element": data_element, "wording": wording}
    environment.filters |= {"escape_controls": escape_controls, "excerpt": excerpt, "typeset": typeset}
    environment.filters |= {"cell": inline, "rounded": rounded}
    return environment


def page_response(template: str, status: int = 200, **fields: Any) -> HTMLResponse:
    """Return a page; templates extend `base.html`, which needs `title` and `token` (`Access.token`)."""
    return HTMLResponse(templates().get_template(template).render(fields), status)


async def read_body(request: Request, model: type[BodyT]) -> BodyT:
    """Return the posted body as `model`; SettingsError if it is invalid."""
    try:
        return model.model_validate_json(await request.body())
    except ValidationError as error:
        raise SettingsError(f"{first_fault(error).removesuffix('.')}.") from None


def static_routes() -> list[BaseRoute]:
    report_style = Route(f"{STATIC}report.css", lambda _request: FileResponse(STYLE))
    return [report_style, Mount(STATIC, StaticFiles(directory=HERE / "static"))]


# Scripts of a page send `Access.token` in this header with every request other than GET.
TOKEN_HEADER = "X-Rubriclab-Token"
# The path of a personal link begins with this; the visitor's secret follows.
LINK_PATH = "/join/"
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}
# Sent only at the loopback address: at other http addresses, browsers ignore this header with a warning.
OPENER_POLICY = ("Cross-Origin-Opener-Policy", "same-origin")
SAFE_METHODS = ("GET", "HEAD")
# The response to a personal link stores a cookie, and this page then opens `/`. A redirect would not do: if another
# site has led to the link, browsers do not send a strict cookie after a redirect.
_LINK_PAGE = """<!DOCTYPE html>
<html lang="en"><meta charset="utf-8"><meta http-equiv="refresh" content="0; url=/"><title>rubriclab</title>
<p><a href="/">Continue</a></p></html>
"""


@dataclass(frozen=True)
class Access:
    """Who may use a page."""

    hosts: frozenset[str]  # the addresses of the page, as `HOST:PORT`
    port: int
    token: str = field(default_factory=secrets.token_urlsafe, repr=False)  # sent by the scripts of the page
    link_secrets: Mapping[str, str] = field(default_factory=dict, repr=False)  # in personal links, by visitor

    @classmethod
    def at(
        cls, port: int, names: Iterable[str] = (), *, token: str = "", link_secrets: Mapping[str, str] = {}
    ) -> Access:
        """Return the access to a page at a port of this computer; `names` is as for `own_hosts`."""
        return cls(own_hosts(port, names), port, token or secrets.token_urlsafe(), link_secrets)

    def link_path(self, visitor: str) -> str:
        return f"{LINK_PATH}{self.link_secrets[visitor]}"

    def find_visitor(self, secret: str) -> str | None:
        encoded_secrets = {name: link_secret.encode() for name, link_secret in self.link_secrets.items()}
        return find_owner(secret.encode("utf-8", "surrogateescape"), encoded_secrets)


def own_hosts(port: int, names: Iterable[str] = ()) -> frozenset[str]:
    """Return each `HOST:PORT` at which browsers find this port; `names` are host names besides localhost."""
    ends = (f":{port}", "") if port == 80 else (f":{port}",)  # browsers leave out the port of a plain http address
    return frozenset(f"{name.lower()}{end}" for name in ("127.0.0.1", "localhost", *names) for end in ends)


def find_owner(secret: bytes, secrets_by_name: Mapping[str, bytes]) -> str | None:
    """Return the name of the owner of a secret, or `None`, in a time that does not depend on the secret."""
    # All secrets are compared, also after an equal one.
    owners = [name for name, each in secrets_by_name.items() if hmac.compare_digest(each, secret)]
    return owners[-1] if owners else None


class Guard:
    """ASGI middleware that refuses requests without access or with large bodies, and sets security headers."""

    def __init__(self, app: ASGIApp, access: Access, max_bytes: int) -> None:
        self._app, self._access, self._max_bytes = app, access, max_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                if scope["path"].startswith(STATIC):
                    # Browsers cache these files, and check each time whether they have changed.
                    headers["Cache-Control"] = "no-cache"
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                if Headers(scope=scope).get("host", "").rpartition(":")[0] in ("127.0.0.1", "localhost"):
                    headers.setdefault(*OPENER_POLICY)
            await send(message)

        size = 0

        async def receive_bounded() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > self._max_bytes:
                raise HTTPException(413, f"Expected a request of at most {self._max_bytes:,} bytes.")
            return message

        respond = self._response_before_app(scope) or self._app
        await respond(scope, receive_bounded, send_with_headers)

    def _response_before_app(self, scope: Scope) -> Response | None:
        """Return the response to a refused request or a personal link, or `None` if the application is to respond."""
        headers = Headers(scope=scope)
        access = self._access
        if headers.get("host", "").lower() not in access.hosts:
            return PlainTextResponse("This page is not served under this name.", 421)
        scope.setdefault("state", {})["visitor"] = None
        if access.link_secrets and (response := self._identify(scope)):
            return response
        fetch_site, origin = headers.get("sec-fetch-site"), headers.get("origin")
        is_safe = scope["method"] in SAFE_METHODS
        if is_safe:
            # Other sites may link to a page, but not load anything from here.
            is_link = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
            allowed = is_link or fetch_site in (None, "none", "same-origin")
        elif origin is None:
            allowed = fetch_site == "same-origin"
        else:
            allowed = is_own_origin(origin, headers, scope)
        if not allowed:
            return PlainTextResponse("Requests of other sites are refused.", 403)
        token = headers.get(TOKEN_HEADER, "").encode("utf-8", "surrogateescape")
        if is_safe or hmac.compare_digest(token, access.token.encode()):
            return None
        return PlainTextResponse("The page is out of date: load it again.", 403)

    def _identify(self, scope: Scope) -> Response | None:
        """Store a known visitor's name in `scope`, or return the response to a personal link or an unknown visitor."""
        access, path = self._access, scope["path"]
        # Browsers send a cookie to all ports of a host, so its name has the port.
        cookie = f"rubriclab_{access.port}"
        if path.startswith(LINK_PATH):
            secret = path.removeprefix(LINK_PATH)
            if scope["method"] not in SAFE_METHODS or access.find_visitor(secret) is None:
                return PlainTextResponse("Not found", 404)
            page = HTMLResponse(_LINK_PAGE)
            page.set_cookie(cookie, secret, httponly=True, samesite="strict", path="/")
            return page
        scope["state"]["visitor"] = visitor = access.find_visitor(HTTPConnection(scope).cookies.get(cookie, ""))
        return PlainTextResponse("Not found", 404) if visitor is None else None


def is_own_origin(origin: str, headers: Headers, scope: Scope) -> bool:
    return origin.lower() == f"{scope['scheme']}://{headers['host'].lower()}"
