"""Saving, loading, lineage and tags, on both databases."""

from __future__ import annotations

import shutil
import signal
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from commands import forking
from sqlalchemy.exc import DatabaseError
from store_samples import (
    EFFORT,
    answer_and_save,
    criterion,
    die_after,
    evaluation,
    execute,
    judgment,
    numbered,
    provenance,
    rubric,
    save_many,
    tamper,
)

from rubriclab.errors import NotInStore, StoreError
from rubriclab.models.judgment import HumanJudgment
from rubriclab.models.rubric import Criterion, Rubric
from rubriclab.models.text import Aspect
from rubriclab.models.version import (
    Candidate,
    Cell,
    Provenance,
    RecordedText,
    Ref,
    TrainingRecord,
    Version,
    check_name,
    check_tag,
    parse_ref,
)
from rubriclab.ops.workspace import JudgeChoice, Notify, choose_generator
from rubriclab.store.packs import format_pack, read_pack
from rubriclab.store.store import Store, open_store
from rubriclab.store.tables import answer_digest, database_url, is_sqlite


def save(store: Store, number: int, name: str = "news", parent: str | None = None) -> Version:
    return store.save(name, numbered(number), provenance(), EFFORT, parent)


def test_what_is_saved_is_loaded_also_from_a_store_opened_again(store: Store, where: str) -> None:
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
    with open_store(where) as again:
        assert again.load("news@1") == loaded


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


def test_what_is_missing_is_said_with_what_is_there(sqlite_store: Store) -> None:
    assert sqlite_store.names() == ()
    with pytest.raises(NotInStore, match="holds no rubric 'news'; it has no rubric at all"):
        sqlite_store.load("news")
    save(sqlite_store, 1, "news-coherence")
    save(sqlite_store, 2, "news-coherence")
    sqlite_store.tag("news-coherence", "production")
    with pytest.raises(NotInStore, match=r"it has news-coherence\. Did you mean 'news-coherence'\?"):
        sqlite_store.load("news-coherance")
    with pytest.raises(NotInStore, match=r"it has news-coherence\.$"):
        sqlite_store.load("zebra")
    with pytest.raises(NotInStore, match="has no version 3; the newest is news-coherence@2"):
        sqlite_store.load("news-coherence@3")
    with pytest.raises(NotInStore, match="has no tag 'prod'; it has production"):
        sqlite_store.load("news-coherence@prod")
    with pytest.raises(NotInStore, match="holds no rubric 'news'"):
        sqlite_store.log("news")


def test_tags_move_and_can_be_removed_and_versions_stay(store: Store) -> None:
    first, second = save(store, 1), save(store, 2)
    assert store.tag("news@1", "production").tags == ("production",)
    assert store.load("news@production").number == 1
    assert store.tag("news@2", "production").number == 2
    store.tag("news@production", "best")
    assert store.load("news@2").tags == ("best", "production")
    assert store.load("news@1") == Version(**{**vars(first), "new": False})
    assert store.load("news@2").digest == second.digest
    store.untag("news", "production")
    assert store.load("news@2").tags == ("best",)
    with pytest.raises(NotInStore, match="no tag 'production'; it has best"):
        store.untag("news", "production")


def test_what_cannot_be_a_name_or_tag_is_refused_at_the_door(sqlite_store: Store) -> None:
    with pytest.raises(StoreError, match="'News' cannot be the name of a rubric"):
        save(sqlite_store, 1, "News")
    assert sqlite_store.names() == ()
    save(sqlite_store, 1)
    with pytest.raises(StoreError, match="'3' cannot be a tag"):
        sqlite_store.tag("news", "3")
    with pytest.raises(StoreError, match="'news@' does not refer to a rubric"):
        sqlite_store.load("news@")
    with pytest.raises(StoreError, match="'news@1' cannot be the name"):
        sqlite_store.log("news@1")


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


def test_the_latest_evaluation_stays_with_its_version_alone(store: Store, where: str) -> None:
    first, second = save(store, 1), save(store, 2)
    for found in (evaluation(), evaluation(n=80)):
        store.add_evaluation(first, found)
        assert store.load("news@1").evaluation == found
    with open_store(where) as again:
        assert [each.evaluation and each.evaluation.n for each in again.log("news")] == [None, 80]
    for unknown in (replace(second, number=3), replace(second, digest=first.digest)):
        with pytest.raises(NotInStore):
            store.add_evaluation(unknown, evaluation())
    assert store.load("news").evaluation is None
    assert store.verify() == ()


