"""Whether a server heeds the JSON schema of a reply is asked once, by a schema with a word that no model would give."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import pytest
from memory_answers import MemoryAnswers
from server import RunningServer

from rubriclab.judges.connect import connect
from rubriclab.judges.judge import Judge, Ledger
from rubriclab.judges.llm import SchemaProbed
from rubriclab.judges.options import JudgeOptions
from rubriclab.methods.prompting import score_entry
from rubriclab.prompts.prompt import ExpectedEntry, Prompt, keyed_reply
from rubriclab.prompts.render import FOLDER

SCALE = {"text": "1 to 5", "low": 1, "high": 5, "whole": True, "between": False}
FORM = keyed_reply((ExpectedEntry("h1", score_entry({"scale": SCALE})),))


def prompt(output: str) -> Prompt[Any]:
    fields = {"text": output, "words": {"output": "summary"}, "scale": SCALE}
    return Prompt("seal/split", fields, FORM)


@pytest.fixture(autouse=True)
def _templates_of_the_package(_own_templates: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["rubriclab.prompts.render"], "FOLDER", FOLDER)


def heeding(_messages: list[dict[str, str]], body: dict[str, Any]) -> str:
    """Answer as the schema demands, or name a common tree if there is none."""
    sent = json.dumps(body.get("response_format", {}))
    if "quilvarroon" in sent:
        return '{"tree": "quilvarroon"}'
    return json.dumps({"h1": {"reason": "It shows.", "score": 3}}) if "Split" in _messages[-1]["content"] else "Oak."


def ignoring(messages: list[dict[str, str]], _body: dict[str, Any]) -> str:
    return heeding(messages, {})


@pytest.fixture
def judge(server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Judge]:
    monkeypatch.setattr(sys.modules["rubriclab.judges.connect"], "SchemaProbed", SchemaProbed)

    def connected(ledger: Ledger, answers: MemoryAnswers, **options: Any) -> Judge:
        chosen = JudgeOptions(**{"api_base": server.url, "attempts": 1, "structured": "auto", **options})
        return connect("openai/fake", options=chosen, ledger=ledger, answers=answers)

    return connected


async def asked(judge: Judge, *outputs: str) -> None:
    for output in outputs:
        assert "score" in (await judge.reply(prompt(output))).text


@pytest.mark.parametrize(("brain", "heeded"), [(heeding, True), (ignoring, False)], ids=["heeds", "ignores"])
async def test_the_schema_goes_with_every_prompt_only_where_the_server_heeds_it(
    judge: Callable[..., Judge], server: RunningServer, brain: Any, heeded: bool
) -> None:
    server.brain = brain
    ledger, answers = Ledger(), MemoryAnswers()
    await asked(judge(ledger, answers), "A.", "B.")
    probe, *others = server.bodies
    assert "quilvarroon" in json.dumps(probe["response_format"])
    assert "quilvarroon" not in json.dumps(probe["messages"])
    assert ["response_format" in body for body in others] == [heeded, heeded]
    if heeded:
        (entry,) = others[0]["response_format"]["json_schema"]["schema"]["$defs"].values()
        assert (entry["properties"]["score"]["minimum"], entry["properties"]["score"]["maximum"]) == (1, 5)
    assert (ledger.calls, ledger.stages["schema/probe"]) == (3, 1)
    # Another command with the same store.
    again = Ledger()
    await asked(judge(again, answers), "A.", "C.")
    assert (again.calls, again.cached) == (1, 2)
    assert ["response_format" in body for body in server.bodies[3:]] == [heeded]


async def test_a_server_that_refuses_the_schema_is_asked_without_it(
    judge: Callable[..., Judge], server: RunningServer
) -> None:
    server.brain, server.refuses = heeding, {"response_format"}
    ledger = Ledger()
    await asked(judge(ledger, MemoryAnswers()), "A.", "B.")
    assert ["response_format" in body for body in server.bodies] == [True, False, False, False]
    assert (ledger.calls, ledger.failed) == (3, 0)


async def test_a_server_that_fails_on_the_probe_is_asked_twice_and_then_without_a_schema(
    judge: Callable[..., Judge], server: RunningServer
) -> None:
    def failing(messages: list[dict[str, str]], body: dict[str, Any]) -> str:
        if "response_format" in body:
            raise ValueError("no schema is known here")
        return heeding(messages, body)

    server.brain = failing
    await asked(judge(Ledger(), MemoryAnswers(), attempts=8), "A.", "B.")
    assert ["response_format" in body for body in server.bodies] == [True, True, False, False]
