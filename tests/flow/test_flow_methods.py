"""Each method from labels to figures, through the command line and a server that counts, kills and sends faults."""

from __future__ import annotations

import itertools
import json
import random
import shutil
from collections import deque
from collections.abc import Iterator
from typing import Any

import pytest
import scripted_model
from commands import Commands
from flow_server import LEARNED_FROM, METHODS, MODEL, RECORDING, SCORED, Run, commands_at, kill, learning, some_texts
from server import RunningServer

from rubriclab.stats.correlation import spearman_rows

every_method = pytest.mark.parametrize("method", METHODS)
# Requests that one text takes by SEAL: its facts, the weights, the verdicts, and what bears them out.
BY_FACTS = 4
LEARNING = {
    "hypoeval": lambda asked: 60 < asked < 120,
    # Other sides and verdicts for two sub-dimensions, finer points for three seeds, and what is left doubtful.
    "checkeval": lambda asked: 2 + 3 + 2 < asked - 2 * LEARNED_FROM <= 2 + 3 + 2 + 15,
    # Two explanations and all texts by each; two rewritings, each with the other half's texts; a last one, with all.
    "seeval": lambda asked: asked == 2 * (1 + LEARNED_FROM) + 2 * (1 + LEARNED_FROM // 2) + 1 + LEARNED_FROM,
    "direct": lambda asked: asked == LEARNED_FROM,
    "geval": lambda asked: asked == 1 + LEARNED_FROM,
    # A proposal, and the facts of two sources besides.
    "seal": lambda asked: asked == 1 + BY_FACTS * LEARNED_FROM + 2,
    "dcr": lambda asked: asked == 2 * LEARNED_FROM,
    "joint": lambda asked: asked < 120,
}
# Requests that scoring takes. The facts of the source that all these texts have are asked for once.
SCORING = {
    **dict.fromkeys(METHODS, SCORED),
    "hypoeval": 3 * SCORED,
    "checkeval": 2 * SCORED,
    "seal": BY_FACTS * SCORED + 1,
    "dcr": 2 * SCORED,
}


@every_method
def test_learning_and_scoring_ask_what_the_method_takes_and_nothing_twice(run: Run) -> None:
    assert LEARNING[run.method](run.learning), run.learning
    assert (run.result["calls"]["made"], run.result["calls"]["failed"]) == (run.learning, 0)
    assert (run.result["rubric"], run.result["new"]) == ("news@1", True)
    assert run.result["agreement"]["spearman"]["value"] > 0
    assert (run.scoring, run.repeated) == (SCORING[run.method], 0)
    assert [row["judge"] for row in run.scores] == [MODEL] * SCORED
    assert all(row["unscored"] is None and 1 <= row["score"] <= 5 for row in run.scores)
    assert len({row["score"] for row in run.scores}) > 1
    names = [each["id"] for part in json.loads(run.pack)["rubric"]["parts"] for each in part["criteria"]]
    assert all([criterion["id"] for criterion in row["criteria"]] == names for row in run.scores)


@every_method
def test_a_dry_run_asks_nothing_and_states_about_as_many_calls_as_learning_takes(
    run: Run, provider: RunningServer, asking: Commands
) -> None:
    most = asking(*learning(asking, run.method, "--dry-run")).json["estimate"].values()
    # This server reports probabilities, so that one call of G-Eval's 20 is enough.
    expected = {"geval": 20}.get(run.method, 2) * run.learning
    assert run.learning / 2 <= sum(row["calls"] for row in most) <= expected
    assert provider.requests.total() == 0


@pytest.mark.parametrize("method", ["joint", "seal"])
def test_evaluation_asks_nothing_about_scored_texts(run: Run, provider: RunningServer, asking: Commands) -> None:
    shutil.copy(run.folder / "store.db", asking.folder)
    done = asking("evaluate", "-", "--rubric", "news", "--json", stdin=some_texts())
    ours, *baselines = (each for each in done.json["results"] if each["level"] == "dataset")
    assert (ours["evaluator"], ours["n"], ours["unscored"]) == ("news@1", SCORED, 0)
    labels = [json.loads(line)["scores"]["coherence"] for line in some_texts().splitlines()]
    scores = [row["score"] for row in run.scores]
    assert ours["spearman"]["value"] == pytest.approx(spearman_rows(scores, labels)[0])
    assert baselines
    assert provider.requests.total() == 0


# `joint` holds three other methods, and `seal` takes the most kinds of requests.
@pytest.mark.parametrize("method", ["joint", "seal"])
def test_learning_again_from_the_texts_in_another_order_asks_nothing_and_makes_no_new_version(
    run: Run, provider: RunningServer, learned: Commands
) -> None:
    command = learning(learned, run.method)
    file = learned.folder / str(command[1])
    file.write_bytes(b"".join(reversed(file.read_bytes().splitlines(keepends=True))))
    again = learned(*command).json
    assert (again["rubric"], again["new"], again["digest"]) == ("news@1", False, run.digest)
    assert provider.requests.total() == 0


@pytest.mark.parametrize("method", ["joint", "seal"])
def test_a_recording_replays_learning_and_scoring_by_the_learned_and_the_imported_rubric(
    run: Run, rubriclab: Commands
) -> None:
    shutil.copy(run.folder / RECORDING, rubriclab.folder)
    replay = ("--judge", f"recorded:{RECORDING}")
    assert rubriclab(*learning(rubriclab, run.method, *replay)).json["digest"] == run.digest
    scored = rubriclab("score", "-", "--rubric", "news", *replay, stdin=some_texts()).rows
    assert scored == [{**row, "judge": f"recorded:{RECORDING}"} for row in run.scores]
    rubriclab.environment["RUBRICLAB_STORE"] = "other.db"
    assert rubriclab("import", "-", stdin=run.pack.encode()).code == 0
    assert rubriclab("score", "-", "--rubric", "news", *replay, stdin=some_texts()).rows == scored


@pytest.mark.parametrize("method", ["checkeval"])
def test_killed_on_the_way_it_repeats_no_answered_request_and_ends_the_same(
    run: Run, provider: RunningServer, asking: Commands
) -> None:
    # One request at a time, so that it is certain which replies had arrived: all but the one that the kill stands for.
    command = learning(asking, run.method, "--concurrency", 1)
    kept = round(0.4 * run.learning)
    kill(asking, provider, command, kept + 1)
    done = asking(*command).json
    assert done["digest"] == run.digest
    assert provider.repeated == 0
    assert provider.answered.total() == run.learning
    assert provider.requests.total() == run.learning + 1
    assert done["calls"]["made"] == run.learning - kept
    matrices = [each("show", "news", "--matrix", "--json").out for each in (asking, commands_at(provider, run.folder))]
    assert matrices[0] == matrices[1]


def test_the_gate_compares_with_every_method_alone_and_learning_tells_its_verdict_by_the_exit_code(
    runs: Any, asking: Commands
) -> None:
    run = runs("joint")
    shutil.copy(run.folder / "store.db", asking.folder)
    validation = run.result["validation"]
    names = {evaluator["name"] for evaluator in validation["evaluators"]}
    methods = {"whole", "hypoeval", "checkeval", "seeval", "direct", "direct, calibrated"}
    assert {"joint", *methods, "constant", "word count", "best text feature", "all text features"} == names
    assert {verdict["against"] for verdict in validation["verdicts"][1:]} == methods
    assert validation["training"]["pearson"]["value"] >= validation["evaluators"][0]["pearson"]["value"]
    assert run.scoring == validation["evaluators"][0]["calls"] * SCORED
    assert all(isinstance(each["contribution"], float) for row in run.scores for each in row["criteria"])
    code = {"better": 0, "worse": 1, "not better": 1, "inconclusive": 3}[run.result["outcome"]]
    assert asking("gate", "news").code == code
    assert asking("tag", "news", "production").code == (1 if code else 0)
    assert asking("tag", "news", "production", "--force").code == 0


FAULTS = ("rate_limit", "empty", "server_error", "off_scale", "timeout", "prose", "cut_body")
# The other faults come as replies, usable or not.
WITHOUT_REPLY = ("rate_limit", "server_error", "timeout", "cut_body")
# How many texts a criterion may be put to, where that is not all: a rewriting on trial to those that it has not seen.
PUT_TO = {"hypoeval": range(LEARNED_FROM + 1), "seeval": {LEARNED_FROM, LEARNED_FROM // 2}}


def evidence_in(shown: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the evidence of every criterion of a rubric, kept or dropped, that was put to texts."""
    part = shown["rubric"]["parts"][0]
    for criterion in (*part["criteria"], *(dropped["criterion"] for dropped in part["dropped"])):
        evidence = criterion["evidence"]
        if evidence["judged"] + evidence["missing"] or evidence["answers"]:
            yield evidence


@pytest.mark.parametrize("method", ["hypoeval", "seeval"])
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
    evidence = list(evidence_in(shown))
    assert sum(each["missing"] for each in evidence) > 0
    for each in evidence:
        inapplicable = (each.get("answers") or {}).get("n/a", 0)
        assert each["judged"] + each["missing"] + inapplicable in PUT_TO.get(run.method, {LEARNED_FROM})


def unusable_at_first(messages: list[dict[str, str]], body: dict[str, Any]) -> str:
    """Answer the repair only; what comes first is spoilt in one of several ways."""
    said = scripted_model.reply(messages, body)
    if scripted_model.is_repair(messages):
        return said
    return random.Random(said).choice(["", "I would rather not.", said[: len(said) // 2], "{}"])


@pytest.mark.parametrize("method", ["checkeval"])
def test_failures_that_a_retry_and_replies_that_one_repair_mends_leave_no_trace_in_the_rubric(
    run: Run, provider: RunningServer, asking: Commands
) -> None:
    provider.brain = unusable_at_first
    # Two failures after which the server is asked again at once.
    provider.script = deque(("server_error", None, "overloaded"))
    done = asking(*learning(asking, run.method)).json
    assert done["digest"] == run.digest
    assert done["calls"] == {name: 2 * number for name, number in run.result["calls"].items()}
    assert (provider.requests.total(), provider.repeated) == (2 * run.learning + 2, 0)


@pytest.mark.parametrize("method", ["seal", "geval"])
def test_faulty_replies_leave_a_text_unscored_with_the_reason_and_no_provider_is_blamed_where_nothing_is_asked(
    run: Run, provider: RunningServer, asking: Commands
) -> None:
    hard = json.loads(some_texts(1))["output"]
    provider.brain = lambda messages, body: (
        "I would rather not."
        if any(hard in turn["content"] for turn in messages)
        else scripted_model.reply(messages, body)
    )
    assert asking("import", "-", stdin=run.pack.encode()).code == 0
    score = ("score", "-", "--rubric", "news")
    done = asking(*score, stdin=some_texts())
    assert done.code == 0
    unscored, *others = done.rows
    assert others == run.scores[1:]
    number = len(unscored["criteria"])
    assert (unscored["score"], [criterion["score"] for criterion in unscored["criteria"]]) == (None, [None] * number)
    why = f"{number} of {number} criteria without a usable rating; the first: "
    assert unscored["unscored"].startswith(why)
    assert "unusable reply, also after one repair" in json.dumps(unscored)
    if run.method == "seal":
        asked = provider.requests.total()
        wordless = json.dumps({**json.loads(some_texts(1)), "output": "..."}).encode()
        assert "there is no sentence in the summary" in asking(*score, stdin=wordless).rows[0]["unscored"]
        assert provider.requests.total() == asked
