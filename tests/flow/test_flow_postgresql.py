"""The command line with its store on a PostgreSQL server."""

from __future__ import annotations

from commands import Commands
from flow_server import HYPOEVAL, LITTLE, texts

from rubriclab.store.tables import database_url, show_url


def test_versions_and_answers_live_on_the_server(rubriclab: Commands, schema: str) -> None:
    there = Commands(rubriclab.folder, RUBRICLAB_STORE=schema)
    some = texts(rubriclab.folder, 12)
    done = there("learn", some, *HYPOEVAL, *LITTLE, "--json", "--judge", "embedded")
    assert (done.json["rubric"], done.json["new"]) == ("news@1", True)
    here = rubriclab("learn", some, *HYPOEVAL, *LITTLE, "--json", "--judge", "embedded")
    assert done.json["digest"] == here.json["digest"]
    assert there("score", some, "--rubric", "news").rows == rubriclab("score", some, "--rubric", "news").rows
    assert there("tag", "news@1", "production").out == "news@1 is production\n"
    assert [row["rubric"] for row in there("list", "--json").json["versions"]] == ["news@1"]
    shown = show_url(database_url(schema))
    assert " ".join(there("verify").out.split()) == f"{shown}: 1 rubric, everything as it was written"
    pack = there("export", "news@production").out.encode()
    assert rubriclab("import", "-", stdin=pack).out == "news@1 holds it already\n"
