"""A hostile provider: whatever it sends, one answer is missing, or the command ends with one line.

Each kind of fault stands once in `FAULTS`, with what the server sends and what must come of it:

- ANSWERED: the reply is sound in spite of everything, and is the answer.
- UNUSABLE: a reply came and was kept, and one repair was asked for; the answer is missing.
- MISSING: no reply could be had now; the answer is missing, nothing is kept, and a retry is allowed.
- REJECTED: no reply to this prompt ever; the answer is missing after one request, and nothing is kept.
- WITHHELD: the reply was filtered; the answer is missing after one request, and the reply is kept.
- REFUSED: the command ends after one request, and nothing is kept.
"""

from __future__ import annotations

import asyncio
import gzip
import itertools
import json
import sys
import time
import zlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hostile_server import (
    GOOD,
    HARMLESS,
    Behaviour,
    Closing,
    HostileServer,
    Request,
    Send,
    abrupt,
    completion,
    reset_at_once,
    response,
    sending,
    silence,
)
from memory_answers import MemoryAnswers

from rubriclab.errors import JudgeRefused, ProviderDown
from rubriclab.judges.connect import connect
from rubriclab.judges.judge import Judge, Ledger, ask, load_reply
from rubriclab.judges.llm import LanguageModel, close_connections
from rubriclab.judges.options import JudgeOptions
from rubriclab.judges.replies import FILTERED_MESSAGE
from rubriclab.methods.prompting import Rating
from rubriclab.prompts.prompt import Prompt

ANSWERED, UNUSABLE, MISSING, REJECTED, REFUSED = "answered", "unusable", "missing", "rejected", "refused"
WITHHELD = "withheld"
# What a server can push into the buffers of two sockets and a pool, on top of what is read.
BUFFERED = 12_000_000
TIMEOUT = 0.2  # of a judge whose server stalls
PATIENCE = 60.0  # of one whose server does not, on a busy machine
LONGEST_MESSAGE = 700
KEY, MODEL = "sk-nobody-may-ever-see-this", "openai/fake"


@dataclass(frozen=True)
class Fault:
    """What the server sends, what must come of it, and words that the message must hold."""

    behaviour: Behaviour
    outcome: str
    words: str = ""

    @property
    def requests(self) -> Collection[int]:
        """How many requests it may take: the question, and one repair where a reply came."""
        return {UNUSABLE: (2,), ANSWERED: (1, 2)}.get(self.outcome, (1,))


def status(number: int, outcome: str, words: str = "", code: str | None = None, **headers: Any) -> Fault:
    error = {"error": {"message": "something is wrong", "type": "error", "code": code}}
    return Fault(sending(response(error, number, **headers)), outcome, words)


def body(content: Any, outcome: str, words: str = "", **headers: Any) -> Fault:
    return Fault(sending(response(content, **headers)), outcome, words)


def reply(text: Any, outcome: str, words: str = "", **fields: Any) -> Fault:
    return body(completion(text, **fields), outcome, words)


def usage(**counts: Any) -> Fault:
    return reply(GOOD, ANSWERED, usage=counts)


def replaced(old: str, new: str, content: Any = None) -> bytes:
    return json.dumps(completion(content or GOOD)).replace(old, new).encode()


async def drip(_request: Request, send: Send) -> None:
    """Send a byte now and then, so that the server is never silent for long."""
    whole = response(completion(GOOD))
    for at in range(len(whole)):
        await send(whole[at : at + 1])
        await asyncio.sleep(0.05)


async def drip_headers(_request: Request, send: Send) -> None:
    await send(b"HTTP/1.1 200 OK\r\n")
    for number in itertools.count():
        await send(b"x-header-%d: 1\r\n" % number)
        await asyncio.sleep(0.05)


async def hundred_megabytes(_request: Request, send: Send) -> None:
    await send(response(b"", content_length=100_000_000))
    for _ in range(100):
        await send(b"{ " * 500_000)


async def endless_chunks(_request: Request, send: Send) -> None:
    await send(response(b"", content_length=None, transfer_encoding="chunked"))
    while True:
        await send(b"10000\r\n" + b" " * 0x10000 + b"\r\n")


