"""Scores of many texts in figures, and an open rubric that scores one text at a time."""

from __future__ import annotations

import asyncio
import math
import statistics
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import HELDOUT_ROWS, LABELLED
from hypothesis import given, strategies as st
from server import RunningServer
from waiting import PATIENCE, until

from rubriclab import BudgetReached, Lab, Scale, Score, TextScorer, Version
from rubriclab.ops.scores import MAX_REASONS, OTHER_REASON, ScoreDistribution, summarize_scores
from rubriclab.report.render import view
from rubriclab.stats.intervals import Interval
from rubriclab.stats.prediction_powered import LabelledScores

SCALE = Scale(low=1, high=5, whole=False)


def summary(*values: float | None, reason: str = "no reply") -> ScoreDistribution:
    scores = (
        Score(f"t{n}", "coherence", value, (), None if value is not None else reason, "news@1", "embedded")
        for n, value in enumerate(values)
    )
    return summarize_scores(scores, SCALE)


@given(st.lists(st.floats(1, 5), min_size=2, max_size=50))
def test_mean_and_spread_are_those_of_the_standard_library(values: list[float]) -> None:
    result = summary(*values)
    assert result.mean == pytest.approx(statistics.fmean(values))
    assert result.standard_deviation == pytest.approx(statistics.stdev(values), abs=1e-9)
    assert sum(result.histogram) == len(values)
    # The ends of the scale lie in the first and last bin.
    assert summary(1.0, 5.0, 5.0).histogram == (1, 0, 0, 0, 0, 0, 0, 0, 0, 2)
    nothing = summary(None, None)
    assert (nothing.mean, nothing.standard_deviation, dict(nothing.unscored)) == (None, None, {"no reply": 2})
    assert str(view("distribution", summary=nothing))


def test_different_reasons_and_slices_do_not_grow_without_end() -> None:
    result = ScoreDistribution(SCALE)
    for n in range(1000):
        result.add(Score(f"t{n}", "coherence", None, (), f"reason {n}", "news@1", "embedded"))
        result.add(Score(f"s{n}", "coherence", 3.0, (), None, "news@1", "embedded"), slice_name=f"{n:03}")
    assert (len(result.unscored), result.unscored[OTHER_REASON]) == (MAX_REASONS + 1, 1000 - MAX_REASONS)
    rows = result.slice_rows()
    assert (len(rows), sum(row.texts for row in rows)) == (51, 1000)


@pytest.mark.parametrize(
    ("values", "threshold", "expected"),
    [
        ((3.0, 4.0), 3.5, True),
        ((3.0, 4.0), 3.6, False),
        ((None, 4.0), 3.6, None),
        ((), 3.0, None),
        ((*([4.0] * 9), None), 3.0, True),
    ],
)
def test_a_threshold_is_met_only_where_enough_texts_have_a_score(
    values: tuple[float | None, ...], threshold: float, expected: bool | None
) -> None:
    assert summary(*values).meets(threshold) is expected


@pytest.mark.parametrize(("threshold", "expected"), [(2.0, True), (3.0, None), (4.9, False)])
def test_with_labels_the_interval_of_the_mean_human_score_decides(threshold: float, expected: bool | None) -> None:
    scores = np.linspace(2, 5, 20)
    labels = scores - 1 + np.tile([-0.3, 0.3], 10)
    result = summary(*scores.tolist())
    result.training_labels = LabelledScores(np.clip(labels + 0.4, 1, 5), scores, np.arange(20), np.arange(20))
    found = result.human_mean
    assert found.value == pytest.approx(labels.mean() + 0.4, abs=0.01)
    assert result.meets(threshold) is expected
    assert "estimated mean human score 2.90" in str(view("distribution", summary=result))


def test_texts_scored_unlike_the_labelled_ones_are_said_to_need_labels() -> None:
    scores = np.linspace(1, 3, 40)
    result = summary(*(scores + 2).tolist())
    result.training_labels = LabelledScores(scores + np.tile([-0.3, 0.3], 20), scores, np.arange(40), np.arange(40))
    assert result.labels_needed
    shown = " ".join(str(view("distribution", summary=result)).split())
    assert f"Label about {result.labels_needed} texts of them at random for a margin of 0.2" in shown


