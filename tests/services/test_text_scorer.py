"""`Lab.scorer`: an open rubric that scores texts one at a time, from threads and event loops."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from commands import HELDOUT, LABELLED
from server import RunningServer
from waiting import PATIENCE, until

from rubriclab import BudgetReached, Lab, NotInStore, SettingsError, TextScorer, Version

# Seconds after which a scorer hangs.
ROWS: list[dict[str, Any]] = [json.loads(line) for line in HELDOUT.read_text().splitlines()[:12]]


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


async def test_it_may_be_called_where_an_event_loop_is_running(scorer: TextScorer) -> None:
    assert scorer.score_row(ROWS[0]) == await scorer.score_row_async(ROWS[0])


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


def test_a_faulty_row_is_unscored_and_a_missing_source_is_refused(scorer: TextScorer) -> None:
    assert "output" in (scorer.score_row({"id": "a", "source": "An article.", "output": 3}).unscored or "")
    with pytest.raises(SettingsError, match=r"'source'"):
        scorer("A summary without its article.")


def test_a_score_lies_between_the_ends_of_the_scale(scorer: TextScorer) -> None:
    scale = scorer.rubric.scores_on
    assert (scorer.share_of_scale(scale.low), scorer.share_of_scale(scale.high)) == (0.0, 1.0)
    assert scorer.share_of_scale((scale.low + scale.high) / 2) == 0.5


@pytest.mark.parametrize("threshold", ["3", True, None, "A text in place of the threshold, " * 9])
def test_a_threshold_is_a_number(scorer: TextScorer, threshold: Any) -> None:
    with pytest.raises(SettingsError, match=r"The threshold is .{1,40}, not a number") as caught:
        scorer.check_threshold(threshold)
    assert len(str(caught.value)) < 120


def test_a_misspelt_field_is_refused(scorer: TextScorer) -> None:
    with pytest.raises(SettingsError, match=r"no field 'refrence'\. Did you mean 'reference'\?"):
        scorer(**fields(ROWS[0]), refrence="Another summary.")


def test_after_it_is_closed_it_says_so(lab: Lab) -> None:
    with lab.scorer("news") as opened:
        assert opened.score_row(ROWS[0]).score is not None
    opened.close()
    with pytest.raises(RuntimeError, match="The rubric is closed; open a new scorer"):
        opened.score_row(ROWS[0])


def test_an_unknown_rubric_is_refused_when_it_is_opened(lab: Lab) -> None:
    with pytest.raises(NotInStore, match="unknown"):
        lab.scorer("unknown")
