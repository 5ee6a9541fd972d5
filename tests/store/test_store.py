"""Saving, loading, lineage and tags, on both databases."""

from __future__ import annotations

import zlib
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.exc import DatabaseError
from store_samples import EFFORT, criterion, judgment, numbered, provenance, rubric

from rubriclab.errors import NotInStore, StoreError
from rubriclab.models.rubric import Criterion, Rubric
from rubriclab.models.text import Aspect
from rubriclab.models.version import (
    Candidate,
    Cell,
    RecordedText,
    TrainingRecord,
    Version,
)
from rubriclab.store.store import Store, open_store
from rubriclab.store.tables import address


def save(store: Store, number: int, name: str = "news", parent: str | None = None) -> Version:
    return store.save(name, numbered(number), provenance(), EFFORT, parent)


def test_what_is_saved_is_loaded(store: Store) -> None:
    saved = store.save("news", rubric(), provenance(), EFFORT)
    loaded = store.load("news")
    assert saved.new
    assert not loaded.new
    assert (loaded.rubric, loaded.provenance, loaded.effort) == (rubric(), provenance(), EFFORT)
    assert (loaded.name, loaded.number, loaded.ref, loaded.parent) == ("news", 1, "news@1", None)
    assert loaded.digest == rubric().digest
    assert loaded.provenance_digest == provenance().digest
    assert loaded.created == saved.created
    assert timedelta(0) <= datetime.now(UTC) - loaded.created < timedelta(minutes=5)


def test_a_store_opened_again_holds_the_same(where: str) -> None:
    with open_store(where) as store:
        first = save(store, 1)
        store.tag("news", "production")
    with open_store(where) as store:
        assert store.load("news@1").digest == first.digest
        assert store.load("news@production").ref == "news@1"


def test_unchanged_rubric_gets_no_new_version(store: Store) -> None:
    first = save(store, 1)
    again = store.save("news", numbered(1), provenance(seed=2), EFFORT)
    assert not again.new
    assert again.ref == first.ref
    assert again.provenance == first.provenance
    assert len(store.log("news")) == 1


def test_a_rubric_that_returns_is_a_new_version(store: Store) -> None:
    first, _, third = save(store, 1), save(store, 2), save(store, 1)
    assert third.new
    assert third.ref == "news@3"
    assert third.digest == first.digest


def test_the_parent_is_the_newest_of_the_name_unless_another_is_given(store: Store) -> None:
    save(store, 1)
    assert save(store, 2).parent == "news@1"
    store.tag("news@1", "good")
    assert save(store, 3, parent="news@good").parent == "news@1"
    assert save(store, 3, name="other", parent="news").parent == "news@3"
    assert [version.parent for version in store.log("news")] == ["news@1", "news@1", None]


def test_a_parent_has_to_exist(store: Store) -> None:
    save(store, 1)
    with pytest.raises(NotInStore, match="news has no version 7; it has version 1 only"):
        save(store, 2, parent="news@7")
    assert [version.number for version in store.log("news")] == [1]


def test_an_empty_store_has_no_names_and_says_so(store: Store) -> None:
    assert store.names() == ()
    with pytest.raises(NotInStore, match="holds no rubric 'news'; it has no rubric at all"):
        store.load("news")


def test_what_is_missing_is_said_with_what_is_there(store: Store) -> None:
    save(store, 1, "news-coherence")
    save(store, 2, "news-coherence")
    store.tag("news-coherence", "production")
    with pytest.raises(NotInStore, match=r"it has news-coherence\. Did you mean 'news-coherence'\?"):
        store.load("news-coherance")
    with pytest.raises(NotInStore, match=r"it has news-coherence\.$"):
        store.load("zebra")
    with pytest.raises(NotInStore, match="has no version 3; it has versions 1 to 2"):
        store.load("news-coherence@3")
    with pytest.raises(NotInStore, match="has no tag 'prod'; it has production"):
        store.load("news-coherence@prod")
    with pytest.raises(NotInStore, match="holds no rubric 'news'"):
        store.log("news")


def test_tags_move_and_versions_stay(store: Store) -> None:
    first, second = save(store, 1), save(store, 2)
    assert store.tag("news@1", "production").tags == ("production",)
    assert store.load("news@production").number == 1
    assert store.tag("news@2", "production").number == 2
    store.tag("news@production", "best")
    assert store.load("news@2").tags == ("best", "production")
    assert store.load("news@1") == Version(**{**vars(first), "new": False})
    assert store.load("news@2").digest == second.digest


def test_a_tag_belongs_to_its_name(store: Store) -> None:
    save(store, 1), save(store, 1, "other")
    store.tag("other", "production")
    with pytest.raises(NotInStore):
        store.load("news@production")
    assert store.load("news").tags == ()


def test_a_removed_tag_is_gone(store: Store) -> None:
    save(store, 1)
    store.tag("news", "production")
    store.untag("news", "production")
    assert store.load("news").tags == ()
    with pytest.raises(NotInStore, match="no tag at all"):
        store.untag("news", "production")


