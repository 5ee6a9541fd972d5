"""Where a version was made: what is imported never passes for what was learned here, and the user decides on it."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from store_samples import EFFORT, numbered, provenance, tamper

from rubriclab.errors import NotInStore
from rubriclab.models.version import Provenance, Version
from rubriclab.ops.workspace import JudgeChoice, Notify, generator_of
from rubriclab.store import import_pack, read_pack, write_pack
from rubriclab.store.store import Store, open_store

MINE = provenance(judge="openai/judge", generator="openai/judge", judge_address="http://mine/v1")
THEIRS = MINE.model_copy(update={"judge_address": "http://theirs/v1"})


def bring(store: Store, by: Provenance, number: int = 1) -> Version:
    """Import a pack of a rubric with a provenance."""
    with open_store("sqlite://") as elsewhere:
        pack = write_pack(elsewhere.save("news", numbered(number), by, EFFORT))
    return import_pack(store, read_pack(pack, "pack.json"))


def test_a_version_knows_whether_it_was_imported(store: Store) -> None:
    learned = store.save("news", numbered(1), MINE, EFFORT)
    imported = bring(store, THEIRS, number=2)
    assert [(each.imported, each.trusted) for each in (learned, imported)] == [(False, True), (True, False)]
    assert [each.imported for each in store.log("news")] == [True, False]
    assert [each.ref for each in store.imported()] == ["news@2"]
    assert (learned.imported_from, imported.imported_from) == (None, "news@1")
    assert store.verify() == ()


def test_an_imported_version_keeps_the_date_on_which_it_was_created(store: Store) -> None:
    with open_store("sqlite://") as elsewhere:
        pack = read_pack(write_pack(elsewhere.save("news", numbered(1), THEIRS, EFFORT)), "pack.json")
    created = datetime(2024, 2, 29, 12, 30, tzinfo=timezone(timedelta(hours=2)))
    imported = import_pack(store, pack.model_copy(update={"created": created, "name": "theirs", "number": 7}), "ours")
    assert store.load(imported.ref).created == created
    assert store.load(imported.ref).imported_from == "theirs@7"
    assert store.verify() == ()


def test_a_pack_with_another_address_neither_replaces_nor_inherits_what_was_learned_here(store: Store) -> None:
    store.save("news", numbered(1), MINE, EFFORT)
    imported = bring(store, THEIRS)
    assert (imported.ref, imported.new, imported.trusted) == ("news@2", True, False)
    assert store.load("news@1").provenance.judge_address == "http://mine/v1"
    assert store.load("news@1").trusted


def test_a_pack_of_the_newest_version_itself_changes_nothing(store: Store) -> None:
    store.save("news", numbered(1), MINE, EFFORT)
    same = bring(store, MINE)
    assert (same.ref, same.new, same.imported) == ("news@1", False, False)


def test_a_confirmed_pack_lends_nothing_to_the_same_rubric_with_another_address(store: Store) -> None:
    assert store.confirm(bring(store, MINE).ref).trusted
    assert bring(store, MINE).ref == "news@1"
    other = bring(store, THEIRS)
    assert (other.ref, other.trusted) == ("news@2", False)


def test_what_is_learned_here_is_learned_here_though_an_imported_version_holds_the_same(store: Store) -> None:
    bring(store, THEIRS)
    learned = store.save("news", numbered(1), MINE, EFFORT)
    assert (learned.ref, learned.new, learned.trusted) == ("news@2", True, True)
    assert learned.provenance.judge_address == "http://mine/v1"


def test_a_confirmation_lasts_until_it_is_revoked(store: Store, where: str) -> None:
    ref = bring(store, THEIRS).ref
    assert store.confirm(ref).confirmed
    assert store.confirm(ref).confirmed
    with open_store(where) as again:
        assert again.load("news").trusted
        assert not again.revoke(ref).trusted
        assert not again.revoke(ref).trusted
    assert not store.load(ref).trusted
    assert store.verify() == ()


def test_what_was_learned_here_needs_no_confirmation_and_what_is_not_there_gets_none(store: Store) -> None:
    learned = store.save("news", numbered(1), MINE, EFFORT)
    confirmed = store.confirm(learned.ref)
    assert (confirmed.imported, confirmed.confirmed) == (False, False)
    with pytest.raises(NotInStore):
        store.confirm("other")


@pytest.mark.parametrize(
    ("statement", "where", "what"),
    [
        ("UPDATE versions SET origin = 'learned'", "news@1", "its record (name, number, digests, effort, time, parent"),
        (
            "UPDATE confirmations SET record_digest = 'sha256:0'",
            "confirmation of news@1",
            "the record that was confirm",
        ),
        ("UPDATE confirmations SET number = 7", "confirmation of news@7", "there is no such version"),
    ],
)
def test_verify_names_a_changed_origin_and_a_changed_confirmation(
    tmp_path: Path, statement: str, where: str, what: str
) -> None:
    file = tmp_path / "store.db"
    with open_store(file) as store:
        store.confirm(bring(store, THEIRS).ref)
        assert store.verify() == ()
    tamper(file, statement)
    with open_store(file) as store:
        (problem,) = store.verify()
    assert problem.where == where
    assert problem.what.startswith(what)


def test_a_confirmation_of_another_record_is_none(tmp_path: Path) -> None:
    file = tmp_path / "store.db"
    with open_store(file) as store:
        store.confirm(bring(store, THEIRS).ref)
    tamper(file, "UPDATE confirmations SET record_digest = 'sha256:0'")
    with open_store(file) as store:
        assert not store.load("news").trusted


def test_a_generator_that_came_with_a_pack_is_not_asked_by_what_was_made_from_it(store: Store) -> None:
    notes: list[str] = []
    notify: Notify = notes.append
    own = {"generator": "openai/proposer", "generator_address": "http://theirs/v1"}
    imported = bring(store, THEIRS.model_copy(update=own))
    made = MINE.model_copy(update={**own, "generator_from": imported.ref})
    carried = store.save("news", numbered(2), made, EFFORT, parent=imported.ref)
    assert carried.trusted
    assert generator_of(imported, store, notify) is None
    assert generator_of(carried, store, notify) is None
    told = '"openai/proposer" at "http://theirs/v1", as news@1 was imported and is not confirmed'
    assert all(told in note for note in notes)
    assert len(notes) == 2
    store.confirm(imported.ref)
    confirmed = generator_of(carried, store, notify)
    assert confirmed == JudgeChoice("openai/proposer", "http://theirs/v1", imported.ref, is_apart=True)
    store.revoke(imported.ref)
    mine = MINE.model_copy(update={"generator": "openai/other"})
    relearned = store.save("news", numbered(3), mine, EFFORT, parent=imported.ref)
    assert generator_of(relearned, store, notify) == JudgeChoice("openai/other", None)


def test_what_is_learned_with_a_judge_that_the_user_named_does_not_pass_for_one_with_the_pack_s(store: Store) -> None:
    imported = bring(store, THEIRS)
    made = THEIRS.model_copy(update={"judge_from": imported.ref})
    store.save("ours", numbered(2), made, EFFORT)
    assert store.save("ours", numbered(2), made.model_copy(update={"model_versions": ("x",)}), EFFORT).ref == "ours@1"
    learned = store.save("ours", numbered(2), MINE, EFFORT)
    assert (learned.ref, learned.provenance.judge_from) == ("ours@2", None)
    assert store.save("ours", numbered(2), made, EFFORT).ref == "ours@2"
