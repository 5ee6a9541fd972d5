"""Comparisons as labels, through the command line."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from typing import Any

from commands import LABELLED_ROWS as ROWS, Commands

TASK = ("--task", "summarization", "--aspect", "coherence", "--judge", "embedded", "--no-literature")
COHERENCE = {row["id"]: row["scores"]["coherence"] for row in ROWS}
GROUPS = {name: [row["id"] for row in ROWS if row["group"] == name] for name in {row["group"]: None for row in ROWS}}


def texts(scored: Iterable[str] = ()) -> list[dict[str, Any]]:
    return [{**row, "scores": {"coherence": COHERENCE[row["id"]]} if row["id"] in scored else None} for row in ROWS]


def preferences() -> list[dict[str, Any]]:
    """Return what the scores of the sample say of each pair of rivals."""
    pairs = [sorted(pair, key=COHERENCE.__getitem__) for ids in GROUPS.values() for pair in combinations(ids, 2)]
    return [{"preferred": b, "over": a, "tie": COHERENCE[a] == COHERENCE[b], "rater": "anna"} for a, b in pairs]


def test_comparisons_alone_are_learned_from(rubriclab: Commands) -> None:
    file = rubriclab.write("rows.jsonl", [*texts(), *preferences()])
    done = rubriclab("learn", file, *TASK, "--method", "hypoeval", "--json")
    assert done.code == 0
    assert done.json["agreement"]["n"] == len(ROWS)
    assert done.json["agreement"]["spearman"]["value"] > 0.4
    assert "36 labels are fitted to 90 comparisons, by a Bradley-Terry model" in done.err
    assert "scale 0 to 1 by default, since there are only comparisons" in done.err


def test_texts_are_scored_and_evaluated_beside_comparisons(rubriclab: Commands) -> None:
    file = rubriclab.write("rows.jsonl", [*texts(), *preferences()])
    rubriclab("learn", file, *TASK, "--method", "direct", "--name", "news")
    scored = rubriclab("score", file, "--rubric", "news")
    assert len(scored.rows) == len(ROWS)
    assert "left out: 90 rows with only comparisons of texts" in scored.err
    evaluated = rubriclab("evaluate", file, "--rubric", "news", "--include-training", "--json")
    assert evaluated.json["results"][0]["n"] == len(ROWS)
    assert "36 labels are fitted to 90 comparisons" in evaluated.err
    odd = rubriclab.write("odd.jsonl", [*texts(), *preferences(), {"preferred": ROWS[0]["id"], "over": "nobody"}])
    kept = rubriclab("evaluate", odd, "--rubric", "news", "--include-training", "--json")
    assert kept.code == 0
    assert "left out: odd.jsonl:127: got a comparison with 'nobody'" in kept.err
