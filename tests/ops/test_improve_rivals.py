"""Texts improved by a rubric that was learned from texts rated together."""

from __future__ import annotations

import json
from dataclasses import replace

from commands import HELDOUT

from rubriclab import Lab
from rubriclab.learning.scoring import without_rivals
from rubriclab.models.aggregation import RivalLimits
from rubriclab.models.version import Version


def learned_together(version: Version) -> Version:
    """Return a version as if it had been learned from texts rated together."""
    aggregation = version.rubric.aggregation
    assert aggregation
    together = aggregation.model_copy(update={"rivals": RivalLimits(), "ask": "in one call"})
    return replace(version, rubric=version.rubric.model_copy(update={"aggregation": together}))


def test_each_text_is_rated_by_itself_before_and_after_and_that_is_said(planted_lab: Lab) -> None:
    notes: list[str] = []
    lab = Lab(planted_lab._store, judge="embedded", progress=None, notify=notes.append)
    version = learned_together(lab.load("planted"))
    texts = [json.loads(line) for line in HELDOUT.read_text("utf-8").splitlines()[:12]]
    result = lab.improve(texts, version, rounds=1)
    assert any("was learned from scores of texts that were rated together; here each text" in note for note in notes)
    scores = [score for text in result.texts for score in (text.before, text.after) if score]
    assert scores
    assert all(score.rivals is None for score in scores)
    alone = replace(version, rubric=without_rivals(version.rubric))
    assert [text.after for text in lab.improve(texts, alone, rounds=1).texts] == [text.after for text in result.texts]
