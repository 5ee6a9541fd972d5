"""The table of answers, on both databases."""

from __future__ import annotations

import sqlite3
import threading

import pytest
from hypothesis import given, settings, strategies as st
from sqlalchemy import create_engine, text

from rubriclab.errors import StoreError
from rubriclab.models.base import digest
from rubriclab.store.store import Store, open_store
from rubriclab.store.tables import address

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


def test_threads_share_the_table(store: Store) -> None:
    def put(thread: int) -> None:
        for number in range(20):
            store.answers.put(f"sha256:{thread}-{number}", {"text": str(number)})
            assert store.answers.get(f"sha256:{thread}-{number}") == {"text": str(number)}

    threads = [threading.Thread(target=put, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.answers.count() == 80


def test_text_that_utf8_cannot_hold_is_kept(store: Store) -> None:
    store.answers.put("sha256:a", {"text": "\x00 \ud800 ü 🧵"})
    assert store.answers.get("sha256:a") == {"text": "\x00 \ud800 ü 🧵"}
    assert store.verify() == ()


def test_a_number_that_json_lacks_is_refused(sqlite_store: Store) -> None:
    with pytest.raises(ValueError, match="JSON"):
        sqlite_store.answers.put("sha256:a", {"cost": float("nan")})
    assert sqlite_store.answers.count() == 0


def test_a_changed_answer_is_an_error_that_names_it_and_the_repair(store: Store, where: str) -> None:
    store.answers.put("sha256:a", REPLY)
    engine = create_engine(address(where))
    with engine.begin() as connection:
        connection.execute(text("UPDATE answers SET reply = replace(reply, '4', '5')"))
    engine.dispose()
    with pytest.raises(StoreError, match=r"answer sha256:a does not match its digest.*lab.verify\(repair=True\)"):
        store.answers.get("sha256:a")


def test_a_failing_database_is_an_error_of_the_store_and_not_for_ever(sqlite_store: Store) -> None:
    connection = sqlite3.connect(sqlite_store.place)
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
@settings(deadline=None, max_examples=50)
def test_any_json_object_comes_back_as_it_was(memory: Store, reply: dict[str, object]) -> None:
    memory.answers.put(digest(reply), reply)
    assert memory.answers.get(digest(reply)) == reply
