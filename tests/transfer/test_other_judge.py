"""A rubric asked of another judge than it was fitted to: what that costs, and whose the saved version then is."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from typing import Any

import pytest
from commands import HELDOUT, LABELLED, Commands

from rubriclab.data.readers import read
from rubriclab.judges.judge import Reply
from rubriclab.judges.stack import Recording
from rubriclab.learning.adaptation import rate
from rubriclab.models.text import Example
from rubriclab.prompts.prompt import Prompt
from rubriclab.store.store import open_store

OTHER = "recorded:other.jsonl"
CARRY = ("transfer", "both", "--to", "target.jsonl", "--judge", OTHER, "--no-relearn")


class Sparing:
    """A judge that gives 1, 2 or 3 points of 5: the more of a text's words its source has, the more points."""

    name = "sparing"
    identity: Mapping[str, Any] = {"model": "sparing"}

    async def reply(self, prompt: Prompt[Any]) -> Reply:
        """Return the same score for every criterion that is asked about."""
        share = shared(prompt.fields)
        entry = {"reason": "Counted.", "score": 1 + (share > 0.8) + (share > 0.9)}
        found = {"reasoning": "Counted.", "score": entry["score"]}
        if prompt.name == "hypoeval/rate_together":
            names = [criterion["id"] for criterion in prompt.fields["criteria"]]
            return Reply(json.dumps(dict.fromkeys(names, entry)), self.name)
        if prompt.name == "single_call/judge":
            names = [each["id"] for each in (*prompt.fields["criteria"], *prompt.fields["overall"])]
            return Reply(json.dumps(dict.fromkeys(names, entry)), self.name)
        assert prompt.name in ("hypoeval/rate", "direct/rate")
        return Reply(json.dumps(found), self.name)


def shared(fields: Mapping[str, Any]) -> float:
    said, source = (re.findall(r"\w+", fields[name].lower()) for name in ("output", "source"))
    return sum(word in source for word in said) / len(said)


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Commands:
    """The command line with both@1, fitted to the embedded judge, and another judge's answers to all that it asks."""
    commands = Commands(tmp_path_factory.mktemp("elsewhere"), RUBRICLAB_STORE="store.db")
    little = ("--set", "hypoeval.k=3", "--set", "hypoeval.bank_size=6", "--set", "joint.repeats=1")
    options = ("--task", "summarization", "--aspect", "coherence", "--scale", "1:5", "--name", "both", *little)
    assert commands("learn", LABELLED, *options, "--method", "hypoeval", "--method", "direct").code == 0
    lines = HELDOUT.read_text("utf-8").splitlines(keepends=True)[:48]
    (commands.folder / "target.jsonl").write_text("".join(lines))
    texts = [row for row in read(str(commands.folder / "target.jsonl")) if isinstance(row, Example)]
    with open_store(commands.folder / "store.db") as store:
        rubric = store.load("both").rubric
    asyncio.run(rate(rubric, "both@1", texts, Recording(Sparing(), commands.folder / "other.jsonl")))
    return commands


@pytest.fixture(scope="module")
def found(elsewhere: Commands) -> dict[str, Any]:
    """What is found of both@1 asked of the other judge."""
    return elsewhere(*CARRY, "--json").json


def test_who_is_asked_and_whom_the_rubric_is_calibrated_for_are_told_apart(found: dict[str, Any]) -> None:
    assert (found["judge"], found["calibrated_for"]) == (OTHER, "embedded")


def test_another_judges_scores_are_off_until_they_are_recalibrated(found: dict[str, Any]) -> None:
    reused, recalibrated, _ = found["actions"]
    assert reused["error"]["value"] > 1.25 * recalibrated["error"]["value"]
    assert reused["spearman"] == recalibrated["spearman"]
    assert found["recommended"] == "recalibrate"
    assert recalibrated["gain"]["low"] > 0


def test_with_its_own_judge_the_rubric_is_not_as_far_off(elsewhere: Commands, found: dict[str, Any]) -> None:
    own = elsewhere(*CARRY[:4], "--judge", "embedded", "--no-relearn", "--json").json
    assert (own["judge"], own["calibrated_for"]) == ("embedded", "embedded")
    assert own["actions"][0]["error"]["high"] < found["actions"][0]["error"]["low"]


def test_learning_that_a_recording_cannot_answer_is_skipped_with_the_reason(elsewhere: Commands) -> None:
    relearn = elsewhere(*(each for each in CARRY if each != "--no-relearn"), "--json").json["actions"][-1]
    assert "holds no reply of sparing" in relearn["skipped"]


def test_the_saved_version_is_calibrated_for_the_judge_that_was_asked(elsewhere: Commands) -> None:
    done = elsewhere(*CARRY, "--save", "--action", "recalibrate", "--name", "moved")
    assert 'both@1 is calibrated for "embedded"; with another judge its agreement may differ' in done.err
    assert f"saved as moved@1, whose parent is both@1; calibrated for {OTHER}" in done.out
    made = json.loads(elsewhere("export", "moved").out)["provenance"]
    assert (made["judge"], made["generator"], made["transfer"]["judge"]) == (OTHER, "embedded", "embedded")
    scored = elsewhere("score", "target.jsonl", "--rubric", "moved")
    assert f'judge: "{OTHER}", as moved@1 was learned with it' in scored.err
    lines = (elsewhere.folder / "target.jsonl").read_text("utf-8").splitlines()
    labels = [json.loads(line)["scores"]["coherence"] for line in lines]
    before = elsewhere("score", "target.jsonl", "--rubric", "both", "--judge", OTHER).rows
    assert off(scored.rows, labels) < off(before, labels) / 2


def off(rows: list[dict[str, Any]], labels: list[float]) -> float:
    return sum(float(row["score"] - label) ** 2 for row, label in zip(rows, labels, strict=True)) / len(labels)
