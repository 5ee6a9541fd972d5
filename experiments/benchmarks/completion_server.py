"""A server in a process of its own that answers every request with the same completion, after a while.

python -m experiments.benchmarks.completion_server --latency 0.3
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

ANSWER = json.dumps({"reasoning": "It keeps to one subject, but two sentences could change places.", "score": 4})
COMPLETION = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "fake-1",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": ANSWER}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 700, "completion_tokens": 30, "total_tokens": 730},
}
# Connections that may wait to be accepted; more than any benchmark has requests in flight.
BACKLOG = 1024


@contextmanager
def server(latency: float) -> Iterator[str]:
    """Run the server and yield its address."""
    command = [sys.executable, "-m", "experiments.benchmarks.completion_server", "--latency", str(latency)]
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

    listening = await asyncio.start_server(handle, "127.0.0.1", 0, backlog=BACKLOG)
    print(listening.sockets[0].getsockname()[1], flush=True)
    await listening.serve_forever()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--latency", type=float, default=0.0, help="seconds until an answer")
    asyncio.run(serve(parser.parse_args().latency))
