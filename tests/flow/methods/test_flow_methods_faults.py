"""Faulty replies to each method: mended where a retry or a repair can help, else missing, and never a number."""

from __future__ import annotations

import itertools
import json
import random
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import scripted_model
from commands import Commands
from method_flows import LEARNED_FROM, MENDED, METHODS, Run, Turns, every_kind, learning, some_texts, unusable_at_first
from server import RunningServer

FAULTS = ("rate_limit", "empty", "server_error", "off_scale", "timeout", "prose", "cut_body")
# The other faults come as replies, usable or not.
WITHOUT_REPLY = ("rate_limit", "server_error", "timeout", "cut_body")
# How many texts a criterion may be put to, where that is not all: a rewriting on trial to those that it has not seen.
PUT_TO = {"seeval": {LEARNED_FROM, LEARNED_FROM // 2}}


def considered(shown: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield every criterion of a rubric, kept or dropped, that was put to texts."""
    part = shown["rubric"]["parts"][0]
    for criterion in (*part["criteria"], *(dropped["criterion"] for dropped in part["dropped"])):
        if criterion["evidence"]["judged"] + criterion["evidence"]["missing"] or criterion["evidence"]["answers"]:
            yield criterion


@pytest.mark.parametrize("method", [method for method in METHODS if method != "geval"])
def test_with_a_fifth_of_the_replies_faulty_it_ends_and_says_what_is_missing(
    run: Run, provider: RunningServer, asking: Commands
) -> None:
    faults = itertools.cycle(FAULTS)
    provider.script = deque(next(faults) if number % 5 == 3 else None for number in range(1000))
    provider.hang = 0
    # One request at a time, so that the same ones fail every time.
    done = asking(*learning(asking, run.method, "--attempts", 1, "--concurrency", 1))
    assert done.code == 0, done.err
    calls = done.json["calls"]
    assert calls["failed"] >= sum(provider.faulty[fault] for fault in WITHOUT_REPLY) > 0
    assert calls["made"] == provider.answered.total()
    shown = asking("show", "news", "--json").json
    assert shown["effort"]["failed"] == calls["failed"]
    evidence = [criterion["evidence"] for criterion in considered(shown)]
    assert sum(each["missing"] for each in evidence) > 0
    for each in evidence:
        inapplicable = (each.get("answers") or {}).get("n/a", 0)
        assert each["judged"] + each["missing"] + inapplicable in PUT_TO.get(run.method, {LEARNED_FROM})


def test_a_missing_answer_is_counted_as_no_answer(
    runs: Callable[[str], Run], provider: RunningServer, asking: Commands
) -> None:
    undisturbed = considered(json.loads(runs("checkeval").pack))
    whole = {criterion["statement"]: criterion["evidence"]["answers"] for criterion in undisturbed}

    def sometimes(messages: Turns, body: dict[str, Any]) -> str:
        said = scripted_model.reply(messages, body)
        # Half of the answers about texts, so that a quarter is lost after the repair as well.
        lost = '"answer"' in said and random.Random(str(messages)).random() < 0.5
        return "" if lost else said

    provider.brain = sometimes
    assert asking(*learning(asking, "checkeval")).code == 0
    missing = 0
    for criterion in considered(asking("show", "news", "--json").json):
        counts, full = criterion["evidence"]["answers"], whole[criterion["statement"]]
        assert all(counts[answer] <= full[answer] for answer in ("yes", "no", "n/a"))
        assert sum(full.values()) - sum(counts.values()) == criterion["evidence"]["missing"]
        missing += criterion["evidence"]["missing"]
    assert missing > 0


@every_kind
def test_failures_that_a_retry_and_replies_that_one_repair_mends_leave_no_trace_in_the_rubric(
    run: Run, provider: RunningServer, asking: Commands
) -> None:
    provider.brain = unusable_at_first
    provider.script = deque(MENDED)
    done = asking(*learning(asking, run.method)).json
    assert done["digest"] == run.digest
    assert done["calls"] == {name: 2 * number for name, number in run.result["calls"].items()}
    assert (provider.requests.total(), provider.repeated) == (2 * run.learning + 2, 0)


@every_kind
def test_faulty_replies_leave_a_text_unscored_with_the_reason(
    run: Run, provider: RunningServer, asking: Commands
) -> None:
    hard = json.loads(some_texts(1))["output"]

    def mostly(messages: Turns, body: dict[str, Any]) -> str:
        shown = " ".join(turn["content"] for turn in messages)
        return "I would rather not." if hard in shown else scripted_model.reply(messages, body)

    provider.brain = mostly
    assert asking("import", "-", stdin=run.pack.encode()).code == 0
    done = asking("score", "-", "--rubric", "news", stdin=some_texts())
    assert done.code == 0
    unscored, *others = done.rows
    assert others == run.scores[1:]
    number = len(unscored["criteria"])
    assert (unscored["score"], [criterion["score"] for criterion in unscored["criteria"]]) == (None, [None] * number)
    why = f"{number} of {number} criteria without a usable rating; the first: "
    assert unscored["unscored"].startswith(why)
    assert "unusable reply, also after one repair" in json.dumps(unscored)
