"""`rubriclab verify`: whether everything in a store is as it was written."""

from __future__ import annotations

import sqlite3
from contextlib import closing

from commands import Commands


def meddle(commands: Commands, statement: str) -> None:
    """Change the store behind its own back, past what keeps versions from changing."""
    with closing(sqlite3.connect(commands.folder / "store.db")) as database:
        triggers = database.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for (name,) in triggers:
            database.execute(f'DROP TRIGGER "{name}"')
        assert database.execute(statement).rowcount > 0
        database.commit()


def test_a_sound_store_is_said_to_be_sound(learned: Commands) -> None:
    done = learned("verify")
    assert (done.code, done.err) == (0, "")
    assert done.out == "store.db: 2 rubrics, everything as it was written\n"
    assert learned("verify", "--json").json == {"store": "store.db", "problems": []}


def test_a_changed_rubric_is_found_and_the_exit_code_says_so(own: Commands) -> None:
    meddle(own, "UPDATE rubrics SET content = replace(content, 'coherence', 'coherance')")
    done = own("verify")
    assert (done.code, done.err) == (1, "")
    assert "its content has the digest" in " ".join(done.out.split())
    found = own("verify", "--json")
    assert found.code == 1
    assert len(found.json["problems"]) >= 2
    assert all(problem.startswith("rubric sha256:") for problem in found.json["problems"])


def test_changed_effort_is_found(own: Commands) -> None:
    meddle(own, "UPDATE versions SET effort = replace(effort, '\"failed\":0', '\"failed\":7') WHERE number = 2")
    (problem,) = own("verify", "--json").json["problems"]
    assert problem.startswith("news@2: its record (name, number, digests, effort, time, parent, origin) has the digest")


def test_a_missing_version_is_found(own: Commands) -> None:
    meddle(own, "DELETE FROM versions WHERE name = 'news' AND number = 1")
    problems = own("verify", "--json").json["problems"]
    assert "news@1: this version is missing, though there are later ones" in problems


def test_damaged_answers_are_named_removed_on_request_and_asked_again(own: Commands) -> None:
    keep = "INSERT INTO answers VALUES ('sha256:a', '{\"text\":\"4\"}', 'then', 'sha256:another', NULL)"
    meddle(own, keep)
    done = own("verify")
    assert done.code == 1
    assert "answer sha256:a" in done.out
    assert "`rubriclab verify --repair` removes them, so that they are asked again" in done.err
    repaired = own("verify", "--repair")
    assert (repaired.code, repaired.err) == (0, "")
    assert repaired.out == (
        "Removed the damaged answer sha256:a: it is requested again when it is needed.\n"
        "store.db: 2 rubrics, everything as it was written\n"
    )
    meddle(own, keep)
    assert own("verify", "--repair", "--json").json == {"store": "store.db", "problems": [], "removed": ["sha256:a"]}


def test_what_cannot_be_repaired_is_left_and_the_exit_code_says_so(own: Commands) -> None:
    meddle(own, "UPDATE rubrics SET content = replace(content, 'coherence', 'coherance')")
    done = own("verify", "--repair")
    assert done.code == 1
    assert "its content has the digest" in " ".join(done.out.split())
    assert "what is left cannot be repaired" in done.err
    assert own("verify").code == 1
