"""The recommended way, the share of texts outside of the training range, and the old criteria among new candidates."""

from __future__ import annotations

import numpy as np
import pytest
from places import KEPT, place
from planning_samples import CANDIDATES, METHODS, rubric

from rubriclab.learning.candidates import Candidates, EarlierRubric, with_earlier
from rubriclab.models.rubric import Part
from rubriclab.models.version import (
    Action,
    Candidate,
    Cell,
    RecordedText,
    TrainingRecord,
)
from rubriclab.ops.transfer import outside_training_range, recommend

LABELS = np.array([1.0, 2, 3, 4, 5, 1, 2, 3, 4, 5])
GROUPS = [f"g{number // 2}" for number in range(10)]


def recommended(**scores: np.ndarray) -> Action:
    return recommend(scores, LABELS, GROUPS, "reuse", 1.0)[0]  # type: ignore[arg-type]


def test_the_way_with_the_smallest_error_is_recommended() -> None:
    better = {"recalibrate": LABELS + 0.5, "relearn": LABELS + 0.2}
    assert recommended(reuse=LABELS + 1, **better) == "relearn"
    assert recommended(reuse=LABELS + 0.1, **better) == "reuse"


def test_of_equal_ways_the_cheapest_is_recommended() -> None:
    assert recommended(reuse=LABELS + 1, recalibrate=LABELS + 0.5, relearn=LABELS - 0.5) == "recalibrate"


def test_the_gain_is_the_mean_difference_of_errors_in_points_with_students_interval_over_groups() -> None:
    other = LABELS + np.tile([0.5, 0.0], 5)
    _, gains, _ = recommend({"reuse": LABELS + 1, "recalibrate": other}, LABELS, GROUPS, "reuse", 2.0)
    assert gains["recalibrate"].value == pytest.approx(1.5)
    other[:2] = LABELS[:2] + 1
    _, gains, _ = recommend({"reuse": LABELS + 1, "recalibrate": other}, LABELS, GROUPS, "reuse", 1.0)
    means = np.array([0, 0.75, 0.75, 0.75, 0.75])
    margin = 2.776445 * means.std(ddof=1) / np.sqrt(5)
    assert gains["recalibrate"].value == pytest.approx(means.mean())
    assert gains["recalibrate"].low == pytest.approx(means.mean() - margin, abs=1e-5)


def test_texts_that_one_way_did_not_score_count_for_none() -> None:
    gap = np.where(np.arange(10) == 0, np.nan, LABELS + 0.3)
    reused = np.where(np.arange(10) == 0, LABELS + 99, LABELS + 0.2)
    assert recommended(reuse=reused, recalibrate=gap) == "reuse"


def test_too_few_groups_or_equal_labels_show_no_difference() -> None:
    few = ["a", "b"] * 5
    chosen, _, too_few = recommend(
        {"reuse": LABELS + 1, "recalibrate": LABELS}, LABELS, few, default="reuse", point=1.0
    )
    assert (chosen, too_few) == ("reuse", True)
    equal = np.full(10, 3.0)
    chosen, _, too_few = recommend({"reuse": equal + 1, "recalibrate": equal}, equal, GROUPS, "recalibrate", 1.0)
    assert (chosen, too_few) == ("recalibrate", True)


def test_the_share_outside_of_the_training_range_counts_texts_rated_lower_or_higher_than_any_training_text() -> None:
    at = place(lambda values: values[:, 0])
    rows = np.argsort(at.rated.values[:, 0])[10:30]
    cells = tuple(at.rated.cells[row] for row in rows)
    texts = tuple(RecordedText(id=f"s{row}", group="g", output="Text.", label=1.0) for row in rows)
    record = TrainingRecord(texts=texts, candidates=at.rated.candidates, cells=cells)
    raw = np.array([(row - 3).mean() for row in at.rated.values])
    known = raw[rows]
    expected = np.mean((raw < known.min()) | (raw > known.max()))
    assert 0 < expected < 1
    share = outside_training_range(at.rubric, record, at.rated)
    assert share is not None
    assert share.value == pytest.approx(expected)
    assert outside_training_range(at.rubric, None, at.rated) is None
    bare = at.rubric.model_copy(update={"aggregation": None})
    assert outside_training_range(bare, record, at.rated) is None


def test_criteria_of_the_earlier_rubric_are_candidates_with_their_ratings_unless_proposed_again() -> None:
    at = place(lambda values: values[:, 0], texts=6, groups=3)
    known = {each.id: each for each in CANDIDATES}
    again = known["links"].model_copy(update={"id": "h1"})
    other = known["links"].model_copy(update={"id": "followed", "statement": "Another statement."})
    method = METHODS["links"]
    columns = tuple(Candidate(method=method, criterion=each, kept=False, made_from=("t00",)) for each in (again, other))
    part = Part(method=method, settings={}, criteria=(again, other))
    rated = tuple((Cell(score=1.0, reason="new"),) * 2 for _ in at.rated.examples)
    candidates = Candidates(examples=at.rated.examples, candidates=columns, cells=rated, parts=(part,))
    earlier = {
        example.id: dict(zip(KEPT, row, strict=True))
        for example, row in zip(at.rated.examples, at.rated.cells, strict=True)
    }
    joined = with_earlier(candidates, EarlierRubric(rubric(*KEPT).parts, earlier))
    # `direct` is a score of the whole by a method that has none among the new candidates; `links` was proposed again.
    assert joined.ids == ("h1", "followed", "earlier.followed", "direct")
    assert [each.made_from for each in joined.candidates] == [("t00",), ("t00",), (), ()]
    assert [row[2] for row in joined.cells] == [row["followed"] for row in earlier.values()]
    assert {criterion.id for each in joined.parts for criterion in each.criteria} == set(joined.ids)
