"""`--verbose` and `--log-file`: what is logged, where to, and that no key is in it."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from commands import LABELLED, TASK, Commands
from server import RunningServer

from rubriclab.cli.main import log_to_file, start_logging, stop_logging

KEY = "live-0123456789abcdef"


@pytest.fixture
def asking(tmp_path: Path, server: RunningServer) -> Commands:
    (tmp_path / "texts.jsonl").write_bytes(b"".join(LABELLED.read_bytes().splitlines(keepends=True)[:6]))
    asked: dict[str, Any] = {"OPENAI_API_BASE": server.url, "OPENAI_API_KEY": KEY, "RUBRICLAB_JUDGE": "openai/fake"}
    commands = Commands(tmp_path, RUBRICLAB_STORE="store.db", **asked)
    assert commands("learn", "texts.jsonl", *TASK, "--name", "news", "--method", "direct").code == 0
    return commands


SCORE = ("score", "texts.jsonl", "--rubric", "news")


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    """A logger of the package, put back as it was."""
    yield logging.getLogger("rubriclab.tests")
    stop_logging()


def test_verbose_logs_retries_and_progress_and_twice_every_request(asking: Commands, server: RunningServer) -> None:
    server.script.append("rate_limit")
    done = asking("-v", *SCORE)
    assert done.code == 0
    assert re.search(
        r"INFO rubriclab\.[a-z_.]+: waiting [\d.]+ s for .* openai/fake after attempt 1 failed: .*too many req",
        done.err,
    )
    assert re.search(r"INFO rubriclab\.[a-z_.]+: 1 texts; \d+ s, \d+ calls", done.err)
    assert "DEBUG" not in done.err
    (asking.folder / "store.db").rename(asking.folder / "first.db")
    assert asking("export", "news", "--store", "first.db", "-o", "news.json").code == 0
    assert asking("import", "news.json").code == 0
    assert asking("trust", "news").code == 0
    again = asking("-vv", *SCORE)
    assert again.code == 0
    requests = re.findall(r"DEBUG rubriclab\.[a-z_.]+: openai/fake: request \S+", again.err)
    replies = re.findall(r"openai/fake: reply to \S+ after \d+\.\d+ s, \d+ prompt and \d+ completion tokens", again.err)
    assert len(requests) == len(replies) == 6
    assert again.out == done.out


def test_an_error_is_in_the_log_without_the_key(asking: Commands, server: RunningServer) -> None:
    server.script.append("unauthorized")
    done = asking("--log-file", "run.log", "-vv", *SCORE)
    assert done.code == 4
    log = (asking.folder / "run.log").read_text("utf-8")
    assert "INFO rubriclab.cli.main: ended with exit code 4: openai/fake: " in log
    assert KEY not in log + done.err


def test_keys_are_masked_and_nothing_acts_on_a_terminal(
    logger: logging.Logger, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    start_logging(0)
    log_to_file(tmp_path / "run.log", "score")
    logger.debug("not on standard error")
    logger.warning("asked with %s\n\x1b[31m", KEY)
    assert capsys.readouterr().err == "warning: asked with *** \\x1b[31m\n"
    _, first, second = (tmp_path / "run.log").read_text("utf-8").splitlines()
    assert first.endswith("DEBUG rubriclab.tests: not on standard error")
    assert second.endswith("WARNING rubriclab.tests: asked with *** \\x1b[31m")
