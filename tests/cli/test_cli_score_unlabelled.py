"""`rubriclab score` without a rubric: what is believed before any label, said to be unvalidated."""

from __future__ import annotations

import json
from pathlib import Path

from commands import HELDOUT, Commands

TEXTS = HELDOUT.read_bytes().splitlines(keepends=True)[:20]
PRIOR = ("--task", "summarization", "--aspect", "coherence")


def texts(folder: Path) -> str:
    bare = [{key: value for key, value in json.loads(line).items() if key != "scores"} for line in TEXTS]
    (folder / "texts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in bare))
    return "texts.jsonl"


def test_texts_without_labels_are_scored_offline_and_said_to_be_unvalidated(rubriclab: Commands) -> None:
    done = rubriclab("score", texts(rubriclab.folder), *PRIOR, "--scale", "0:10:any")
    assert [row["id"] for row in done.rows] == [json.loads(line)["id"] for line in TEXTS]
    assert all(0 <= row["score"] <= 10 and row["rubric"] == "unvalidated" for row in done.rows)
    assert len({row["score"] for row in done.rows}) > 10
    assert "unvalidated: no label says how far these scores agree with people's" in done.err
    assert "rubriclab learn --task summarization --aspect coherence" in done.err


def test_standard_input_cannot_be_compared_with_itself(rubriclab: Commands) -> None:
    done = rubriclab("score", "-", *PRIOR, stdin=b"".join(TEXTS))
    assert done.code == 2
    assert "standard input cannot be read twice; give a file, or name a language model" in done.err


def test_a_rubric_says_the_aspect_itself(own: Commands) -> None:
    done = own("score", texts(own.folder), "--rubric", "news@1", *PRIOR)
    assert done.code == 0
    assert "--task, --aspect: left out, as --rubric says it" in done.err
    assert {row["rubric"] for row in done.rows} == {"news@1"}
