"""The labelling page on a real server, in a thread."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from web_samples import running

from rubriclab.ops.label import Labeling, prepare_labeling
from rubriclab.ops.options import LabelOptions
from rubriclab.ops.workspace import Workspace
from rubriclab.web.label import label_access, page_app, write_labels
from rubriclab.web.server import TOKEN_HEADER, Access, listen, port_of

ROWS = [
    {
        "id": f"g{group}-system{rival}",
        "group": f"g{group}",
        "system": f"secret-system-{rival}",
        "source": f"The source of group {group} is a long story.",
        "output": f"Summary {rival} of group {group}.",
        "note": "kept",
    }
    for group in range(4)
    for rival in range(3)
]
ASKED = {"task": "summarization", "aspect": "coherence"}


@dataclass(frozen=True)
class LabelPage:
    """A page that is up, and what a browser's scripts send to it."""

    client: httpx.Client
    access: Access
    labeling: Labeling
    output: Path

    @property
    def address(self) -> str:
        return str(self.client.base_url)

    def get(self, path: str, rater: str | None = "anna", **query: Any) -> httpx.Response:
        return self.client.get(path, params={**({"rater": rater} if rater else {}), **query})

    def post(self, path: str, body: Mapping[str, Any] | bytes, **headers: str) -> httpx.Response:
        own = {"Origin": self.address.rstrip("/"), TOKEN_HEADER: self.access.token, **headers}
        if isinstance(body, bytes):
            return self.client.post(path, content=body, headers=own)
        return self.client.post(path, json=body, headers=own)

    def answer(self, item: Mapping[str, Any], rater: str = "anna", **answer: Any) -> httpx.Response:
        """Send an answer about an item as `/item` gave it; a rating of 3 unless said otherwise."""
        submission = {"id": uuid.uuid4().hex, "item": item["shown"]["item"], "kind": "rating", "seconds": 2.5}
        submission |= {} if {"kind", "value"} & answer.keys() else {"value": 3}
        return self.post("/judgments", {"rater": rater, "submission": {**submission, **answer}})

    def answer_all(self, rater: str, value: Callable[[str], float]) -> int:
        """Rate everything that is left for a rater by the text; return how many items that were."""
        item, count = self.get("/item", rater).json(), 0
        while item["shown"]:
            item = self.answer(item, rater, value=value(output_of(item))).json()
            count += 1
        return count


def output_of(item: Mapping[str, Any]) -> str:
    return str(item["shown"]["text"])


@contextmanager
def label_page(folder: Path, rows: Sequence[Mapping[str, Any]] = ROWS, **options: Any) -> Iterator[LabelPage]:
    """Yield the page for the texts in `rows`, with a store in `folder`."""
    chosen = LabelOptions(**{**ASKED, **options})
    output, bound = folder / "labelled.jsonl", listen()
    # The key of links and tokens is kept in the home of the user.
    with pytest.MonkeyPatch.context() as patch, Workspace(folder / "store.db") as workspace:
        patch.setenv("HOME", str(folder))
        patch.delenv("XDG_DATA_HOME", raising=False)
        labeling = prepare_labeling(workspace, list(rows), chosen)
        access = label_access(labeling.question, chosen, port_of(bound))

        def finish() -> str:
            return f"{write_labels(labeling, output).labelled} written."

        with running(page_app(labeling, access, finish=finish, stop=lambda: None), bound) as client:
            yield LabelPage(client, access, labeling, output)
