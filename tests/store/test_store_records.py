"""Corrections of labels and people's judgments in the store: written once, read in order."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from store_samples import EFFORT, correction, judgment, provenance, rubric, tamper

from rubriclab.errors import NotInStore, StoreError
from rubriclab.store import Store, open_store


@pytest.fixture
def filled(store: Store) -> Store:
    """A store with `news@1` and `other@1`."""
    for name in ("news", "other"):
        store.save(name, rubric(), provenance(), EFFORT)
    return store


# How each kind of record is made, stored and read.
Kind = tuple[Callable[..., Any], Callable[[Store, Any], Any], Callable[[Store], list[Any]]]
CORRECTION: Kind = (correction, Store.correct, lambda store: list(store.corrections("news")))
JUDGMENT: Kind = (judgment, Store.add_judgment, lambda store: [each for _, each in store.judgments("sha256:q")])
KINDS = pytest.mark.parametrize(
    ("kind", "other"), [(CORRECTION, {"new": 5}), (JUDGMENT, {"value": 4})], ids=["correction", "judgment"]
)


def test_corrections_are_read_as_written_the_oldest_first_and_by_rubric(filled: Store, where: str) -> None:
    late, early, other = correction("a", 9), correction("z", 1), correction("b", rubric="other")
    for each in (late, early, other):
        assert filled.correct(each) == each
    with open_store(where) as again:
        assert again.corrections("news") == (early, late)
        assert again.corrections("other") == (other,)
        assert again.verify() == ()


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


@KINDS
def test_a_record_sent_again_is_stored_once_with_its_first_time(filled: Store, kind: Kind, other: Any) -> None:
    make, add, read = kind
    first = make("same")
    add(filled, first)
    assert add(filled, make("same", created=first.created.replace(year=2027))) == first
    with pytest.raises(StoreError, match=r"Another \w+ has the id 'same'\. Give it an id of its own"):
        add(filled, make("same", **other))
    assert read(filled) == [first]


@KINDS
def test_records_sent_at_once_are_all_kept_and_none_twice(filled: Store, where: str, kind: Kind, other: Any) -> None:
    make, add, read = kind

    def send(number: int) -> None:
        with open_store(where) as own:
            add(own, make("same", created=created))
            add(own, make(f"own.{number}"))

    created = make("same").created
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(send, range(4)))
    assert sorted(each.id for each in read(filled)) == ["own.0", "own.1", "own.2", "own.3", "same"]


def test_a_correction_of_a_version_that_does_not_exist_is_refused(filled: Store) -> None:
    for missing in ({"rubric": "nothing"}, {"version": 2}):
        with pytest.raises(NotInStore):
            filled.correct(correction("a", **missing))


@KINDS
def test_a_record_changed_by_other_means_is_found_and_not_used(tmp_path: Path, kind: Kind, other: Any) -> None:
    make, add, read = kind
    file = tmp_path / "store.db"
    with open_store(file) as store:
        store.save("news", rubric(), provenance(), EFFORT)
        add(store, make("a"))
    table = "corrections" if kind is CORRECTION else "human_judgments"
    tamper(file, f"UPDATE {table} SET content = replace(content, 'anna', 'ben')")
    with open_store(file) as store:
        with pytest.raises(StoreError, match=r"The \w+ a does not match its digest"):
            read(store)
        assert [problem.where.split()[-1] for problem in store.verify()] == ["a"]
