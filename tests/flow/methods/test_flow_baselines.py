"""Baselines beside a rubric, and two judges on one rubric, counted at the server."""

from __future__ import annotations

import methods_brain
import pytest
from commands import LABELLED, Commands
from flow_server import Killing
from method_flows import SCORED, some_texts
from server import RunningServer

BASELINES = ("direct", "few_shot", "geval", "analyze_rate")
ALL = [argument for name in BASELINES for argument in ("--baseline", name)]
# One request a text each, and one for the evaluation steps.
BESIDE = 4 * SCORED + 1
STRICT, MILD = "openai/strict", "openai/mild"


@pytest.fixture
def method() -> str:
    """What the rubric was learned by."""
    return "checkeval"


def evaluation(*more: object) -> tuple[object, ...]:
    level = ("--level", "dataset", "--json")
    return ("evaluate", "-", "--rubric", "news", *ALL, "--labelled", LABELLED, *level, *more)


def test_baselines_take_one_request_a_text_and_one_for_the_steps(provider: RunningServer, learned: Commands) -> None:
    most = learned(*evaluation("--dry-run"), stdin=some_texts()).json["estimate"]
    assert sum(row["calls"] for row in most.values()) >= BESIDE
    assert provider.requests.total() == 0
    done = learned(*evaluation(), stdin=some_texts())
    assert done.code == 0, done.err
    assert (provider.requests.total(), provider.repeated) == (BESIDE, 0)
    rows = {row["evaluator"]: row for row in done.json["results"]}
    refs = [f"summarization-coherence-{name}@1" for name in BASELINES]
    assert list(rows)[:5] == ["news@1", *refs]
    assert {(row["n"], row["unscored"]) for row in rows.values()} == {(SCORED, 0)}
    assert {row["rubric"] for row in learned("list", "--json").json["versions"]} == {"news@1", *refs}
    # Kept: the same figures again, together or one alone, and nothing asked.
    assert learned(*evaluation(), stdin=some_texts()).json == done.json
    alone = learned("evaluate", "-", "--rubric", refs[2], "--level", "dataset", "--json", stdin=some_texts())
    assert alone.json["results"][0] == rows[refs[2]]
    assert provider.requests.total() == BESIDE


def test_baselines_that_are_killed_go_on_where_they_were(provider: RunningServer, learned: Commands) -> None:
    provider.brain = killing = Killing(at=BESIDE // 2, brain=methods_brain.reply)
    killing.victim = learned.start(*evaluation("--concurrency", 1), stdin=some_texts())
    assert killing.victim.wait().code == -9
    provider.brain = methods_brain.reply
    done = learned(*evaluation("--concurrency", 1), stdin=some_texts())
    assert {row["unscored"] for row in done.json["results"]} == {0}
    assert (provider.requests.total(), provider.repeated) == (BESIDE + 1, 0)
    assert all(row["rubric"].endswith("@1") for row in learned("list", "--json").json["versions"])
    assert learned("verify").code == 0


def test_a_baseline_without_a_usable_reply_is_left_out_and_named(provider: RunningServer, learned: Commands) -> None:
    provider.brain = lambda _messages, _body: "I would rather not."
    done = learned(
        *("evaluate", "-", "--rubric", "news", "--baseline", "direct", "--level", "dataset", "--json"),
        stdin=some_texts(),
    )
    rows = {row["evaluator"]: row for row in done.json["results"]}
    assert (rows["news@1"]["n"], rows["news@1"]["unscored"]) == (SCORED, 0)
    assert "summarization-coherence-direct@1" not in rows
    assert "direct" in done.err
