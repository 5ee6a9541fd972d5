"""The studio on a real server over a store that the offline judge has learned, with hostile words wherever they fit."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
from commands import LABELLED
from web_samples import running

from rubriclab import Lab, Version
from rubriclab.models.rubric import Criterion
from rubriclab.models.version import EditChange, EditOrigin, TrainingRecord
from rubriclab.ops.workspace import Workspace
from rubriclab.store.store import Store
from rubriclab.web.server import Access, listen, port_of
from rubriclab.web.studio.pages import application
from rubriclab.web.studio.studio import Studio

WORDS = """<img src=x onerror="document.title='run'"></textarea><script>document.title='run'</script>'"""
TEXTS = 18
# Many times the texts of `news@1`, more than one page shows.
COPIES = 7


def make_store(path: Path) -> Path:
    """Return a store of `news`, with its lineage, `hostile` with `WORDS`, `many` and the imported `bare`."""
    rows = [json.loads(line) for line in LABELLED.read_text("utf-8").splitlines()[:TEXTS]]
    lab = Lab(path, progress=None, notify=lambda _text: None)
    named = {"name": "news", "task": "summarization", "aspect": "coherence", "scale": (1, 5)}
    first = lab.learn(rows, methods=["hypoeval", "direct"], settings={"hypoeval": {"k": 5}}, **named)
    record = lab.training_record("news@1")
    with Store(path) as store:
        for number, parent in ((2, "news@1"), (3, "news@1"), (4, "news@2")):
            _save(store, "news", first, record, parent=parent, because=f"Because {number}.")
        _save(store, "hostile", *_hostile(first, record), because=WORDS)
        _save(store, "many", first, _copies(record), because="More texts.")
        store.tag("news@2", "production")
    lab.export("news@1", path.with_suffix(".pack"))
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


def _copies(record: TrainingRecord) -> TrainingRecord:
    texts = tuple(
        text.model_copy(update={"id": f"{text.id}-{copy}", "group": f"{text.group}-{copy}"})
        for copy in range(COPIES)
        for text in record.texts
    )
    return record.model_copy(update={"texts": texts, "cells": record.cells * COPIES})


@contextmanager
def reading(store: str | Path) -> Iterator[httpx.Client]:
    """Yield a client of the studio over a store."""
    bound = listen()
    with running(application(Studio(Workspace(store), Access.at(port_of(bound)))), bound) as client:
        yield client