def test_what_cannot_be_a_name_or_tag_is_refused_at_the_door(store: Store) -> None:
    with pytest.raises(StoreError, match="'News' cannot be the name of a rubric"):
        save(store, 1, "News")
    assert store.names() == ()
    save(store, 1)
    with pytest.raises(StoreError, match="'3' cannot be a tag"):
        store.tag("news", "3")
    with pytest.raises(StoreError, match="'news@' does not refer to a rubric"):
        store.load("news@")
    with pytest.raises(StoreError, match="'news@1' cannot be the name"):
        store.log("news@1")


def test_any_script_survives_storing(store: Store) -> None:
    definition = "Zusammenhänge — 連貫性 🧵 \u202e \x00 \u2028 ̈ 'quoted' \"twice\" \\ %s :x"
    told = rubric(criterion(definition), aspect=Aspect(name="連貫", definition=definition))
    store.save("unicode", told, provenance(examples=("ü", "\x00", "🧵")), EFFORT)
    loaded = store.load("unicode")
    assert loaded.rubric == told
    assert loaded.digest == told.digest
    assert loaded.provenance.examples == ("ü", "\x00", "🧵")
    assert store.verify() == ()


def test_what_could_not_be_read_back_is_not_stored(sqlite_store: Store) -> None:
    unchecked = Rubric.model_construct(**{**dict(rubric()), "parts": ()})
    with pytest.raises(StoreError, match=r"This Rubric.* parts"):
        sqlite_store.save("news", unchecked, provenance(), EFFORT)
    infinite = Criterion.model_construct(**{**dict(criterion()), "weight": float("nan")})
    with pytest.raises(StoreError, match=r"This Rubric.*weight"):
        sqlite_store.save("news", rubric(infinite), provenance(), EFFORT)
    assert sqlite_store.names() == ()


CHANGES = {
    "both": [
        "UPDATE versions SET effort = '{}'",
        "DELETE FROM versions",
        "UPDATE rubrics SET content = '{}'",
        "DELETE FROM rubrics",
        "UPDATE human_judgments SET content = ''",
        "DELETE FROM human_judgments",
    ],
    "sqlite": [
        "INSERT OR REPLACE INTO rubrics SELECT digest, '{}' FROM rubrics",
        "INSERT OR REPLACE INTO versions SELECT * FROM versions",
    ],
    "postgresql": ["TRUNCATE versions, trainings, confirmations, tags, rubrics"],
}


def test_the_database_itself_refuses_to_change_what_is_stored(store: Store, where: str) -> None:
    saved = save(store, 1)
    store.add_judgment(judgment("a"))
    engine = create_engine(address(where))
    for statement in CHANGES["both"] + CHANGES[engine.dialect.name]:
        with pytest.raises(DatabaseError, match="never change"), engine.begin() as connection:
            connection.execute(text(statement))
    engine.dispose()
    assert store.load("news").digest == saved.digest
    assert store.verify() == ()


def test_a_version_with_another_content_is_not_loaded(sqlite_store: Store) -> None:
    save(sqlite_store, 1)
    engine = create_engine(address(sqlite_store.place))
    with engine.begin() as connection:
        connection.execute(text("DROP TRIGGER rubrics_no_update"))
        connection.execute(text("UPDATE rubrics SET content = replace(content, 'better', 'worse')"))
    engine.dispose()
    with pytest.raises(StoreError, match="The rubric of news@1 does not match its digest"):
        sqlite_store.load("news")


def record_of(text: str) -> TrainingRecord:
    candidate = Candidate(method="hypoeval", criterion=criterion(), kept=True)
    recorded = RecordedText(id="t1", group="g1", output=text, label=4.0, raters={"anna": 5.0})
    return TrainingRecord(texts=(recorded,), candidates=(candidate,), cells=((Cell(score=3.0, reason="because"),),))


def test_the_training_record_of_a_version_is_kept_beside_it_and_a_later_one_does_not_replace_it(store: Store) -> None:
    first = store.save("news", numbered(1), provenance(), EFFORT, training=record_of("a text"))
    assert store.training("news@1") == record_of("a text")
    again = store.save("news", numbered(1), provenance(), EFFORT, training=record_of("another"))
    assert (again.ref, store.training("news")) == (first.ref, record_of("a text"))
    assert save(store, 2).ref == "news@2"
    assert store.training("news@2") is None
    with pytest.raises(NotInStore):
        store.training("news@3")


def test_training_texts_can_be_deleted_from_the_database_and_the_versions_stay(store: Store, where: str) -> None:
    store.save("news", numbered(1), provenance(), EFFORT, training=record_of("a text"))
    engine = create_engine(address(where))
    with engine.begin() as connection:
        connection.execute(text("DELETE FROM trainings"))
    engine.dispose()
    assert store.training("news") is None
    assert store.load("news").rubric == numbered(1)
    assert store.verify() == ()


@pytest.mark.parametrize("damage", [b"no zlib", zlib.compress(b"{}"), zlib.compress(b"\xff")])
def test_a_training_record_that_was_changed_is_found(store: Store, where: str, damage: bytes) -> None:
    store.save("news", numbered(1), provenance(), EFFORT, training=record_of("a text"))
    engine = create_engine(address(where))
    with engine.begin() as connection:
        connection.execute(text("UPDATE trainings SET packed = :damage"), {"damage": damage})
    engine.dispose()
    with pytest.raises(StoreError, match="training record of news@1"):
        store.training("news")
    assert {problem.where for problem in store.verify()} == {"training record of news@1"}
