"""Every kind of tampering is found and named, and nothing else is."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from store_samples import EFFORT, numbered, provenance, tamper

from rubriclab.store.answers import answer_digest
from rubriclab.store.store import open_store

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
    return file


@pytest.fixture
def file(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(original, tmp_path))


RECORD = "its record (name, number, digests, effort, time, parent, origin) has the digest"
ANSWER, CHANGED = "answer sha256:asked", "does not match its digest"
CONTENT = "its content has the digest sha256:"
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
        (
            version(2, 'effort = \'{"asked": "many"}\''),
            [("news@2", "its effort is no Effort: asked"), ("news@2", RECORD)],
        ),
        (version(2, "created = '2001-01-01T00:00:00+00:00'"), [("news@2", RECORD)]),
        (version(3, "parent_number = 1"), [("news@3", RECORD)]),
        (version(3, "parent_name = NULL, parent_number = NULL"), [("news@3", RECORD)]),
        (
            "UPDATE versions SET parent_number = 9 WHERE name = 'other'",
            [("other@1", "its parent news@9 does not exist")],
        ),
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
        ("UPDATE answers SET reply = '{\"text\"'", [(ANSWER, CHANGED)]),
        ('UPDATE answers SET reply = \'{"text":"5"}\'', [(ANSWER, CHANGED)]),
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
    assert [problem.where for problem in found] == [where for where, _ in problems]
    for problem, (where, what) in zip(found, problems, strict=True):
        assert what in problem.what
        assert str(problem) == f"{where}: {problem.what}"


def test_repair_removes_the_damaged_answers_and_nothing_else(file: Path) -> None:
    with open_store(file) as store:
        store.answers.put("sha256:sound", {"text": "5"})
    tamper(file, "UPDATE answers SET reply = '{\"text\":\"5\"}' WHERE digest = 'sha256:asked'")
    tamper(file, "UPDATE tags SET number = 7")
    with open_store(file) as store:
        assert store.repair() == ("sha256:asked",)
        assert [problem.where for problem in store.verify()] == ["news@production"]
        assert store.answers.get("sha256:asked") is None
        assert store.answers.get("sha256:sound") == {"text": "5"}
        assert store.repair() == ()
