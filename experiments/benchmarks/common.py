"""What benchmarks share: the command line, the machine that figures are of, stored results, and a completion server.

Run as a module, it is a server that answers every request with the same completion, after a while.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from experiments import ROOT

SAMPLE = ROOT / "sample"
TESTS = ROOT.parent / "tests"
COMMAND = [str(Path(sys.executable).parent / "rubriclab")]

ANSWER = json.dumps({"reasoning": "It keeps to one subject, but two sentences could change places.", "score": 4})
COMPLETION = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "fake-1",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": ANSWER}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 700, "completion_tokens": 30, "total_tokens": 730},
}


def parser_of(doc: str | None) -> argparse.ArgumentParser:
    """Return the command line of a benchmark with this docstring."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, help="the file of the figures, as JSON")
    return parser


def this_machine() -> dict[str, Any]:
    """Return the Python version, the system, the number of processors and the load over the last minute."""
    return {
        "python": platform.python_version(),
        "system": platform.platform(),
        "processors": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
    }


def described(machine: Mapping[str, Any]) -> str:
    """Return a machine in words."""
    return f"Python {machine['python']}, {machine['processors']} cores, load {machine['load']:.1f}"


def stored(name: str) -> Any:
    """Return stored results."""
    return json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text())


def store(result: Mapping[str, Any], output: Path | None) -> None:
    """Write results, if there is a file for them."""
    if output:
        output.write_text(json.dumps(result, indent=1) + "\n")


def rows_of(name: str) -> list[dict[str, Any]]:
    """Return the rows of a file of the sample."""
    return [json.loads(line) for line in (SAMPLE / f"{name}.jsonl").read_text("utf-8").splitlines()]


def command(arguments: Sequence[str]) -> None:
    """Run a command of rubriclab."""
    subprocess.run([*COMMAND, *arguments], check=True, capture_output=True)


def seconds(work: Callable[[], object]) -> float:
    """Return the wall-clock seconds that `work` takes."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


@contextmanager
def server(latency: float) -> Iterator[str]:
    """Run the completion server and yield its address."""
    command = [sys.executable, "-m", "experiments.benchmarks.common", str(latency)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}/v1"
        finally:
            process.terminate()


async def serve(latency: float) -> None:
    """Answer every request after `latency` seconds; the port is printed."""
    body = json.dumps(COMPLETION).encode()
    head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n".encode()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                header = (await reader.readuntil(b"\r\n\r\n")).lower()
                await reader.readexactly(int(header.split(b"content-length:")[1].split(b"\r\n")[0]))
                if latency:
                    await asyncio.sleep(latency)
                writer.write(head + body)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    # More connections may wait than any benchmark has requests in flight.
    listening = await asyncio.start_server(handle, "127.0.0.1", 0, backlog=1024)
    print(listening.sockets[0].getsockname()[1], flush=True)
    await listening.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(float(sys.argv[1])))
