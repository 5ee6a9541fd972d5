"""Servers in a thread of this process that speak bytes: whatever a faulty or hostile provider may send.

A `HostileServer` answers at `/KIND/v1/chat/completions`, one kind of fault for each `KIND`. A request whose text holds
`HARMLESS` gets a good reply, whatever the kind.
"""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

HARMLESS = "a harmless text"
GOOD = '{"reasoning": "fine", "score": 4}'


@dataclass(frozen=True)
class Request:
    """What was asked, with headers in lower case, and which one of its kind it is."""

    method: str
    path: str
    headers: Mapping[str, str]
    content: bytes
    number: int = 0

    @cached_property
    def body(self) -> Any:
        return json.loads(self.content or b"{}")


Send = Callable[[bytes], Awaitable[None]]
Behaviour = Callable[[Request, Send], Awaitable[None]]


class SocketServer:
    """Serves in a thread of its own, from `with` on."""

    port = 0

    async def answer(self, request: Request, send: Send) -> None:
        raise NotImplementedError

    def __enter__(self) -> Self:
        self._loop = asyncio.new_event_loop()
        started = threading.Event()
        self._thread = threading.Thread(target=self._run, args=[started], daemon=True)
        self._thread.start()
        started.wait()
        return self

    def __exit__(self, *exception: object) -> None:
        self._loop.call_soon_threadsafe(self._main.cancel)
        self._thread.join()

    def _run(self, started: threading.Event) -> None:
        async def serve() -> None:
            server = await asyncio.start_server(self._connected, "127.0.0.1", 0, limit=2**22)
            self.port = server.sockets[0].getsockname()[1]
            started.set()
            async with server:
                await asyncio.Event().wait()

        self._main = self._loop.create_task(serve())
        try:
            self._loop.run_until_complete(self._main)
        except asyncio.CancelledError:
            others = asyncio.all_tasks(self._loop)
            for task in others:
                task.cancel()
            if others:
                self._loop.run_until_complete(asyncio.wait(others))
        self._loop.close()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._served(reader, writer):
                pass
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client has gone, or the server is to end
        finally:
            writer.close()

    async def _served(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines) if name}
        method, path, _ = head.split(" ")
        content = await reader.readexactly(int(headers.get("content-length", 0)))

        async def send(data: bytes) -> None:
            writer.write(data)
            await writer.drain()

        try:
            await self.answer(Request(method, path, headers, content), send)
        except Closing as closing:
            if closing.reset:  # with no time to linger, closing sends a reset
                linger = struct.pack("ii", 1, 0)
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                writer.transport.abort()
            return False
        return True


class HostileServer(SocketServer):
    """Misbehaves on command.

    Attributes:
        behaviours: what is sent for each kind of fault.
        requests: how often each kind was asked for, harmless texts not counted.
        sent: bytes that were sent for each kind.
    """

    def __init__(self, behaviours: Mapping[str, Behaviour]) -> None:
        self.behaviours = behaviours
        self.requests: Counter[str] = Counter()
        self.sent: Counter[str] = Counter()

    def url(self, kind: str) -> str:
        return f"http://127.0.0.1:{self.port}/{kind}/v1"

    async def answer(self, request: Request, send: Send) -> None:
        kind = request.path.split("/")[1]
        behaviour = self.behaviours[kind]
        if HARMLESS in json.dumps(request.body):
            behaviour = sending(response(completion(GOOD)))
        else:
            self.requests[kind] += 1

        async def counting(data: bytes) -> None:
            await send(data)
            self.sent[kind] += len(data)

        await behaviour(replace(request, number=self.requests[kind]), counting)


class Closing(Exception):
    """Raised by a behaviour to close the connection, with a reset where `reset` is set."""

    def __init__(self, *, reset: bool = False) -> None:
        super().__init__()
        self.reset = reset


async def silence(_request: Request, _send: Send) -> None:
    await asyncio.sleep(60)


async def abrupt(_request: Request, _send: Send) -> None:
    raise Closing


async def reset_at_once(_request: Request, _send: Send) -> None:
    raise Closing(reset=True)


def completion(content: Any, **fields: Any) -> dict[str, Any]:
    """Return a chat completion as OpenAI sends it; `fields` replace its own, and those of its choice with `choice_`."""
    choice = {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}
    choice |= {name.removeprefix("choice_"): value for name, value in fields.items() if name.startswith("choice_")}
    whole = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "fake-1",
        "choices": [choice],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
    }
    return whole | {name: value for name, value in fields.items() if not name.startswith("choice_")}


def response(body: Any, status: int = 200, **headers: Any) -> bytes:
    """Return a whole HTTP response; what is no bytes is sent as JSON. A header set to `None` is left out."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    named = {"content_type": "application/json", "content_length": len(content), **headers}
    lines = [f"{name.replace('_', '-')}: {value}" for name, value in named.items() if value is not None]
    return "\r\n".join([f"HTTP/1.1 {status} Status", *lines, "", ""]).encode("latin-1") + content


def sending(*parts: bytes, close: bool = False) -> Behaviour:
    """Return a behaviour that sends these bytes, and closes the connection afterwards if told so."""

    async def behave(_request: Request, send: Send) -> None:
        for part in parts:
            await send(part)
        if close:
            raise Closing

    return behave