async def endless_error(_request: Request, send: Send) -> None:
    await send(response(b"", 401, content_length=None, transfer_encoding="chunked"))
    while True:
        await send(b"10000\r\n" + b"missing " * 0x2000 + b"\r\n")


async def reset(_request: Request, send: Send) -> None:
    await send(response(completion(GOOD))[:-40])
    raise Closing(reset=True)


async def alternating(request: Request, send: Send) -> None:
    await send(response(completion(GOOD if request.number % 2 == 0 else "I would rather not.")))


async def echo_prompt(request: Request, send: Send) -> None:
    await send(response(completion("\n".join(turn["content"] for turn in request.body["messages"]))))


async def bomb(_request: Request, send: Send) -> None:
    """Send 60 MB of spaces, packed to 60 kB."""
    packer = zlib.compressobj(9, wbits=zlib.MAX_WBITS | 16)
    packed = b"".join(packer.compress(b" " * 1_000_000) for _ in range(60)) + packer.flush()
    await send(response(packed, content_encoding="gzip"))


async def junk_behind_packed(_request: Request, send: Send) -> None:
    """Send a good packed body, and zeros without end behind it."""
    await send(response(b"", content_length=None, content_encoding="gzip", connection="close"))
    await send(gzip.compress(json.dumps(completion(GOOD)).encode()))
    while True:
        await send(b"\0" * 0x10000)


def endless_empty_blocks(status: int) -> Behaviour:
    """Return the behaviour of a server whose packed body goes on for ever, in blocks that unpack to nothing."""

    async def behave(_request: Request, send: Send) -> None:
        packer = zlib.compressobj(9, wbits=zlib.MAX_WBITS | 16)
        await send(response(b"", status, content_length=None, content_encoding="gzip", connection="close"))
        await send(packer.compress(b" ") + packer.flush(zlib.Z_SYNC_FLUSH))
        while True:
            await send(b"\x00\x00\x00\xff\xff" * 13_000)

    return behave


EVENTS = b"data: " + json.dumps(completion(GOOD)).encode()
WHOLE = response(completion(GOOD))
OTHER_SCORE = GOOD.replace("4", "1")
NO_JSON = "no complete JSON object"
LARGE = "larger than"

# What a gateway may send with the status 200, by its kind of code.
STATED_ERRORS: dict[str, Any] = {
    "number": {"message": "overloaded", "code": 500},
    "rate-limit": {"message": "overloaded", "code": 429},
    "word": {"message": "overloaded", "code": "upstream_error"},
    "list": {"message": "overloaded", "code": [429]},
    "object": {"message": "overloaded", "code": {"status": 429}},
    "null": {"message": "overloaded", "code": None},
    "success": {"message": "overloaded", "code": 200},
    "huge": {"message": "overloaded", "code": 10**400},
    "empty-word": {"message": "", "code": ""},
    "text": "overloaded",
    "nested": {"error": {"message": "overloaded", "code": 500}, "message": "overloaded"},
    "of-a-number": 7,
}

