"""Recordings: requests' digests and replies in one portable file, and a judge that replays it.

A recording is a JSON Lines file without times, passwords or keys. Its first line is a header. A `judge` line with the
judge's identity precedes the first reply of each judge. Each reply has its request's digest::

    {"format": "rubriclab-recording", "version": 1}
    {"judge": "gpt-4o-mini", "identity": {"model": "gpt-4o-mini", ...}}
    {"request": "sha256:...", "template": "hypoeval/rate", "reply": {"text": "...", "model": "...", ...}}
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import orjson

from rubriclab.errors import DataError, ReplayMiss, SettingsError
from rubriclab.judges.judge import Judge, JudgeWrapper, Reply
from rubriclab.judges.request import read_back, request_digest, written
from rubriclab.models.base import Unreadable, check_regular
from rubriclab.option_names import option
from rubriclab.prompts.prompt import Prompt

HEADER = {"format": "rubriclab-recording", "version": 1}
PREFIX = "recorded:"

_log = logging.getLogger(__name__)

# Bytes; far above the largest reply that is received, with its log-probabilities.
LONGEST_LINE = 64_000_000


@dataclass(slots=True)
class RecordingContent:
    """A recording: identities by judge, replies by request; `end` is the offset after the last complete line."""

    judges: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    replies: dict[str, Reply] = field(default_factory=dict)
    end: int = 0


def read_recording(path: Path) -> RecordingContent:
    """Return the content of the recording at `path`.

    An incomplete last line, as a killed run leaves it, is skipped with a warning.

    Raises:
        DataError: if the file cannot be read, is no regular file, is no recording, or is damaged elsewhere.
    """
    content = RecordingContent()
    try:
        check_regular(path)
        with path.open("rb") as file:
            for number, line in enumerate(iter(lambda: file.readline(LONGEST_LINE + 1), b""), start=1):
                _read_line(content, path, number, line)
    except OSError as error:
        raise DataError(f"The recording {path} cannot be read: {error.strerror}.") from None
    except Unreadable as error:
        raise DataError(f"The recording {path} cannot be read: {error}.") from None
    return content


def _read_line(content: RecordingContent, path: Path, number: int, line: bytes) -> None:
    if len(line) > LONGEST_LINE:
        raise DataError(
            f"{path}, line {number} has more than {LONGEST_LINE:,} bytes, which no recorded reply has.",
            f"Record again to a new file, with {option('record', 'PATH')}.",
        )
    if not line.endswith(b"\n"):
        if number == 1 and not orjson.dumps(HEADER).startswith(line):
            raise _damaged(path, 1, line)
        _log.warning("%s ends with an incomplete line, which is skipped", path)
        return
    try:
        _add(content, orjson.loads(line), first=number == 1)
    except (ValueError, KeyError, TypeError):
        raise _damaged(path, number, line) from None
    content.end += len(line)


def _damaged(path: Path, number: int, line: bytes) -> DataError:
    expected = "the header of a recording" if number == 1 else "a judge or a reply"
    return DataError(
        f"{path}, line {number}: expected {expected}, got {line[:80].decode('utf-8', 'replace')!r}.",
        f"Record again to a new file, with {option('record', 'PATH')}.",
    )


def _add(content: RecordingContent, row: dict[str, Any], *, first: bool) -> None:
    if first:
        if row != HEADER:
            raise ValueError(row)
    elif "judge" in row:
        content.judges[row["judge"]] = dict(row["identity"])
    else:
        content.replies.setdefault(str(row["request"]), read_back(row["reply"]))


class Recorder(Protocol):
    """Writes judges and their replies down."""

    def begin(self, name: str, identity: Mapping[str, Any], /) -> None:
        """Record a judge, unless it is recorded already.

        Raises:
            DataError: if it is recorded with other settings, or the recording cannot be written.
        """
        ...

    def add(self, digest: str, template: str, reply: Mapping[str, Any], /) -> None:
        """Record the reply to the request with this digest, unless it is recorded already.

        Raises:
            DataError: if the recording cannot be written.
        """
        ...


class RecordingFile:
    """The recording at `path`, to which judges and replies are appended as they arrive.

    An existing recording is continued: an incomplete last line is removed, and no request is written twice.

    Raises:
        DataError: if `path` cannot be written, or is another kind of file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        if not path.exists():
            self._append(HEADER)
        content = read_recording(path)
        if content.end < path.stat().st_size:
            with self._naming(), path.open("r+b") as file:
                file.truncate(content.end)
        if content.end == 0:
            self._append(HEADER)
        self._judges = content.judges
        self._recorded = set(content.replies)

    def begin(self, name: str, identity: Mapping[str, Any]) -> None:
        """Record a judge, unless it is recorded already; see `Recorder`."""
        if name not in self._judges:
            self._judges[name] = dict(identity)
            self._append({"judge": name, "identity": dict(identity)})
        elif self._judges[name] != identity:
            raise DataError(
                f"The recording {self._path} holds {name} at another address or with other settings: "
                f"{self._judges[name]} there, {identity} here.",
                "Record to a new file.",
            )

    def add(self, digest: str, template: str, reply: Mapping[str, Any]) -> None:
        """Record a reply, unless one to the same request is recorded already; see `Recorder`."""
        if digest not in self._recorded:
            self._recorded.add(digest)
            self._append({"request": digest, "template": template, "reply": reply})

    def _append(self, row: Mapping[str, Any]) -> None:
        # Opened for each line, so that two judges of one command can share the file.
        with self._naming(), self._path.open("ab") as file:
            file.write(orjson.dumps(row) + b"\n")

    @contextmanager
    def _naming(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise DataError(f"The recording {self._path} cannot be written: {error.strerror}.") from None


class Recording(JudgeWrapper):
    """A judge whose replies are also recorded as they arrive.

    Args:
        to: a file, see `RecordingFile`, or what writes replies down elsewhere.

    Raises:
        DataError: if the file cannot be written, is another kind of file, or holds this judge with other settings.
    """

    def __init__(self, judge: Judge, to: Path | Recorder) -> None:
        super().__init__(judge)
        self._recorder = RecordingFile(to) if isinstance(to, Path) else to
        self._recorder.begin(self.name, self.identity)

    async def reply(self, prompt: Prompt[Any]) -> Reply:
        """Return the judge's reply, once it is recorded."""
        reply = await self.judge.reply(prompt)
        self._recorder.add(request_digest(self.judge.identity, prompt), prompt.name, written(reply))
        return reply


class Replay:
    """A judge that returns the recorded replies of another judge.

    Attributes:
        recorded_name: name of the recorded judge.
    """

    def __init__(self, path: Path, judge: str | None = None) -> None:
        """Open the recording at `path` for `judge`, which may be omitted if only one is recorded.

        Raises:
            DataError: if the file is no recording.
            SettingsError: if it holds no such judge, or several and `judge` is omitted.
        """
        content = read_recording(path)
        self.recorded_name = _chosen(content, path, judge)
        self.name = f"{PREFIX}{path}" + (f"#{judge}" if judge else "")
        self.identity: Mapping[str, Any] = content.judges[self.recorded_name]
        self._replies = content.replies
        self._path = path

    async def reply(self, prompt: Prompt[Any]) -> Reply:
        """Return the recorded reply, marked as cached.

        Raises:
            ReplayMiss: if the recording does not hold the request.
        """
        digest = request_digest(self.identity, prompt)
        if digest not in self._replies:
            raise ReplayMiss(
                f"The recording {self._path} holds no reply of {self.recorded_name} to this {prompt.name} prompt "
                f"({digest[:19]}…): data, settings or the prompt's wording differ from when it was recorded.",
                f"Record it with {option('judge', self.recorded_name)} and {option('record', str(self._path))}.",
            )
        return self._replies[digest]


def recorded_name(judge: str) -> str:
    """Return the judge whose replies `recorded:PATH#JUDGE` holds; any other name unchanged."""
    path, separator, recorded = judge.rpartition("#")
    return recorded if separator and path.startswith(PREFIX) else judge


def open_replay(spec: str) -> Replay:
    """Return the judge named `recorded:PATH` or `recorded:PATH#JUDGE`."""
    location = spec.removeprefix(PREFIX)
    path, separator, judge = location.rpartition("#")
    if separator and not Path(location).exists():
        return Replay(Path(path), judge)
    return Replay(Path(location))


def _chosen(content: RecordingContent, path: Path, judge: str | None) -> str:
    names = sorted(content.judges)
    if judge is None and len(names) == 1:
        return names[0]
    if judge in content.judges:
        return str(judge)
    fault = "has more than one judge" if judge is None and names else f"has no judge {judge or ''}".rstrip()
    raise SettingsError(
        f"The recording {path} {fault}; it holds {', '.join(names) or 'none'}.",
        f"Name one, as in {PREFIX}{path}#{names[0] if names else 'JUDGE'}.",
    )
