"""`rubriclab export`: a version as a file."""

from __future__ import annotations

import json

from commands import Commands


def test_a_pack_is_json_that_a_person_can_review(own: Commands) -> None:
    done = own("export", "news@1")
    assert (done.code, done.err) == (0, "")
    pack = json.loads(done.out)
    assert (pack["format"], pack["name"], pack["number"]) == ("rubriclab-pack/1", "news", 1)
    assert done.out == json.dumps(pack, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    assert own("export", "news@1", "-o", "pack.json").out == ""
    assert (own.folder / "pack.json").read_text("utf-8") == done.out


def test_what_cannot_be_written_or_found_is_refused(own: Commands) -> None:
    done = own("export", "news", "-o", "no/where.json")
    assert (done.code, done.error) == (2, "no/where.json cannot be written: No such file or directory.")
    assert own("export", "newz").error.endswith("Did you mean 'news'?")
