"""The table of answers, on both databases."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st
from store_samples import EFFORT, execute, numbered, provenance

from rubriclab.errors import StoreError
from rubriclab.judges.batch import OpenBatch
from rubriclab.models.base import digest
from rubriclab.store.store import Store, open_store

REPLY = {"text": "4", "model": "m", "usage": {"prompt_tokens": 3, "cost_usd": None}}


def test_an_answer_is_there_for_others_as_soon_as_it_is_put(store: Store, where: str) -> None:
    with open_store(where) as other:
        assert other.answers.get("sha256:a") is None
        store.answers.put("sha256:a", REPLY)
        assert other.answers.get("sha256:a") == REPLY


def test_the_first_answer_stays(store: Store) -> None:
    assert store.answers.put("sha256:a", REPLY) is True
    assert store.answers.put("sha256:a", {"text": "5"}) is False
    assert store.answers.get("sha256:a") == REPLY
    store.answers.put("sha256:b", {"text": "6"})
    assert store.answers.count() == 2


def test_a_changed_answer_is_an_error_that_names_it_and_the_repair(store: Store, where: str) -> None:
    store.answers.put("sha256:a", REPLY)
    execute(where, "UPDATE answers SET reply = replace(reply, '4', '5')")
    with pytest.raises(StoreError, match=r"answer sha256:a does not match its digest.*verify\(repair=True\)"):
        store.answers.get("sha256:a")


def test_a_failing_database_is_an_error_of_the_store_and_not_for_ever(sqlite_store: Store) -> None:
    connection = sqlite3.connect(sqlite_store.address)
    connection.execute("ALTER TABLE answers RENAME TO elsewhere")
    with pytest.raises(StoreError, match="cannot be used: no such table: answers"):
        sqlite_store.answers.put("sha256:a", REPLY)
    connection.execute("ALTER TABLE elsewhere RENAME TO answers")
    connection.close()
    sqlite_store.answers.put("sha256:a", REPLY)
    assert sqlite_store.answers.get("sha256:a") == REPLY


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(reply=st.dictionaries(st.text(), JSON, max_size=4))
@settings(deadline=None, max_examples=25)
def test_any_json_object_comes_back_as_it_was(memory: Store, reply: dict[str, object]) -> None:
    memory.answers.put(digest(reply), reply)
    assert memory.answers.get(digest(reply)) == reply


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
    store.batches.save(BATCH)
    store.batches.save(other)
    store.batches.save(replace(BATCH, batch_id="batch_1"))
    with open_store(where) as again:
        assert again.batches.list_open() == (replace(BATCH, batch_id="batch_1"), other)
        assert again.batches.list_open(other.judge) == (other,)
        again.batches.remove("a1")
        again.batches.remove("a1")
    store.batches.save(BATCH)
    execute(where, "UPDATE batches SET content = replace(content, 'model', 'modes') WHERE key = 'a1'")
    assert store.batches.list_open() == (other,)
    assert [problem.where for problem in store.verify()] == ["batch a1"]


DAY = timedelta(days=1)


def fill(store: Store, count: int, model: str = "m", length: int = 10) -> list[str]:
    digests = [digest([model, number]) for number in range(count)]
    for each in digests:
        store.answers.put(each, {"text": "x" * length, "model": model})
    return digests


def change_age(where: str, digests: list[str], age: timedelta) -> None:
    """Make answers look as if they had been cached some time ago."""
    created = (datetime.now(UTC) - age).isoformat(timespec="microseconds")
    rows = [{"created": created, "digest": each} for each in digests]
    execute(where, "UPDATE answers SET created = :created WHERE digest = :digest", rows)


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
    counted = store.prune(before, dry_run=True)
    assert counted[0] == 2
    assert store.answers.count() == 5
    assert store.prune(before) == counted
    assert [store.answers.get(each) is None for each in digests] == [True, True, False, False, False]
    assert store.names() == ("news",)
    assert store.verify() == ()


def test_a_read_only_store_is_counted_but_not_pruned(tmp_path: Path) -> None:
    with open_store(tmp_path / "store.db") as store:
        fill(store, 3)
    with open_store(tmp_path / "store.db", access="read") as store:
        assert store.prune(datetime.now(UTC), dry_run=True)[0] == 3
        with pytest.raises(StoreError, match="is read-only"):
            store.prune(datetime.now(UTC))
    with open_store(tmp_path / "store.db") as store:
        assert store.answers.count() == 3
