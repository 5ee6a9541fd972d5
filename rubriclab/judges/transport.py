"""An HTTP transport that reads responses up to a limit, whatever their headers and compression.

`limit_responses` makes litellm's clients use it. The module is imported at the first call, as httpx imports slowly.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import zlib
from typing import Any

import httpx
from aiohttp import ClientConnectorError, ConnectionTimeoutError

from rubriclab.errors import JudgeRefused
from rubriclab.judges.providers import bypass_proxies, is_loopback
from rubriclab.judges.responses import CURRENT_RESPONSE, ResponseRecord, may_be_billed, repaired_reply, stated_status

# Only the start of an error is read. The start says what is wrong; some servers append the whole request.
MAX_ERROR_BYTES = 16_000
# Upper bound of the bytes that compression adds to a body: a header, and a few bytes for each block.
COMPRESSION_BYTES = 64_000
_FRAMING_HEADERS = {"content-encoding", "content-length", "transfer-encoding"}
# Transports that are not closed yet; litellm forgets clients without closing their sessions.
_open_transports: set[BoundedTransport] = set()


class BoundedTransport(httpx.AsyncBaseTransport):
    """Wraps a transport. A response is returned only if it is complete and within its `ResponseRecord.limit`."""

    def __init__(self, wrapped: httpx.AsyncBaseTransport) -> None:
        self._wrapped = wrapped
        self._closed = False
        self._loop = _running_loop()
        _open_transports.add(self)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Return the decompressed response; an error's body is cut at the limit.

        Raises `httpx.HTTPError` for a response beyond the limit, a redirect to another server, or damaged compression.
        """
        if self._closed:  # litellm's transport would open a session that is never closed
            raise httpx.ConnectError("the connections are closed")
        self._loop = _running_loop()  # in a new event loop, `wrapped` opens new connections
        record = CURRENT_RESPONSE.get() or ResponseRecord(request.url.host)
        request.headers["Accept-Encoding"] = "gzip"
        if is_loopback(request.url.host):
            bypass_proxies(request.url.host)
        record.may_be_billed = True
        try:
            response = await self._wrapped.handle_async_request(request)
        except httpx.TransportError as error:
            record.may_be_billed = not isinstance(error.__cause__, ClientConnectorError | ConnectionTimeoutError)
            if record.may_be_billed and isinstance(error, httpx.ConnectError | httpx.RemoteProtocolError):
                # After one of these errors, litellm would repeat the request at once.
                raise httpx.ReadError(str(error)) from error.__cause__
            raise
        status = response.status_code
        record.may_be_billed = may_be_billed(status)
        try:
            _refuse_redirect(request, response, record)
            body = await _read_body(response, record)
        finally:
            await response.aclose()
        if status == 200 and request.method == "POST":
            status, body = _read_reply(body)
            record.may_be_billed = may_be_billed(status)
        headers = [(name, value) for name, value in response.headers.multi_items() if name not in _FRAMING_HEADERS]
        return httpx.Response(status, headers=headers, content=body, request=request)

    @property
    def in_use_by_other_loop(self) -> bool:
        return self._loop is not None and self._loop.is_running() and self._loop is not _running_loop()

    async def aclose(self) -> None:
        self._closed = True
        _open_transports.discard(self)
        await self._wrapped.aclose()


def limit_responses(handler: Any) -> None:
    """Make every new client of litellm use a `BoundedTransport`; `handler` is litellm's class `AsyncHTTPHandler`."""
    # Newer releases of litellm add settings for HTTP/2, which aiohttp does not support.
    accepted = inspect.signature(handler.create_aiohttp_transport).parameters

    def create_async_transport(**settings: Any) -> BoundedTransport:
        supported = {name: value for name, value in settings.items() if name in accepted}
        return BoundedTransport(handler.create_aiohttp_transport(**supported))

    handler.create_async_transport = staticmethod(create_async_transport)


def limit_sdk_responses(handler: Any, module: Any, class_name: str) -> None:
    """Limit the size of responses to clients of the OpenAI package, by which litellm sends files and batches."""

    class BoundedClient(httpx.AsyncClient):
        def __init__(self, **settings: Any) -> None:
            super().__init__(**{"transport": handler.create_async_transport(), "follow_redirects": True, **settings})

    setattr(module, class_name, BoundedClient)


async def close_transports() -> bool:
    """Close the connections of this event loop and of ended event loops; return whether no connection is left open."""
    for transport in list(_open_transports):
        if not transport.in_use_by_other_loop:
            await transport.aclose()
    return not any(transport.in_use_by_other_loop for transport in list(_open_transports))


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _refuse_redirect(request: httpx.Request, response: httpx.Response, record: ResponseRecord) -> None:
    """Refuse redirects to another server, which would receive the prompt, and with most providers the key."""
    if not response.has_redirect_location:
        return
    target = request.url.join(response.headers["location"])
    if (target.scheme, target.host, target.port) != (request.url.scheme, request.url.host, request.url.port):
        record.fault = JudgeRefused(
            f"{record.model}: {request.url.host} redirects to another server, {target.scheme}://{target.host!s:.100}.",
            "Give that server's address if you trust it.",
        )
        raise httpx.ProtocolError(str(record.fault))


def _read_reply(body: bytes) -> tuple[int, bytes]:
    """Return the status and the body that litellm gets for a response with the status 200."""
    if body[:100].lstrip().lower().startswith((b"<!doctype html", b"<html")):
        message = "The server sent a web page instead of a reply: check its address, which often ends in /v1."
        return 502, json.dumps({"error": {"message": message}}).encode()
    try:
        reply = json.loads(body)
    except (ValueError, RecursionError):
        return 200, body
    if not isinstance(reply, dict):
        return 200, body
    repaired = repaired_reply(reply)
    if repaired != reply:
        body = json.dumps(repaired).encode()
    return stated_status(reply) or 200, body


async def _read_body(response: httpx.Response, record: ResponseRecord) -> bytes:
    is_error = response.status_code >= 400
    limit = min(MAX_ERROR_BYTES, record.limit) if is_error else record.limit  # in decompressed bytes
    encoding = response.headers.get("content-encoding", "identity").lower()
    if encoding not in ("", "identity", "gzip", "x-gzip", "deflate"):
        raise httpx.DecodingError(f"the response has the encoding {encoding!r:.40}, which was not requested")
    # With 32, zlib reads both its own format and gzip's.
    decompressor = None if encoding in ("", "identity") else zlib.decompressobj(zlib.MAX_WBITS | 32)
    body = bytearray()
    received = 0
    async for chunk in response.stream:  # type: ignore[union-attr]
        received += len(chunk)
        room = limit + 1 - len(body)  # one byte more shows that the limit is passed
        try:
            body += decompressor.decompress(chunk, room) if decompressor else chunk[:room]
        except zlib.error as error:
            raise httpx.DecodingError(f"the compressed response is damaged: {error}") from None
        is_complete = decompressor is not None and decompressor.eof  # bytes after the end are ignored
        if len(body) > limit or (received > limit + COMPRESSION_BYTES and not is_complete):
            if is_error:
                return bytes(body[:limit])
            raise httpx.ReadError(str(record.too_large_error()))
        if is_complete:
            return bytes(body)
    if decompressor:
        raise httpx.DecodingError("the compressed response ends too early")
    return bytes(body)
