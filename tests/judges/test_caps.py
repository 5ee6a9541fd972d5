"""Caps against a server that bills whatever it has read, one token per byte, whatever becomes of the reply."""

from __future__ import annotations

import asyncio
import base64
import itertools
import random
from collections.abc import Iterator
from typing import Any

import hostile_server
import pytest
from judge_questions import rate
from memory_answers import MemoryAnswers

from rubriclab.errors import BudgetReached, RubriclabError
from rubriclab.judges.connect import connect
from rubriclab.judges.judge import Ledger
from rubriclab.judges.limits import LocalBudget, Retried
from rubriclab.judges.llm import close_connections
from rubriclab.judges.options import JudgeOptions, Price
from rubriclab.judges.replies import Reply

pytestmark = [
    pytest.mark.filterwarnings("ignore:Pydantic serializer warnings"),  # as rubriclab itself has it
    # A time-out may come before litellm awaits a coroutine that it has made.
    pytest.mark.filterwarnings("ignore:.*was never awaited"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

PRICE = Price(1.0, 10.0)
MOST_REPLY = 60
TEMPLATE_TOKENS = 40  # what the server's chat template adds
TIMEOUT = 0.3

SCRIPTS = {
    "emoji": "👩‍👩‍👧‍👦🏳️‍🌈🧑🏿‍🚀",
    "base64": base64.b64encode(random.Random(0).randbytes(60)).decode(),
    "cherokee": "ᎣᏏᏲ ᎡᎶᎯ ᎢᎦᏓ ",
    "mixed": "Plain ᎣᏏᏲ 連貫 👩‍🚀 {x:1} ሰላም ",
}


async def cut(request: hostile_server.Request, send: hostile_server.Send) -> None:
    await send(hostile_server.response(reply(request))[:-30])
    raise hostile_server.Closing


def sends(make: Any) -> Any:
    async def behave(request: hostile_server.Request, send: hostile_server.Send) -> None:
        await send(make(request))

    return behave


def tokens_read(request: hostile_server.Request) -> int:
    return TEMPLATE_TOKENS + sum(len(turn["content"].encode()) for turn in request.body["messages"])


def reply(request: hostile_server.Request, content: Any = hostile_server.GOOD, **fields: Any) -> dict[str, Any]:
    read, wrote = tokens_read(request), request.body["max_tokens"]
    usage = {"prompt_tokens": read, "completion_tokens": wrote, "total_tokens": read + wrote}
    return hostile_server.completion(content, **{"usage": usage, **fields})


def error(status: int) -> Any:
    return sends(lambda _: hostile_server.response({"error": {"message": "no", "type": "error", "code": None}}, status))


FILTERED = {"choice_finish_reason": "content_filter"}
# Kinds of outcome that the server bills in full.
BILLED = {
    "good": sends(lambda request: hostile_server.response(reply(request))),
    "silence": hostile_server.silence,
    "cut": cut,
    "reset": hostile_server.reset_at_once,
    "closed": hostile_server.abrupt,
    "html": sends(lambda _: hostile_server.response(b"<html>Bad gateway</html>", content_type="text/html")),
    "filtered": sends(lambda request: hostile_server.response(reply(request, "", **FILTERED))),
    "filtered-uncounted": sends(lambda request: hostile_server.response(reply(request, None, usage=None, **FILTERED))),
    "truncated": sends(
        lambda request: hostile_server.response(reply(request, hostile_server.GOOD[:9], choice_finish_reason="length"))
    ),
    "unparseable": sends(lambda request: hostile_server.response(reply(request, "I would rather not."))),
    "too-large": sends(lambda request: hostile_server.response(reply(request, "word " * 40_000))),
    "no-choices": sends(lambda request: hostile_server.response(reply(request) | {"choices": None})),
    "stated-error": sends(
        lambda request: hostile_server.response(reply(request) | {"error": {"message": "lost", "code": "word"}})
    ),
    "usage-of-words": sends(lambda request: hostile_server.response(reply(request, usage={"prompt_tokens": "few"}))),
    "server-error": error(500),
    "gateway-timeout": error(504),
    "too-long": sends(
        lambda _: hostile_server.response(
            {"error": {"message": "This model's maximum context length is 4096 tokens.", "type": "x", "code": None}},
            400,
        )
    ),
}
NOT_BILLED = {"rate-limit": error(429), "overloaded": error(503), "later": error(425)}


class BillingServer(hostile_server.HostileServer):
    """Bills what it has read and might write for requests of the kinds in `BILLED`, which alternate with the others."""

    def __init__(self) -> None:
        super().__init__({"v1": self._behave})
        self.begin()

    def begin(self) -> None:
        self.bill = 0.0
        self._kinds = itertools.cycle(random.Random(1).sample([*BILLED, *NOT_BILLED], len(BILLED) + len(NOT_BILLED)))

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1/"

    async def _behave(self, request: hostile_server.Request, send: hostile_server.Send) -> None:
        kind = next(self._kinds)
        if kind in BILLED:
            self.bill += PRICE.cost(tokens_read(request), request.body["max_tokens"])
        await (BILLED | NOT_BILLED)[kind](request, send)


@pytest.fixture(scope="module")
def billing() -> Iterator[BillingServer]:
    server = BillingServer()
    with server:
        yield server


@pytest.fixture(autouse=True)
def _quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    defaults = Retried.__init__.__kwdefaults__
    monkeypatch.setattr(Retried.__init__, "__kwdefaults__", {**defaults, "base": 0.001})


async def results(
    billing: BillingServer, text: str, concurrency: int, budget: LocalBudget, *, prompts: int
) -> list[Reply | BaseException]:
    """Return what came of prompts about different texts, with a budget."""
    billing.begin()
    options = JudgeOptions(
        api_base=billing.address, concurrency=concurrency, price=PRICE, timeout=TIMEOUT, attempts=3, reasoning_tokens=0
    )
    answers, ledger = MemoryAnswers(), Ledger()
    judge = connect("openai/fake", options=options, ledger=ledger, answers=answers, budget=budget)
    asked = [rate(f"{n}: {text * 6}", max_tokens=MOST_REPLY) for n in range(prompts)]
    came = await asyncio.gather(*map(judge.reply, asked), return_exceptions=True)
    await close_connections()
    unexpected = [one for one in came if not isinstance(one, Reply | RubriclabError)]
    assert not unexpected
    return came


@pytest.mark.parametrize(("script", "concurrency"), [("cherokee", 1), ("base64", 8), ("mixed", 8), ("emoji", 64)])
async def test_no_bill_passes_the_cap_on_cost(billing: BillingServer, script: str, concurrency: int) -> None:
    budget = LocalBudget(max_cost=0.04)
    came = await results(billing, SCRIPTS[script], concurrency, budget, prompts=80)
    assert any(isinstance(one, BudgetReached) for one in came)
    assert billing.bill <= budget.cost + 1e-9
    assert 0.02 < budget.cost <= 0.04 + 1e-9
