"""promptfoo from npm, with its own evaluation, where a folder with it is named."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from commands import CHECKOUT
from documentation import example_files
from parity_table import same_scores
from pytest_projects import GOOD, NO_RATING, TEXTS, UNSCORABLE, Parity
from server import RunningServer

from rubriclab.errors import RubriclabError
from rubriclab.integrations.promptfoo import get_assert

FOLDER = Path(os.environ.get("RUBRICLAB_PROMPTFOO", CHECKOUT / ".promptfoo"))
PROGRAM = FOLDER / "node_modules" / ".bin" / "promptfoo"
real = pytest.mark.skipif(
    not (shutil.which("node") and PROGRAM.exists()),
    reason="needs Node.js and promptfoo: run make test-integrations, or name its folder in RUBRICLAB_PROMPTFOO",
)


@pytest.fixture
def examples(store: Path) -> None:
    for name, content in example_files(CHECKOUT / "docs" / "integrations" / "promptfoo.md").items():
        text = content.replace("rubrics.db", "store.db").replace("news-coherence", "remote")
        (store.parent / name).write_text(text, "utf-8")


def promptfoo(store: Path, server: RunningServer, config: str, *arguments: str) -> list[dict[str, Any]]:
    done = subprocess.run(
        [PROGRAM, "eval", "-c", config, "-o", "results.json", "--no-cache", "--no-progress-bar", *arguments],
        cwd=store.parent,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(store.parent),
            "OPENAI_API_BASE": server.url,
            "OPENAI_API_KEY": "none",
            "PROMPTFOO_PYTHON": sys.executable,
            "PROMPTFOO_DISABLE_TELEMETRY": "1",
            "PROMPTFOO_DISABLE_UPDATE": "1",
            "PROMPTFOO_DISABLE_REMOTE_GENERATION": "1",
        },
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (store.parent / "results.json").exists(), done.stdout + done.stderr
    results: list[dict[str, Any]] = json.loads((store.parent / "results.json").read_text("utf-8"))["results"]["results"]
    return results


@real
@pytest.mark.usefixtures("examples")
def test_an_assertion_in_promptfoo_has_the_scores_of_the_command_and_asks_nothing_twice(
    store: Path, server: RunningServer, parity: Parity
) -> None:
    rows = parity.rows
    asked = len(server.bodies)
    unscorable = {**TEXTS[0], "id": "unscorable", "output": f"It is {UNSCORABLE}."}
    config = {"rubric": "remote@1", "store": "store.db", "fields": {"source": "text"}}
    suite = {
        "prompts": ["{{answer}}"],
        "providers": ["echo"],
        "defaultTest": {"assert": [{"type": "python", "value": "file://rubric.py", "config": config}]},
        "tests": [
            {"vars": {"id": text["id"], "text": text["source"], "answer": text["output"]}}
            for text in (*TEXTS, unscorable)
        ],
    }
    (store.parent / "suite.json").write_text(json.dumps(suite), "utf-8")
    shown = {result["vars"]["id"]: result for result in promptfoo(store, server, "suite.json")}
    assert shown.keys() == {*rows, "unscorable"}
    installed = json.loads((FOLDER / "node_modules" / "promptfoo" / "package.json").read_text("utf-8"))["version"]
    scores = {name: shown[name]["namedScores"]["remote"] for name in rows}
    same_scores("promptfoo", "promptfoo", scores, {name: row["score"] for name, row in rows.items()}, installed)
    for name, row in rows.items():
        grading = shown[name]["gradingResult"]
        assert grading["score"] == pytest.approx((row["score"] - 1) / 4, abs=1e-12)
        assert all(shown[name]["namedScores"][f"remote.{each['id']}"] == each["score"] for each in row["criteria"])
        assert row["criteria"][0]["reason"] in grading["componentResults"][0]["reason"]
    missing = shown["unscorable"]
    assert (missing["success"], missing["score"], missing["namedScores"]) == (False, 0, {})
    assert "no score by remote@1" in missing["gradingResult"]["reason"]
    assert all(UNSCORABLE in json.dumps(body) for body in server.bodies[asked:])


@real
@pytest.mark.usefixtures("examples")
def test_the_example_of_the_documentation_runs(store: Path, server: RunningServer) -> None:
    bridge, monday = promptfoo(store, server, "promptfooconfig.yaml")
    assert {"remote"} < bridge["namedScores"].keys() == monday["namedScores"].keys()


def test_the_assertion_scores_like_the_command_and_fails_without_a_score(
    store: Path, server: RunningServer, parity: Parity
) -> None:
    text = TEXTS[0]
    row = parity.rows[text["id"]]
    asked = len(server.bodies)
    config = {"rubric": "remote", "store": str(store)}
    variables = {"id": text["id"], "source": text["source"]}
    graded = get_assert(text["output"], {"vars": variables, "config": {**config, "threshold": 1}})
    assert (graded["pass"], graded["namedScores"]["remote"]) == (True, row["score"])
    failed = get_assert(text["output"], {"vars": variables, "config": {**config, "threshold": 5}})
    assert (failed["pass"], failed["score"]) == (False, graded["score"])
    assert failed["reason"].startswith("below the threshold 5: ")
    assert len(server.bodies) == asked
    unscored = get_assert(f"It is {UNSCORABLE}.", {"vars": variables, "config": config})
    assert (unscored["pass"], "namedScores" in unscored, NO_RATING in unscored["reason"]) == (False, False, True)


@pytest.mark.parametrize(
    ("faulty", "message"),
    [
        ({"rubric": None}, "names no rubric"),
        ({"threshold": 9}, "The threshold 9 is not on the scale of remote@1, 1 to 5"),
        ({"max_calls": 2}, "max_calls` would hold for one assertion only"),
        ({"at_least": 2}, "at_least"),
        ({"fields": {"article": "source"}}, "'fields' names article"),
        ({"fields": {"source": "article"}}, r"no variable 'article'\. Its variables are: source"),
        ({"rubric": "none"}, "holds no rubric 'none'"),
    ],
)
def test_faulty_settings_are_named(store: Path, faulty: dict[str, Any], message: str) -> None:
    config = {"rubric": "remote", "store": str(store), **faulty}
    with pytest.raises(RubriclabError, match=message):
        get_assert(GOOD, {"vars": {"source": "S"}, "config": config})
