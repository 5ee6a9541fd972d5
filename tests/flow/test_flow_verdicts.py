"""Labels of two levels from file to report, by the command line and a server that sometimes cannot assess a text."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
import scripted_model
from commands import HELDOUT, LABELLED, Commands
from flow_server import LITTLE, commands_at
from server import RunningServer

RATERS = ("anna", "ben", "cleo")
UNASSESSABLE = "Nothing can be made of this."
LEARN = ("--task", "summarization", "--aspect", "ok", "--definition", "It is coherent.", "--name", "ok")


def reply(messages: list[dict[str, str]], body: dict[str, Any]) -> str:
    """Answer all methods' prompts; some texts cannot be assessed."""
    asked = scripted_model.question_in(messages, body)
    answer = json.loads(scripted_model.reply(messages, body))
    if UNASSESSABLE in asked.text and "or n/a if nothing here lets you tell" in asked.text:
        for entry in [answer] if "score" in answer else answer.values():
            entry["score"] = "n/a"
    return json.dumps(answer)


def rows(path: Path, number: int, unassessable: int = 0) -> list[dict[str, Any]]:
    """Return texts of the sample, which pass from a score of 4 on; one rater in turn says the opposite or nothing."""
    found = []
    for place, line in enumerate(path.read_text("utf-8").splitlines()[:number]):
        row = json.loads(line)
        passes = row["scores"]["coherence"] >= 4
        said: list[Any] = [passes, passes, passes]
        if place % 3 == 0:
            said[place % 2] = not passes
        if place % 5 == 0:
            said[2] = "cannot assess"
        output = f"{row['output']} {UNASSESSABLE}" if place < unassessable else row["output"]
        kept = {name: row[name] for name in ("id", "group", "source")}
        found.append({**kept, "output": output, "annotations": {"ok": dict(zip(RATERS, said, strict=True))}})
    return found


@pytest.fixture
def asking(_running_server: RunningServer, tmp_path: Path) -> Commands:
    _running_server.reset()
    _running_server.brain = reply
    return commands_at(_running_server, tmp_path)


def test_verdicts_from_labels_to_scores_evaluation_and_report(asking: Commands) -> None:
    folder = asking.folder
    labelled, heldout = rows(LABELLED, 30, unassessable=2), rows(HELDOUT, 36, unassessable=1)
    texts = asking.write("labelled.jsonl", labelled)
    methods = ("--method", "hypoeval", "--method", "direct", *LITTLE)
    learned = asking("learn", texts, *LEARN, *methods, "--prefer-recall-of", "false=0.9")
    assert learned.code == 0, learned.err
    assert "two levels, 'false' and 'true': scores are probabilities of 'true'" in learned.err
    assert "answers saying that the text cannot be assessed, which are not labels: 6" in learned.err
    assert "texts on which raters are tied, left out of the figures of decisions: 2" in learned.err
    assert "the judge says of 2 of 30 texts that they cannot be assessed, and does not rate them" in learned.err
    out = " ".join(learned.out.split())
    assert "A text is 'true' from a score of" in out
    assert "the other raters" in out

    scored = asking("score", asking.write("heldout.jsonl", heldout), "--rubric", "ok", "--fail-under", 1)
    assert scored.code == 1, scored.err
    one, *others = scored.rows
    assert (one["score"], one["unscored"]) == (None, "the judge says that this text cannot be assessed")
    assert "verdict" not in one
    assert {row["verdict"] for row in others} <= {"false", "true"}
    assert "1 unscored" in scored.err

    files = ("--csv", "evaluation.csv", "--html", "evaluation.html")
    evaluated = asking("evaluate", "heldout.jsonl", "--rubric", "ok", "--json", *files)
    assert evaluated.code == 0, evaluated.err
    assert "1 text left out of all figures" in evaluated.err
    rubric, raters, _baseline = evaluated.json["results"]
    assert (rubric["evaluator"], raters["evaluator"]) == ("ok@1", "raters among themselves")
    # Two raters of two texts disagree, and the third cannot assess them.
    assert sum(rubric["cells"]) == len(others) - 2
    with (folder / "evaluation.csv").open(encoding="utf-8") as file:
        found = {row["row"]: row for row in csv.DictReader(file) if row["column"] == "ok@1" and row["value"]}
    for name, key in (("AUROC", "auroc"), ("Cohen's kappa", "kappa"), ("Brier score", "brier")):
        shown = found[name]
        assert (shown["aspect"], shown["level"], int(shown["n"])) == ("ok", "dataset", sum(rubric["cells"]))
        assert [float(shown[end]) for end in ("value", "low", "high")] == [
            rubric[key][end] for end in ("value", "low", "high")
        ]

    report = asking("report", "ok", "--output", "report.html")
    assert report.code == 0, report.err
    for page in ("report.html", "evaluation.html"):
        words = (folder / page).read_text("utf-8")
        assert "Reliability curve" in words, page
        assert "balanced accuracy" in words, page
