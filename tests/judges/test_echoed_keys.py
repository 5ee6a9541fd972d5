"""A server that sends back the key it was sent: nothing shown, stored or recorded holds it."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from judge_questions import rate

from rubriclab.errors import JudgeError, JudgeRefused
from rubriclab.judges import JudgeOptions, Ledger, close_connections, connect
from rubriclab.store import open_store

KEY = "live-0123456789abcdef"


class Echo(BaseHTTPRequestHandler):
    """Answers with the key from the request's header, in every place that a client reads."""

    protocol_version = "HTTP/1.1"
    status = 200

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        key = self.headers["Authorization"].removeprefix("Bearer ")
        body = json.dumps(self.refusal(key) if self.status != 200 else self.reply(key)).encode()
        self.send_response(self.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def refusal(self, key: str) -> object:
        return {"error": {"message": f"no, {key} (Authorization: Bearer {key})", "type": key, "code": key}}

    def reply(self, key: str) -> object:
        likely = [{"token": key, "logprob": -0.1}]
        content = [{"token": part, "logprob": -0.1, "top_logprobs": likely} for part in ("{", "}")]
        choice = {"index": 0, "message": {"role": "assistant", "content": "{}"}, "finish_reason": "stop"}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        if not self.path.startswith("/tokens"):
            choice["message"]["content"] = f'{{"reasoning": "{key}", "score": 3}}'  # type: ignore[index]
        choices = [{**choice, "logprobs": {"content": content}}]
        return {"id": "1", "object": "chat.completion", "created": 1, "model": key, "choices": choices, "usage": usage}

    def log_message(self, *_arguments: object) -> None:
        """Keep quiet."""


@pytest.fixture
def echo(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422, 429, 500, 503])
async def test_no_message_holds_the_key(echo: str, monkeypatch: pytest.MonkeyPatch, status: int) -> None:
    monkeypatch.setattr(Echo, "status", status)
    judge = connect("openai/fake", options=JudgeOptions(api_base=f"{echo}/v1", attempts=1), ledger=Ledger())
    with pytest.raises(JudgeError) as caught:
        await judge.reply(rate())
    await close_connections()
    assert KEY not in str(caught.value)
    assert "***" in str(caught.value)
    assert isinstance(caught.value, JudgeRefused) is (status in (401, 404))


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


@pytest.mark.parametrize("folder", ["v1", "tokens"])
async def test_nothing_that_is_kept_holds_the_key(echo: str, tmp_path: Path, folder: str) -> None:
    ledger, record, store = Ledger(), tmp_path / "recorded.jsonl", tmp_path / "store.db"
    with open_store(store) as opened:
        options = JudgeOptions(api_base=f"{echo}/{folder}")
        judge = connect("openai/fake", options=options, ledger=ledger, answers=opened.answers, record=record)
        reply = await judge.reply(rate(alternatives=5))
        assert opened.answers.count() == 1
    await close_connections()
    assert KEY not in repr(reply)
    assert ledger.model_versions == {"***"}
    held = contents(tmp_path)
    assert held.keys() >= {"recorded.jsonl", "store.db"}
    assert not [name for name, content in held.items() if KEY.encode() in content]
