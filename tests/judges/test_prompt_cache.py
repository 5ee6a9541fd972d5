"""Cache marks for models that need them, asked over HTTP at a local server that speaks Anthropic's interface."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hostile_server import HostileServer, Request, Send, response
from judge_questions import GOOD, Rating, rate

from rubriclab.cli.output import effort_row
from rubriclab.judges.judge import read_back, request_digest, written
from rubriclab.judges.llm import CacheMarks, LanguageModel, close_connections, needs_marks
from rubriclab.judges.options import Price
from rubriclab.judges.stack import Ledger, Metered
from rubriclab.ops.workspace import spent
from rubriclab.prompts import render
from rubriclab.prompts.prompt import Prompt
from rubriclab.prompts.render import Turn
from rubriclab.report.wording import effort

CLAUDE = "anthropic/claude-sonnet-4-5"
LONG = "Judge by clarity, and by nothing else. " * 300
MARK = {"type": "ephemeral"}


class AnthropicServer(HostileServer):
    """Answers with a rating; reports tokens read from and written to its cache."""

    def __init__(self) -> None:
        super().__init__({"claude": self._answer})
        self.bodies: list[Any] = []
        self.cache = {"cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}
        self.refuses_marks = False

    async def _answer(self, request: Request, send: Send) -> None:
        self.bodies.append(request.body)
        if self.refuses_marks and "cache_control" in json.dumps(request.body):
            fault = {"type": "invalid_request_error", "message": "cache_control: Extra inputs are not permitted"}
            await send(response({"type": "error", "error": fault}, 400))
            return
        message = {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "claude-sonnet-4-5-20250929",
            "content": [{"type": "text", "text": GOOD}],
            "stop_reason": "end_turn",
            "usage": {"input_tokens": 100, "output_tokens": 10, **self.cache},
        }
        await send(response(message))


@pytest.fixture
async def anthropic(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[AnthropicServer]:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
    server = AnthropicServer()
    with server:
        yield server
        await close_connections()


def question(text: str, source: str = "A source.", guidance: str = LONG) -> Prompt[Rating]:
    return Prompt("questions/divided", {"guidance": guidance, "source": source, "text": text}, Rating)


def claude(server: AnthropicServer, **settings: Any) -> LanguageModel:
    return LanguageModel(CLAUDE, timeout=60, api_base=server.url("claude"), **settings)


def marked(body: dict[str, Any]) -> list[str]:
    """Return the texts of the blocks that are marked."""
    contents = (turn["content"] for turn in body["messages"] if isinstance(turn["content"], list))
    return [block["text"] for content in contents for block in content if block.get("cache_control") == MARK]


def whole(body: dict[str, Any]) -> str:
    """Return the text of the user's turn."""
    (turn,) = body["messages"]
    return "".join(block["text"] for block in turn["content"])


async def test_what_texts_share_is_marked_from_the_second_time_and_the_input_from_its_second_text(
    anthropic: AnthropicServer,
) -> None:
    judge = claude(anthropic)
    asked = [question("one", "first"), question("two", "second"), question("three", "second")]
    for prompt in asked:
        await judge.reply(prompt)
    first, second, third = map(marked, anthropic.bodies)
    assert first == []
    (shared,) = second
    assert shared.startswith(LONG.strip())
    assert "JSON schema" in shared
    assert third[0] == shared
    assert "second" in third[1]
    assert "three" not in "".join(third)
    assert [whole(body) for body in anthropic.bodies] == [render(prompt)[-1]["content"] for prompt in asked]


async def test_what_is_too_short_to_be_cached_and_prompts_without_division_are_not_marked(
    anthropic: AnthropicServer,
) -> None:
    judge = claude(anthropic)
    for text in ("one", "two", "three"):
        await judge.reply(question(text, guidance="Judge by clarity."))
        await judge.reply(rate(text + LONG))
    assert "cache_control" not in json.dumps(anthropic.bodies)


