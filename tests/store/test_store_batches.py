"""Open batches in a store."""

from __future__ import annotations

from dataclasses import replace

from rubriclab.models.base import digest
from rubriclab.store.answers import OpenBatch
from rubriclab.store.store import Store, open_store

BATCH = OpenBatch(
    key="a1",
    judge=digest("judge"),
    model="openai/fake",
    api_base=None,
    file_id="file-1",
    batch_id=None,
    created="2026-11-21T12:00:00.000000+00:00",
    requests=tuple(digest(number) for number in range(1000)),
)


def test_a_batch_is_read_as_it_was_stored_until_it_is_removed(store: Store, where: str) -> None:
    other = replace(BATCH, key="b2", judge=digest("other"), api_base="http://127.0.0.1:9/v1", batch_id="batch_2")
    store.batches.add(BATCH)
    store.batches.add(other)
    store.batches.set_id("a1", "batch_1")
    with open_store(where) as again:
        assert again.batches.open() == (replace(BATCH, batch_id="batch_1"), other)
        assert again.batches.open(other.judge) == (other,)
        again.batches.remove("a1")
        again.batches.remove("a1")
    assert store.batches.open() == (other,)
