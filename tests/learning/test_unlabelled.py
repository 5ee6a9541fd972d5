"""Rubrics without any label: the judge's own score, or text features by their prior weights."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from commands import HELDOUT

from rubriclab.data.readers import read
from rubriclab.errors import DataError
from rubriclab.judges.embedded import EmbeddedJudge
from rubriclab.learning.baselines import (
    MIN_TEXTS,
    SPREAD,
    judged_rubric,
    text_feature_rubric,
)
from rubriclab.learning.scoring import score_text
from rubriclab.models.text import (
    Assignment,
    Example,
    find_aspect,
    parse_scale,
    task_words,
)
from rubriclab.stats.correlation import spearman

ASSIGNMENT = Assignment(task_words("summarization"), find_aspect("summarization", "coherence"), parse_scale("1:5"))
TEXTS = [row for row in read(str(HELDOUT)) if isinstance(row, Example)][:40]


async def scores_of(texts: list[Example]) -> list[float]:
    rubric = text_feature_rubric(ASSIGNMENT, TEXTS)
    return [(await score_text(rubric, text, EmbeddedJudge(), "unvalidated")).score or np.nan for text in texts]


async def test_scores_by_measures_have_the_middle_of_the_scale_as_mean_and_a_quarter_of_it_as_spread() -> None:
    found = np.array(await scores_of(TEXTS))
    assert found.mean() == pytest.approx(3.0, abs=0.1)
    assert found.std() == pytest.approx(SPREAD * 4, abs=0.15)
    assert found.min() >= 1
    assert found.max() <= 5


async def test_scores_by_measures_agree_with_people_though_no_label_was_read() -> None:
    found = await scores_of([replace(text, scores={}) for text in TEXTS])
    assert spearman(np.array(found), np.array([text.scores["coherence"] for text in TEXTS])) > 0.3


def test_the_weights_are_shares_and_the_sizes_sum_to_one() -> None:
    aggregation = text_feature_rubric(ASSIGNMENT, TEXTS).aggregation
    assert aggregation
    assert sum(abs(term.weight) for term in aggregation.terms) == pytest.approx(1, abs=1e-4)
    assert {np.sign(term.weight) for term in aggregation.terms} == {-1, 1}


def test_a_judge_is_asked_for_one_score_of_the_whole() -> None:
    rubric = judged_rubric(ASSIGNMENT)
    assert [(part.method, [criterion.kind for criterion in part.criteria]) for part in rubric.parts] == [
        ("direct", ["score"])
    ]
    assert rubric.aggregation is None


def test_texts_too_few_to_compare_are_refused() -> None:
    with pytest.raises(DataError, match=f"got {MIN_TEXTS - 1} usable, expected at least {MIN_TEXTS}"):
        text_feature_rubric(ASSIGNMENT, TEXTS[: MIN_TEXTS - 1])


def test_texts_that_are_all_the_same_are_refused() -> None:
    with pytest.raises(DataError, match="No text feature that is known to matter for 'coherence' varies"):
        text_feature_rubric(ASSIGNMENT, [TEXTS[0]] * MIN_TEXTS)