async def test_marks_that_the_provider_refuses_are_left_out_from_then_on(anthropic: AnthropicServer) -> None:
    anthropic.refuses_marks = True
    judge = claude(anthropic)
    for text in ("one", "two", "three"):
        assert (await judge.reply(question(text))).text == GOOD
    assert [bool(marked(body)) for body in anthropic.bodies] == [False, True, False, False]
    assert judge.dropped.count("cache_control") == 1


async def test_marks_change_no_request_digest(anthropic: AnthropicServer) -> None:
    judge = claude(anthropic)
    before = request_digest(judge.identity, question("one"))
    for _ in range(2):
        await judge.reply(question("one"))
    assert marked(anthropic.bodies[1])
    assert request_digest(judge.identity, question("one")) == before


def test_only_models_that_cache_up_to_a_mark_are_given_marks() -> None:
    assert needs_marks("claude-sonnet-4-5", "anthropic")
    assert needs_marks("anthropic.claude-3-5-haiku-20241022-v1:0", "bedrock")
    assert not any(needs_marks(*each) for each in (("gpt-4o-mini", "openai"), ("gpt-4o", "azure"), ("fake", "openai")))
    assert not needs_marks("gemini-2.5-flash", "gemini")


def test_memory_for_beginnings_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rubriclab.judges.llm.REMEMBERED", 2)
    marks = CacheMarks(1)

    def is_marked(beginning: str) -> bool:
        (message,) = marks.marked([Turn("user", (beginning, "text"))])
        return isinstance(message["content"], list)

    assert [is_marked(each) for each in ("a", "b", "a", "c", "b", "a")] == [False, False, True, False, False, False]


async def test_tokens_from_the_provider_s_cache_and_what_they_saved_are_counted(anthropic: AnthropicServer) -> None:
    anthropic.cache = {"cache_read_input_tokens": 9_000, "cache_creation_input_tokens": 1_000}
    ledger = Ledger()
    reply = await Metered(claude(anthropic), ledger).reply(question("one"))
    assert reply.usage.prompt_tokens == 10_100
    assert reply.usage.cached_tokens == 9_000
    # In litellm's table, dollars per million tokens: 3 for a prompt, 0.30 from the cache, 3.75 to it, 15 for a reply.
    assert reply.usage.saved_usd == pytest.approx((9_000 * 2.70 - 1_000 * 0.75) / 1e6)
    assert reply.usage.cost_usd == pytest.approx((100 * 3 + 9_000 * 0.30 + 1_000 * 3.75 + 10 * 15) / 1e6)
    total = ledger.effort(1.0)
    assert "(9,000 read from the provider's prompt cache, which saved $0.0235)" in effort(total)
    assert "9k of them read from the provider's cache" in spent(ledger)
    row = effort_row(total)
    assert row["tokens"]["prompt_from_provider_cache"] == 9_000
    assert row["saved_by_provider_cache_usd"] == pytest.approx(0.02355)
    assert read_back(written(reply)).usage == reply.usage


async def test_without_a_cache_nothing_is_said_of_one(anthropic: AnthropicServer) -> None:
    ledger = Ledger()
    reply = await Metered(claude(anthropic), ledger).reply(question("one"))
    told = (effort(ledger.effort(1.0)), spent(ledger), str(effort_row(ledger.effort(1.0))), str(written(reply)))
    assert not any("cache_" in text or "provider" in text or "saved" in text for text in told)
    assert set(ledger.effort(1.0).model_dump()).isdisjoint({"saved_usd", "cached_prompt_tokens"})


async def test_a_price_of_the_user_has_no_savings(anthropic: AnthropicServer) -> None:
    anthropic.cache["cache_read_input_tokens"] = 9_000
    usage = (await claude(anthropic, price=Price(1.0, 1.0)).reply(question("one"))).usage
    assert (usage.cached_tokens, usage.saved_usd) == (9_000, 0.0)
    assert usage.cost_usd == pytest.approx(9_110 / 1e6)
