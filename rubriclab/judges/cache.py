"""Replies stored by the digest of their request: `Cached` keeps them in a store, `Recording` in a file for `Replay`."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

import orjson

from rubriclab.data.write import append_whole, name_in_errors
from rubriclab.errors import DamagedAnswer, DataError, ReplayMiss, SettingsError
from rubriclab.judges.judge import Judge, JudgeWrapper, dump_reply, load_reply, request_digest
from rubriclab.judges.limits import ReplyAfterCancellation
from rubriclab.judges.options import DEFAULT_MAX_REPLY_BYTES
from rubriclab.judges.replies import Reply, parse_reply
from rubriclab.models.base import Unreadable, check_regular_file
from rubriclab.prompts.prompt import Prompt

T = TypeVar("T")

_log = logging.getLogger(__name__)


class Storage(Protocol):
    """A part of the store that judges use: cached answers, or open batches."""

    @property
    def remote(self) -> bool:
        """Whether calls wait for a network, and are therefore made in threads."""


class AnswerCache(Storage, Protocol):
    """Replies by the digest of their request."""

    def get(self, digest: str, /) -> dict[str, Any] | None:
        """Return the answer cached under `digest`, or `None`; raise `DamagedAnswer` if the answer was changed."""

    def put(self, digest: str, answer: dict[str, Any], /) -> bool:
        """Cache `answer` (JSON types only) unless `digest` has one already; return whether it was cached."""

    def check_writable(self) -> None:
        """Raise a `StoreError` if answers cannot be cached."""


# The requests under way, by digest. The result of each future is the error that the request raised, or `None`.
InFlight = dict[str, "asyncio.Future[Exception | None]"]


@dataclass(eq=False, repr=False)
class Cached(JudgeWrapper):
    """A judge that returns cached answers, and calls the wrapped judge for answers that are not cached.

    - Every reply is cached, since it was paid for: also an unusable or filtered one, and one that arrives soon
      after its request was cancelled. Errors are not cached.
    - If the cached reply is too large or damaged, the prompt is sent again with the next sample number, and so another
      digest. With `retry_failed`, this also applies to an unusable reply. `damaged_answers` are digests of requests.
    - Of several identical requests at the same time, only the first is sent, and all of them get its reply or error.
      This also holds between judges with the same `in_flight`.
    - If several processes make the same call, all return the reply that was cached first.
    """

    answers: AnswerCache
    _: KW_ONLY
    retry_failed: bool = False
    max_reply_bytes: int = DEFAULT_MAX_REPLY_BYTES
    damaged_answers: set[str] = field(default_factory=set)
    in_flight: InFlight = field(default_factory=dict)

    async def reply(self, prompt: Prompt[Any]) -> Reply:
        while True:
            cached, digest, prompt = await self._look_up(prompt)
            if cached is not None:
                return cached
            # If the same request is under way, its reply will be in the cache.
            if same_request := self.in_flight.get(digest):
                await asyncio.wait([same_request])
                if error := same_request.result():
                    raise error
                continue
            own_request = self.in_flight[digest] = asyncio.get_running_loop().create_future()
            error = None
            try:
                reply = await self._request(digest, prompt)
                if reply is not None:
                    return reply
            except Exception as failed:
                error = failed
                raise
            finally:
                own_request.set_result(error)
                del self.in_flight[digest]

    async def _look_up(self, prompt: Prompt[Any]) -> tuple[Reply | None, str, Prompt[Any]]:
        """Return the cached reply, or `None` if a request has to be sent, with the digest and prompt of the request.

        A cached reply that is damaged, too large or unusable is passed over for the reply of the next sample. If
        every cached reply is passed over, the last unusable one is returned, unless `retry_failed` is set.
        """
        unusable_reply: Reply | None = None
        while True:
            digest = request_digest(self.judge.identity, prompt)
            try:
                reply = await self._read(digest)
            except DamagedAnswer as error:
                _log.info("%s: %s It is requested again.", self.name, error.message)
                self.damaged_answers.add(digest)
            else:
                if reply is None:
                    last_resort = None if self.retry_failed else unusable_reply
                    return last_resort, digest, prompt
                if len(reply.text.encode(errors="replace")) <= self.max_reply_bytes:
                    value, _ = parse_reply(reply, prompt)
                    if value is not None:
                        return reply, digest, prompt
                    unusable_reply = reply
            prompt = replace(prompt, sample=prompt.sample + 1)

    async def _read(self, digest: str) -> Reply | None:
        answer = await call_storage(self.answers, self.answers.get, digest)
        try:
            return None if answer is None else load_reply(answer)
        except ValueError as error:
            raise DamagedAnswer(f"The answer {digest} is not a reply: {error}.") from None

    async def _request(self, digest: str, prompt: Prompt[Any]) -> Reply | None:
        """Return the judge's reply; `None` if the cache has changed, so that the prompt has to be looked up again."""
        await call_storage(self.answers, self.answers.check_writable)
        if self.answers.remote and await call_storage(self.answers, self.answers.get, digest) is not None:
            return None  # an identical request ended during the look-up, and its reply is cached
        try:
            reply = await self.judge.reply(prompt)
        except ReplyAfterCancellation as late:
            await self._put(digest, dump_reply(late.reply))
            raise
        if await self._put(digest, dump_reply(reply)):
            return reply
        try:
            earlier_reply = await self._read(digest)  # another process has cached it
        except DamagedAnswer:
            return None
        # The usage is that of this process's own request, which was paid for too.
        return replace(earlier_reply, usage=reply.usage, cached=False) if earlier_reply else reply

    async def _put(self, digest: str, answer: dict[str, Any]) -> bool:
        """Return whether `answer` was cached. As the answer was paid for, a cancellation waits until it is stored."""
        if not self.answers.remote:
            return self.answers.put(digest, answer)
        # If this were a task, closing the event loop could cancel it before a thread starts `put`, and lose the answer.
        storing = asyncio.get_running_loop().run_in_executor(None, self.answers.put, digest, answer)
        try:
            return await asyncio.shield(storing)
        except asyncio.CancelledError:
            await asyncio.wait([storing])
            if error := storing.exception():
                _log.warning("%s: the answer %s could not be cached: %s", self.name, digest, error)
            raise


