"""A language model, its schemas and its cache marks."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, TypeVar

import pytest
from hostile_server import HostileServer, Request, Send, response
from judge_questions import GOOD, Rating, rate
from pydantic import BaseModel, Field
from server import SNAPSHOT, RunningServer

from rubriclab.cli.output import effort_row
from rubriclab.errors import JudgeRefused
from rubriclab.judges.judge import Ledger, Metered, dump_reply, load_reply
from rubriclab.judges.llm import CacheMarks, LanguageModel, close_connections, response_format, strict_schema
from rubriclab.judges.options import Price
from rubriclab.judges.providers import price_of
from rubriclab.prompts import render
from rubriclab.prompts.prompt import Prompt
from rubriclab.prompts.render import Turn
from rubriclab.report.wording import effort
from rubriclab.running import describe_spending


def model(**settings: object) -> LanguageModel:
    return LanguageModel("openai/fake", **{"timeout": 5.0, **settings})  # type: ignore[arg-type]


async def test_reply_carries_text_snapshot_and_usage(server: RunningServer) -> None:
    reply = await model().reply(rate())
    assert Rating.model_validate_json(reply.text)
    assert reply.model == SNAPSHOT
    assert reply.usage.prompt_tokens > 0
    assert reply.usage.completion_tokens > 0
    assert (reply.truncated, reply.cached) == (False, False)
    assert price_of("openai/fake") is None
    assert reply.usage.cost_usd is None, "not 0"


async def test_request_says_what_the_prompt_says(server: RunningServer) -> None:
    await model().reply(rate("half a pair: \ud83d", temperature=0.7, max_tokens=77))
    await close_connections()  # they are opened again
    await model().reply(rate(sample=3))
    body, other = server.bodies
    assert (body["temperature"], body["max_tokens"], body["seed"], other["seed"]) == (0.7, 77, 0, 3)
    assert [turn["role"] for turn in body["messages"]] == ["system", "user"]
    assert "half a pair: ?" in body["messages"][1]["content"]
    assert "response_format" not in body


async def test_known_model_is_priced_and_gets_a_strict_schema(server: RunningServer) -> None:
    reply = await LanguageModel("gpt-4o-mini", timeout=60).reply(rate())
    price = price_of("gpt-4o-mini")
    assert price is not None
    assert reply.usage.cost_usd == pytest.approx(price.cost(reply.usage.prompt_tokens, reply.usage.completion_tokens))
    schema = server.bodies[0]["response_format"]["json_schema"]["schema"]
    assert schema["additionalProperties"] is False
    assert schema["required"] == ["reasoning", "score"]


@pytest.mark.parametrize(
    ("refused", "options", "requests"),
    [({"max_tokens", "max_completion_tokens"}, {}, 2), ({"response_format"}, {"structured": "schema"}, 1)],
)
async def test_needed_setting_that_is_refused_ends_the_command(
    server: RunningServer, refused: set[str], options: dict[str, Any], requests: int
) -> None:
    server.refuses = refused
    with pytest.raises(JudgeRefused, match="|".join(refused)):
        await model(**options).reply(rate())
    assert len(server.bodies) == requests


def test_litellm_is_imported_when_it_is_needed_and_reads_its_own_price_table_and_no_other_file(tmp_path: Path) -> None:
    """With these variables it asks nobody and reads no .env file, as `preloaded` checks where it imports it."""
    (tmp_path / "litellm.py").write_text(
        "import os\n"
        "raise SystemExit(' '.join(f'{name}={value}' for name, value in os.environ.items() if 'LITELLM_' in name))"
    )
    program = (
        "import importlib, pkgutil, rubriclab.judges as j\n"
        "for module in pkgutil.iter_modules(j.__path__):\n"
        "    importlib.import_module(f'rubriclab.judges.{module.name}')\n"
        "j.llm.LanguageModel('gpt-4o-mini').identity\n"
        "j.connect.connect('gpt-4o-mini', options=j.options.JudgeOptions(), ledger=j.judge.Ledger())\n"
        "print('it is needed now', flush=True)\n"
        "j.providers.load_litellm()"
    )
    environment = {name: value for name, value in os.environ.items() if not name.startswith("LITELLM_")}
    done = subprocess.run(
        [sys.executable, "-c", program], check=False, cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.stdout == "it is needed now\n", done.stderr
    assert done.stderr.split() == ["LITELLM_LOCAL_MODEL_COST_MAP=True", "LITELLM_MODE=PRODUCTION"]


async def test_a_client_that_litellm_has_forgotten_is_closed_too(
    server: RunningServer, recwarn: pytest.WarningsRecorder
) -> None:
    gc.collect()  # what other tests have left
    recwarn.clear()
    await LanguageModel("openai/fake").reply(rate())
    import litellm  # not before rubriclab has: it would fetch a price table from the network

    litellm.in_memory_llm_clients_cache.cache_dict.clear()  # as it does after an hour
    await close_connections()
    gc.collect()
    assert [str(warning.message) for warning in recwarn if "nclosed" in str(warning.message)] == []


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
    contents = (turn["content"] for turn in body["messages"] if isinstance(turn["content"], list))
    return [block["text"] for content in contents for block in content if block.get("cache_control") == MARK]


def whole(body: dict[str, Any]) -> str:
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


async def test_marks_that_the_provider_refuses_are_left_out_from_then_on(anthropic: AnthropicServer) -> None:
    anthropic.refuses_marks = True
    judge = claude(anthropic)
    for text in ("one", "two", "three"):
        assert (await judge.reply(question(text))).text == GOOD
    assert [bool(marked(body)) for body in anthropic.bodies] == [False, True, False, False]


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
    assert "9k of them read from the provider's cache" in describe_spending(ledger)
    row = effort_row(total)
    assert row["tokens"]["prompt_from_provider_cache"] == 9_000
    assert row["saved_by_provider_cache_usd"] == pytest.approx(0.02355)
    assert load_reply(dump_reply(reply)).usage == reply.usage


T = TypeVar("T")


class Box(BaseModel, Generic[T]):
    value: T


class Level(BaseModel):
    score: float = Field(ge=1, le=5)
    description: str = Field(min_length=1, max_length=100)


class Proposal(BaseModel):
    """What is proposed."""

    kind: Literal["a", "b"] = "a"
    levels: Annotated[list[Level], Field(min_length=2, max_length=5)]
    minimum: str | None = None


def closed(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def test_every_object_is_closed_and_every_field_required_in_order_and_lengths_are_left_to_the_reader() -> None:
    level = closed(score={"type": "number", "minimum": 1, "maximum": 5}, description={"type": "string"})
    fields = {
        "kind": {"type": "string", "enum": ["a", "b"]},
        "levels": {"type": "array", "items": {"$ref": "#/$defs/Level"}},
        "minimum": {"anyOf": [{"type": "string"}, {"type": "null"}]},
    }
    strict = {"description": "What is proposed.", "$defs": {"Level": level}, **closed(**fields)}
    assert strict_schema(Proposal) == strict


@pytest.mark.parametrize("value", [dict[str, float], Any, tuple[int, str]])
def test_what_no_strict_schema_can_say_gets_none_and_names_are_what_providers_take(value: Any) -> None:
    assert response_format(Box[value]) is None
    named = response_format(Box[int])
    assert named is not None
    assert named["json_schema"]["name"] == "Box_int_"


def test_memory_for_beginnings_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rubriclab.judges.llm.MAX_BEGINNINGS", 2)
    marks = CacheMarks(1)

    def is_marked(beginning: str) -> bool:
        (message,) = marks.mark([Turn("user", (beginning, "text"))])
        return isinstance(message["content"], list)

    assert [is_marked(each) for each in ("a", "b", "a", "c", "b", "a")] == [False, False, True, False, False, False]


async def test_what_is_too_short_to_be_cached_and_prompts_without_division_are_not_marked(
    anthropic: AnthropicServer,
) -> None:
    judge = claude(anthropic)
    for text in ("one", "two", "three"):
        await judge.reply(question(text, guidance="Judge by clarity."))
        await judge.reply(rate(text + LONG))
    assert "cache_control" not in json.dumps(anthropic.bodies)


async def test_a_price_of_the_user_has_no_savings(anthropic: AnthropicServer) -> None:
    anthropic.cache["cache_read_input_tokens"] = 9_000
    usage = (await claude(anthropic, price=Price(1.0, 1.0)).reply(question("one"))).usage
    assert (usage.cached_tokens, usage.saved_usd) == (9_000, 0.0)
    assert usage.cost_usd == pytest.approx(9_110 / 1e6)


def test_identity_holds_the_address_without_its_query(monkeypatch: pytest.MonkeyPatch) -> None:
    judge = LanguageModel("openai/fake", api_base="https://host:8000/v1/?version=2")
    assert judge.identity["address"] == "https://host:8000/v1"
    monkeypatch.setenv("OLLAMA_API_BASE", "http://box:11434")
    assert LanguageModel("ollama_chat/llama3").identity["address"] == "http://box:11434"