def labelled_texts(labelled: int, *, slices: int = 1, noise: float = 0.1) -> ScoreDistribution:
    """Return 60 texts of 30 groups; the judge is a point too high in each second slice, and people label the first."""
    result = ScoreDistribution(SCALE)
    for number in range(60):
        label = 2 + (number // 2) % 3 * 0.5
        score = label + number % slices + (noise if number % 4 < 2 else -noise)
        given = label if number // 2 < labelled else math.nan
        name = f"slice {number % slices}" if slices > 1 else ""
        result.add(
            Score(f"t{number}", "coherence", score, (), None, "news@1", "embedded"), f"g{number // 2}", given, name
        )
    return result


def test_labels_of_the_texts_themselves_come_before_those_of_learning() -> None:
    result = labelled_texts(10)
    result.training_labels = LabelledScores(np.linspace(4, 5, 20), np.linspace(1, 2, 20), np.arange(20), np.arange(20))
    assert result.human_mean.value == pytest.approx(2.5, abs=0.05)
    assert (result.to_row()["labels"], result.to_row()["labels_of"]) == (20, "texts")
    assert "by 20 labels of these texts" in str(view("distribution", summary=result))
    # With a label for each text, the mean is theirs.
    assert labelled_texts(30).human_mean == Interval(2.5, 2.5, 2.5)
    assert "all 60 texts: exact" in str(view("distribution", summary=labelled_texts(30)))


def test_few_labels_that_equal_their_scores_do_not_make_the_mean_certain() -> None:
    by_own = labelled_texts(12, noise=0)
    by_training = summary(*by_own.values)
    by_training.training_labels = by_own.labelled
    margin = 4 * (1 - 0.05 ** (1 / 12))  # by the rule of three over groups, for errors from -4 to 4
    for result in (by_own, by_training):
        assert result.human_mean.rounded() == Interval(2.5, 2.5 - margin, 2.5 + margin).rounded()


def test_each_slice_is_corrected_by_its_own_labels() -> None:
    result = labelled_texts(10, slices=2)
    first, second = result.slice_rows()
    assert (first.name, first.texts, first.labels, second.texts) == ("slice 0", 30, 10, 30)
    assert second.mean - first.mean == pytest.approx(1)
    for found in (first.human_mean, second.human_mean, result.human_mean):
        assert found.value == pytest.approx(2.5, abs=0.05)
    assert "slice 0" in str(view("distribution", summary=result))


def test_a_slice_with_few_labels_has_no_estimate_and_the_whole_is_not_stratified() -> None:
    result = labelled_texts(10)
    for number in range(10):
        result.add(Score(f"n{number}", "coherence", 3.0, (), None, "news@1", "embedded"), f"n{number}", math.nan, "new")
    rows = {row["name"]: row for row in result.to_row()["slices"]}
    assert rows["new"]["human_mean"]["value"] is None
    assert result.human_mean.value is not None


ROWS = HELDOUT_ROWS[:12]


@pytest.fixture(scope="module")
def version(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Version]:
    store = tmp_path_factory.mktemp("scorer") / "store.db"
    options: dict[str, Any] = {"task": "summarization", "aspect": "coherence", "methods": "direct", "name": "news"}
    return store, Lab(store, progress=None).learn(LABELLED, **options)


@pytest.fixture
def lab(version: tuple[Path, Version]) -> Lab:
    return Lab(version[0], progress=None)


@pytest.fixture
def scorer(lab: Lab) -> Iterator[TextScorer]:
    with lab.scorer("news") as opened:
        yield opened


def fields(row: dict[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in ("id", "output", "source", "group")}


def test_single_texts_have_the_scores_of_the_whole_file(lab: Lab, scorer: TextScorer) -> None:
    scores = tuple(lab.score(ROWS, "news"))
    assert tuple(scorer(**fields(row)) for row in ROWS) == scores
    assert tuple(scorer.score_rows(ROWS)) == scores
    assert {score.rubric for score in scores} == {scorer.name} == {"news@1"}


def test_several_threads_and_a_running_event_loop_may_score_at_the_same_time(scorer: TextScorer) -> None:
    expected = [scorer.score_row(row) for row in ROWS]
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(scorer.score_row, ROWS)) == expected

    async def together() -> list[Any]:
        return await asyncio.gather(*(scorer.score_row_async(row) for row in ROWS))

    assert asyncio.run(together()) == expected


def test_all_texts_share_the_limits_and_the_budget_of_one_judge(lab: Lab, server: RunningServer, version: Any) -> None:
    server.latency = 0.02
    shared = Lab(version[0], progress=None, judge="openai/fake", concurrency=2, max_calls=5)
    with shared.scorer("news") as opened, ThreadPoolExecutor(5) as threads:
        list(threads.map(opened.score_row, ROWS[:5]))
        with pytest.raises(BudgetReached, match="cap of 5 calls"):
            opened.score_row(ROWS[5])
        assert opened.score_row(ROWS[0]).score is not None  # an answer in the store needs no call
    assert server.most_at_once == 2
    assert len(server.bodies) == 5


def test_a_scorer_that_waits_for_the_cap_of_its_lab_goes_on_when_another_scorer_makes_room(
    server: RunningServer, version: Any
) -> None:
    shared = Lab(version[0], progress=None, judge="openai/fake", max_calls=1, attempts=1, concurrency=1)
    server.script.append("overloaded")
    server.held = True
    with shared.scorer("news") as one, shared.scorer("news") as two, ThreadPoolExecutor(2) as threads:
        refused = threads.submit(one.score_row, ROWS[6])
        until(lambda: server.bodies)
        waiting = threads.submit(two.score_row, ROWS[7])
        until(lambda: shared._budget._waiting)
        server.held = False
        assert refused.result(PATIENCE).score is None
        assert waiting.result(PATIENCE).score is not None
    assert len(server.bodies) == 2


def test_a_scorer_that_is_closed_leaves_the_requests_of_another_scorer_under_way(
    server: RunningServer, version: Any
) -> None:
    shared = Lab(version[0], progress=None, judge="openai/fake", attempts=1)
    with shared.scorer("news") as staying, ThreadPoolExecutor(1) as threads:
        with shared.scorer("news") as closed:
            assert closed.score_row(ROWS[8]).score is not None
            server.held = True
            under_way = threads.submit(staying.score_row, ROWS[9])
            until(lambda: len(server.bodies) == 2)
        server.held = False
        assert under_way.result(PATIENCE).score is not None
        assert staying.score_row(ROWS[10]).score is not None
    assert len(server.bodies) == 3
