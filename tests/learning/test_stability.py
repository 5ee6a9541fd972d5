"""The seed and the ids of the rows are arbitrary: they change neither the verdict nor most of the criteria."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from commands import LABELLED

from rubriclab import Lab

ROWS = [json.loads(line) for line in LABELLED.read_text("utf-8").splitlines()]
ELSEWHERE = [{**row, "id": f"x{place * 37 % 101:03d}"} for place, row in enumerate(ROWS)]
MOSTLY = 0.5


def learned(folder: Path, rows: list[dict[str, Any]], aspect: str, seed: int) -> tuple[str, set[str]]:
    """Return the verdict, and what the criteria measure, without the values that the labels had there."""
    lab = Lab(store=folder / f"{aspect}-{seed}-{rows[0]['id'].replace(':', '')}.db", judge="embedded")
    version = lab.learn(rows, task="summarization", aspect=aspect, scale=(1, 5), seed=seed)
    assert version.provenance.validation is not None
    return version.provenance.validation.outcome, {
        criterion.statement.partition(" (about ")[0] for criterion in version.rubric.criteria
    }


@pytest.mark.parametrize("aspect", ["coherence", "relevance"])
def test_other_seeds_and_ids_give_the_same_verdict_and_mostly_the_same_criteria(aspect: str, tmp_path: Path) -> None:
    runs = [learned(tmp_path, ROWS, aspect, seed) for seed in (1, 2, 3)]
    runs.append(learned(tmp_path, ELSEWHERE, aspect, 1))
    assert len({outcome for outcome, _ in runs}) == 1
    (_, first), *others = runs
    for _, criteria in others:
        assert len(first & criteria) > MOSTLY * len(first)
