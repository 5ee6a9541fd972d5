"""How much a store holds, pruning of cached answers, and vacuum, on SQLite and PostgreSQL."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text
from store_samples import EFFORT, numbered, provenance

from rubriclab.errors import StoreError
from rubriclab.models.base import digest
from rubriclab.store import answers as storage
from rubriclab.store.store import Store, open_store
from rubriclab.store.tables import address

DAY = timedelta(days=1)


def fill(store: Store, count: int, model: str = "m", length: int = 10) -> list[str]:
    """Cache answers, and return the digests of their requests."""
    digests = [digest([model, number]) for number in range(count)]
    for each in digests:
        store.answers.put(each, {"text": "x" * length, "model": model})
    return digests


def change_age(where: str, digests: list[str], age: timedelta) -> None:
    """Make answers look as if they had been cached some time ago."""
    created = (datetime.now(UTC) - age).isoformat(timespec="microseconds")
    engine = create_engine(address(where))
    with engine.begin() as connection:
        rows = [{"created": created, "digest": each} for each in digests]
        connection.execute(text("UPDATE answers SET created = :created WHERE digest = :digest"), rows)
    engine.dispose()


def pruned(store: Store, before: datetime, **options: bool) -> list[int]:
    """Return how many answers were removed, and their bytes."""
    steps = list(store.prune(before, **options))
    return [sum(step.rows for step in steps), sum(step.bytes for step in steps)]


def test_sizes_are_rows_and_bytes_by_kind_and_answers_by_model(store: Store) -> None:
    store.save("news", numbered(1), provenance(), EFFORT)
    fill(store, 3, "small", 1)
    fill(store, 1, "large", 5000)
    store.answers.put(digest("other"), {"text": "ä"})
    kinds, space = store.sizes()
    found = {(kind.kind, kind.model): kind for kind in kinds}
    assert [found[key].rows for key in (("versions", None), ("rubrics", None), ("tags", None))] == [1, 1, 0]
    assert [kind.model for kind in kinds if kind.kind == "cached answers"] == ["small", "large", None]
    assert found["cached answers", "small"].rows == 3
    assert 5000 < found["cached answers", "large"].bytes < 5400
    assert space.total is not None
    assert space.total > sum(kind.bytes for kind in kinds)


def test_a_model_name_that_the_database_cannot_hold_loses_no_answer(store: Store) -> None:
    reply = {"text": "4", "model": "a\x00\ud800" + "b" * 500}
    assert store.answers.put(digest("hostile"), reply)
    assert store.answers.get(digest("hostile")) == reply
    assert [kind.model[:14] for kind in store.sizes()[0] if kind.model] == ["a\\x00\\ud800bbb"]


def test_answers_older_than_a_time_are_removed_and_nothing_else(store: Store, where: str) -> None:
    store.save("news", numbered(1), provenance(), EFFORT)
    digests = fill(store, 5)
    change_age(where, digests[:2], 10 * DAY)
    before = datetime.now(UTC) - 9 * DAY
    counted = pruned(store, before, dry_run=True)
    assert counted[0] == 2
    assert store.answers.count() == 5
    assert pruned(store, before) == counted
    assert [store.answers.get(each) is None for each in digests] == [True, True, False, False, False]
    assert store.names() == ("news",)
    assert store.verify() == ()


def test_more_answers_than_one_step_holds_are_removed(
    store: Store, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage, "CHUNK", 10)
    digests = fill(store, 25)
    change_age(where, digests[::2], 10 * DAY)
    assert pruned(store, datetime.now(UTC) - 9 * DAY)[0] == 13
    assert {each for each in digests if store.answers.get(each)} == set(digests[1::2])


def test_vacuum_gives_space_back_and_changes_nothing(store: Store) -> None:
    store.save("news", numbered(1), provenance(), EFFORT)
    for number in range(200):
        # Digests cannot be compressed, as PostgreSQL would do with long texts.
        store.answers.put(digest(number), {"text": "".join(digest([number, part]) for part in range(60))})
    full = store.space().total
    pruned(store, datetime.now(UTC))
    store.vacuum()
    assert full is not None
    assert (store.space().total or 0) < full / 2
    assert store.space().free in (0, None)
    assert store.load("news").ref == "news@1"
    assert store.verify() == ()


def test_a_read_only_store_is_counted_but_not_pruned(tmp_path: Path) -> None:
    with open_store(tmp_path / "store.db") as store:
        fill(store, 3)
    with open_store(tmp_path / "store.db", access="read") as store:
        assert pruned(store, datetime.now(UTC), dry_run=True)[0] == 3
        with pytest.raises(StoreError, match="is read-only"):
            pruned(store, datetime.now(UTC))
        with pytest.raises(StoreError, match="is read-only"):
            store.vacuum()
    with open_store(tmp_path / "store.db") as store:
        assert store.answers.count() == 3
