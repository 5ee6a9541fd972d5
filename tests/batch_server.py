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

from server import RunningServer
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

Files = dict[str, bytes]
# What a test does to the lines of the answers and errors of a batch.
Spoil = Callable[[list[bytes], list[bytes]], tuple[list[bytes], list[bytes]]]


class BatchServer(RunningServer):
    """What the server holds; `on_step` is called with the name of each step before its response."""

    def reset(self) -> None:
        """Forget every file, batch and setting."""
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

    @property
    def app(self) -> Starlette:
        """The routes."""
        app = super().app
        app.routes.extend(
            [
                Route("/v1/files", self._upload, methods=["POST"]),
                Route("/v1/files/{file}/content", self._content),
                Route("/v1/files/{file}", self._delete, methods=["DELETE"]),
                Route("/v1/batches", self._create, methods=["POST"]),
                Route("/v1/batches", self._list),
                Route("/v1/batches/{batch}", self._retrieve),
                Route("/v1/batches/{batch}/cancel", self._cancel, methods=["POST"]),
            ]
        )
        return app

    def _step(self, name: str) -> Response | None:
        self.steps.append(name)
        self.on_step(name)
        if self.statuses and (status := self.statuses.pop(0)) != 200:
            return JSONResponse({"error": {"message": "something broke", "type": "error"}}, status_code=status)
        return None

    async def _upload(self, request: Request) -> Response:
        self._note_key(request)
        header = f"Content-Type: {request.headers['content-type']}\r\n\r\n".encode()
        parts = message_from_bytes(header + await request.body(), policy=HTTP).iter_parts()
        form: dict[Any, Any] = {
            part.get_param("name", header="content-disposition"): part.get_payload(decode=True) for part in parts
        }
        content = bytes(form["file"])
        if failed := self._step("upload"):
            return failed
        name = f"file-{len(self.files)}"
        self.files[name] = content
        return JSONResponse(
            {
                "id": name,
                "object": "file",
                "bytes": len(content),
                "created_at": 1,
                "filename": "requests.jsonl",
                "purpose": form["purpose"].decode().strip(),
                "status": "processed",
            }
        )

    async def _content(self, request: Request) -> Response:
        if failed := self._step("content"):
            return failed
        content = self.files.get(request.path_params["file"])
        return _unknown() if content is None else Response(content, media_type="application/octet-stream")

    async def _delete(self, request: Request) -> Response:
        name = request.path_params["file"]
        self.files.pop(name, None)
        return JSONResponse({"id": name, "object": "file", "deleted": True})

    async def _create(self, request: Request) -> Response:
        self._note_key(request)
        body = await request.json()
        lines = [json.loads(line) for line in self.files[body["input_file_id"]].splitlines()]
        name = f"batch_{len(self.batches)}"
        state = self.ends.pop(0) if self.ends else "completed"
        batch = {
            "id": name,
            "object": "batch",
            "endpoint": body["endpoint"],
            "input_file_id": body["input_file_id"],
            "completion_window": body["completion_window"],
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
        return self._step("create") or JSONResponse(_shown(batch))

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
            response = json.loads(self.completion(body))
            answers.append(
                {
                    "id": f"batch_req_{number}",
                    "custom_id": line["custom_id"],
                    "response": {"status_code": 200, "request_id": "r", "body": response},
                    "error": None,
                }
            )
        written = [json.dumps(row).encode() for row in answers], [json.dumps(row).encode() for row in errors]
        if self.spoil:
            written, self.spoil = self.spoil(*written), None
        batch["request_counts"] |= {"completed": len(answers), "failed": len(errors)}
        for field, content in zip(("output_file_id", "error_file_id"), written, strict=True):
            if content:
                batch[field] = f"{batch['id']}-{field}"
                self.files[batch[field]] = b"\n".join(content) + b"\n"

    async def _list(self, request: Request) -> Response:
        names = [*reversed(self.batches)]
        limit, after = int(request.query_params.get("limit", 20)), request.query_params.get("after")
        begin = names.index(after) + 1 if after else 0
        batches = [_shown(self.batches[name]) for name in names[begin : begin + limit]]
        more = begin + limit < len(names)
        return self._step("list") or JSONResponse({"object": "list", "data": batches, "has_more": more})

    async def _retrieve(self, request: Request) -> Response:
        self._note_key(request)
        if failed := self._step("status"):
            return failed
        batch = self.batches.get(request.path_params["batch"])
        if batch is None:
            return _unknown()
        if batch["checks"] <= 0:
            batch["status"] = batch["ends"]
        elif batch["status"] != "cancelled":
            batch["status"] = "in_progress"
            batch["checks"] -= 1
        return JSONResponse(_shown(batch))

    async def _cancel(self, request: Request) -> Response:
        self._note_key(request)
        batch = self.batches.get(request.path_params["batch"])
        if batch is None:
            return _unknown()
        batch["ends"] = batch["status"] = "cancelled"
        return self._step("cancel") or JSONResponse(_shown({**batch, "status": "cancelling"}))


def _shown(batch: dict[str, Any]) -> dict[str, Any]:
    hidden = {"ends", "checks"}
    if batch["status"] not in ("completed", "expired", "cancelled"):
        hidden |= {"output_file_id", "error_file_id"}
    return {name: value for name, value in batch.items() if name not in hidden}


def _unknown() -> Response:
    return JSONResponse({"error": {"message": "There is no such thing.", "type": "error"}}, status_code=404)
