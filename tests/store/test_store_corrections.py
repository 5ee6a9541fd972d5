"""Corrections of labels in the store: written once, read in order, never changed."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.exc import DatabaseError
from store_samples import EFFORT, provenance, rubric, tamper

from rubriclab.corrections import Correction
from rubriclab.errors import NotInStore, StoreError
from rubriclab.store import Store, open_store
from rubriclab.store.engine import address

START = datetime(2026, 1, 1, tzinfo=UTC)


def correction(name: str, second: int = 0, **fields: Any) -> Correction:
    own: dict[str, Any] = {
        "id": name,
        "rubric": "news",
        "version": 1,
        "text": "a",
        "aspect": "coherence",
        "kind": "correct",
        "old": 3,
        "new": 4,
        "by": "anna",
        "because": "misread — “twice”",
        "created": START + timedelta(seconds=second),
    }
    return Correction(**(own | fields))


@pytest.fixture
def filled(store: Store) -> Store:
    """A store with `news@1` and `other@1`."""
    for name in ("news", "other"):
        store.save(name, rubric(), provenance(), EFFORT)
    return store


def test_corrections_are_read_as_written_the_oldest_first_and_by_rubric(filled: Store, where: str) -> None:
    late, early, other = correction("a", 9), correction("z", 1), correction("b", rubric="other")
    for each in (late, early, other):
        assert filled.correct(each) == each
    with open_store(where) as again:
        assert again.corrections("news") == (early, late)
        assert again.corrections("other") == (other,)
        assert again.verify() == ()


def test_a_correction_that_is_sent_again_is_stored_once_with_its_first_time(filled: Store) -> None:
    first = correction("a.0")
    filled.correct(first)
    assert filled.correct(correction("a.0", 60)) == first
    assert filled.corrections("news") == (first,)


def test_another_correction_with_the_same_id_is_refused_and_the_first_is_kept(filled: Store) -> None:
    first = filled.correct(correction("a.0"))
    with pytest.raises(StoreError, match=r"Another correction has the id 'a\.0'\. Give it an id of its own"):
        filled.correct(correction("a.0", new=5))
    assert filled.corrections("news") == (first,)


def test_a_correction_of_a_version_that_does_not_exist_is_refused(filled: Store) -> None:
    for missing in ({"rubric": "nothing"}, {"version": 2}):
        with pytest.raises(NotInStore):
            filled.correct(correction("a", **missing))


def test_corrections_sent_at_once_are_all_kept_and_the_same_one_once(filled: Store, where: str) -> None:
    def send(number: int) -> None:
        with open_store(where) as own:
            own.correct(correction("same"))
            own.correct(correction(f"own.{number}", number))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(send, range(4)))
    assert sorted(each.id for each in filled.corrections("news")) == ["own.0", "own.1", "own.2", "own.3", "same"]


def test_the_database_itself_refuses_to_change_or_remove_a_correction(filled: Store, where: str) -> None:
    filled.correct(correction("a"))
    engine = create_engine(address(where))
    for statement in ("UPDATE corrections SET content = '{}'", "DELETE FROM corrections"):
        with engine.connect() as connection, pytest.raises(DatabaseError):
            connection.execute(text(statement))
    engine.dispose()
    assert len(filled.corrections("news")) == 1


def test_a_correction_changed_by_other_means_is_found_and_not_used(tmp_path: Any) -> None:
    file = tmp_path / "store.db"
    with open_store(file) as store:
        store.save("news", rubric(), provenance(), EFFORT)
        store.correct(correction("a"))
    tamper(file, "UPDATE corrections SET content = replace(content, '4', '5')")
    with open_store(file) as store:
        with pytest.raises(StoreError, match="correction a does not match its digest"):
            store.corrections("news")
        assert ["correction a" in str(problem) for problem in store.verify()] == [True]
