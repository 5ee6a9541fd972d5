"""The pages in a real browser, where one is installed; what they must not do is also tested without one."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from view_samples import PAGES, VIEWS, hostile

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
TRACKER = "tracker.example"
HOSTILE = (
    f"<script>document.title='pwned';fetch('http://{TRACKER}/fetch').catch(()=>0);console.error('ran')</script>"
    f"</style></title><img src=http://{TRACKER}/image onerror=\"document.title='pwned'\"> \"'> "
    f"<svg onload=\"document.title='pwned'\"></svg><link rel=stylesheet href=http://{TRACKER}/style> \u202eturned\u200f"
)
# A telephone and a desk, in pixels; and the least contrast of text (WCAG 2.2, success criterion 1.4.3).
PHONE, DESK = 390, 1280
CONTRAST = 4.5
# Every page in frames of both widths and colour schemes, and what a script outside of them finds there.
LOOK = """
const light = c => c.map(v => v / 255).map(v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
  .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0)
const rgb = c => (c.match(/[\\d.]+/g) || []).map(Number)
const solid = c => c.length > 2 && (c.length < 4 || c[3] > 0)
const papers = new Map()
function paper(element, view) {
  if (!papers.has(element)) {
    const c = rgb(view.getComputedStyle(element).backgroundColor)
    papers.set(element, solid(c) ? c.slice(0, 3) : paper(element.parentElement, view))
  }
  return papers.get(element)
}
function look(frame) {
  const page = frame.contentDocument, view = frame.contentWindow, low = {}, wide = []
  page.querySelectorAll('details').forEach(each => each.open = true)
  const elements = [...page.body.querySelectorAll('*')]
  const edge = page.documentElement.clientWidth + 1
  for (const element of elements) {
    // A wide table scrolls in a frame of its own.
    const beyond = !element.closest('.wide > *') && element.getBoundingClientRect().right > edge
    if (beyond) wide.push(element.outerHTML.slice(0, 80))
    if (![...element.childNodes].some(node => node.nodeType === 3 && node.data.trim())) continue
    const style = view.getComputedStyle(element), ink = rgb(element.closest('svg') ? style.fill : style.color)
    const [dark, bright] = [light(ink.slice(0, 3)), light(paper(element, view))].sort((a, b) => a - b)
    const ratio = (bright + .05) / (dark + .05)
    low[style.color + ' on ' + paper(element, view)] = ratio
  }
  const root = page.documentElement
  const broken = []
  const words = page.createTreeWalker(page.body, 4)
  while (words.nextNode()) {
    const node = words.currentNode
    if (node.parentElement.closest('svg, bdi, .hidden')) continue
    const head = node.parentElement.closest('thead')
    if (head && view.getComputedStyle(head).clipPath != 'none') continue  // hidden on telephones
    for (const match of node.data.matchAll(/[A-Za-z]{2,16}|[\u2212]?\\d+(?:[.,]\\d+)*/g)) {
      const range = page.createRange()
      range.setStart(node, match.index); range.setEnd(node, match.index + match[0].length)
      if (new Set([...range.getClientRects()].map(r => Math.round(r.top))).size > 1) broken.push(match[0])
    }
  }
  const scrolls = root.scrollWidth > root.clientWidth
  return {name: frame.name, broken, scrolls, wide, low, paper: paper(page.body, view)}
}
onload = () => {
  document.body.dataset.found = JSON.stringify([...document.querySelectorAll('iframe:not([name=control])')].map(look))
}
"""
# The same words where nothing stops them: without it a browser that runs and loads nothing would pass.
CONTROLLED = "controlled.example"
CONTROL = f"<!DOCTYPE html><title>control</title>{HOSTILE.replace(TRACKER, CONTROLLED).replace('ran', CONTROLLED)}"

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
        self.server.asked.append(self.path)
        self.send_error(404)

    do_CONNECT = do_POST = do_GET  # noqa: N815

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture
def proxy() -> Iterator[Proxy]:
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


def framed(*frames: tuple[str, str, int]) -> str:
    """Return a page that shows others, each in a colour scheme and width, and says in `data-found` what it found."""
    shown = "".join(
        f'<iframe name="{scheme}" style="width:{width}px;height:800px;color-scheme:{scheme}" '
        f'srcdoc="{html.escape(page)}"></iframe>'
        for page, scheme, width in frames
    )
    return f"<!DOCTYPE html><script>{LOOK}</script><body>{shown}"


def test_pages_fit_a_telephone_and_can_be_read_in_both_colour_schemes(tmp_path: Path, proxy: Proxy) -> None:
    evaluation, training = (PAGES[name]().page() for name in ("evaluation", "training"))
    widest = hostile(PAGES["training"], HOSTILE + "W" * 60).page()
    head = "<!DOCTYPE html><meta name=color-scheme content='light dark'><body style='margin:0;background:canvas'>"
    notebook = head + VIEWS["training"]()._repr_html_()
    frames = (
        *((page, "light", PHONE) for page in (evaluation, training)),
        *((page, "dark", PHONE) for page in (evaluation, notebook)),
        (training, "light", DESK),
        (widest, "light", PHONE),
    )
    understood, console = browse(framed(*frames, (CONTROL, "control", DESK)), tmp_path, proxy)
    assert console
    assert [line for line in console if CONTROLLED not in line] == []
    assert not [url for url in proxy.asked if TRACKER in url]
    assert [url for url in proxy.asked if CONTROLLED in url]
    data = re.search('data-found="(.*?)"', understood)
    found = json.loads(html.unescape(data[1]))
    assert len(found) == len(frames)
    for frame in found:
        assert not frame["scrolls"], frame
        assert frame["wide"] == [], frame["name"]
        assert frame["broken"] == [] or frame is found[-1], frame["name"]  # the last one is hostile
        assert {pair: ratio for pair, ratio in frame["low"].items() if ratio < CONTRAST} == {}, frame["name"]
        assert (sum(frame["paper"]) < 3 * 128) == (frame["name"] == "dark")