def test_an_evaluation_that_was_changed_is_found_does_not_keep_the_version_from_use_and_is_replaced(
    store: Store, where: str
) -> None:
    saved = save(store, 1)
    store.add_evaluation(saved, evaluation())
    execute(where, "UPDATE evaluations SET content = replace(content, 'worse', 'better')")
    assert [str(problem) for problem in store.verify()] == [
        "evaluation of news@1: The evaluation of news@1 does not match its digest."
    ]
    assert store.load("news") == replace(saved, new=False)
    store.add_evaluation(saved, evaluation())
    assert store.verify() == ()


CHANGES = {
    "both": [
        *("UPDATE versions SET effort = '{}'", "DELETE FROM versions", "UPDATE rubrics SET content = '{}'"),
        *("DELETE FROM rubrics", "UPDATE human_judgments SET content = ''", "DELETE FROM human_judgments"),
    ],
    "sqlite": [
        "INSERT OR REPLACE INTO rubrics SELECT digest, '{}' FROM rubrics",
        "INSERT OR REPLACE INTO versions SELECT * FROM versions",
    ],
    "postgresql": ["TRUNCATE versions, trainings, evaluations, confirmations, tags, rubrics"],
}


def test_the_database_itself_refuses_to_change_what_is_stored(store: Store, where: str) -> None:
    saved = save(store, 1)
    store.add_judgment(judgment("a"))
    for statement in CHANGES["both"] + CHANGES["sqlite" if is_sqlite(database_url(where)) else "postgresql"]:
        with pytest.raises(DatabaseError, match="never change"):
            execute(where, statement)
    assert store.load("news").digest == saved.digest
    assert store.verify() == ()


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
    execute(where, "DELETE FROM trainings")
    assert store.training("news") is None
    assert store.load("news").rubric == numbered(1)
    assert store.verify() == ()


@pytest.mark.parametrize("damage", [b"no zlib", zlib.compress(b"{}"), zlib.compress(b"\xff")])
def test_a_training_record_that_was_changed_is_found(store: Store, where: str, damage: bytes) -> None:
    store.save("news", numbered(1), provenance(), EFFORT, training=record_of("a text"))
    execute(where, "UPDATE trainings SET packed = :damage", {"damage": damage})
    with pytest.raises(StoreError, match="training record of news@1"):
        store.training("news")
    assert {problem.where for problem in store.verify()} == {"training record of news@1"}


def kept(store: Store) -> list[HumanJudgment]:
    return [each for _, each in store.judgments("sha256:q")]


def test_judgments_are_kept_in_order_and_by_question(store: Store, where: str) -> None:
    given = [judgment("1"), judgment("2", value=5, reason="\u202eclear"), judgment("3", question="sha256:other")]
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
    with pytest.raises(StoreError, match=r"Another judgment has the id 'same'\. Give every judgment its own id"):
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


NUMBERS = ["3", "1.0", "007", "0", "1.0.0-rc1", "1.0b2", "2026-11-28", "1_000", "v1", "v2.0", "1."]
REFS = ["", "@", "news@", "@1", "news@1@2", "News", "news@ 1", "news@-1", "news@1\n"]
REFUSED: tuple[tuple[Callable[[str], object], str, list[str]], ...] = (
    (check_name, "the name of a rubric", ["", "News", "a b", "a@1", "-a", ".", "ä", "a/b", "a\n", "a" * 101, "٣"]),
    (check_tag, "cannot be a tag", ["", "Prod", "a b", "a@b", "prod\n"]),
    (check_tag, "cannot be a tag: it", [*NUMBERS, "latest", "newest", "current"]),
    (parse_ref, "not refer to a rubric", REFS),
)


@pytest.mark.parametrize(("check", "said", "text"), [(a, b, text) for a, b, texts in REFUSED for text in texts])
def test_names_tags_and_references_of_another_form_are_refused(
    check: Callable[[str], object], said: str, text: str
) -> None:
    with pytest.raises(StoreError, match=said):
        check(text)


