"""What a served page lets a browser do, and who may use it.

Every request must name the served host, so that another site's name cannot be pointed to this server (DNS rebinding).
Everything that changes something must come from a page of the same origin, with a token that only such a page can read
(cross-site request forgery). A shared page is served to the holders of a link with a secret only; others get 404. No
response may be framed, cached, run inline scripts or load anything from elsewhere.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# The header in which a page's script sends `Access.token` with everything that is not a GET.
TOKEN_HEADER = "X-Rubriclab-Token"
# The path of a link with a secret.
JOIN = "/join/"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}
# Browsers take it over https and from this computer only, and warn about it on any other page.
OPENER_POLICY = ("Cross-Origin-Opener-Policy", "same-origin")
READING = ("GET", "HEAD")
# The page that a link with a secret leads to. A redirect would not carry the new cookie, since the first request may
# come from another site: a message with the link.
_JOINED = """<!DOCTYPE html>
<html lang="en"><meta charset="utf-8"><meta http-equiv="refresh" content="0; url=/"><title>rubriclab</title>
<p><a href="/">Continue</a></p></html>
"""


def new_secret() -> str:
    """Return an unguessable text for a token or a link: 32 random bytes."""
    return secrets.token_urlsafe(32)


@dataclass(frozen=True)
class Access:
    """Who may use a page.

    Attributes:
        hosts: the `HOST:PORT` under which it is served.
        token: sent in `TOKEN_HEADER` with everything that changes something; the page shows it to its own script.
        links: the secret of each visitor's link by the visitor's name; empty if everybody who reaches the page may use
            it, which is for the loopback address only.
    """

    hosts: frozenset[str]
    token: str = field(default_factory=new_secret, repr=False)
    links: Mapping[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def at(
        cls, port: int, names: Iterable[str] = (), *, token: str | None = None, links: Mapping[str, str] | None = None
    ) -> Access:
        """Return the access to a page served at a port of this computer, which has the given names beside localhost."""
        every = [name.lower() for name in ("127.0.0.1", "localhost", *names)]
        # Browsers leave out the port of a plain http address.
        hosts = {f"{name}:{port}" for name in every} | (set(every) if port == 80 else set())
        return cls(frozenset(hosts), token or new_secret(), links or {})

    def path(self, visitor: str) -> str:
        """Return the path of a visitor's link."""
        return f"{JOIN}{self.links[visitor]}"

    def visitor(self, secret: str) -> str | None:
        """Return whose secret it is, in a time that does not depend on the secret."""
        found = None
        for name, own in self.links.items():
            if hmac.compare_digest(own.encode(), secret.encode("utf-8", "surrogateescape")):
                found = name
        return found


class Guard:
    """ASGI middleware that refuses requests without access, and adds the headers that restrict the browser.

    The name of the visitor whose link was used is `request.state.visitor`; `None` on a page without links.

    Args:
        most_bytes: of the body of a request, whether or not it states its length.
    """

    def __init__(self, app: ASGIApp, access: Access, most_bytes: int) -> None:
        self._app = app
        self._access = access
        self._most_bytes = most_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_restricted(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
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
            if size > self._most_bytes:
                raise HTTPException(413, self._too_large)
            return message

        answer = self._refused(scope) or self._app
        await answer(scope, receive_bounded, send_restricted)

    def _refused(self, scope: Scope) -> Response | None:
        headers, access = Headers(scope=scope), self._access
        if headers.get("host", "").lower() not in access.hosts:
            return _refusal(421, "This page is not served under this name.")
        scope.setdefault("state", {})["visitor"] = None
        if access.links and (refused := self._identify(scope, headers)):
            return refused
        if scope["method"] in READING:
            return None if _may_read(headers) else _refusal(403, "Requests of other sites are refused.")
        if not _from_own_page(headers, scope):
            return _refusal(403, "Requests of other sites are refused.")
        given = headers.get(TOKEN_HEADER, "")
        if not hmac.compare_digest(given.encode("utf-8", "surrogateescape"), access.token.encode()):
            return _refusal(403, "The page is out of date: load it again.")
        length = headers.get("content-length", "")
        return _refusal(413, self._too_large) if length.isdecimal() and int(length) > self._most_bytes else None

    @property
    def _too_large(self) -> str:
        return f"Expected a request of at most {self._most_bytes:,} bytes."

    def _identify(self, scope: Scope, headers: Headers) -> Response | None:
        """Note the visitor of a shared page, or return the response to one without the page's cookie."""
        access, cookie = self._access, f"rubriclab_{max(self._access.hosts).rpartition(':')[2]}"
        path = scope["path"]
        if path.startswith(JOIN):
            secret = path.removeprefix(JOIN)
            if scope["method"] not in READING or access.visitor(secret) is None:
                return _refusal(404, "Not found")
            joined = HTMLResponse(_JOINED)
            joined.set_cookie(cookie, secret, httponly=True, samesite="strict", path="/")
            return joined
        scope["state"]["visitor"] = visitor = access.visitor(_cookie_value(headers, cookie))
        return _refusal(404, "Not found") if visitor is None else None


def _refusal(status: int, words: str) -> Response:
    return PlainTextResponse(words, status)


def _may_read(headers: Headers) -> bool:
    """Return whether a response may be given to whoever asks: a link from elsewhere may lead here, nothing else."""
    site = headers.get("sec-fetch-site", "none")
    followed = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
    return site in ("none", "same-origin") or followed


def _from_own_page(headers: Headers, scope: Scope) -> bool:
    origin = headers.get("origin")
    if origin is None:
        return headers.get("sec-fetch-site") == "same-origin"
    return is_own_origin(origin, headers, scope)


def is_own_origin(origin: str, headers: Headers, scope: Scope) -> bool:
    """Return whether a request comes from a page of the host that it names, by its header `Origin`."""
    return origin.lower() == f"{scope['scheme']}://{headers['host'].lower()}"


def _cookie_value(headers: Headers, name: str) -> str:
    try:
        morsel = SimpleCookie(headers.get("cookie", "")).get(name)
    except CookieError:
        return ""
    return morsel.value if morsel else ""
