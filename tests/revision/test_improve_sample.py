"""The offline judge's repairs of the shipped sample: damaged facts are mended, and what had passed is left alone."""

from __future__ import annotations

import asyncio

import pytest
from commands import HELDOUT
from revision_scripts import improve_text

from rubriclab.data.readers import read
from rubriclab.judges.embedded import EmbeddedJudge
from rubriclab.methods.catalogue import METHODS
from rubriclab.methods.method import TrainingInput, ignore_progress
from rubriclab.methods.sources import load_checklist
from rubriclab.models.rubric import Rubric
from rubriclab.models.text import (
    Assignment,
    Example,
    find_aspect,
    parse_scale,
    split_sentences,
    task_words,
)
from rubriclab.ops.improve import Improvement

TEXTS = [row for row in read(str(HELDOUT)) if isinstance(row, Example)]
DAMAGED = {row.id for row in TEXTS if row.scores["consistency"] < 5}


@pytest.fixture(scope="module")
def improved() -> dict[str, Improvement]:
    """Return what became of each text."""
    return asyncio.run(_improved())


async def _improved() -> dict[str, Improvement]:
    method, judge = METHODS["dcr"], EmbeddedJudge()
    about = Assignment(task_words("summarization"), find_aspect("summarization", "consistency"), parse_scale("1:5"))
    checks = load_checklist("summarization", "consistency", folder="comparisons")
    training_input = TrainingInput((), about, checklist=checks)
    learned = await method.learn(
        training_input, method.settings(), judge=judge, generator=judge, seed=1, on_progress=ignore_progress
    )
    rubric = Rubric(task="summarization", aspect=about.aspect, scale=about.scale, parts=(learned.part,))
    return {text.id: await improve_text(rubric, text, judge, "facts@1") for text in TEXTS}


def test_consistency_rises_in_four_fifths_of_the_damaged_texts_at_least(improved: dict[str, Improvement]) -> None:
    rows = [improved[name].to_row()["improvement"] for name in sorted(DAMAGED)]
    rose = sum(row["after"] > row["before"] for row in rows)
    assert len(rows) >= 20
    assert rose >= 0.8 * len(rows)


def test_every_sentence_that_had_passed_stands_where_it_stood(improved: dict[str, Improvement]) -> None:
    kept = 0
    for text in TEXTS:
        row = improved[text.id].to_row()
        (criterion,) = row["improvement"]["criteria_before"]
        passed = [unit["unit"] for unit in criterion["units"] if unit["value"] == 1]
        now = split_sentences(row["output"])
        assert [sentence for sentence in now if sentence in passed] == passed
        kept += len(passed)
    assert kept > 200
