"""`rubriclab import`: a pack into a store, if it is what was exported."""

from __future__ import annotations

import json
from typing import Any

import pytest
from commands import Commands


def test_an_imported_rubric_is_the_exported_one(rubriclab: Commands, learned: Commands, pack: str) -> None:
    (rubriclab.folder / "pack.json").write_text(pack, "utf-8")
    assert rubriclab("import", "pack.json").out == "news@1\n"
    assert rubriclab("import", "-", stdin=pack.encode()).out == "news@1 holds it already\n"
    digest = json.loads(pack)["digest"]
    row = rubriclab("import", "pack.json", "--as", "copy", "--json").json
    assert (row["rubric"], row["new"], row["digest"]) == ("copy@1", True, digest)
    assert rubriclab("diff", "news", "copy", "--json").json["same"] is True
    assert rubriclab("verify").code == 0
    text = b'{"id": "x", "output": "The council met. It decided nothing.", "source": "The council met on Monday."}'
    (here,), (there,) = (
        commands("score", "-", "--rubric", "news@1", stdin=text).rows for commands in (rubriclab, learned)
    )
    assert here == there


def changed(pack: str, *path: Any, value: Any) -> str:
    """Return the pack with another value at a place."""
    whole = json.loads(pack)
    place = whole
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return json.dumps(whole)


def test_a_changed_rubric_is_refused(rubriclab: Commands, pack: str) -> None:
    words = changed(pack, "rubric", "parts", 0, "criteria", 0, "statement", value="Longer is better.")
    done = rubriclab("import", "-", stdin=words.encode())
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert done.error.startswith("-: digest: the rubric was changed after it was exported: its digest is sha256:")
    assert rubriclab("list", "--json").json == {"versions": []}


def test_changed_provenance_is_refused(rubriclab: Commands, pack: str) -> None:
    done = rubriclab("import", "-", stdin=changed(pack, "provenance", "judge", value="gpt-9").encode())
    assert done.error.startswith("-: provenance_digest: the provenance was changed after it was exported")


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"{", "pack.json is no pack: it is not JSON: "),
        (b"[]", "pack.json is no pack: expected a JSON object, found list."),
        (b"\xff\xfe\x00", "pack.json cannot be read: it is not UTF-8 text."),
        (
            b"{}",
            "pack.json: format: expected 'rubriclab-pack/1', got null. It may come from a newer rubriclab.",
        ),
        (b'{"format": "rubriclab-pack/1"}', "pack.json: digest: missing."),
        (
            b'{"format": "rubriclab-pack/1", "digest": "x", "provenance_digest": "y"}',
            "pack.json: name: missing; number: missing",
        ),
    ],
    ids=["cut off", "list", "bytes", "no format", "no digest", "no fields"],
)
def test_what_is_no_pack_is_refused(rubriclab: Commands, content: bytes, complaint: str) -> None:
    (rubriclab.folder / "pack.json").write_bytes(content)
    done = rubriclab("import", "pack.json")
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert done.error.startswith(complaint)


def test_a_missing_file_and_an_impossible_name_are_refused(rubriclab: Commands, pack: str) -> None:
    missing = "none.json cannot be read: No such file or directory. Give the path of a pack"
    assert rubriclab("import", "none.json").error.startswith(missing)
    done = rubriclab("import", "-", "--as", "My News", stdin=pack.encode())
    assert done.error.startswith("'My News' cannot be the name of a rubric.")
