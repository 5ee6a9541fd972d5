"""People's judgments in the store: once each, in order, never changed."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.exc import DBAPIError

from rubriclab.errors import StoreError
from rubriclab.labeling.judgment import HumanJudgment
from rubriclab.store import Store, open_store
from rubriclab.store.engine import address


def judgment(name: str, **others: Any) -> HumanJudgment:
    fields = {"id": name, "question": "sha256:q", "aspect": "coherence", "rater": "anna", "texts": ("a",)}
    return HumanJudgment(**{**fields, "kind": "rating", "value": 3, "created": datetime.now(UTC), **others})


def test_judgments_are_kept_in_order_and_by_question(store: Store, where: str) -> None:
    given = [
        judgment("one"),
        judgment("two", value=5, reason="\u202eclear"),
        judgment("three", question="sha256:other"),
    ]
    for each in given:
        store.add_judgment(each)
    with open_store(where) as again:
        found = again.judgments("sha256:q")
    assert [each for _, each in found] == given[:2]
    assert store.judgments("sha256:q", found[0][0]) == found[1:]
    assert store.verify() == ()


def test_a_judgment_sent_again_is_stored_once(store: Store) -> None:
    first = store.add_judgment(judgment("one"))
    assert store.add_judgment(judgment("one")) == first
    assert len(store.judgments("sha256:q")) == 1
    with pytest.raises(StoreError, match="Another judgment has the id 'one'"):
        store.add_judgment(judgment("one", value=4))


def test_many_at_once_are_all_kept_and_none_twice(store: Store) -> None:
    names = [f"j{number}" for number in range(20)] * 2
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda name: store.add_judgment(judgment(name)), names))
    assert sorted(each.id for _, each in store.judgments("sha256:q")) == sorted(set(names))


@pytest.mark.parametrize("change", ["UPDATE human_judgments SET content = ''", "DELETE FROM human_judgments"])
def test_a_stored_judgment_never_changes(store: Store, where: str, change: str) -> None:
    store.add_judgment(judgment("one"))
    engine = create_engine(address(where))
    with pytest.raises(DBAPIError, match="human_judgments never change"), engine.begin() as connection:
        connection.execute(text(change))
    engine.dispose()
    assert len(store.judgments("sha256:q")) == 1


def test_a_damaged_judgment_is_found(sqlite_store: Store) -> None:
    sqlite_store.add_judgment(judgment("one"))
    engine = create_engine(address(sqlite_store.place))
    with engine.begin() as connection:
        connection.execute(text("DROP TRIGGER human_judgments_no_update"))
        connection.execute(text("UPDATE human_judgments SET content = replace(content, '3.0', '5.0')"))
    engine.dispose()
    assert [str(problem) for problem in sqlite_store.verify()] == [
        "judgment one: The judgment one does not match its digest."
    ]
    with pytest.raises(StoreError, match="does not match its digest"):
        sqlite_store.judgments("sha256:q")