async def call_storage(storage: Storage, function: Callable[..., T], *arguments: Any) -> T:
    return await asyncio.to_thread(function, *arguments) if storage.remote else function(*arguments)


HEADER = {"format": "rubriclab-recording", "version": 1}
RECORDED_PREFIX = "recorded:"
UNNAMED_MODEL = "a Claude model"  # the recording of `rubriclab demo` holds this text in place of a model's name


@dataclass(slots=True)
class RecordingContent:
    """Judges' identities by name, replies by the digests of their requests, and the `end` of the last line in bytes."""

    judges: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    replies: dict[str, Reply] = field(default_factory=dict)
    end: int = 0


def read_recording(path: Path) -> RecordingContent:
    """Return the content of a recording, without an incomplete last line; `DataError` if it is not usable."""
    content = RecordingContent()
    hint = "Record again to a new file, with `record=PATH`."
    try:
        check_regular_file(path)
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                try:
                    if not line.endswith(b"\n"):
                        if number == 1 and not orjson.dumps(HEADER).startswith(line):
                            raise ValueError(line)
                        _log.warning("%s ends with an incomplete line, which is skipped", path)
                        break
                    row = orjson.loads(line)
                    if number == 1 and row != HEADER:
                        raise ValueError(row)
                    if number > 1 and "judge" in row:
                        content.judges[row["judge"]] = dict(row["identity"])
                    elif number > 1:
                        content.replies.setdefault(str(row["request"]), load_reply(row["reply"]))
                    content.end += len(line)
                except (ValueError, KeyError, TypeError):
                    expected = "the header of a recording" if number == 1 else "a judge or a reply"
                    got = repr(line[:80].decode("utf-8", "replace"))
                    raise DataError(f"{path}, line {number}: expected {expected}, got {got}.", hint) from None
    except (OSError, Unreadable) as error:
        raise DataError(f"The recording {path} cannot be read: {getattr(error, 'strerror', error)}.") from None
    return content