def test_digits_after_the_sign_are_a_number_and_anything_else_a_tag() -> None:
    assert parse_ref("news@3") == Ref("news", number=3)
    assert parse_ref("news@3.1") == Ref("news", tag="3.1")
    assert parse_ref("news@production") == Ref("news", tag="production")


MINE = provenance(judge="openai/judge", generator="openai/judge", judge_address="http://mine/v1")
THEIRS = MINE.model_copy(update={"judge_address": "http://theirs/v1"})


def bring(store: Store, by: Provenance, number: int = 1, name: str = "news") -> Version:
    with open_store("sqlite://") as elsewhere:
        pack = format_pack(elsewhere.save("news", numbered(number), by, EFFORT))
    return store.import_pack(read_pack(pack, "pack.json"), name)


def test_a_version_knows_whether_it_was_imported(store: Store) -> None:
    learned = store.save("news", numbered(1), MINE, EFFORT)
    imported = bring(store, THEIRS, number=2)
    assert [(each.imported, each.trusted) for each in (learned, imported)] == [(False, True), (True, False)]
    assert [each.imported for each in store.log("news")] == [True, False]
    assert [each.ref for each in store.list_imported()] == ["news@2"]
    assert (learned.imported_from, imported.imported_from) == (None, "news@1")
    assert store.verify() == ()


def learn(store: Store, by: Provenance) -> Version:
    return store.save("news", numbered(1), by, EFFORT)


def bring_confirmed(store: Store, by: Provenance) -> Version:
    return store.confirm(bring(store, by).ref)


@pytest.mark.parametrize(
    ("first", "second", "outcome"),
    [
        ((learn, MINE), (bring, THEIRS), ("news@2", True, False)),
        ((learn, MINE), (bring, MINE), ("news@1", False, True)),
        ((bring_confirmed, MINE), (bring, MINE), ("news@1", False, True)),
        ((bring_confirmed, MINE), (bring, THEIRS), ("news@2", True, False)),
        ((bring, THEIRS), (learn, MINE), ("news@2", True, True)),
    ],
)
def test_the_same_rubric_neither_replaces_nor_inherits_from_one_of_another_origin_or_address(
    store: Store, first: tuple[Any, Provenance], second: tuple[Any, Provenance], outcome: tuple[str, bool, bool]
) -> None:
    for save_as, by in (first, second):
        version = save_as(store, by)
    assert (version.ref, version.new, version.trusted) == outcome
    assert version.provenance.judge_address == second[1].judge_address
    assert store.load("news@1").provenance.judge_address == first[1].judge_address


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


def test_a_generator_that_came_with_a_pack_is_not_asked_by_what_was_made_from_it(sqlite_store: Store) -> None:
    notes: list[str] = []
    notify: Notify = notes.append
    own = {"generator": "openai/proposer", "generator_address": "http://theirs/v1"}
    imported = bring(sqlite_store, THEIRS.model_copy(update=own))
    made = MINE.model_copy(update={**own, "generator_from": imported.ref})
    carried = sqlite_store.save("news", numbered(2), made, EFFORT, parent=imported.ref)
    assert carried.trusted
    assert choose_generator(imported, sqlite_store, notify) is None
    assert choose_generator(carried, sqlite_store, notify) is None
    told = '"openai/proposer" at "http://theirs/v1", as news@1 was imported and is not confirmed'
    assert all(told in note for note in notes)
    assert len(notes) == 2
    sqlite_store.confirm(imported.ref)
    confirmed = choose_generator(carried, sqlite_store, notify)
    assert confirmed == JudgeChoice("openai/proposer", "http://theirs/v1", imported.ref, overrides_api_base=True)
    sqlite_store.revoke(imported.ref)
    mine = MINE.model_copy(update={"generator": "openai/other"})
    relearned = sqlite_store.save("news", numbered(3), mine, EFFORT, parent=imported.ref)
    assert choose_generator(relearned, sqlite_store, notify) == JudgeChoice("openai/other", None)


