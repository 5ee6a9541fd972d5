"""The `rubriclab` command, for tests of the command line and of whole flows.

Calling `Commands` runs it in this process, with streams, environment and folder of its own. `Commands.start` forks a
process from one that has imported everything already (litellm alone takes seconds), for what is killed or runs beside
the test. `Commands.script` starts the installed script, as a user does: it shows what an import costs or breaks.
"""

from __future__ import annotations

import io
import json
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import count
from multiprocessing import forkserver
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any

SCRIPT = Path(sys.executable).parent / "rubriclab"
CHECKOUT = Path(__file__).parents[1]
LABELLED = CHECKOUT / "experiments" / "sample" / "labelled.jsonl"
HELDOUT = CHECKOUT / "experiments" / "sample" / "heldout.jsonl"
LABELLED_ROWS: list[Any] = [json.loads(line) for line in LABELLED.read_bytes().splitlines()]
HELDOUT_ROWS: list[Any] = [json.loads(line) for line in HELDOUT.read_bytes().splitlines()]
TASK = ("--task", "summarization", "--aspect", "coherence", "--scale", "1:5")

# Whatever runs longer hangs.
PATIENCE = 120
NUMBERS = count()
# The digits of the port are followed by something, so that none is still to come.
ADDRESS = re.compile(r"http://[0-9.]+:\d+(?=\W)")