FAULTS: dict[str, Fault] = {
    **{f"status-{number}": status(number, REJECTED) for number in (400, 413, 422)},
    **{f"status-{number}": status(number, MISSING) for number in (408, 425, 429, 500, 529)},
    "status-401": status(401, REFUSED, "Check the key in OPENAI_API_KEY"),
    "status-402": status(402, REFUSED, "no credit left"),
    "status-403": status(403, REJECTED, "Check the key in OPENAI_API_KEY"),
    "status-404": status(404, REFUSED, "Check the model's name"),
    "status-400-billing": status(400, REFUSED, "limit", code="billing_hard_limit_reached"),
    "status-429-quota": status(429, REFUSED, "no credit left", code="insufficient_quota"),
    "status-429-short-pause": status(429, MISSING, retry_after="0.01"),
    "status-429-absurd-pause": status(429, REFUSED, "asks for a pause of 1e+300 seconds", retry_after="1e300"),
    "status-429-unreadable-pause": status(429, MISSING, retry_after="9" * 5000),
    "status-502-html": Fault(sending(response(b"<html>Bad gateway</html>", 502, content_type="text/html")), MISSING),
    "status-302-other-server": status(302, REFUSED, "redirects to another server", location="http://elsewhere.test/v1"),
    "status-401-endless": Fault(endless_error, REFUSED, "Check the key in OPENAI_API_KEY"),
    # Bodies that are no completion.
    "body-empty": body(b"", MISSING),
    "body-prose": body(b"I am a teapot", MISSING),
    "body-html": body(b"<html>Welcome</html>", MISSING, content_type="text/html"),
    "body-cut": body(WHOLE[-60:-20], MISSING),
    "body-wrong-type": body(completion(GOOD), ANSWERED, content_type="image/png"),
    "body-null": body(b"null", MISSING),
    **{f"error-in-success-{name}": body({"error": error}, MISSING) for name, error in STATED_ERRORS.items()},
    "error-in-success-of-a-key": body({"error": {"message": "wrong key", "code": 401}}, REFUSED, "Check the key"),
    "error-in-success-without-credit": body(
        {"error": {"message": "pay", "code": "insufficient_quota"}}, REFUSED, "no credit left"
    ),
    "error-in-success-beside-a-reply": body(completion(GOOD) | {"error": {"message": "lost", "code": "x"}}, MISSING),
    "empty-error-in-success": body(completion(GOOD) | {"error": {"message": "", "code": None}}, ANSWERED),
    "body-stream-of-events": body(EVENTS, MISSING, content_type="text/event-stream"),
    "body-deep": body(b'{"choices":' + b"[" * 100_000, MISSING),
    # Completions of the wrong shape.
    "choices-null": body(completion(GOOD) | {"choices": None}, MISSING),
    "message-null": reply(GOOD, MISSING, choice_message=None),
    "withheld-uncounted": reply(None, WITHHELD, "content filter", choice_finish_reason="content_filter", usage=None),
    "usage-missing": body({name: part for name, part in completion(GOOD).items() if name != "usage"}, ANSWERED),
    "usage-absurd": usage(prompt_tokens=10**30, completion_tokens=10**30, total_tokens=10**30),
    "usage-nan": body(replaced('"prompt_tokens": 10', '"prompt_tokens": NaN'), ANSWERED),
    "model-huge": reply(GOOD, ANSWERED, model="m" * 30_000),
    "reply-prose": reply("I would rather not.", UNUSABLE, NO_JSON),
    "reply-raw-half-characters": body(replaced("fine", "fi\\ud83dne"), ANSWERED),
    "reply-prompt": Fault(echo_prompt, UNUSABLE),
    "reply-braces-megabyte": reply("{ " * 500_000, REJECTED, LARGE),
    "reply-beyond-its-tokens": reply("word " * 20_000, REJECTED, LARGE),
    "every-second-reply": Fault(alternating, ANSWERED),
    "hundred-megabytes": Fault(hundred_megabytes, REJECTED, LARGE),
    "endless-chunks": Fault(endless_chunks, REJECTED, LARGE),
    "packed-well": body(gzip.compress(json.dumps(completion(GOOD)).encode()), ANSWERED, content_encoding="gzip"),
    "packed-bomb": Fault(bomb, REJECTED, LARGE),
    "packed-cut": body(gzip.compress(json.dumps(completion(GOOD)).encode())[:-20], MISSING, content_encoding="gzip"),
    "packed-not-at-all": body(completion(GOOD), MISSING, content_encoding="gzip"),
    "packed-junk-behind": Fault(junk_behind_packed, ANSWERED),
    "packed-empty-blocks": Fault(endless_empty_blocks(200), REJECTED, LARGE),
    "packed-empty-blocks-in-error": Fault(endless_empty_blocks(401), REFUSED, "Check the key in OPENAI_API_KEY"),
    "packed-otherwise": body(completion(GOOD), MISSING, content_encoding="br"),
    "never-answers": Fault(silence, MISSING, f"no complete reply within {TIMEOUT} seconds"),
    "drips": Fault(drip, MISSING, f"no complete reply within {TIMEOUT} seconds"),
    "drips-headers": Fault(drip_headers, MISSING, f"no complete reply within {TIMEOUT} seconds"),
    "closes-at-once": Fault(abrupt, MISSING),
    "resets-at-once": Fault(reset_at_once, MISSING),
    "closes-within-body": Fault(sending(WHOLE[:-40], close=True), MISSING),
    "resets-within-body": Fault(reset, MISSING),
    "length-too-long": Fault(sending(response(completion(GOOD), content_length=10_000), close=True), MISSING),
    "length-too-short": body(completion(GOOD), MISSING, content_length=30),
    "chunks-damaged": Fault(
        sending(response(b"zz\r\ngarbage", content_length=None, transfer_encoding="chunked"), close=True), MISSING
    ),
    "headers-huge": body(completion(GOOD), MISSING, x_huge="h" * 100_000),
    "not-http": Fault(sending(b"220 mail.test ESMTP\r\n", close=True), MISSING),
    "two-responses": Fault(sending(WHOLE + response(completion(OTHER_SCORE))), ANSWERED),
}


