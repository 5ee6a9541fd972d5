"""Several methods as one rubric, from labels to scores, through the command line and a server that counts."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import scripted_model
from commands import Commands
from flow_server import LITTLE, TASK, Killing, commands_at, texts
from method_flows import CHECKLIST, LEARNED_FROM, RECORDING, SCORED, SETTINGS, some_texts
from server import RunningServer

SET = tuple(f"--set={name}.{value}" for name in ("checkeval", "seeval") for value in SETTINGS[name])
# What the rubric asks about one text: all hypotheses, all questions, the explained score and the direct one.
MOST_CALLS = 4
# How far the lives of a run that is killed get, in shares of the whole; the first ends with its first request.
LIVES = (0.0, 0.4, 0.9)


def learning(commands: Commands, *more: object) -> tuple[object, ...]:
    """Return the command that learns from twelve texts by all methods together, in little."""
    (commands.folder / "checklist.json").write_text(json.dumps(CHECKLIST))
    own = ("--checklist", "checklist.json", *LITTLE, *SET)
    return ("learn", texts(commands.folder, LEARNED_FROM), *TASK, *own, "--json", *more)


@dataclass(frozen=True)
class Joint:
    """What all methods together came to when nothing disturbed them; see `method_flows.Run`."""

    folder: Path
    result: dict[str, Any]
    learning: int
    scoring: int
    repeated: int
    scores: list[Any]
    pack: str
    record: dict[str, Any]


@pytest.fixture
def server(provider: RunningServer) -> RunningServer:
    """The local server with answers for all methods."""
    provider.brain = scripted_model.reply
    return provider


@pytest.fixture(scope="session")
def joint(_running_server: RunningServer, tmp_path_factory: pytest.TempPathFactory) -> Joint:
    """Learned and scored once, with a recording of all replies."""
    server = _running_server
    server.reset()
    server.brain = scripted_model.reply
    commands = commands_at(server, tmp_path_factory.mktemp("joint"))
    done = commands(*learning(commands, "--record", RECORDING))
    assert done.code == 0, done.err
    learned = server.requests.total()
    scored = commands("score", "-", "--rubric", "news", "--record", RECORDING, stdin=some_texts())
    assert scored.code == 0, scored.err
    scoring = server.requests.total() - learned
    pack = commands("export", "news").out
    matrix = commands("show", "news", "--matrix", "--json").json
    return Joint(commands.folder, done.json, learned, scoring, server.repeated, scored.rows, pack, matrix)


@pytest.fixture
def learned(joint: Joint, asking: Commands) -> Commands:
    """The command line with a copy of that run's store."""
    shutil.copy(joint.folder / "store.db", asking.folder)
    return asking


def test_nothing_is_asked_twice_and_about_as_much_as_a_dry_run_says(
    joint: Joint, server: RunningServer, asking: Commands
) -> None:
    assert joint.repeated == 0
    assert (joint.result["calls"]["made"], joint.result["calls"]["failed"]) == (joint.learning, 0)
    most = asking(*learning(asking, "--dry-run")).json["estimate"].values()
    assert joint.learning / 2 <= sum(row["calls"] for row in most) <= 2 * joint.learning
    assert server.requests.total() == 0


def test_the_gate_holds_the_rubric_against_every_method_alone_and_against_what_is_free(joint: Joint) -> None:
    validation = joint.result["validation"]
    names = {evaluator_agreement["name"] for evaluator_agreement in validation["evaluators"]}
    methods = {"whole", "hypoeval", "checkeval", "seeval", "direct", "direct, calibrated"}
    assert {"joint", *methods, "constant", "word count", "best text feature", "all text features"} == names
    assert {verdict["against"] for verdict in validation["verdicts"][1:]} == methods
    assert validation["training"]["pearson"]["value"] >= validation["evaluators"][0]["pearson"]["value"]


def test_scores_have_the_share_of_every_criterion_in_them(joint: Joint) -> None:
    rubric = json.loads(joint.pack)["rubric"]
    kept = [criterion["id"] for part in rubric["parts"] for criterion in part["criteria"]]
    assert joint.scoring <= MOST_CALLS * SCORED
    assert joint.scoring == joint.result["validation"]["evaluators"][0]["calls"] * SCORED
    assert len({row["score"] for row in joint.scores}) > 1
    for row in joint.scores:
        assert 1 <= row["score"] <= 5
        assert [criterion["id"] for criterion in row["criteria"]] == kept
        assert all(isinstance(criterion["contribution"], float) for criterion in row["criteria"])


def test_killed_at_several_moments_it_repeats_no_answered_request_and_ends_the_same(
    joint: Joint, server: RunningServer, asking: Commands
) -> None:
    command = learning(asking, "--concurrency", 1)
    lives = [1 + round(share * joint.learning / len(LIVES)) for share in LIVES]
    for requests in lives:
        server.brain = killing = Killing(at=requests, brain=scripted_model.reply)
        killing.victim = asking.start(*command)
        assert killing.victim.wait().code == -9
    server.brain = scripted_model.reply
    done = asking(*command).json
    assert done["digest"] == joint.result["digest"]
    assert done["validation"] == joint.result["validation"]
    assert server.repeated == 0
    assert server.answered.total() == joint.learning
    assert asking("show", "news", "--matrix", "--json").json == joint.record


def test_the_gate_says_in_its_exit_code_what_learning_found_and_so_does_learning_when_asked(
    joint: Joint, learned: Commands
) -> None:
    code = {"better": 0, "not better": 1, "inconclusive": 3}[joint.result["outcome"]]
    assert learned("gate", "news").code == code
    assert learned(*learning(learned, "--gate")).code == code
    assert learned("tag", "news", "production").code == (1 if code else 0)
    assert learned("tag", "news", "production", "--force").code == 0
