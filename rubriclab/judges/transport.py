"""Responses read no further than a limit, whatever their headers say and however they are packed.

litellm makes its HTTP clients in many places, and `AsyncHTTPHandler.create_async_transport` is where all of them get
their transport. `bound_responses` replaces it: litellm's own transport (aiohttp, with its pool of connections) still
sends and receives, and what is wrapped around it counts.

This module imports httpx, and is itself only imported once a language model is asked.
"""

from __future__ import annotations

import zlib
from typing import Any

import httpx

from rubriclab.errors import JudgeRefused
from rubriclab.judges.reply_size import RECEPTION, Reception

# An error's first part says what is wrong; some servers repeat the whole request behind it.
ERROR_BYTES = 16_000
# How much larger than its content a packed body may be: its header, and blocks that pack nothing.
PACKING_BYTES = 64_000
# Both zlib's own format and gzip's.
_ANY_HEADER = zlib.MAX_WBITS | 32
_FRAMING = {"content-encoding", "content-length", "transfer-encoding"}


class BoundedTransport(httpx.AsyncBaseTransport):
    """Sends through `source`, and hands a response on once it has been received whole and is no larger than allowed."""

    def __init__(self, source: httpx.AsyncBaseTransport) -> None:
        self._source = source
        self._closed = False
        _open.add(self)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Return the response, unpacked. An error's body is cut at the limit.

        Raises:
            httpx.HTTPError: beyond the limit, for a redirect to another server, or where it cannot be unpacked.
        """
        if self._closed:  # litellm's transport would open a session that nobody closes
            raise httpx.ConnectError("the connections are closed")
        reception = RECEPTION.get() or Reception(request.url.host)
        request.headers["Accept-Encoding"] = "gzip"
        response = await self._source.handle_async_request(request)
        try:
            _refuse_redirect(request, response, reception)
            body = await _body(response, reception)
        finally:
            await response.aclose()
        headers = [(name, value) for name, value in response.headers.multi_items() if name not in _FRAMING]
        return httpx.Response(response.status_code, headers=headers, content=body, request=request)

    async def aclose(self) -> None:
        """Close the connections for good."""
        self._closed = True
        _open.discard(self)
        await self._source.aclose()


# Held until they are closed: litellm forgets clients after a while, and would leave their sessions open.
_open: set[BoundedTransport] = set()


def bound_responses(handler: Any) -> None:
    """Have every client that litellm makes from now on receive through a `BoundedTransport`.

    Args:
        handler: litellm's class `AsyncHTTPHandler`.
    """

    def create_async_transport(**settings: Any) -> BoundedTransport:
        return BoundedTransport(handler.create_aiohttp_transport(**settings))

    handler.create_async_transport = staticmethod(create_async_transport)


async def close_transports() -> None:
    """Close the connections of every transport, also of those that litellm no longer knows of."""
    for transport in list(_open):
        await transport.aclose()


def _refuse_redirect(request: httpx.Request, response: httpx.Response, reception: Reception) -> None:
    """Follow no redirect to another server: the prompt, and the key with most providers, would go there too."""
    if not response.has_redirect_location:
        return
    place = request.url.join(response.headers["location"])
    if (place.scheme, place.host, place.port) != (request.url.scheme, request.url.host, request.url.port):
        reception.fault = JudgeRefused(
            f"{reception.model}: {request.url.host} redirects to another server, {place.scheme}://{place.host!s:.100}.",
            "Give that one's address if you trust it.",
        )
        raise httpx.ProtocolError(str(reception.fault))


async def _body(response: httpx.Response, reception: Reception) -> bytes:
    failed = response.status_code >= 400
    limit = min(ERROR_BYTES, reception.limit) if failed else reception.limit
    packing = _packing(response.headers.get("content-encoding", "identity"))
    body, received = bytearray(), 0
    async for chunk in response.stream:  # type: ignore[union-attr]
        received += len(chunk)
        body += packing.unpack(chunk, limit + 1 - len(body))
        if len(body) > limit or (received > limit + PACKING_BYTES and not packing.ended):
            if failed:
                return bytes(body[:limit])
            raise httpx.ReadError(str(reception.too_large()))
        if packing.ended:
            return bytes(body)
    if not packing.may_end:
        raise httpx.DecodingError("the packed response ends too early")
    return bytes(body)


class _Unpacked:
    """The encoding of a body that is sent as it is: it ends where the response ends."""

    ended = False
    may_end = True

    def unpack(self, chunk: bytes, most: int) -> bytes:
        """Return at most `most` bytes of the body."""
        return chunk[:most]


class _Packed:
    """The encoding of a packed body: it ends by itself, whatever the server sends behind that."""

    def __init__(self) -> None:
        self._decompressor = zlib.decompressobj(_ANY_HEADER)

    @property
    def ended(self) -> bool:
        """Whether the body is complete, so that what follows need not be read."""
        return self._decompressor.eof

    may_end = ended

    def unpack(self, chunk: bytes, most: int) -> bytes:
        """Return at most `most` bytes of what the chunk unpacks to."""
        try:
            return self._decompressor.decompress(chunk, most)
        except zlib.error as error:
            raise httpx.DecodingError(f"the packed response is damaged: {error}") from None


def _packing(encoding: str) -> _Unpacked | _Packed:
    if encoding.lower() in ("", "identity"):
        return _Unpacked()
    if encoding.lower() not in ("gzip", "x-gzip", "deflate"):
        raise httpx.DecodingError(f"the response is packed as {encoding!r:.40}, which was not asked for")
    return _Packed()
