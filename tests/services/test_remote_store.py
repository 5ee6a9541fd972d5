"""On a remote store no operation reads or writes versions on the event loop's thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from commands import HELDOUT, LABELLED

from rubriclab import Lab
from rubriclab.ops import workspace
from rubriclab.store.store import Store

LEARN: dict[str, Any] = {"task": "summarization", "aspect": "coherence"}
CALLS: dict[str, Callable[[Lab], Any]] = {
    "learn": lambda lab: lab.learn_async(LABELLED, **LEARN, methods="hypoeval", name="again", parent="news"),
    "score": lambda lab: lab.score_async(HELDOUT, "news"),
    "evaluate": lambda lab: lab.evaluate_async(HELDOUT, "news"),
    "transfer": lambda lab: lab.transfer_async("news", HELDOUT, no_relearn=True, save=True, name="moved"),
    "drift": lambda lab: lab.drift_async(HELDOUT, "news", "news@1"),
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("remote") / "store.db"
    Lab(place, progress=None).learn(LABELLED, **LEARN, methods="hypoeval", name="news")
    return place


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """The threads in which the store was opened and its versions were read and written."""
    seen: list[tuple[str, int]] = []

    def watched(name: str) -> Callable[..., Any]:
        plain = getattr(Store, name)

        def method(self: Store, *arguments: Any, **options: Any) -> Any:
            seen.append((name, threading.get_ident()))
            return plain(self, *arguments, **options)

        return method

    for name in ("__init__", "load", "training", "log", "names", "save"):
        monkeypatch.setattr(Store, name, watched(name))
    monkeypatch.setattr(workspace, "is_remote", lambda _where: True)
    monkeypatch.setattr("rubriclab.store.store.is_sqlite", lambda _url: False)
    return seen


@pytest.mark.parametrize("operation", CALLS)
def test_a_remote_store_does_not_block_the_event_loop(
    store: Path, threads: list[tuple[str, int]], operation: str
) -> None:
    with Lab(store, progress=None) as lab:
        asyncio.run(CALLS[operation](lab))
    assert "__init__" in {name for name, _ in threads}
    assert {name for name, thread in threads if thread == threading.get_ident()} == set()
