"""People's judgments in the store: written once, read in order."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from store_samples import judgment, tamper

from rubriclab.errors import StoreError
from rubriclab.models.judgment import HumanJudgment
from rubriclab.store.store import Store, open_store


def kept(store: Store) -> list[HumanJudgment]:
    return [each for _, each in store.judgments("sha256:q")]


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


def test_a_judgment_sent_again_is_stored_once_with_its_first_time(store: Store) -> None:
    first = judgment("same")
    store.add_judgment(first)
    assert store.add_judgment(judgment("same", created=first.created.replace(year=2027))) == first
    with pytest.raises(StoreError, match=r"Another judgment has the id 'same'\. Give it an id of its own"):
        store.add_judgment(judgment("same", value=4))
    assert kept(store) == [first]


def test_judgments_sent_at_once_are_all_kept_and_none_twice(store: Store, where: str) -> None:
    def send(number: int) -> None:
        with open_store(where) as own:
            own.add_judgment(judgment("same", created=created))
            own.add_judgment(judgment(f"own.{number}"))

    created = judgment("same").created
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(send, range(4)))
    assert sorted(each.id for each in kept(store)) == ["own.0", "own.1", "own.2", "own.3", "same"]


def test_a_judgment_changed_by_other_means_is_found_and_not_used(tmp_path: Path) -> None:
    file = tmp_path / "store.db"
    with open_store(file) as store:
        store.add_judgment(judgment("a"))
    tamper(file, "UPDATE human_judgments SET content = replace(content, 'anna', 'ben')")
    with open_store(file) as store:
        with pytest.raises(StoreError, match=r"The judgment a does not match its digest"):
            kept(store)
        assert [problem.where.split()[-1] for problem in store.verify()] == ["a"]
