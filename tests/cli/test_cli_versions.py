"""`rubriclab list`, `show`, `tag`, `export`, `import` and `verify`."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

from commands import LABELLED, Commands


def test_without_a_store_the_users_data_folder_holds_one(rubriclab: Commands) -> None:
    bare = Commands(rubriclab.folder)
    store = rubriclab.folder / ".local/share/rubriclab/store.db"
    bare("list")
    assert not store.exists(), "looking makes no store"
    bare("learn", LABELLED, "--task", "summarization", "--aspect", "coherence", "--method", "direct")
    assert store.is_file()


def test_a_tag_moves_and_can_be_removed(own: Commands) -> None:
    assert own("tag", "news@1", "stable").out == "news@1 is stable\n"
    assert own("show", "news@stable").out.startswith("news@1  stable\n")
    moved = own("tag", "news", "stable")
    assert moved.out == "news@2 is stable\n"
    assert "stable was news@1 before" in moved.err
    assert own("show", "news@stable").out.startswith("news@2  stable\n")
    assert "stable" in own("list").out
    assert own("list", "--json").json["versions"][0]["tags"] == ["stable"]
    assert own("tag", "news", "stable", "--delete").out == "news has no tag stable any more\n"
    assert own("show", "news@stable").error == "news has no tag 'stable'; it has no tag at all."
    assert own("verify").code == 0


def test_an_imported_rubric_is_the_exported_one(rubriclab: Commands, pack: str) -> None:
    (rubriclab.folder / "pack.json").write_text(pack, "utf-8")
    assert rubriclab("import", "pack.json").out == "news@1\n"
    assert rubriclab("import", "-", stdin=pack.encode()).out == "news@1 holds this rubric already\n"
    digest = json.loads(pack)["digest"]
    row = rubriclab("import", "pack.json", "--as", "copy", "--json").json
    assert (row["rubric"], row["new"], row["digest"]) == ("copy@1", True, digest)
    assert rubriclab("diff", "news", "copy", "--json").json["same"] is True
    assert rubriclab("verify").code == 0


def meddle(commands: Commands, statement: str) -> None:
    """Change the store behind its own back, past what keeps versions from changing."""
    with closing(sqlite3.connect(commands.folder / "store.db")) as database:
        triggers = database.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for (name,) in triggers:
            database.execute(f'DROP TRIGGER "{name}"')
        assert database.execute(statement).rowcount > 0
        database.commit()


def test_damaged_answers_are_named_removed_on_request_and_asked_again(own: Commands) -> None:
    keep = "INSERT INTO answers VALUES ('sha256:a', '{\"text\":\"4\"}', 'then', 'sha256:another', NULL)"
    meddle(own, keep)
    done = own("verify")
    assert done.code == 1
    assert "answer sha256:a" in done.out
    assert "`rubriclab verify --repair` removes them, so that prompts are sent again" in done.err
    repaired = own("verify", "--repair")
    assert (repaired.code, repaired.err) == (0, "")
    assert repaired.out == (
        "Removed the damaged answer sha256:a: it is requested again when it is needed.\n"
        "store.db: 2 rubrics, everything as it was written\n"
    )
    meddle(own, keep)
    assert own("verify", "--repair", "--json").json == {"store": "store.db", "problems": [], "removed": ["sha256:a"]}


def test_a_list_leaves_out_what_cannot_be_read_and_says_so(own: Commands) -> None:
    damage = "UPDATE rubrics SET content = content || ' ' WHERE digest = (SELECT rubric_digest FROM versions WHERE "
    meddle(own, f"{damage} name = 'news' AND number = 2)")
    others = [row["rubric"] for row in own("list", "--json").json["versions"]]
    assert others
    assert "news@2" not in others
    done = own("log", "news", "--json")
    assert [row["rubric"] for row in done.json["versions"]] == ["news@1"]
    assert done.code == 0
    assert done.err == "left out: The rubric of news@2 does not match its digest. See: `rubriclab verify`\n"


def test_what_cannot_be_repaired_is_left_and_the_exit_code_says_so(own: Commands) -> None:
    meddle(own, "UPDATE rubrics SET content = replace(content, 'coherence', 'coherance')")
    done = own("verify", "--repair")
    assert done.code == 1
    assert "its content has the digest" in " ".join(done.out.split())
    assert "the problems above cannot be repaired" in done.err
    assert own("verify").code == 1
