"""`rubriclab compare`: did the new model get worse?"""

from __future__ import annotations

from typing import Any

import pytest
from commands import HELDOUT_ROWS, Commands


def rows() -> list[dict[str, Any]]:
    """Return two held-out texts of each group."""
    return [{**row} for row in HELDOUT_ROWS[::3]]


def worse(text: dict[str, Any]) -> dict[str, Any]:
    return {**unlabelled(text), "output": " ".join(reversed(text["output"].split(". ")))[:60]}


def unlabelled(text: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in text.items() if name not in ("scores", "annotations")}


@pytest.fixture
def sets(learned: Commands) -> tuple[Commands, str, str]:
    return learned, learned.write("old.jsonl", rows()), learned.write("new.jsonl", [worse(row) for row in rows()])


def test_scores_that_rows_carry_are_not_asked_for_again(sets: tuple[Commands, str, str]) -> None:
    """A file written by `score` needs no judge; a score of another version, or off the scale, is not used."""
    commands, old, _ = sets
    commands("score", old, "--rubric", "news", "-o", "scored.jsonl")
    carried = commands.read("scored.jsonl")
    carried[0]["rubric"] = "news@7"
    carried[1]["score"] = 99
    commands.write("carried.jsonl", carried)
    done = commands("compare", "carried.jsonl", old, "--rubric", "news", "--json")
    assert "carried.jsonl: 22 scores by news@" in done.err
    assert (done.code, done.json["difference"]["value"]) == (0, 0)
    bound = commands("compare", "scored.jsonl", "scored.jsonl", "--rubric", "news", "--dry-run", "--json")
    assert bound.json["estimate"]["judge"]["calls"] == 0


LIKELY = "--map scores.coherence=Bewertung"


@pytest.mark.parametrize("command", ["compare FILE FILE --rubric", "evaluate FILE --rubric", "transfer --to FILE"])
def test_a_column_that_looks_like_labels_is_named_where_there_are_none(learned: Commands, command: str) -> None:
    rated = [{**unlabelled(row), "Bewertung": 1 + number % 5} for number, row in enumerate(rows())]
    given = (*command.replace("FILE", learned.write("rated.jsonl", rated)).split(), "news")
    assert LIKELY in learned(*given).err
    assert LIKELY not in learned(*given, *LIKELY.split()).err


def test_labels_of_both_sets_decide_and_not_the_judge(learned: Commands) -> None:
    """The judge sees no change, but people score every new output two points lower."""
    new = [{**row, "output": f"{row['output']} ", "scores": {"coherence": 1.0}, "annotations": None} for row in rows()]
    old = [{**row, "scores": {"coherence": 3.0 + number % 3}, "annotations": None} for number, row in enumerate(rows())]
    files = learned.write("old.jsonl", old), learned.write("new.jsonl", new)
    done = learned("compare", *files, "--rubric", "news", "--max-drop", 0.5, "--json")
    assert (done.code, done.json["outcome"]) == (1, "beyond")
    assert done.json["human"]["labels_of"] == "both"
    assert done.json["human"]["difference"]["value"] == pytest.approx(-3, abs=0.2)
    assert abs(done.json["difference"]["value"]) < 0.5
    shown = " ".join(learned("compare", *files, "--rubric", "news", "--max-drop", 0.5).out.split())
    assert "BEYOND THE LIMIT the mean human score drops by" in shown
    assert "The mean human score changes by -3" in shown
    assert "by 48 labels of these outputs" in shown
