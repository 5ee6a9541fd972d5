"""`rubriclab literature`: findings of a paper are kept, listed and learned from."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
import scripted_model
from commands import LABELLED, Commands, Started
from paper_samples import write_paper
from pdf_files import column, pdf
from server import RunningServer

from rubriclab import Lab
from rubriclab.errors import JudgeError, UserError
from rubriclab.methods.sources import load_findings
from rubriclab.ops.literature import LiteratureAdded

ADD = ("literature", "add", "paper.txt", "--task", "summarization", "--folder", "found", "--judge", "openai/fake")
ORDER = "the raters marked down summaries whose sentences stood in no order"


@pytest.fixture
def reader(rubriclab: Commands, server: RunningServer) -> Commands:
    """The command line beside a paper of three pages, with a model that reads papers."""
    write_paper(rubriclab.folder)
    rubriclab.environment.update(OPENAI_API_BASE=server.url, OPENAI_API_KEY="none")
    return rubriclab


@pytest.fixture
def lab(tmp_path: Path, server: RunningServer) -> Lab:
    write_paper(tmp_path)
    return Lab(tmp_path / "store.db", judge="openai/fake", progress=None)


def add(lab: Lab, folder: Path, **options: Any) -> LiteratureAdded:
    return lab.literature_add(folder / "paper.txt", task="summarization", folder=folder / "found", **options)


def kept(folder: Path) -> list[dict[str, Any]]:
    file = folder / "found" / "summarization.json"
    found: list[dict[str, Any]] = json.loads(file.read_text("utf-8")) if file.exists() else []
    return found


def write_long_paper(folder: Path) -> None:
    """Write a paper of four pages, each of which is a part."""
    pages = (f"Page {n}. In study {n} the raters liked texts with {n} facts. {'x y ' * 4000}" for n in range(1, 5))
    (folder / "paper.txt").write_text("\f".join(pages), "utf-8")


def test_findings_are_kept_with_page_aspects_and_data_set_and_invented_quotations_are_dropped(reader: Commands) -> None:
    done = reader(*ADD, "--citation", "Lind (2021), What Raters Reward", "--json")
    assert done.code == 0, done.err
    first, second = kept(reader.folder)
    assert done.json["kept"] == [first, second]
    assert (first["id"], first["aspects"], "benchmarks" in first) == ("paper-1", ["coherence"], False)
    assert ORDER in first["quotation"]
    assert (first["page"], first["file"]) == (2, "paper.txt")
    assert (second["aspects"], second["benchmarks"]) == ([], ["summeval"])
    assert {each["citation"] for each in (first, second)} == {"Lind (2021), What Raters Reward"}
    (dropped,) = done.json["dropped"]
    assert dropped["quotation"] == scripted_model.INVENTED
    assert done.json["calls"]["made"] == 1


def test_findings_reach_the_prompt_for_hypotheses_and_those_of_a_tested_set_do_not(
    reader: Commands, server: RunningServer
) -> None:
    assert reader(*ADD).code == 0
    server.reset()
    learn = ("learn", LABELLED, "--task", "summarization", "--aspect", "coherence", "--scale", "1:5", *ADD[-2:])
    chosen = ("--literature", "found", "--literature-included", "--literature-without", "SummEval")
    done = reader(*learn, "--method", "hypoeval", *chosen, "--max-calls", 3)
    asked = "\n".join(message["content"] for body in server.bodies for message in body["messages"])
    assert ORDER in asked, done.err
    assert "did not reward length" not in asked
    included = {each.claim: each.benchmarks for each in load_findings("summarization", "coherence")}
    assert {claim for claim in included if claim in asked} == {
        claim for claim, benchmarks in included.items() if "summeval" not in benchmarks
    }


def test_a_paper_read_again_costs_nothing_and_a_data_set_given_later_is_added_to_its_findings(
    lab: Lab, tmp_path: Path
) -> None:
    first = add(lab, tmp_path)
    again = add(lab, tmp_path)
    assert (again.kept, again.effort.calls) == (first.kept, 0)
    add(lab, tmp_path, benchmark=["The HANNA data set (Chhun et al., 2022)", "my set"])
    assert [each["benchmarks"] for each in kept(tmp_path)] == [["hanna", "my_set"], ["summeval", "hanna", "my_set"]]


def test_long_papers_are_read_in_parts_and_a_part_without_a_usable_reply_is_named(
    lab: Lab, server: RunningServer, tmp_path: Path
) -> None:
    write_long_paper(tmp_path)
    assert lab.dry_run("literature_add", tmp_path / "paper.txt", task="summarization").roles["judge"].calls == 4

    def fails_on_page_3(messages: list[dict[str, str]], body: dict[str, Any]) -> str:
        return "nothing" if "<<<page 3" in messages[1]["content"] else scripted_model.reply(messages, body)

    server.brain = fails_on_page_3
    added = add(lab, tmp_path)
    assert [each.page for each in added.kept] == [1, 2, 4]
    (unread,) = added.unread
    assert unread.startswith("page 3 and following: unusable reply")
    server.brain = lambda _messages, _body: "nothing"
    with pytest.raises(JudgeError, match="could not be read"):
        add(lab, tmp_path, aspect="coherence")


def test_a_killed_reading_continues_and_asks_nothing_twice(reader: Commands, server: RunningServer) -> None:
    write_long_paper(reader.folder)
    started: list[Started] = []

    def kills_on_page_3(messages: list[dict[str, str]], body: dict[str, Any]) -> str:
        if "<<<page 3" in messages[1]["content"]:
            os.kill(started[0].pid, signal.SIGKILL)
        return scripted_model.reply(messages, body)

    server.brain = kills_on_page_3
    command = (*ADD, "--json", "--concurrency", 1)
    started.append(reader.start(*command))
    assert started[0].wait().code == -signal.SIGKILL
    server.brain = scripted_model.reply
    done = reader(*command)
    assert (done.code, done.json["calls"]["made"], done.json["calls"]["answered_from_cache"]) == (0, 2, 2)
    assert [each["page"] for each in kept(reader.folder)] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("paper", "options", "error"),
    [
        ("paper.txt", {"judge": "embedded"}, "offline judge"),
        ("paper.txt", {"judge": None}, "offline judge"),
        ("locked.pdf", {}, "protected by a password"),
        ("none.txt", {}, "No such file"),
        ("paper.txt", {"aspect": "wit"}, "no included definition of 'wit'"),
        ("paper.txt", {"task": "../x"}, "cannot name a file"),
    ],
)
def test_what_cannot_be_done_is_said_before_anything_is_asked(
    paper: str, options: dict[str, Any], error: str, tmp_path: Path, server: RunningServer
) -> None:
    write_paper(tmp_path)
    (tmp_path / "locked.pdf").write_bytes(pdf(column(["A page of text."]), password="secret"))
    given = {"task": "summarization", "judge": "openai/fake", "folder": tmp_path / "found", **options}
    with pytest.raises(UserError, match=error):
        Lab(tmp_path / "store.db", progress=None).literature_add(tmp_path / paper, **given)
    assert server.bodies == []
    assert not (tmp_path / "found").exists()
