"""The command line with its store on a PostgreSQL server."""

from __future__ import annotations

from commands import HELDOUT, LABELLED, Commands
from flow_server import TASK, learn_little
from server import RunningServer

from rubriclab.store.engine import address, shown


def test_versions_and_answers_live_on_the_server(rubriclab: Commands, schema: str) -> None:
    there = Commands(rubriclab.folder, RUBRICLAB_STORE=schema)
    done = there("learn", LABELLED, *TASK, "--json", "--judge", "embedded")
    assert (done.json["rubric"], done.json["new"]) == ("news@1", True)
    here = rubriclab("learn", LABELLED, *TASK, "--json", "--judge", "embedded")
    assert done.json["digest"] == here.json["digest"]
    assert there("score", HELDOUT, "--rubric", "news").rows == rubriclab("score", HELDOUT, "--rubric", "news").rows
    assert there("tag", "news@1", "production").out == "news@1 is production\n"
    assert [row["rubric"] for row in there("list", "--json").json["versions"]] == ["news@1"]
    assert there("verify").out == f"{shown(address(schema))}: 1 rubrics, everything as it was written\n"
    pack = there("export", "news@production").out.encode()
    assert rubriclab("import", "-", stdin=pack).out == "news@1 holds it already\n"


def test_a_stopped_run_goes_on_from_the_answers_on_the_server(
    provider: RunningServer, asking: Commands, schema: str
) -> None:
    asking.environment["RUBRICLAB_STORE"] = schema
    assert learn_little(asking, "--max-calls", 30).code == 2
    done = learn_little(asking)
    assert done.json["calls"]["answered_from_cache"] >= 30
    assert provider.repeated == 0
    assert asking("verify", "--json").json["problems"] == []
