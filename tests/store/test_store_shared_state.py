"""Documents that processes share: every change is applied to the latest document."""

from __future__ import annotations

import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from rubriclab.errors import StoreError
from rubriclab.store import Store, open_store


def count_up(document: Mapping[str, Any], _now: float) -> tuple[dict[str, Any], int]:
    number = document.get("number", 0) + 1
    return {"number": number}, number


def test_no_change_is_lost_when_several_connections_change_a_document(store: Store, where: str) -> None:
    with open_store(where) as other, ThreadPoolExecutor(4) as threads:
        states = [store.shared_state("run"), other.shared_state("run")]
        numbers = list(threads.map(lambda n: states[n % 2].change(count_up), range(40)))
    assert sorted(numbers) == list(range(1, 41))


def test_documents_are_separate_and_can_be_removed(store: Store) -> None:
    first, second = store.shared_state("first"), store.shared_state("second")
    assert [first.change(count_up), first.change(count_up), second.change(count_up)] == [1, 2, 1]
    first.remove()
    assert [first.change(count_up), second.change(count_up)] == [1, 2]


def test_documents_that_are_unused_are_removed_and_the_others_stay(store: Store) -> None:
    first, second = store.shared_state("first"), store.shared_state("second")
    assert [first.change(count_up), second.change(count_up), second.change(count_up)] == [1, 1, 2]
    times = []
    before = time.time()

    def is_unused(document: Mapping[str, Any], now: float) -> bool:
        times.append(now)
        return bool(document["number"] == 1)

    store.remove_shared_states(is_unused)
    assert [first.change(count_up), second.change(count_up)] == [1, 3]
    assert before - 1 < times[0] < time.time() + 1


def test_a_change_that_fails_leaves_the_document(store: Store) -> None:
    state = store.shared_state("run")
    state.change(count_up)

    def fail(document: Mapping[str, Any], now: float) -> tuple[Mapping[str, Any], None]:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        state.change(fail)
    assert state.change(count_up) == 2


def test_the_time_is_in_seconds(store: Store) -> None:
    before = time.time()
    now = store.shared_state("run").change(lambda document, now: (document, now))
    assert before - 1 < now < time.time() + 1


def test_a_store_that_is_read_only_has_no_shared_documents(store: Store, tmp_path: Path) -> None:
    with open_store(tmp_path / "mine.db"):
        pass
    with open_store(tmp_path / "mine.db", access="read") as read_only, pytest.raises(StoreError, match="read-only"):
        read_only.shared_state("run")
