"""Every kind of tampering is found and named, and nothing else is."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from store_samples import EFFORT, numbered, provenance, tamper

from rubriclab.store import open_store
from rubriclab.store.answers import answer_digest

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


@pytest.mark.parametrize(
    ("statement", "where", "what"),
    [
        (
            f"UPDATE rubrics SET content = replace(content, 'by 1', 'by 9') WHERE digest = '{RUBRIC}'",
            [f"rubric {RUBRIC}"],
            ["its content has the digest sha256:"],
        ),
        (
            f"UPDATE rubrics SET content = content || ' ' WHERE digest = '{RUBRIC}'",
            [f"rubric {RUBRIC}"],
            ["its content has the digest sha256:"],
        ),
        (
            f"UPDATE rubrics SET content = 'nothing' WHERE digest = '{RUBRIC}'",
            [f"rubric {RUBRIC}"] * 2,
            ["its content has the digest", "its content is no Rubric: expected JSON"],
        ),
        (
            f"DELETE FROM rubrics WHERE digest = '{RUBRIC}'",
            ["news@1", "other@1"],
            [f"its rubric {RUBRIC} is missing"] * 2,
        ),
        (
            "UPDATE versions SET provenance = replace(provenance, 'embedded', 'gpt-4o') WHERE number = 2",
            ["news@2"],
            ["its provenance has the digest sha256:"],
        ),
        (
            "UPDATE versions SET provenance_digest = 'sha256:0' WHERE number = 2",
            ["news@2"] * 2,
            ["its provenance has the digest", RECORD],
        ),
        (f"UPDATE versions SET rubric_digest = '{RUBRIC}' WHERE number = 3", ["news@3"], [RECORD]),
        ("UPDATE versions SET effort = replace(effort, '12', '11') WHERE number = 2", ["news@2"], [RECORD]),
        (
            'UPDATE versions SET effort = \'{"asked": "many"}\' WHERE number = 2',
            ["news@2"] * 2,
            ["its effort is no Effort: asked", RECORD],
        ),
        ("UPDATE versions SET created = '2001-01-01T00:00:00+00:00' WHERE number = 2", ["news@2"], [RECORD]),
        ("UPDATE versions SET parent_number = 1 WHERE number = 3", ["news@3"], [RECORD]),
        ("UPDATE versions SET parent_name = NULL, parent_number = NULL WHERE number = 3", ["news@3"], [RECORD]),
        (
            "UPDATE versions SET parent_number = 9 WHERE name = 'other'",
            ["other@1"],
            ["its parent news@9 does not exist"],
        ),
        ("UPDATE versions SET name = 'others' WHERE name = 'other'", ["others@1"], [RECORD]),
        ("UPDATE versions SET record_digest = 'sha256:0' WHERE number = 2", ["news@2", "news@3"], [RECORD] * 2),
        (
            "DELETE FROM versions WHERE number = 2",
            ["news@2", "news@3", "news@production"],
            [
                "this version is missing",
                "its parent news@2 does not exist",
                "points to version 2, which does not exist",
            ],
        ),
        ("UPDATE tags SET number = 7", ["news@production"], ["the tag points to version 7, which does not exist"]),
        ("UPDATE answers SET reply = '{\"text\"'", ["answer sha256:asked"], ["does not match its digest"]),
        ('UPDATE answers SET reply = \'{"text":"5"}\'', ["answer sha256:asked"], ["does not match its digest"]),
        ("UPDATE answers SET digest = 'sha256:another'", ["answer sha256:another"], ["does not match its digest"]),
        (
            f"UPDATE answers SET reply = '4', reply_digest = '{answer_digest('sha256:asked', '4')}'",
            ["answer sha256:asked"],
            ["is not a JSON object"],
        ),
    ],
)
def test_tampering_is_found_and_named(file: Path, statement: str, where: list[str], what: list[str]) -> None:
    tamper(file, statement)
    with open_store(file) as store:
        problems = store.verify()
    assert [problem.where for problem in problems] == where
    for problem, expected in zip(problems, what, strict=True):
        assert expected in problem.what
        assert str(problem) == f"{problem.where}: {problem.what}"


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