@pytest.fixture(scope="module")
def hostile() -> Iterator[HostileServer]:
    with HostileServer({name: fault.behaviour for name, fault in FAULTS.items()}) as server:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("OPENAI_API_KEY", KEY)
            patch.setattr(sys.modules["rubriclab.prompts.render"], "FOLDER", Path(__file__).parent / "templates")
            asyncio.run(_warm_up(server))
        yield server


async def _warm_up(server: HostileServer) -> None:
    """Ask once: litellm's imports, some of them with the first request, take seconds that are no server's fault."""
    model = LanguageModel(MODEL, api_base=server.url("reply-prose"))
    await model.reply(question(HARMLESS))
    await close_connections()


def question(text: str) -> Prompt[Rating]:
    scale = {"low": 1, "high": 5, "whole": True}
    return Prompt("questions/rate", {"scale": scale, "output": text}, Rating)


async def outcome_of(judge: Judge) -> tuple[str, str]:
    """Return what came of a question about the enemy's text, and the message."""
    try:
        answer = await ask(judge, question("a text of the enemy's"))
    except (JudgeRefused, ProviderDown) as error:
        return REFUSED, str(error)
    if answer.value is not None:
        return ANSWERED, ""
    message = answer.missing
    if message == FILTERED_MESSAGE:
        return WITHHELD, message
    if answer.replied:
        return UNUSABLE, message
    return MISSING if message.startswith("no reply after 1 attempts: ") else REJECTED, message


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")  # as rubriclab itself has it
@pytest.mark.parametrize("name", FAULTS)
async def test_a_fault_costs_one_answer_at_most(
    hostile: HostileServer, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    fault, answers, ledger = FAULTS[name], KeptAnswers(), Ledger()

    def judge_with(timeout: float) -> Judge:
        options = JudgeOptions(timeout=timeout, attempts=1, api_base=hostile.url(name))
        return connect(MODEL, options=options, ledger=ledger, answers=answers)

    judge = judge_with(TIMEOUT if "no complete reply" in fault.words else PATIENCE)
    began = time.monotonic()
    outcome, message = await outcome_of(judge)
    harmless = await ask(judge_with(PATIENCE), question(HARMLESS))
    await close_connections()
    assert (outcome, fault.words in message) == (fault.outcome, True), message
    assert harmless.value == Rating(reasoning="fine", score=4)
    assert hostile.requests[name] in fault.requests
    assert answers.count == 1 + (hostile.requests[name] if outcome in (ANSWERED, UNUSABLE, WITHHELD) else 0)
    assert (ledger.usage.prompt_tokens >= 0, ledger.usage.completion_tokens >= 0) == (True, True)
    assert len(message) <= LONGEST_MESSAGE
    assert "\n" not in message
    assert not any(word in message for word in ("Traceback", "site-packages", "litellm", KEY))
    assert hostile.sent[name] < BUFFERED
    assert time.monotonic() - began < PATIENCE


class KeptAnswers(MemoryAnswers):
    """Answers that are counted, and that a store could hold."""

    count = 0

    def put(self, digest: str, answer: dict[str, Any]) -> bool:
        """Keep `answer`, which must be JSON in UTF-8 of no great size, with counts that fit a column."""
        assert len(json.dumps(answer, ensure_ascii=False, allow_nan=False).encode()) < 200_000
        usage = load_reply(answer).usage
        assert all(0 <= tokens < 2**31 for tokens in (usage.prompt_tokens, usage.completion_tokens))
        self.count += 1
        return super().put(digest, answer)