@dataclass(frozen=True)
class Done:
    """A command that has ended: its exit code (minus the signal's number if one killed it) and what it wrote."""

    code: int
    out: str
    err: str

    def __post_init__(self) -> None:
        assert "Traceback" not in self.err, self.err

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def rows(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def error(self) -> str:
        """The one line that begins with `error: `, without that word."""
        (line,) = (line for line in self.err.splitlines() if line.startswith("error: "))
        return line.removeprefix("error: ")


class Started:
    """A command under way."""

    def __init__(self, process: Any, out: Path, err: Path) -> None:
        self._process = process
        self._out = out
        self._err = err

    @property
    def pid(self) -> int:
        return int(self._process.pid)

    def address(self) -> str:
        """Return the address that it serves pages at, once it has printed it."""
        until = time.monotonic() + PATIENCE
        while not (found := ADDRESS.search(said := self.said())):
            if self._process.exitcode is not None or time.monotonic() > until:
                raise TimeoutError(f"The command serves nothing; it has said: {said}")
            time.sleep(0.02)
        return found[0]

    def said(self) -> str:
        """Return what it has written so far, on standard output and then on standard error."""
        return self._out.read_text("utf-8") + self._err.read_text("utf-8")

    def wait(self) -> Done:
        self._process.join(PATIENCE)
        if self._process.exitcode is None:
            self._process.kill()
            raise TimeoutError(f"The command hangs; it has said: {self._err.read_text()}")
        return Done(self._process.exitcode, self._out.read_text("utf-8"), self._err.read_text("utf-8"))


class Commands:
    """Runs `rubriclab` in `folder`, with nothing in the environment but what is given.

    `before` is called in each forked process first, for what it may not do.
    """

    def __init__(self, folder: Path, *, before: Callable[[], object] | None = None, **more: str) -> None:
        self.folder = folder
        self.before = before
        self.environment: dict[str, Any] = {"HOME": str(folder), "PATH": os.environ["PATH"], "LANG": "C.UTF-8", **more}

    def __call__(self, *arguments: object, stdin: bytes = b"", **environment: str) -> Done:
        """Return how `rubriclab ARGUMENTS` ended, in this process unless there is something to do `before`."""
        if self.before:
            return self.start(*arguments, stdin=stdin, **environment).wait()
        import pytest

        from rubriclab.cli.main import run, stop_logging
        from rubriclab.judges.providers import OWN_CLIENT_VARIABLE

        streams = {name: io.BytesIO(stdin if name == "stdin" else b"") for name in ("stdin", "stdout", "stderr")}
        texts = {name: io.TextIOWrapper(stream) for name, stream in streams.items()}
        with pytest.MonkeyPatch.context() as patch:
            for name in os.environ:
                # Set once, when litellm is imported: without it, later commands ask by OpenAI's slower client.
                if name != OWN_CLIENT_VARIABLE:
                    patch.delenv(name)
            for name, value in self._complete(environment).items():
                patch.setenv(name, value)
            for name, text in texts.items():
                patch.setattr(sys, name, text)
            patch.chdir(self.folder)
            code = run(*_program([str(argument) for argument in arguments]))
            stop_logging()
        for text in texts.values():
            text.flush()
        return Done(code, streams["stdout"].getvalue().decode(), streams["stderr"].getvalue().decode())

    def write(self, name: str, rows: Iterable[Any]) -> str:
        """Write rows as JSON Lines to a file of the folder, and return its name."""
        (self.folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
        return name

    def read(self, name: str) -> list[Any]:
        return [json.loads(line) for line in (self.folder / name).read_text("utf-8").splitlines()]

    def _complete(self, environment: dict[str, str]) -> dict[str, Any]:
        environment = {**self.environment, **environment}
        if any(name.endswith("_API_BASE") for name in environment):
            # Not asked whether it heeds schemas, so that a test counts its own requests only.
            environment = {"RUBRICLAB_STRUCTURED": "text", **environment}
        return environment

    def start(self, *arguments: object, stdin: bytes = b"", **environment: str) -> Started:
        """Return `rubriclab ARGUMENTS` under way in a forked process."""
        number = next(NUMBERS)
        streams = [self.folder / f".{number}.{name}" for name in ("in", "out", "err")]
        for stream, content in zip(streams, (stdin, b"", b""), strict=True):
            stream.write_bytes(content)
        words = [str(argument) for argument in arguments]
        given = (words, self._complete(environment), self.folder, streams, self.before)
        process = forking().Process(target=_run, args=given)
        process.start()
        return Started(process, *streams[1:])

    def python(self, code: str) -> Done:
        """Return how a Python program ended, in a forked process."""
        return self.start("-c", code).wait()

    def script(self, *arguments: object, stdin: bytes = b"", **environment: str) -> Done:
        """Return how `rubriclab ARGUMENTS` ended, started as a user does."""
        done = subprocess.run(
            [SCRIPT, *map(str, arguments)],
            input=stdin,
            capture_output=True,
            cwd=self.folder,
            env={**self.environment, **environment},
            timeout=PATIENCE,
            check=False,
        )
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode())


@cache
def forking() -> ForkServerContext:
    """Return the context whose fork server has imported everything; there is one server for all tests of a run."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["preloaded"])
    server: Any = forkserver._forkserver
    if address := os.environ.get("PYTEST_FORK_SERVER"):
        server._forkserver_address, server._forkserver_alive_fd = address, os.open(os.devnull, os.O_RDONLY)
        server.ensure_running = lambda: None
        return context
    import pytest  # not above: each process imports this module, and pytest would take it longer than the command

    with pytest.MonkeyPatch.context() as patch:
        # As rubriclab itself imports litellm: it would fetch a table from the network, and read a stray .env file.
        patch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
        patch.setenv("LITELLM_MODE", "PRODUCTION")
        # The process takes its path from here alone, and says nothing of a module that it does not find.
        patch.setenv("PYTHONPATH", os.pathsep.join((str(Path(__file__).parent), str(CHECKOUT))))
        server.ensure_running()
    # From Python 3.14 on a fork server serves the process that has started it alone.
    if sys.version_info < (3, 14) and not os.environ.get("PYTEST_XDIST_WORKER"):
        os.environ["PYTEST_FORK_SERVER"] = server._forkserver_address
    return context


def _run(
    arguments: list[str],
    environment: dict[str, str],
    folder: Path,
    streams: Sequence[Path],
    before: Callable[[], object] | None,
) -> None:
    for number, stream in enumerate(streams):
        os.dup2(os.open(stream, os.O_RDWR), number)
    sys.stdin = open(0, closefd=False)  # multiprocessing has put /dev/null in its place  # noqa: SIM115
    if "preloaded" not in sys.modules:
        import preloaded  # noqa: F401  # raises the error that the fork server hides

        raise ImportError(
            "The fork server has not imported tests/preloaded.py, without which tests take ten times as long"
        )
    # A shell that runs the tests in the background has them ignore Ctrl-C, and so would the command.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    if before:
        before()
    if arguments[:1] == ["-c"]:
        exec(compile(arguments[1], "example", "exec"), {"__name__": "__main__"})
        return
    from rubriclab.cli.main import main

    main(*_program(arguments))


def _program(arguments: list[str]) -> tuple[Any, ...]:
    """Return the arguments of `run` and `main` for a command; `experiment` is `python -m experiments`."""
    if arguments[0] != "experiment":
        return (arguments,)
    from experiments.commands import experiment

    return arguments[1:], experiment, "python -m experiments"