class Recording(JudgeWrapper):
    """A judge whose replies are appended to the file at `path` as they arrive.

    An existing recording is continued: an incomplete last line is removed, and no request is written twice. A recording
    of this judge with other settings is a `DataError`.
    """

    def __init__(self, judge: Judge, path: Path) -> None:
        super().__init__(judge)
        self._path = path
        content = read_recording(path) if path.exists() else RecordingContent()
        if path.exists() and content.end < path.stat().st_size:
            with name_in_errors(path):
                os.truncate(path, content.end)
        if content.end == 0:
            self._append(HEADER)
        recorded_identity = content.judges.get(self.name)
        if recorded_identity is None:
            self._append({"judge": self.name, "identity": dict(self.identity)})
        elif recorded_identity != self.identity:
            raise DataError(
                f"The recording {path} holds {self.name} at another address or with other settings: "
                f"{recorded_identity} there, {self.identity} here.",
                "Record to a new file.",
            )
        self._recorded_digests = set(content.replies)

    async def reply(self, prompt: Prompt[Any]) -> Reply:
        reply = await self.judge.reply(prompt)
        digest = request_digest(self.identity, prompt)
        if digest not in self._recorded_digests:
            self._recorded_digests.add(digest)
            self._append({"request": digest, "template": prompt.name, "reply": dump_reply(reply)})
        return reply

    def _append(self, row: Mapping[str, Any]) -> None:
        # Opened for each line, so that two judges of one command can share the file.
        with name_in_errors(self._path), self._path.open("ab", buffering=0) as file:
            append_whole(file, orjson.dumps(row) + b"\n")


class Replay:
    """A judge that returns recorded replies, marked as cached. A request that was not recorded is a `ReplayMiss`.

    `spec` is `recorded:PATH`, or `recorded:PATH#JUDGE` if several judges are recorded; a judge that is not recorded is
    a `SettingsError`. If there is no file at PATH, the file with the same name in `folder` is read.
    """

    def __init__(self, spec: str, folder: Path | None = None) -> None:
        def find(path: Path) -> Path:
            in_folder = (folder or path.parent) / path.name
            return in_folder if in_folder.exists() and not path.exists() else path

        if spec == RECORDED_PREFIX:
            raise SettingsError("A recording needs its path;", f"write `judge={spec}PATH`.")
        path, judge = find(Path(spec.removeprefix(RECORDED_PREFIX))), None
        if "#" in spec and not path.exists():
            path, judge = find(Path(str(path).rpartition("#")[0])), short_judge_name(spec)
        content = read_recording(path)
        names = sorted(content.judges)
        if judge is None and len(names) == 1:
            judge = names[0]
        if judge is None or judge not in content.judges:
            fault = f"has no judge {judge}"
            if judge is None:
                fault = "has more than one judge" if names else "has no judge"
            raise SettingsError(
                f"The recording {path} {fault}; it holds {', '.join(names) or 'none'}.",
                f"Name one, as in {RECORDED_PREFIX}{path}#{names[0] if names else 'JUDGE'}.",
            )
        self.name = spec
        self.recorded_judge = judge
        self.identity: Mapping[str, Any] = content.judges[judge]
        self._replies = content.replies
        self._path = path

    async def reply(self, prompt: Prompt[Any]) -> Reply:
        digest = request_digest(self.identity, prompt)
        if digest not in self._replies:
            model = "MODEL" if self.recorded_judge == UNNAMED_MODEL else self.recorded_judge
            raise ReplayMiss(
                f"The recording {self._path} holds no reply of {self.recorded_judge} to this {prompt.name} prompt "
                f"({digest[:19]}…): data, settings or the prompt's wording differ from when it was recorded.",
                f"Record it with `judge={model}` and `record={self._path}`.",
            )
        return self._replies[digest]


def short_judge_name(judge: str) -> str:
    """Return a judge's short name: `JUDGE` for `recorded:PATH#JUDGE`, `recorded:FILE` for `recorded:FOLDER/FILE`."""
    if not judge.startswith(RECORDED_PREFIX):
        return judge
    _, separator, recorded = judge.rpartition("#")
    return recorded if separator else f"{RECORDED_PREFIX}{Path(judge.removeprefix(RECORDED_PREFIX)).name}"
