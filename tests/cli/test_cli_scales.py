"""Labels on every kind of scale, through the command line."""

from __future__ import annotations

import json
from typing import Any

import pytest
from commands import LABELLED, Commands

TASK = ("--task", "summarization", "--aspect", "coherence", "--judge", "embedded", "--no-literature")
ROWS = [json.loads(line) for line in LABELLED.read_text("utf-8").splitlines()]
COHERENCE = {row["id"]: row["scores"]["coherence"] for row in ROWS}


def written(commands: Commands, rows: list[Any], name: str = "rows.jsonl") -> str:
    """Write rows and return the file's name."""
    (commands.folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return name


SCALES = {
    "binary": ((0, 1), lambda score: int(score >= 4)),
    "fractions": ((0, 1), lambda score: round(0.05 + 0.22 * (score - 1), 2)),
    "seven points": ((1, 7), lambda score: round(1.5 * score - 0.5)),
    "hundred points": ((0, 100), lambda score: 25 * (score - 1)),
}


@pytest.mark.parametrize(
    ("scale", "method"),
    [*((scale, "hypoeval") for scale in SCALES), ("fractions", "checkeval"), ("fractions", "seeval")],
)
def test_labels_may_be_on_any_scale(rubriclab: Commands, scale: str, method: str) -> None:
    (low, high), rescaled = SCALES[scale]
    rows = [{**row, "scores": {"coherence": rescaled(COHERENCE[row["id"]])}} for row in ROWS]
    file, span = written(rubriclab, rows), f"{low}:{high}"
    done = rubriclab("learn", file, *TASK, "--method", method, "--scale", span, "--name", "news", "--json")
    assert done.code == 0
    assert done.json["agreement"]["n"] == len(ROWS)
    scores = [row["score"] for row in rubriclab("score", file, "--rubric", "news").rows]
    assert all(low <= score <= high for score in scores)
    assert max(scores) - min(scores) > 0.2 * (high - low)
