"""A language model, asked over HTTP at the local server."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest
from judge_questions import Rating, rate
from server import SNAPSHOT, RunningServer

from rubriclab.errors import JudgeRefused
from rubriclab.judges.llm import LanguageModel, close_connections
from rubriclab.judges.providers import price_of


def model(**settings: object) -> LanguageModel:
    return LanguageModel("openai/fake", **{"timeout": 5.0, **settings})  # type: ignore[arg-type]


async def test_reply_carries_text_snapshot_and_usage(server: RunningServer) -> None:
    reply = await model().reply(rate())
    assert Rating.model_validate_json(reply.text)
    assert reply.model == SNAPSHOT
    assert reply.usage.prompt_tokens > 0
    assert reply.usage.completion_tokens > 0
    assert not reply.truncated
    assert not reply.cached


async def test_request_says_what_the_prompt_says(server: RunningServer) -> None:
    await model().reply(rate(temperature=0.7, max_tokens=77))
    (body,) = server.bodies
    assert body["temperature"] == 0.7
    assert body["max_tokens"] == 77
    assert [turn["role"] for turn in body["messages"]] == ["system", "user"]
    assert "response_format" not in body


async def test_every_sample_is_asked_with_a_seed_of_its_own(server: RunningServer) -> None:
    for sample in (0, 0, 3):
        await model().reply(rate(sample=sample))
    assert [body["seed"] for body in server.bodies] == [0, 0, 3]


def test_a_model_that_takes_no_seed_is_sent_none() -> None:
    assert "seed" in LanguageModel("anthropic/claude-3-5-haiku-latest").dropped
    assert "seed" not in LanguageModel("gpt-4o-mini").dropped


async def test_unknown_price_is_unknown_and_not_zero(server: RunningServer) -> None:
    assert price_of("openai/fake") is None
    assert (await model().reply(rate())).usage.cost_usd is None


async def test_known_model_is_priced_and_gets_a_strict_schema(server: RunningServer) -> None:
    reply = await LanguageModel("gpt-4o-mini", timeout=60).reply(rate())
    price = price_of("gpt-4o-mini")
    assert price is not None
    assert reply.usage.cost_usd == pytest.approx(price.cost(reply.usage.prompt_tokens, reply.usage.completion_tokens))
    schema = server.bodies[0]["response_format"]["json_schema"]["schema"]
    assert schema["additionalProperties"] is False
    assert schema["required"] == ["reasoning", "score"]


async def test_needed_setting_that_is_refused_ends_the_command(server: RunningServer) -> None:
    server.refuses = {"max_tokens", "max_completion_tokens"}
    with pytest.raises(JudgeRefused, match="max_completion_tokens"):
        await model().reply(rate())
    assert len(server.bodies) == 2


async def test_schema_that_was_insisted_on_is_not_left_out(server: RunningServer) -> None:
    server.refuses = {"response_format"}
    with pytest.raises(JudgeRefused, match="response_format"):
        await model(structured="schema").reply(rate())
    assert len(server.bodies) == 1


async def test_parameters_that_a_model_does_not_take_are_named(server: RunningServer) -> None:
    judge = LanguageModel("o3-mini", timeout=60, reasoning_tokens=1000)
    await judge.reply(rate(max_tokens=50))
    assert judge.dropped == ("temperature",)
    assert "temperature" not in server.bodies[0]
    assert server.bodies[0]["max_completion_tokens"] == 1050
    assert model().dropped == ()


@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("gpt-4o-mini", "OPENAI_API_KEY"),
        ("anthropic/claude-sonnet-4-5", "ANTHROPIC_API_KEY"),
        ("gemini/gemini-2.5-flash", "GEMINI_API_KEY"),
    ],
)
async def test_missing_key_names_its_variable(monkeypatch: pytest.MonkeyPatch, name: str, variable: str) -> None:
    monkeypatch.delenv(variable, raising=False)
    with pytest.raises(JudgeRefused, match=variable):
        await LanguageModel(name, timeout=2).reply(rate())
    await close_connections()


async def test_name_without_provider_is_refused() -> None:
    with pytest.raises(JudgeRefused, match="PROVIDER/MODEL"):
        await LanguageModel("no-such-model", timeout=2).reply(rate())


async def test_lone_surrogates_are_replaced_before_they_are_sent(server: RunningServer) -> None:
    await model().reply(rate("half a pair: \ud83d"))
    assert "half a pair: ?" in server.bodies[0]["messages"][1]["content"]


async def test_closed_connections_are_opened_again(server: RunningServer) -> None:
    judge = model()
    await judge.reply(rate("one"))
    await close_connections()
    assert (await judge.reply(rate("two"))).text


def test_identity_holds_the_address_without_its_query(monkeypatch: pytest.MonkeyPatch) -> None:
    judge = LanguageModel("openai/fake", api_base="https://host:8000/v1/?version=2")
    assert judge.identity["address"] == "https://host:8000/v1"
    monkeypatch.setenv("OLLAMA_API_BASE", "http://box:11434")
    assert LanguageModel("ollama_chat/llama3").identity["address"] == "http://box:11434"


def test_litellm_is_not_imported_until_it_is_needed() -> None:
    program = (
        "import sys; from rubriclab.judges import connect, llm, options, stack; "
        "llm.LanguageModel('gpt-4o-mini').identity; "
        "connect.connect('gpt-4o-mini', options=options.JudgeOptions(), ledger=stack.Ledger()); "
        "sys.exit('litellm' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_no_module_imports_litellm_while_its_environment_is_not_set() -> None:
    program = (
        "import pkgutil, sys, importlib, rubriclab.judges as j\n"
        "for module in pkgutil.iter_modules(j.__path__):\n"
        "    importlib.import_module(f'rubriclab.judges.{module.name}')\n"
        "sys.exit('litellm' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_litellm_reads_its_own_price_table_and_no_other_file(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("OPENAI_API_KEY=sk-of-another-project")
    program = (
        "import os, socket\n"
        "def refuse(*_): raise SystemExit('the network is asked')\n"
        "socket.socket.connect = socket.getaddrinfo = refuse\n"
        "from rubriclab.judges import transport\n"
        "from rubriclab.judges.providers import load_litellm\n"
        "assert load_litellm().get_model_info('gpt-4o-mini')\n"
        "assert 'OPENAI_API_KEY' not in os.environ"
    )
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("LITELLM_", "OPENAI_"))}
    done = subprocess.run(
        [sys.executable, "-c", program], check=False, cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


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
