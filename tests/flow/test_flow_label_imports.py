"""Labels of other tools, as a user brings them in: `check`, the options that it proposes, the command it prints."""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from commands import CHECKOUT, LABELLED, Commands

ROWS: list[dict[str, Any]] = [json.loads(line) for line in LABELLED.read_text("utf-8").splitlines()][:16]
WORDS = {1: "Strongly disagree", 2: "Disagree", 3: "Neutral", 4: "Agree", 5: "Strongly agree"}
LIKERT = "strongly disagree=1,disagree=2,neutral=3,agree=4,strongly agree=5"


def label_studio(folder: Path) -> Path:
    return Path(shutil.copy(CHECKOUT / "tests" / "data" / "exports" / "label-studio.json", folder))


def german_csv(folder: Path) -> Path:
    return _csv(folder, ";", "utf-8-sig", lambda score: f"{score + 0.5 * (score < 5):.1f}".replace(".", ","))


def likert(folder: Path) -> Path:
    return _csv(folder, ",", "utf-8", lambda score: WORDS[round(score)])


def _csv(folder: Path, delimiter: str, encoding: str, cell: Callable[[float], Any]) -> Path:
    rows = [["Summary", "Coherence Anna", "Coherence Ben"]]
    for row in ROWS:
        score = row["scores"]["coherence"]
        rows.append([row["output"], cell(score), cell(max(1, score - 1))])
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter).writerows(rows)
    (folder / "labels.csv").write_text(text.getvalue(), encoding)
    return folder / "labels.csv"


@pytest.mark.parametrize(
    ("make", "levels"),
    [
        pytest.param(label_studio, "excellent=5,good=4,okay=3,bad=2,very bad=1", id="label studio"),
        pytest.param(german_csv, "", id="csv with semicolons"),
        pytest.param(likert, LIKERT, id="likert words"),
    ],
)
def test_what_check_prints_learns_a_rubric(make: Callable[[Path], Path], levels: str, rubriclab: Commands) -> None:
    file = make(rubriclab.folder)
    asked = ["check", file.name, "--task", "summarization", "--aspect", "coherence"]
    first = rubriclab(*asked)
    assert first.code == 2
    (proposed,) = re.findall(r"^columns that look like fields: (.*)$", first.out, re.MULTILINE)
    asked += shlex.split(proposed)
    if levels:
        words = rubriclab(*asked)
        assert words.code == 2
        assert "if the words are levels or missing values, add --levels" in " ".join(words.out.split())
        asked += ["--levels", levels]
    checked = rubriclab(*asked)
    assert checked.code == 0, checked.out
    assert re.search(r"^coherence .* 2: ", checked.out, re.MULTILINE), "two raters"
    (following,) = re.findall(r"^next: rubriclab (.*)$", checked.out, re.MULTILINE)
    learned = rubriclab(*shlex.split(following), "--method", "direct", "--judge", "embedded", "--name", "imported")
    assert learned.code == 0, learned.err
