"""A service in a thread of this process, and what its responses have to be."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from commands import HELDOUT_ROWS
from waiting import PATIENCE, until

from rubriclab.judges.options import JudgeOptions
from rubriclab.ops.options import ServeOptions
from rubriclab.ops.workspace import Workspace
from rubriclab.web.api import serve_rubric
from rubriclab.web.api_models import ProblemDetails

TOKEN = "a-token-of-the-first-caller-0123456789"
ROWS = HELDOUT_ROWS[:40]
TEXTS = [{name: row[name] for name in ("id", "output", "source", "group")} for row in ROWS]


@dataclass
class Service:
    """A service that is running."""

    address: str = ""
    log: list[Mapping[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def client(self, token: str | None = None) -> httpx.Client:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return httpx.Client(base_url=self.address, headers=headers, trust_env=False, verify=False, timeout=PATIENCE)

    def logged(self, requests: int) -> list[Mapping[str, Any]]:
        """Return the log once it has a number of requests: each is logged after its response is sent."""
        until(lambda: len(self.log) >= requests)
        return self.log


@contextmanager
def serving(
    store: Path, rubric: str = "remote", *, asked: Mapping[str, Any] | None = None, **options: Any
) -> Iterator[Service]:
    """Serve a rubric at a free port of this computer.

    Args:
        asked: how judges are asked, as `JudgeOptions` has it.
        options: as `ServeOptions` has them.
    """
    service, ready, ended = Service(), threading.Event(), list[BaseException]()
    workspace = Workspace(store, JudgeOptions(**(asked or {})), notify=service.notes.append)
    chosen = ServeOptions(**{"port": 0, "grace": 5, **options})
    running: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[None]]] = []

    def on_address(address: str) -> None:
        service.address = address
        ready.set()

    async def run() -> None:
        work = serve_rubric(workspace, rubric, chosen, on_access=service.log.append, on_address=on_address)
        task = asyncio.create_task(work)
        running.append((asyncio.get_running_loop(), task))
        await task

    def serve() -> None:
        try:
            asyncio.run(run())
        except asyncio.CancelledError:
            pass
        except BaseException as error:
            ended.append(error)
        finally:
            ready.set()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        assert ready.wait(PATIENCE)
        if ended:
            raise ended[0]
        yield service
    finally:
        if thread.is_alive():
            loop, task = running[0]
            loop.call_soon_threadsafe(task.cancel)
        thread.join(PATIENCE)
    assert not thread.is_alive()
    assert ended == []


def problem(response: httpx.Response, status: int) -> ProblemDetails:
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    found = ProblemDetails.model_validate_json(response.content)
    assert (found.status, found.request) == (status, response.headers["x-request-id"])
    return found


def score(client: httpx.Client, content: Any) -> httpx.Response:
    return client.post("/v1/score", json=content)
