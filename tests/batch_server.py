"""The server of `server.py` with OpenAI's endpoints for files and batches, which fails on command.

A batch is processed when it is made; how often its status is asked before it has ended, and how it ends, can be set.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable
from email import message_from_bytes
from email.policy import HTTP
from typing import Any
from urllib.parse import parse_qs, urlsplit

from hostile_server import Request, response
from server import RunningServer, failure

Files = dict[str, bytes]
# What a test does to the lines of the answers and errors of a batch.
Spoil = Callable[[list[bytes], list[bytes]], tuple[list[bytes], list[bytes]]]


class BatchServer(RunningServer):
    """What the server holds; `on_step` is called with the name of each step before its response."""

    def reset(self) -> None:
        super().reset()
        self.files: Files = {}
        self.batches: dict[str, dict[str, Any]] = {}
        self.steps: list[str] = []
        self.processed: Counter[str] = Counter()
        self.checks = 1
        self.ends: list[str] = []  # how the next batches end; by default completed
        self.fault: dict[str, str] | None = None  # of a batch that failed
        self.spoil: Spoil | None = None  # of the next batch only
        self.statuses: list[int] = []  # of the next responses about files and batches, instead of what was asked for
        self.on_step: Callable[[str], object] = lambda _step: None

    async def respond(self, request: Request) -> bytes:
        """Return the response to a request about files and batches, or to any other."""
        url = urlsplit(request.path)
        match request.method, url.path.split("/")[2:]:
            case "POST", ["files"]:
                answer = self._upload(request)
            case "GET", ["files", name, "content"]:
                answer = self._step("content") or (response(self.files[name]) if name in self.files else UNKNOWN)
            case "DELETE", ["files", name]:
                self.files.pop(name, None)
                answer = response({"id": name, "object": "file", "deleted": True})
            case "POST", ["batches"]:
                answer = self._create(request.body)
            case "GET", ["batches"]:
                answer = self._step("list") or self._list(parse_qs(url.query))
            case "GET", ["batches", name]:
                answer = self._step("status") or self._retrieve(name)
            case "POST", ["batches", name, "cancel"]:
                answer = self._cancel(name)
            case _:
                answer = await super().respond(request)
        return answer

    def _step(self, name: str) -> bytes | None:
        self.steps.append(name)
        self.on_step(name)
        if self.statuses and (status := self.statuses.pop(0)) != 200:
            return failure(status, "something broke")
        return None

    def _upload(self, request: Request) -> bytes:
        header = f"Content-Type: {request.headers['content-type']}\r\n\r\n".encode()
        parts = message_from_bytes(header + request.content, policy=HTTP).iter_parts()
        form: dict[Any, Any] = {
            part.get_param("name", header="content-disposition"): part.get_payload(decode=True) for part in parts
        }
        if failed := self._step("upload"):
            return failed
        name = f"file-{len(self.files)}"
        self.files[name] = bytes(form["file"])
        described = {"bytes": len(self.files[name]), "created_at": 1, "filename": "requests.jsonl"}
        purpose = form["purpose"].decode().strip()
        return response({"id": name, "object": "file", "purpose": purpose, "status": "processed", **described})

    def _create(self, body: dict[str, Any]) -> bytes:
        lines = [json.loads(line) for line in self.files[body["input_file_id"]].splitlines()]
        name = f"batch_{len(self.batches)}"
        state = self.ends.pop(0) if self.ends else "completed"
        batch = {
            **{field: body[field] for field in ("endpoint", "input_file_id", "completion_window")},
            "id": name,
            "object": "batch",
            "created_at": int(time.time()),
            "status": "validating",
            "ends": state,
            "checks": self.checks,
            "request_counts": {"total": len(lines), "completed": 0, "failed": 0},
        }
        self.batches[name] = batch
        if state == "failed":
            batch["errors"] = {"object": "list", "data": [self.fault or {"code": "x", "message": "it is malformed"}]}
        else:
            self._process(batch, lines)
        return self._step("create") or response(_shown(batch))

    def _process(self, batch: dict[str, Any], lines: list[dict[str, Any]]) -> None:
        answers, errors = [], []
        for number, line in enumerate(lines):
            if batch["ends"] in ("expired", "cancelled") and number % 2:
                code = f"batch_{batch['ends']}"
                error = {"code": code, "message": "The request was not processed."}
                errors.append({"custom_id": line["custom_id"], "response": None, "error": error})
                continue
            body = line["body"]
            self.processed[json.dumps(body, sort_keys=True)] += 1
            completed = {"status_code": 200, "request_id": "r", "body": json.loads(self.completion(body))}
            answers.append({"id": f"batch_req_{number}", "custom_id": line["custom_id"], "response": completed})
        written = [json.dumps(row).encode() for row in answers], [json.dumps(row).encode() for row in errors]
        if self.spoil:
            written, self.spoil = self.spoil(*written), None
        batch["request_counts"] |= {"completed": len(answers), "failed": len(errors)}
        for field, content in zip(("output_file_id", "error_file_id"), written, strict=True):
            if content:
                batch[field] = f"{batch['id']}-{field}"
                self.files[batch[field]] = b"\n".join(content) + b"\n"

    def _list(self, query: dict[str, list[str]]) -> bytes:
        names = [*reversed(self.batches)]
        limit = int(query.get("limit", ["20"])[0])
        begin = names.index(query["after"][0]) + 1 if "after" in query else 0
        batches = [_shown(self.batches[name]) for name in names[begin : begin + limit]]
        return response({"object": "list", "data": batches, "has_more": begin + limit < len(names)})

    def _retrieve(self, name: str) -> bytes:
        batch = self.batches.get(name)
        if batch is None:
            return UNKNOWN
        if batch["checks"] <= 0:
            batch["status"] = batch["ends"]
        elif batch["status"] != "cancelled":
            batch["status"] = "in_progress"
            batch["checks"] -= 1
        return response(_shown(batch))

    def _cancel(self, name: str) -> bytes:
        batch = self.batches.get(name)
        if batch is None:
            return UNKNOWN
        batch["ends"] = batch["status"] = "cancelled"
        return self._step("cancel") or response(_shown({**batch, "status": "cancelling"}))


UNKNOWN = failure(404, "There is no such thing.")


def _shown(batch: dict[str, Any]) -> dict[str, Any]:
    hidden = {"ends", "checks"}
    if batch["status"] not in ("completed", "expired", "cancelled"):
        hidden |= {"output_file_id", "error_file_id"}
    return {name: value for name, value in batch.items() if name not in hidden}