def test_what_is_learned_with_a_judge_that_the_user_named_does_not_pass_for_one_with_the_pack_s(store: Store) -> None:
    imported = bring(store, THEIRS)
    made = THEIRS.model_copy(update={"judge_from": imported.ref})
    store.save("ours", numbered(2), made, EFFORT)
    assert store.save("ours", numbered(2), made.model_copy(update={"model_versions": ("x",)}), EFFORT).ref == "ours@1"
    learned = store.save("ours", numbered(2), MINE, EFFORT)
    assert (learned.ref, learned.provenance.judge_from) == ("ours@2", None)
    assert store.save("ours", numbered(2), made, EFFORT).ref == "ours@2"


RUBRIC = numbered(1).digest


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("original") / "store.db"
    with open_store(file) as store:
        for number in (1, 2, 3):
            store.save("news", numbered(number), provenance(), EFFORT)
        store.save("other", numbered(1), provenance(), EFFORT, parent="news@1")
        store.tag("news@2", "production")
        store.answers.put("sha256:asked", {"text": "4"})
        store.confirm(bring(store, THEIRS, number=4, name="brought").ref)
    return file


@pytest.fixture
def file(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(original, tmp_path))


RECORD = "its record (name, number, digests, effort, time, parent, origin) has the digest"
ANSWER, CHANGED = "answer sha256:asked", "does not match its digest"
CONTENT, CONFIRMATION = "its content has the digest sha256:", "confirmation of brought@1"
PROVENANCE = "its provenance has the digest"


def rubrics(change: str) -> str:
    return f"UPDATE rubrics SET content = {change} WHERE digest = '{RUBRIC}'"


def version(number: int, change: str) -> str:
    return f"UPDATE versions SET {change} WHERE number = {number}"


@pytest.mark.parametrize(
    ("statement", "problems"),
    [
        (rubrics("replace(content, 'by 1', 'by 9')"), [(f"rubric {RUBRIC}", CONTENT)]),
        (rubrics("content || ' '"), [(f"rubric {RUBRIC}", CONTENT)]),
        (version(2, "provenance_digest = x'ff' || 'a'"), [("news@2", PROVENANCE), ("news@2", RECORD)]),
        (
            rubrics("'nothing'"),
            [(f"rubric {RUBRIC}", CONTENT), (f"rubric {RUBRIC}", "its content is no Rubric: expected JSON")],
        ),
        (
            f"DELETE FROM rubrics WHERE digest = '{RUBRIC}'",
            [(ref, f"its rubric {RUBRIC} is missing") for ref in ("news@1", "other@1")],
        ),
        (version(2, "provenance = replace(provenance, 'embedded', 'gpt-4o')"), [("news@2", PROVENANCE)]),
        (version(2, "provenance_digest = 'sha256:0'"), [("news@2", PROVENANCE), ("news@2", RECORD)]),
        (version(3, f"rubric_digest = '{RUBRIC}'"), [("news@3", RECORD)]),
        (version(2, "effort = replace(effort, '12', '11')"), [("news@2", RECORD)]),
        (version(2, 'effort = \'{"asked":"x"}\''), [("news@2", "its effort is no Effort: asked"), ("news@2", RECORD)]),
        (version(2, "created = '2001-01-01T00:00:00+00:00'"), [("news@2", RECORD)]),
        (version(3, "parent_number = 1"), [("news@3", RECORD)]),
        (version(3, "parent_name = NULL, parent_number = NULL"), [("news@3", RECORD)]),
        ("UPDATE versions SET parent_number=9 WHERE name='other'", [("other@1", "its parent news@9 does not exist")]),
        ("UPDATE versions SET name = 'others' WHERE name = 'other'", [("others@1", RECORD)]),
        (version(2, "record_digest = 'sha256:0'"), [("news@2", RECORD), ("news@3", RECORD)]),
        (
            "DELETE FROM versions WHERE number = 2",
            [
                ("news@2", "this version is missing"),
                ("news@3", "its parent news@2 does not exist"),
                ("news@production", "points to version 2, which does not exist"),
            ],
        ),
        ("UPDATE tags SET number = 7", [("news@production", "the tag points to version 7, which does not exist")]),
        ("UPDATE versions SET origin = 'learned' WHERE name = 'brought'", [("brought@1", RECORD)]),
        ("UPDATE confirmations SET record_digest = 'sha256:0'", [(CONFIRMATION, "the record that was confirmed")]),
        ("UPDATE confirmations SET number = 7", [("confirmation of brought@7", "there is no such version")]),
        ("UPDATE answers SET reply = '{\"text\"'", [(ANSWER, CHANGED)]),
        ('UPDATE answers SET reply = \'{"text":"5"}\'', [(ANSWER, CHANGED)]),
        ("UPDATE answers SET reply = reply || x'ff'", [(ANSWER, CHANGED)]),
        ("UPDATE answers SET digest = 'sha256:another'", [("answer sha256:another", CHANGED)]),
        (
            f"UPDATE answers SET reply = '4', reply_digest = '{answer_digest('sha256:asked', '4')}'",
            [(ANSWER, "is not a JSON object")],
        ),
    ],
)
def test_tampering_is_found_and_named(file: Path, statement: str, problems: list[tuple[str, str]]) -> None:
    tamper(file, statement)
    with open_store(file) as store:
        found = store.verify()
        assert "confirmations" not in statement or not store.load("brought").trusted
    assert [problem.where for problem in found] == [where for where, _ in problems]
    for problem, (where, what) in zip(found, problems, strict=True):
        assert what in problem.what
        assert str(problem) == f"{where}: {problem.what}"


