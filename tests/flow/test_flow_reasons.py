"""A rubric learned with raters' reasons and without, through the command line and a server that cites them.

With reasons they are in the prompts that propose criteria, and in no other; the evidence of the criteria names them.
Without, no prompt mentions any.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from commands import LABELLED, Commands
from flow_server import CHECKLIST, LITTLE, TASK
from scripted_model import citing, reply
from server import RunningServer

from rubriclab.store.store import open_store

SET = ("--set=checkeval.diversified=1", "--set=checkeval.elaborated_most=0")
HYPOEVAL = ("--method", "hypoeval", *LITTLE)
BOTH = (*HYPOEVAL, "--method", "checkeval", "--checklist", "checklist.json", *SET)
ROWS: list[dict[str, Any]] = [json.loads(line) for line in LABELLED.read_text("utf-8").splitlines()[:12]]
# The first shown reason, one that no prompt has, and no number at all.
CITED = (1, 999, "the first")


def explained(row: dict[str, Any]) -> dict[str, Any]:
    score = row["scores"]["coherence"]
    raters = {"annotations": {"coherence": {"anna": score, "ben": score}}}
    return {**row, **raters, "reasons": {"coherence": {"anna": f"WHY-{row['id']}: sentences jump."}}}


def written(folder: Path, name: str, rows: list[dict[str, Any]]) -> str:
    (folder / name).write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return name


def test_reasons_reach_the_prompts_that_propose_criteria_alone_and_evidence_names_them_without_their_words(
    asking: Commands, provider: RunningServer
) -> None:
    provider.brain = citing(reply, CITED)
    commands, folder = asking, asking.folder
    (folder / "checklist.json").write_text(CHECKLIST.model_dump_json())
    done = commands("learn", written(folder, "rows.jsonl", list(map(explained, ROWS))), *TASK, *BOTH)
    assert done.code == 0, done.err
    assert "not used" not in done.err
    prompts = ["\n".join(turn["content"] for turn in body["messages"]) for body in provider.bodies]
    asked = [re.search(r"(State|Add) \d+|to improve", prompt) for prompt in prompts if "WHY-" in prompt]
    assert all(asked)
    assert {found[1] for found in asked if found} >= {"State", "Add"}
    assert len(prompts) - len(asked) > len(ROWS)

    shown = " ".join(commands("show", "news", "--evidence").out.split())
    cited = set(re.findall(r"from (?:the )?reasons for ([^\s,;]+)", shown))
    assert set() < cited <= {row["id"] for row in ROWS}
    assert "WHY-" not in shown
    done = commands("report", "news", "-o", "report.html")
    assert done.code == 0, done.err
    page = (folder / "report.html").read_text("utf-8")
    assert all(name in page for name in cited)
    assert "anna" not in page
    assert commands("export", "news", "-o", "pack.json").code == 0
    pack = (folder / "pack.json").read_text("utf-8")
    assert '"rater":"anna"' in pack.replace('": "', '":"')
    assert "WHY-" not in pack
    with open_store(folder / "store.db") as store:
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
    assert done.err.count("left unused: 12 reasons of raters, since the offline judge does not read reasons") == 1
