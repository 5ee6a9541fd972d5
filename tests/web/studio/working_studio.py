"""The studio on a real server in a thread, over a store of hostile texts with raters."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from commands import LABELLED

from rubriclab import Lab
from rubriclab.services.workspace import Workspace, judge_options
from rubriclab.store import Store
from rubriclab.web.security import TOKEN_HEADER, Access
from rubriclab.web.server import Server, listen, port_of
from rubriclab.web.studio.app import Studio, application

HOSTILE = """<img src=x onerror="document.title='run'">"'&?#/%41"""
SCRIPT = "</textarea><script>document.title='run'</script> ends."
TEXTS = 18
# The rubric of the offline judge, and the same as if a language model had given its ratings.
REF, PAID = "news@1", "paid@1"
MODEL = "openai/fake"


def rows() -> list[dict[str, Any]]:
    """Return labelled texts with two raters each; one has a hostile id, text and rater."""
    found = [json.loads(line) for line in LABELLED.read_text("utf-8").splitlines()[:TEXTS]]
    for row in found:
        score = row["scores"]["coherence"]
        row["annotations"] = {"coherence": {"anna": score, "ben": score}}
    found[1]["annotations"]["coherence"] = {"anna": 5.0, HOSTILE: 3.0}
    found[1]["scores"] = {"coherence": 4.0}
    found[1]["id"] = HOSTILE
    found[1]["output"] = f"{SCRIPT} {found[1]['output']}"
    return found


def make_store(path: Path) -> Path:
    """Return the store at `path` with `REF` and `PAID`."""
    lab = Lab(path, progress=None, notify=lambda _text: None)
    lab.learn(rows(), name="news", task="summarization", aspect="coherence", scale=(1, 5), judge="embedded")
    with Store(path) as store:
        version = store.load(REF)
        paid = version.provenance.model_copy(update={"judge": MODEL, "generator": MODEL})
        store.save("paid", version.rubric, paid, version.effort, training=store.training(REF))
    return path


def reply(messages: list[dict[str, str]], _body: Any) -> str:
    """Return what the language model replies to criteria of `PAID` and to an added question, all in one call.

    A score follows the length of the text.
    """
    asked = messages[-1]["content"]
    high = len(asked) % 2
    lists = {"ratings": (r"h\d\d", {"score": 4 + high}), "whole": ("seeval|direct", {"score": 4 + high})}
    lists["answers"] = (r"a01|[a-z-]+-[de]\d", {"answer": ("no", "yes")[high]})
    found = {}
    for kind, (ids, verdict) in lists.items():
        if f'"{kind}"' in asked:
            names = dict.fromkeys(re.findall(rf"^\W*({ids})\b", asked, re.MULTILINE))
            found[kind] = [{"id": name, "reason": "It shows.", **verdict} for name in names]
    return json.dumps(found)


@dataclass(frozen=True)
class Client:
    """A page's script, as far as requests go."""

    http: httpx.Client
    access: Access

    @property
    def url(self) -> str:
        """The address of the studio."""
        return str(self.http.base_url).rstrip("/")

    def get(self, path: str, **query: Any) -> httpx.Response:
        """Return a page."""
        return self.http.get(path, params=query or None)

    def post(self, path: str, **body: Any) -> httpx.Response:
        """Return the answer to what a page sends."""
        return self.http.post(path, json=body, headers={"Origin": self.url, TOKEN_HEADER: self.access.token})


@contextmanager
def served(store: Path, *, judge: str | None = None, **options: Any) -> Iterator[Client]:
    """Yield a client of the studio over a store; `options` are those of judges."""
    bound = listen()
    access = Access.at(port_of(bound))
    studio = Studio(Workspace(store, judge_options(options)), access, judge)
    ready = threading.Event()
    server = Server(application(studio), bound, ready.set)
    thread = threading.Thread(target=lambda: asyncio.run(server.run()))
    thread.start()
    try:
        assert ready.wait(20)
        with httpx.Client(base_url=f"http://127.0.0.1:{port_of(bound)}", trust_env=False, timeout=60) as http:
            yield Client(http, access)
    finally:
        server.stop()
        thread.join()
