"""An OpenAI-compatible server in a thread, which fails on command.

Faults are drawn from the seed, the request and how often it came, so a run against it can be repeated in any order of
requests.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
import time
from collections import Counter, deque
from typing import Any

import scripted_model
from hostile_server import Request, Send, SocketServer, completion, response
from reply_tokens import Tokeniser, log_probabilities
from scripted_model import Brain

SNAPSHOT = "fake-2026-11-01"
# Drawn by `faults`; the others have to be scripted.
RANDOM_FAULTS = ("rate_limit", "server_error", "timeout", "cut_body", "prose", "off_scale", "empty")
ERRORS = {
    "unauthorized": (401, "Incorrect API key provided"),
    "not_found": (404, "there is no such model"),
    "rate_limit": (429, "too many requests"),
    "server_error": (500, "something broke"),
    "timeout": (504, "the model took too long"),
    "overloaded": (529, "overloaded"),
}


class Unavailable(Exception):
    """Raised by a brain for a server that does not answer now."""


class RunningServer(SocketServer):
    """The server, from `with` on; `script` holds the faults of the next requests, `None` for a good reply."""

    def __init__(self) -> None:
        self.defects: list[Exception] = []  # of brains, which would only slow tests down: the request is repeated
        self.reset()

    def reset(self) -> None:
        self.brain: Brain = scripted_model.reply
        self.faults = 0.0
        self.seed = 0
        self.hang = 3.0
        self.latency = 0.0
        self.held = False  # no request is answered while it is true
        self.refuses: set[str] = set()
        self.logprobs: Tokeniser | None = log_probabilities  # `None` for a server that takes no notice of the wish
        self.script: deque[str | None] = deque()
        self.bodies: list[dict[str, Any]] = []
        self.keys: set[str] = set()  # of all requests, also of those that it does not serve
        self.requests: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()
        self.faulty: Counter[str] = Counter()
        self.repeated = 0
        self.answered_at: dict[str, float] = {}
        self.repeats: list[float] = []  # when what was asked again had been answered, by the monotonic clock
        self.most_at_once = 0
        self._at_once = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    async def answer(self, request: Request, send: Send) -> None:
        sent = request.headers.get("authorization", ""), request.headers.get("x-api-key", "")
        self.keys |= {key.removeprefix("Bearer ") for key in sent if key}
        await send(await self.respond(request))

    async def respond(self, request: Request) -> bytes:
        if (request.method, request.path) != ("POST", "/v1/chat/completions"):
            return failure(*ERRORS["not_found"])
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            return await self._respond(request.body)
        finally:
            self._at_once -= 1

    async def _respond(self, body: dict[str, Any]) -> bytes:
        digest = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
        fault = self._fault(digest)
        self.bodies.append(body)
        self.requests[digest] += 1
        if digest in self.answered:
            self.repeated += 1
            self.repeats.append(self.answered_at[digest])
        self.faulty[fault or "none"] += 1
        refused = fault in ERRORS and fault != "timeout"  # at once
        await asyncio.sleep(self.hang if fault == "timeout" else 0 if refused else self.latency)
        while self.held:  # the tests set it in another thread  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        for setting in self.refuses & body.keys():
            return failure(400, f"Unsupported value: '{setting}' does not support this with this model.")
        if fault in ERRORS:
            return failure(*ERRORS[fault], retry_after="0")
        if fault == "too_long":
            message = "This model's maximum context length is 4096 tokens."
            return failure(400, message, code="context_length_exceeded")
        try:
            text = _spoilt(self.brain(body["messages"], body), fault)
        except Exception as error:
            # Not of the probe of what the server can do.
            if not isinstance(error, Unavailable) and "Name a tree" not in str(body["messages"]):
                self.defects.append(error)
            return failure(503 if isinstance(error, Unavailable) else 500, "the brain failed")
        reply = _completion(body, text, fault, self._log_probabilities(text, body))
        if fault == "cut_body":
            return response(reply[: len(reply) // 2].encode())
        self.answered[digest] += 1
        self.answered_at[digest] = time.monotonic()
        return response(reply.encode())

    def completion(self, body: dict[str, Any]) -> str:
        text = self.brain(body["messages"], body)
        return _completion(body, text, None, self._log_probabilities(text, body))

    def _log_probabilities(self, text: str, body: dict[str, Any]) -> Any:
        if not (text and self.logprobs and body.get("logprobs")):
            return None
        return self.logprobs(text, body["top_logprobs"])

    def _fault(self, digest: str) -> str | None:
        if self.script:
            return self.script.popleft()
        draw = random.Random(f"{self.seed}:{digest}:{self.requests[digest]}")
        return draw.choice(RANDOM_FAULTS) if draw.random() < self.faults else None


def _spoilt(text: str, fault: str | None) -> str:
    match fault:
        case "prose":
            return f"Certainly! Here is what I think {{in short}}:\n```json\n{text}\n```\nTell me if you need more."
        case "off_scale":
            return json.dumps(_off_scale(json.loads(text)))
        case "empty":
            return ""
        case _:
            return text


def _off_scale(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _off_scale(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_off_scale(part) for part in value]
    return 99999 if isinstance(value, int | float) and not isinstance(value, bool) else value


def _completion(body: dict[str, Any], text: str, fault: str | None, logprobs: Any) -> str:
    read = sum(len(turn["content"]) for turn in body["messages"]) // 4
    wrote = len(text) // 4
    fields: dict[str, Any] = {} if logprobs is None else {"choice_logprobs": logprobs}
    fields["choice_finish_reason"] = "content_filter" if fault == "withheld" else "stop"
    fields["usage"] = {"prompt_tokens": read, "completion_tokens": wrote, "total_tokens": read + wrote}
    return json.dumps(completion(text, model=SNAPSHOT, **fields))


def failure(status: int, message: str, code: str | None = None, **headers: Any) -> bytes:
    kind = "invalid_request_error" if status < 429 else "error"
    return response({"error": {"message": message, "type": kind, "code": code}}, status, **headers)