def test_one_row_that_is_not_utf_8_leaves_the_others_readable(file: Path) -> None:
    tamper(file, version(2, "provenance = replace(provenance, 'embedded', x'ff')"))
    damaged: list[StoreError] = []
    with open_store(file, access="read") as store:
        assert [each.ref for each in store.log("news", damaged.append)] == ["news@3", "news@1"]
    assert [error.message for error in damaged] == ["The provenance of news@2 does not match its digest."]


def test_repair_removes_the_damaged_answers_and_nothing_else(file: Path) -> None:
    with open_store(file) as store:
        for key in ("sha256:sound", "sha256:renamed"):
            store.answers.put(key, {"text": "5"})
    tamper(file, "UPDATE answers SET digest = x'ff' || 'a' WHERE digest = 'sha256:renamed'")
    tamper(file, "UPDATE answers SET reply = '{\"text\":\"5\"}' WHERE digest = 'sha256:asked'")
    tamper(file, "UPDATE tags SET number = 7")
    with open_store(file) as store:
        assert store.repair() == ("sha256:asked", "\\xffa")
        assert [problem.where for problem in store.verify()] == ["news@production"]
        assert store.answers.get("sha256:asked") is None
        assert store.answers.get("sha256:sound") == {"text": "5"}
        assert store.repair() == ()


PROCESSES = 3


def run(target: Callable[..., None], *arguments: tuple[Any, ...]) -> list[int | None]:
    """Run `target` in one process for each tuple of arguments, all at once; return the exit codes."""
    processes = [forking().Process(target=target, args=each) for each in arguments]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    return [process.exitcode for process in processes]


def test_processes_that_open_a_new_store_and_save_at_once_all_succeed(where: str) -> None:
    assert run(save_many, *((where, "news", 10 * process, 4) for process in range(PROCESSES))) == [0] * PROCESSES
    with open_store(where) as store:
        versions = store.log("news")
        assert [version.number for version in versions] == list(range(4 * PROCESSES, 0, -1))
        assert len({version.digest for version in versions}) == 4 * PROCESSES
        assert [version.parent for version in versions[:-1]] == [version.ref for version in versions[1:]]
        assert store.verify() == ()


def test_processes_that_answer_and_save_the_same_rubric_at_once_lose_nothing_and_make_one_version(where: str) -> None:
    assert run(answer_and_save, *((where, 1000 * process, 50) for process in range(PROCESSES))) == [0] * PROCESSES
    with open_store(where) as store:
        assert store.answers.count() == 50 * PROCESSES + 1
        assert [version.number for version in store.log("news")] == [1]
        assert store.verify() == ()


def test_a_process_killed_in_the_middle_of_a_save_leaves_a_store_that_verifies(where: str) -> None:
    with open_store(where) as store:
        store.save("news", numbered(1), provenance(), EFFORT)
        assert run(die_after, ("INSERT INTO versions", where, "news")) == [-signal.SIGKILL]
        assert [version.number for version in store.log("news")] == [1]
        assert store.verify() == ()
        assert store.answers.get("sha256:kept") == {"text": "paid for"}
        assert store.save("news", numbered(99), provenance(), EFFORT).ref == "news@2"
