"""`improve` through the command line and a server that counts: who is asked what, kills, faults, and dry runs."""

from __future__ import annotations

import itertools
import json
import shutil
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from commands import HELDOUT, Commands
from flow_server import Run, commands_at, kill
from server import RunningServer

from rubriclab.models.sentences import split_sentences

ROLES = {"judge": "fake", "writer": "writer"}
OTHERS = ("--writer", "openai/writer")
IMPROVE = ("improve", "-", "--rubric", "news", "-o", "improved.jsonl", *OTHERS)
# Of five sources, most of them damaged: one is without fault, and one better only with the second rewriting.
CHOSEN = (
    "map::off_topic-severe",
    "hands::off_topic-mild+broken_grammar-mild",
    "orchard::none",
    "recall::off_topic-mild",
    "train::lost_key_point-mild+repetition-mild",
)
LINES = [line for line in HELDOUT.read_bytes().splitlines(keepends=True) if json.loads(line)["id"] in CHOSEN]
TEXTS, ONE = b"".join(LINES), LINES[0]
GIVEN = [json.loads(line) for line in LINES]
FAULTS = ("rate_limit", "empty", "server_error", "cut_body", "prose", "timeout")


@dataclass(frozen=True)
class Improved:
    """What improving came to when nothing disturbed it: the file, what was printed, and all requests."""

    file: bytes
    summary: dict[str, Any]
    bodies: list[dict[str, Any]]

    @property
    def rows(self) -> list[Any]:
        return [json.loads(line) for line in self.file.splitlines()]

    @property
    def asked(self) -> Counter[str]:
        return Counter(body["model"] for body in self.bodies)


@pytest.fixture(scope="module")
def improve(
    runs: Callable[[str], Run], _running_server: RunningServer, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., Improved]:
    def undisturbed(method: str, texts: bytes = TEXTS) -> Improved:
        run, folder = runs(method), tmp_path_factory.mktemp("improved")
        shutil.copy(run.folder / "learned.db", folder / "store.db")
        _running_server.reset()
        done = commands_at(_running_server, folder)(*IMPROVE, "--json", stdin=texts)
        assert (done.code, _running_server.repeated) == (0, 0), done.err
        return Improved((folder / "improved.jsonl").read_bytes(), done.json, _running_server.bodies)

    return undisturbed


@pytest.fixture(scope="module")
def improved(improve: Callable[..., Improved]) -> Improved:
    return improve("dcr")


@pytest.fixture
def method() -> str:
    return "dcr"


def written(commands: Commands) -> bytes:
    return (commands.folder / "improved.jsonl").read_bytes()


def test_texts_gain_and_sentences_that_passed_are_kept(improved: Improved) -> None:
    outcomes = Counter(row["improvement"]["outcome"] for row in improved.rows)
    assert outcomes == {"improved": 4, "without fault": 1}
    assert {name: number for name, number in improved.summary["outcomes"].items() if number} == outcomes
    assert improved.summary["judge"]["gain"]["value"] > 0
    for row, given in zip(improved.rows, GIVEN, strict=True):
        found = row["improvement"]
        assert (
            (found["outcome"] == "improved") == (found["after"] > found["before"]) == (row["output"] != given["output"])
        )
        passed = [unit["unit"] for unit in found["criteria_before"][0]["units"] if unit["value"] == 1]
        assert [sentence for sentence in split_sentences(row["output"]) if sentence in passed] == passed


def test_the_writer_is_told_the_judges_reasons(improved: Improved) -> None:
    told = {model: [str(b["messages"]) for b in improved.bodies if b["model"] == model] for model in ROLES.values()}
    assert all("The fault is in sentence" in question and "as fake reads it" in question for question in told["writer"])
    assert not any("The fault is in" in question for question in told["fake"])


@pytest.mark.parametrize("method", ["dcr", "checkeval"])
def test_a_dry_run_asks_nothing_and_states_the_calls_of_each_role(
    method: str, improve: Callable[..., Improved], learned: Commands, provider: RunningServer
) -> None:
    found = improve(method, ONE)
    assert found.summary["judge"]["gain"]["value"] > 0
    provider.reset()
    most = learned(*IMPROVE, "--dry-run", "--json", stdin=ONE).json["estimate"]
    assert {role: row["judge"] for role, row in most.items()} == {r: f"openai/{name}" for r, name in ROLES.items()}
    for role, model in ROLES.items():
        assert found.asked[model] > 0
        assert most[role]["calls"] > 0
    assert provider.requests.total() == 0


def test_killed_on_the_way_it_writes_the_same_and_repeats_at_most_what_was_in_flight(
    improved: Improved, learned: Commands, provider: RunningServer
) -> None:
    # One request at a time by each role: where one stands for the kill, a reply to the other may be on their way.
    command = (*IMPROVE, "--concurrency", 1)
    whole = improved.asked.total()
    kill(learned, provider, command, round(0.4 * whole), TEXTS)
    assert learned(*command, stdin=TEXTS).code == 0
    assert written(learned) == improved.file
    assert provider.answered.total() == whole + provider.repeated
    assert provider.repeated <= 2
    assert provider.requests.total() <= whole + 3


def test_with_a_fifth_of_the_replies_faulty_each_row_is_better_or_says_why_not(
    improved: Improved, learned: Commands, provider: RunningServer
) -> None:
    faults = itertools.cycle(FAULTS)
    provider.script = deque(next(faults) if number % 5 == 3 else None for number in range(1000))
    provider.hang = 0
    done = learned(*IMPROVE, "--json", "--attempts", 1, "--concurrency", 1, stdin=TEXTS)
    assert done.code == 0, done.err
    assert done.json["calls"]["failed"] > 0
    rows = [json.loads(line) for line in written(learned).splitlines()]
    assert any(row["improvement"]["unscored"] for row in rows)
    for row, given in zip(rows, GIVEN, strict=True):
        found = row["improvement"]
        if found["outcome"] == "improved":
            assert found["after"] > found["before"]
            continue
        assert (row["output"], row["scores"]) == (given["output"], given["scores"])
        why = found["unscored"] or (found["rounds"] and found["rounds"][-1]["reason"])
        assert bool(why) == (found["outcome"] != "without fault")


def test_a_refusal_ends_the_command_after_the_first_requests_of_texts_under_way_and_leaves_no_file(
    learned: Commands, provider: RunningServer
) -> None:
    provider.script = deque(itertools.repeat("unauthorized", 100))
    done = learned(*IMPROVE, "--concurrency", 1, stdin=TEXTS)
    assert (done.code, done.out) == (4, "")
    assert "Check the key in OPENAI_API_KEY" in done.error
    # About two texts.
    assert provider.requests.total() <= 2
    assert not (learned.folder / "improved.jsonl").exists()
