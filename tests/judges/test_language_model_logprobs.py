"""Token log-probabilities, asked for over HTTP at the local server, and how a provider's report is read."""

from __future__ import annotations

import math
from typing import Any

import pytest
from judge_questions import rate
from reply_tokens import ABOVE, BELOW, CHOSEN, entry
from server import RunningServer

from rubriclab.judges.llm import LanguageModel
from rubriclab.judges.responses import VERY_UNLIKELY, reported_tokens

# The fake's address is OpenAI's own and one of litellm's generic ways in, which read replies in two different places.
MODELS = ["openai/fake", "hosted_vllm/fake"]


def model(name: str = "openai/fake", **given: Any) -> LanguageModel:
    return LanguageModel(name, timeout=60, **given)


def four(messages: Any, body: Any) -> str:
    return '{"reasoning": "Reads well.", "score": 4}'


def place(token: str, *likely: tuple[str, float], **changed: Any) -> dict[str, Any]:
    others = likely or ((token, 0.9),)
    return {**entry(token, 0.9), "top_logprobs": [entry(*other) for other in others], **changed}


def sent(server: RunningServer) -> list[tuple[Any, Any]]:
    return [(body.get("logprobs"), body.get("top_logprobs")) for body in server.bodies]


@pytest.fixture(autouse=True)
def _at_every_address(server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOSTED_VLLM_API_BASE", server.url)
    server.brain = four


@pytest.mark.parametrize("name", MODELS)
async def test_alternatives_come_with_the_reply_if_the_prompt_asks_for_them(server: RunningServer, name: str) -> None:
    reply = await model(name).reply(rate(alternatives=20))
    assert (await model(name).reply(rate())).tokens == ()
    assert sent(server) == [(True, 20), (None, None)]
    assert "".join(token.text for token in reply.tokens) == reply.text
    (score,) = (token for token in reply.tokens if token.text == "4")
    shares = {text: math.exp(logprob) for text, logprob in score.alternatives}
    assert shares == pytest.approx({"4": CHOSEN, "5": ABOVE, "3": BELOW, " perhaps": 0.03})


def texts(report: list[dict[str, Any]], text: str) -> list[str]:
    return [token.text for token in reported_tokens({"content": report}, text)]


FOX = list("🦊".encode())


@pytest.mark.parametrize(
    ("report", "text", "tokens"),
    [
        # Hidden reasoning before the reply and an end mark after it are left out.
        (("4", "?", "</think>", "a", " 4", "<|eot_id|>"), "a 4", ["a", " 4"]),
        (("4", "?", "</think>", "a", " 4", "<|eot_id|>"), "4", []),
        (("a", " 4"), "a 5", []),
        (("a", " 4"), "", []),
        # A character in several tokens is put together from their bytes.
        ((("\\xf0\\x9f", FOX[:2]), ("\\xa6", FOX[2:3]), ("\\x8a", FOX[3:]), " 4", ""), "🦊 4", ["", "", "🦊", " 4"]),
    ],
    ids=str,
)
def test_the_tokens_of_a_reply_are_those_that_join_to_its_text(
    report: tuple[Any, ...], text: str, tokens: list[str]
) -> None:
    places = [place(each) if isinstance(each, str) else place(each[0], bytes=each[1]) for each in report]
    assert texts(places, text) == tokens


def test_probabilities_are_finite_and_at_most_one_and_the_chosen_token_is_among_them() -> None:
    likely = [{"token": "4", "logprob": 1e-6}, {"token": "5", "logprob": -math.inf}]
    (token,) = reported_tokens({"content": [place("7", logprob=-6.0, top_logprobs=likely)]}, "7")
    assert token.alternatives == (("4", 0.0), ("5", VERY_UNLIKELY), ("7", -6.0))


@pytest.mark.parametrize(
    "damaged",
    [
        place("4", logprob=math.nan),
        place("4", logprob="-0.1"),
        place("4", bytes=[999]),
        place("4", top_logprobs=[]),
        place("4", top_logprobs=[{"token": "\ud83e", "logprob": -1.0}]),
    ],
    ids=str,
)
def test_one_damaged_place_leaves_no_tokens(damaged: dict[str, Any]) -> None:
    assert texts([place("a "), place("4")], "a 4") == ["a ", "4"]
    assert texts([place("a "), damaged], "a 4") == []


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("setting", ["logprobs", "top_logprobs"])
async def test_refused_log_probabilities_are_left_out_from_then_on(
    server: RunningServer, name: str, setting: str
) -> None:
    server.refuses = {setting}
    judge = model(name)
    for text in ("one", "two"):
        reply = await judge.reply(rate(text, alternatives=20))
        assert reply.text
        assert reply.tokens == ()
    assert sent(server) == [(True, 20), (None, None), (None, None)]
