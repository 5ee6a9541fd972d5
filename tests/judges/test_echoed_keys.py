"""A server that sends back the key it was sent: nothing shown, stored or recorded holds it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hostile_server import Behaviour, HostileServer, Request, Send, completion, response
from judge_questions import rate

from rubriclab.errors import JudgeError, JudgeRefused
from rubriclab.judges.connect import connect
from rubriclab.judges.judge import Ledger
from rubriclab.judges.llm import close_connections
from rubriclab.judges.options import JudgeOptions
from rubriclab.store.store import open_store

KEY = "live-0123456789abcdef"


def key_of(request: Request) -> str:
    return request.headers["authorization"].removeprefix("Bearer ")


def refusing(status: int) -> Behaviour:
    async def behave(request: Request, send: Send) -> None:
        key = key_of(request)
        error = {"message": f"no, {key} (Authorization: Bearer {key})", "type": key, "code": key}
        await send(response({"error": error}, status))

    return behave


def replying(content: str) -> Behaviour:
    async def behave(request: Request, send: Send) -> None:
        key = key_of(request)
        likely = [{"token": key, "logprob": -0.1}]
        tokens = [{"token": part, "logprob": -0.1, "top_logprobs": likely} for part in ("{", "}")]
        reply = completion(content.replace("KEY", key), model=key, choice_logprobs={"content": tokens})
        await send(response(reply))

    return behave


REFUSALS = [400, 401, 403, 404, 422, 429, 500, 503]
# The key in the text of a reply, and in its tokens.
REPLIES = {"text": '{"reasoning": "KEY", "score": 3}', "tokens": "{}"}


@pytest.fixture(scope="module")
def echo() -> Iterator[HostileServer]:
    behaviours = {name: replying(content) for name, content in REPLIES.items()}
    with HostileServer(behaviours | {str(status): refusing(status) for status in REFUSALS}) as server:
        yield server


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


@pytest.mark.parametrize("status", REFUSALS)
async def test_no_message_holds_the_key(echo: HostileServer, status: int) -> None:
    options = JudgeOptions(api_base=echo.url(str(status)), attempts=1)
    judge = connect("openai/fake", options=options, ledger=Ledger())
    with pytest.raises(JudgeError) as caught:
        await judge.reply(rate())
    await close_connections()
    assert KEY not in str(caught.value)
    assert "***" in str(caught.value)
    assert isinstance(caught.value, JudgeRefused) is (status in (401, 404))


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


@pytest.mark.parametrize("reply_with", REPLIES)
async def test_nothing_that_is_kept_holds_the_key(echo: HostileServer, tmp_path: Path, reply_with: str) -> None:
    ledger, record, store = Ledger(), tmp_path / "recorded.jsonl", tmp_path / "store.db"
    with open_store(store) as opened:
        options = JudgeOptions(api_base=echo.url(reply_with))
        judge = connect("openai/fake", options=options, ledger=ledger, answers=opened.answers, record=record)
        reply = await judge.reply(rate(alternatives=5))
        assert opened.answers.count() == 1
    await close_connections()
    assert KEY not in repr(reply)
    assert ledger.model_versions == {"***"}
    held = contents(tmp_path)
    assert held.keys() >= {"recorded.jsonl", "store.db"}
    assert not [name for name, content in held.items() if KEY.encode() in content]
