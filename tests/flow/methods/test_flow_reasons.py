"""A rubric learned with raters' reasons and without, through the command line and a server that cites them.

With reasons they are in the prompts that propose criteria, and in no other; the evidence of the criteria names them.
Without, no prompt mentions any.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from commands import LABELLED, Commands
from flow_server import LITTLE, TASK, commands_at
from method_flows import CHECKLIST
from scripted_model import citing, reply
from server import RunningServer

from rubriclab.store.store import open_store

SET = ("--set=checkeval.diversified=1", "--set=checkeval.elaborated_most=0")
HYPOEVAL = ("--method", "hypoeval", *LITTLE)
BOTH = (*HYPOEVAL, "--method", "checkeval", "--checklist", "checklist.json", *SET)
ROWS: list[dict[str, Any]] = [json.loads(line) for line in LABELLED.read_text("utf-8").splitlines()[:12]]
# The first shown reason, one that no prompt has, and no number at all.
CITED = (1, 999, "the first")


@dataclass(frozen=True)
class Run:
    """Learning once: its folder, what it said, and the prompts that it sent."""

    folder: Path
    notes: str
    prompts: list[str]

    def with_reasons(self) -> list[str]:
        return [prompt for prompt in self.prompts if "WHY-" in prompt]


def explained(row: dict[str, Any]) -> dict[str, Any]:
    score = row["scores"]["coherence"]
    raters = {"annotations": {"coherence": {"anna": score, "ben": score}}}
    return {**row, **raters, "reasons": {"coherence": {"anna": f"WHY-{row['id']}: sentences jump."}}}


def written(folder: Path, name: str, rows: list[dict[str, Any]]) -> str:
    (folder / name).write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return name


def sent(server: RunningServer) -> list[str]:
    return ["\n".join(turn["content"] for turn in body["messages"]) for body in server.bodies]


def learned(server: RunningServer, folder: Path, rows: list[dict[str, Any]], methods: tuple[str, ...]) -> Run:
    server.reset()
    server.brain = citing(reply, CITED)
    commands = commands_at(server, folder)
    written(folder, "checklist.json", [CHECKLIST])
    done = commands("learn", written(folder, "rows.jsonl", rows), *TASK, *methods, "--name", "news")
    assert done.code == 0, done.err
    return Run(folder, done.err, sent(server))


@pytest.fixture(scope="module")
def taught(_running_server: RunningServer, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return learned(_running_server, tmp_path_factory.mktemp("taught"), [explained(row) for row in ROWS], BOTH)


def test_reasons_reach_the_prompts_that_propose_criteria_and_no_others(taught: Run) -> None:
    asked = [re.search(r"(State|Add) \d+|to improve", prompt) for prompt in taught.with_reasons()]
    assert all(asked)
    assert {found[1] for found in asked if found} >= {"State", "Add"}
    judging = [prompt for prompt in taught.prompts if "WHY-" not in prompt]
    assert len(judging) > len(ROWS)
    assert "is not used" not in taught.notes
    assert "are not used" not in taught.notes


def test_evidence_names_the_reasons_in_show_and_report(taught: Run) -> None:
    commands = Commands(taught.folder, RUBRICLAB_STORE="store.db")
    shown = " ".join(commands("show", "news", "--evidence").out.split())
    cited = set(re.findall(r"from (?:the )?reasons for (\S+) \(anna\)", shown))
    assert cited
    assert cited <= {row["id"] for row in ROWS}
    assert "WHY-" not in shown
    done = commands("report", "news", "-o", "report.html")
    assert done.code == 0, done.err
    page = (taught.folder / "report.html").read_text("utf-8")
    assert all(f"{name} (anna)" in page for name in cited)


def test_a_pack_names_reasons_without_their_words_and_the_training_record_keeps_them(taught: Run) -> None:
    commands = Commands(taught.folder, RUBRICLAB_STORE="store.db")
    assert commands("export", "news", "-o", "pack.json").code == 0
    pack = (taught.folder / "pack.json").read_text("utf-8")
    assert '"rater":"anna"' in pack.replace('": "', '":"')
    assert "WHY-" not in pack
    with open_store(taught.folder / "store.db") as store:
        record = store.training("news")
    assert record is not None
    assert {text.id: dict(text.reasons) for text in record.texts} == {
        row["id"]: {"anna": f"WHY-{row['id']}: sentences jump."} for row in ROWS
    }


def test_the_offline_judge_says_once_that_it_does_not_read_reasons(tmp_path: Path) -> None:
    commands = Commands(tmp_path, RUBRICLAB_STORE="store.db")
    data = written(tmp_path, "rows.jsonl", [explained(row) for row in ROWS])
    done = commands("learn", data, *TASK, "--method", "seeval", "--judge", "embedded")
    assert done.code == 0, done.err
    assert done.err.count("12 reasons of raters are not used: the offline judge does not read them") == 1
