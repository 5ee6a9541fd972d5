"""The studio on a real server in a thread, over a store that the offline judge has learned, with hostile words."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
from commands import LABELLED_ROWS
from web_samples import running

from rubriclab import Lab, Version
from rubriclab.errors import JudgeRefused
from rubriclab.judges.embedded import EmbeddedJudge
from rubriclab.judges.options import JudgeOptions
from rubriclab.judges.replies import Reply
from rubriclab.models.rubric import Criterion
from rubriclab.models.version import EditChange, EditOrigin, TrainingRecord
from rubriclab.ops.workspace import Workspace
from rubriclab.prompts.prompt import Prompt
from rubriclab.store.store import Store
from rubriclab.web.server import TOKEN_HEADER, Access, listen, port_of
from rubriclab.web.studio.pages import make_application
from rubriclab.web.studio.studio import Studio

HOSTILE = """<img src=x onerror="document.title='run'">"'&?#/%41"""
SCRIPT = "</textarea><script>document.title='run'</script> ends."
WORDS = HOSTILE + SCRIPT
TEXTS = 12
# The rubric of the offline judge, and the same as if a judge that costs money had given its ratings.
REF, PAID = "news@1", "paid@1"
JUDGE = "counting"
READING_PAGES = ("/", "/hostile", "/hostile/versions", "/hostile/texts?every=true", "/hostile/compare?with=grown@1")


def rows() -> list[dict[str, Any]]:
    """Return labelled texts with two raters each; one has a hostile id, text and rater."""
    found = [{**row} for row in LABELLED_ROWS[:TEXTS]]
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
    """Make `REF` and `PAID`, the lineage `grown`, `hostile` and the imported `bare`."""
    lab = Lab(path, progress=None, notify=lambda _text: None)
    lab.learn(rows(), name="news", task="summarization", aspect="coherence", scale=(1, 5), judge="embedded")
    first, record = lab.load(REF), lab.training_record(REF)
    paid = first.provenance.model_copy(update={"judge": JUDGE, "generator": JUDGE})
    with Store(path) as store:
        store.save("paid", first.rubric, paid, first.effort, training=record)
        store.save("grown", first.rubric, first.provenance, first.effort, training=record)
        for number, parent in ((2, "grown@1"), (3, "grown@1"), (4, "grown@2")):
            _save(store, "grown", first, record, parent=parent, because=f"Because {number}.")
        _save(store, "hostile", *_hostile(first, record), because=WORDS)
        store.tag("grown@2", "production")
    lab.export(REF, path.with_suffix(".pack"))
    lab.import_(path.with_suffix(".pack"), "bare")
    return path


def _save(store: Store, name: str, version: Version, record: TrainingRecord, *, because: str, **options: Any) -> None:
    change = EditChange(action="reword", criteria=("h01",), before="before", after=because)
    made = version.provenance.model_copy(update={"edit": EditOrigin(author="anna", because=because, changes=(change,))})
    definition = version.rubric.aspect.model_copy(update={"definition": f"A definition. {because}"})
    rubric = version.rubric.model_copy(update={"aspect": definition})
    store.save(name, rubric, made, version.effort, training=record, **options)


def _hostile(version: Version, record: TrainingRecord) -> tuple[Version, TrainingRecord]:
    def said(criterion: Criterion) -> Criterion:
        return criterion.model_copy(update={"trait": WORDS, "statement": WORDS})

    parts = tuple(
        part.model_copy(update={"criteria": tuple(map(said, part.criteria))}) for part in version.rubric.parts
    )
    update = {"id": WORDS, "output": WORDS, "source": WORDS, "group": WORDS, "raters": {WORDS: 3.0}}
    texts = (record.texts[0].model_copy(update=update), *record.texts[1:])
    candidates = tuple(each.model_copy(update={"criterion": said(each.criterion)}) for each in record.candidates)
    cells = tuple(tuple(replace(cell, reason=WORDS) for cell in row) for row in record.cells)
    changed = {"texts": texts, "candidates": candidates, "cells": cells}
    return replace(version, rubric=version.rubric.model_copy(update={"parts": parts})), record.model_copy(
        update=changed
    )


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
        return str(self.http.base_url).rstrip("/")

    def get(self, path: str, **query: Any) -> httpx.Response:
        return self.http.get(path, params=query or None)

    def post(self, path: str, **body: Any) -> httpx.Response:
        return self.http.post(path, json=body, headers={"Origin": self.url, TOKEN_HEADER: self.access.token})


@contextmanager
def served(
    store: Path, *, judge: str | None = None, format_command: Callable[[str], str] = str, **options: Any
) -> Iterator[Client]:
    """Yield a client of the studio over a store; `options` are those of judges, who have a price."""
    bound = listen()
    access = Access.at(port_of(bound))
    studio = Studio(Workspace(store, JudgeOptions(**{"price": (1, 2), **options})), access, judge, format_command)
    with running(make_application(studio), bound) as http:
        yield Client(http, access)
