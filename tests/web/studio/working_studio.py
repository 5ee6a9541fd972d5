"""The studio on a real server in a thread, over a store of hostile texts with raters."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from commands import LABELLED
from web_samples import running

from rubriclab import Lab
from rubriclab.errors import JudgeRefused
from rubriclab.judges.embedded import EmbeddedJudge
from rubriclab.judges.judge import Reply
from rubriclab.judges.options import JudgeOptions
from rubriclab.ops.workspace import Workspace, judge_options
from rubriclab.prompts.prompt import Prompt
from rubriclab.store.store import Store
from rubriclab.web.server import TOKEN_HEADER, Access, listen, port_of
from rubriclab.web.studio.pages import application
from rubriclab.web.studio.studio import Studio

HOSTILE = """<img src=x onerror="document.title='run'">"'&?#/%41"""
SCRIPT = "</textarea><script>document.title='run'</script> ends."
TEXTS = 18
# The rubric of the offline judge, and the same as if a judge that costs money had given its ratings.
REF, PAID = "news@1", "paid@1"
JUDGE = "counting"


def rows() -> list[dict[str, Any]]:
    """Return labelled texts with two raters each; one has a hostile id, text and rater."""
    found = [json.loads(line) for line in LABELLED.read_text("utf-8").splitlines()[:TEXTS]]
    for row in found:
        score = row["scores"]["coherence"]
        row["annotations"] = {"coherence": {"anna": score, "ben": score}}
    found[1]["annotations"]["coherence"] = {"anna": 5.0, HOSTILE: 3.0}
    found[1]["reasons"] = {"coherence": {"anna": "It holds together.", HOSTILE: SCRIPT}}
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
        paid = version.provenance.model_copy(update={"judge": JUDGE, "generator": JUDGE})
        store.save("paid", version.rubric, paid, version.effort, training=store.training(REF))
    return path


class PaidJudge:
    """The offline judge as a plug-in whose calls count: it says what it is told to, and how often it was asked."""

    asked = 0
    seconds = 0.0
    refuses = False

    def __init__(self, _rest: str, _options: JudgeOptions) -> None:
        self.name = JUDGE
        self.identity = {"judge": JUDGE}
        self._judge = EmbeddedJudge()

    async def reply(self, prompt: Prompt[Any]) -> Reply:
        """Return the offline judge's reply."""
        PaidJudge.asked += 1
        await asyncio.sleep(PaidJudge.seconds)
        if PaidJudge.refuses:
            raise JudgeRefused("The key is wrong.")
        return await self._judge.reply(prompt)


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
    """Yield a client of the studio over a store; `options` are those of judges, who have a price."""
    bound = listen()
    access = Access.at(port_of(bound))
    studio = Studio(Workspace(store, judge_options({"price": (1, 2), **options})), access, judge)
    with running(application(studio), bound) as http:
        yield Client(http, access)
