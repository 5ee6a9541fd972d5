"""The page in a real browser, where one is installed; what it must not do is also tested without one."""

from __future__ import annotations

import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from report_samples import hostile_evaluation

from rubriclab.report.html import evaluation_report

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
TRACKER = "tracker.example"
HOSTILE = (
    f"<script>document.title='pwned';fetch('http://{TRACKER}/fetch');console.error('ran')</script>"
    f"</style></title><img src=http://{TRACKER}/image onerror=\"document.title='pwned'\"> \"'> "
    f"<svg onload=\"document.title='pwned'\"></svg><link rel=stylesheet href=http://{TRACKER}/style> \u202eturned\u200f"
)
CONTROL = f"<!DOCTYPE html><title>control</title><p id=here>there</p>{HOSTILE}"

pytestmark = pytest.mark.skipif(BROWSER is None, reason="no chromium on the path")


class Proxy(ThreadingHTTPServer):
    """A proxy that answers nothing and remembers which hosts were asked for."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Refusal)
        self.asked: list[str] = []


class Refusal(BaseHTTPRequestHandler):
    """Remembers the request and refuses it."""

    server: Proxy

    def do_GET(self) -> None:
        """Refuse a request."""
        self.server.asked.append(self.path)
        self.send_error(404)

    do_CONNECT = do_POST = do_GET  # noqa: N815

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    """A proxy that is up."""
    with Proxy() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def browse(page: str, folder: Path, proxy: Proxy) -> tuple[str, list[str]]:
    """Return the page as the browser understood it, and what it wrote to its console."""
    path = folder / "page.html"
    path.write_text(page, "utf-8")
    flags = (
        "headless no-sandbox disable-gpu no-first-run disable-background-networking disable-component-update "
        f"disable-sync disable-dev-shm-usage enable-logging=stderr virtual-time-budget=3000 dump-dom "
        f"proxy-server=127.0.0.1:{proxy.server_port} user-data-dir={folder / 'profile'}"
    ).split()
    done = subprocess.run(
        [str(BROWSER), *(f"--{flag}" for flag in flags), path.as_uri()],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=True,
    )
    return done.stdout, [line for line in done.stderr.splitlines() if ":CONSOLE" in line]


def test_hostile_words_do_nothing_in_a_browser(tmp_path: Path, proxy: Proxy) -> None:
    page = evaluation_report(*hostile_evaluation(HOSTILE))
    understood, console = browse(page, tmp_path, proxy)
    assert console == []
    assert not [url for url in proxy.asked if TRACKER in url]
    assert "<script" not in understood
    title = re.search("<title>(.*?)</title>", understood, re.DOTALL)
    assert title
    assert title[1].startswith("Agreement with the labels: &lt;script&gt;")
    assert understood.rstrip().endswith("</html>")
    assert 'id="reading"' in understood


def test_the_same_words_do_harm_where_nobody_stops_them(tmp_path: Path, proxy: Proxy) -> None:
    # Without this, the test above could pass because the browser never runs or loads anything.
    understood, console = browse(CONTROL, tmp_path, proxy)
    assert [line for line in console if "ran" in line]
    assert [url for url in proxy.asked if TRACKER in url]
    assert "<title>pwned</title>" in understood
