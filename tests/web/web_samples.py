"""Applications on a real server, in a thread, and a small one."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal, TypeVar

import httpx
from commands import PATIENCE
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from rubriclab.web.server import Access, Guard, Server, listen, page_response, port_of, static_routes

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

T = TypeVar("T")
MOST_BYTES = 100_000


@contextmanager
def running(application: ASGIApp, bound: socket.socket) -> Iterator[httpx.Client]:
    """Yield a client of an application that is up on a real server, in a thread."""
    ready = threading.Event()
    server = Server(application, bound, ready.set)
    thread = threading.Thread(target=lambda: asyncio.run(server.run_until_stopped()))
    thread.start()
    try:
        assert ready.wait(PATIENCE)
        address = f"http://127.0.0.1:{port_of(bound)}"
        with httpx.Client(base_url=address, trust_env=False, verify=False, timeout=PATIENCE) as client:
            yield client
    finally:
        server.stop()
        thread.join()


@contextmanager
def served(links: Mapping[str, str] | None = None) -> Iterator[tuple[httpx.Client, Access]]:
    """Yield a client of a guarded application that is up, and its access."""
    bound, written = listen(), list[object]()
    access = Access.at(port_of(bound), link_secrets=links)

    async def show(request: Request) -> JSONResponse:
        return JSONResponse({"visitor": request.state.visitor, "written": len(written)})

    async def write(request: Request) -> JSONResponse:
        written.append(await request.json())
        return JSONResponse({"written": len(written)})

    async def page(_request: Request) -> object:
        return page_response("base.html", title="<b>&\"'", token=access.token)

    routes = [Route("/", page), Route("/state", show), Route("/write", write, methods=["POST"]), *static_routes()]
    with running(Guard(Starlette(routes=routes), access, MOST_BYTES), bound) as client:
        yield client, access


def hurry(browser: Chrome) -> None:
    """Make pauses in the scripts of the page that is open a twentieth as long."""
    browser.execute_script(
        "for (const name of ['setTimeout', 'setInterval']) {"
        " const usual = window[name]; window[name] = (run, pause) => usual(run, pause / 20) }"
    )


def until(browser: Chrome, found: Callable[[], T | Literal[False] | None]) -> T:
    """Return what `found` returns as soon as it is true; elements of a page that is being left are looked for again."""
    from selenium.common.exceptions import StaleElementReferenceException
    from selenium.webdriver.support.ui import WebDriverWait

    waiting = WebDriverWait(browser, PATIENCE, poll_frequency=0.03, ignored_exceptions=[StaleElementReferenceException])
    return waiting.until(lambda _browser: found())
