"""What the engine adds to a call: rates of a bare HTTP client, of bare litellm and of the whole stack.

    python -m experiments.benchmarks.engine_overhead --latency 0.3 --rounds 5 --output results/engine_overhead.json

The stack has litellm ask by its own HTTP client; litellm alone uses OpenAI's, as it does by default.
All sides send the same requests to the same server, in turns, so that a noisy machine disturbs them alike. The server
answers after `--latency` seconds. httpx and litellm get finished messages and return the response; the stack renders
the prompt, looks its answer up in SQLite, keeps limits and a budget, sends the request, stores the reply, enters it in
a ledger and parses it. First, httpx asks without latency, which shows that the server is not the bottleneck.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import httpx

from experiments.benchmarks.completion_server import ANSWER, server
from experiments.benchmarks.machine import this_machine
from rubriclab.data.aspect import Aspect, TaskWords
from rubriclab.data.assignment import Assignment
from rubriclab.data.example import Example
from rubriclab.data.scale import Scale
from rubriclab.judges import JudgeOptions, Ledger, Price, ask, close_connections, connect, messages_of
from rubriclab.judges.providers import OWN_CLIENT, load_litellm
from rubriclab.methods.hypoeval.score import rate_prompt
from rubriclab.prompts import Prompt
from rubriclab.rubric import Criterion, Evidence, Level
from rubriclab.store import Store, open_store

CONCURRENCY = (1, 8, 64, 256)
# Seconds that a round of calls takes at least, where latency decides.
ROUND = 3.0
BARE_HTTP, BARE_LITELLM, STACK = "bare httpx", "bare litellm", "whole stack"
MODEL = "openai/fake"
# Limits that are checked for each call and never reached.
OPTIONS = {"requests_per_minute": 1e9, "tokens_per_minute": 1e12, "max_cost": 1e9, "price": Price(0.15, 0.6)}

# By side and clock, one figure a round.
Rates = dict[str, dict[str, list[float]]]


class Elapsed(NamedTuple):
    """Seconds by the wall's clock and by the processor's."""

    wall: float
    processor: float


class Side(Protocol):
    """A way to ask prompts."""

    async def ask_all(self, asked: list[Prompt[Any]]) -> Elapsed:
        """Ask the prompts and return the seconds it took."""
        ...


def prompts(numbers: Iterator[int], calls: int) -> list[Prompt[Any]]:
    """Return prompts as scoring asks them: 300 words of source, 60 to rate, five levels; no two alike."""
    words = TaskWords(task="summarization", source="article", context="context", output="summary")
    aspect = Aspect(name="coherence", definition="The sentences build on one another and form one whole.")
    levels = tuple(Level(score=s, description=f"Level {s}: about {s} of 5 sentences follow.") for s in range(1, 6))
    criterion = Criterion(
        id="c1",
        kind="hypothesis",
        trait="order",
        statement="Sentences stand in an order that can be followed.",
        levels=levels,
        evidence=Evidence(origin="written by hand"),
    )
    assignment = Assignment(words, aspect, Scale(low=1, high=5, whole=True))
    source = " ".join(f"word{n}" for n in range(300))
    return [
        rate_prompt(
            Example(id=str(n), group="g", source=source, output=f"Summary {n}. " + "It rained. " * 30),
            [criterion],
            assignment,
        )
        for n in (next(numbers) for _ in range(calls))
    ]


class BareHttp:
    """An HTTP client alone, with no more requests in flight than the stack has."""

    def __init__(self, concurrency: int) -> None:
        self._slots = asyncio.Semaphore(concurrency)
        self._client = httpx.AsyncClient(timeout=60, limits=httpx.Limits(max_connections=concurrency))

    async def ask_all(self, asked: list[Prompt[Any]]) -> Elapsed:
        """Send the prompts, rendered beforehand."""
        address = f"{os.environ['OPENAI_API_BASE']}/chat/completions"
        bodies = [{"model": "fake", "messages": messages_of(prompt), "max_tokens": 512} for prompt in asked]

        async def one(body: dict[str, Any]) -> None:
            async with self._slots:
                response = await self._client.post(address, json=body)
            assert response.json()["choices"][0]["message"]["content"] == ANSWER

        return await timed(one, bodies)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()


class Bare:
    """litellm alone, with no more requests in flight than the stack has."""

    def __init__(self, concurrency: int) -> None:
        self._slots = asyncio.Semaphore(concurrency)

    async def ask_all(self, asked: list[Prompt[Any]]) -> Elapsed:
        """Send the prompts, rendered beforehand."""
        acompletion = load_litellm().acompletion
        ours = os.environ.pop(OWN_CLIENT, None)  # litellm as it is by default
        messages = [[dict(turn) for turn in messages_of(prompt)] for prompt in asked]

        async def one(turns: list[dict[str, Any]]) -> None:
            async with self._slots:
                response = await acompletion(
                    model=MODEL,
                    messages=turns,
                    temperature=0.0,
                    max_tokens=512,
                    timeout=60,
                    num_retries=0,
                    max_retries=0,
                )
            assert response.choices[0].message.content == ANSWER

        try:
            return await timed(one, messages)
        finally:
            if ours:
                os.environ[OWN_CLIENT] = ours


class Stack:
    """What `connect` returns, with a store of its own."""

    def __init__(self, concurrency: int, store: Store) -> None:
        self._store = store
        self._ledger = Ledger()
        options = JudgeOptions(concurrency=concurrency, **OPTIONS)
        self._judge = connect(MODEL, options=options, ledger=self._ledger, answers=store.answers)

    async def ask_all(self, asked: list[Prompt[Any]]) -> Elapsed:
        """Ask the prompts, from rendering to the parsed answer."""

        async def one(prompt: Prompt[Any]) -> None:
            answer = await ask(self._judge, prompt)
            assert answer.value is not None

        elapsed = await timed(one, asked)
        assert self._ledger.calls == self._store.answers.count()
        return elapsed


async def timed(one: Callable[[Any], Awaitable[None]], items: Iterable[Any]) -> Elapsed:
    """Do `one` for all items at once and return the seconds it took."""
    wall, processor = time.perf_counter(), time.process_time()
    await asyncio.gather(*map(one, items))
    return Elapsed(time.perf_counter() - wall, time.process_time() - processor)


async def measure(calls: int, rounds: int, latency: float) -> dict[str, Any]:
    """Return calls per second of wall-clock and of processor time, per concurrency and side, round by round."""
    numbers = count()
    table: dict[str, Any] = {}
    for concurrency in CONCURRENCY:
        each = calls or round_size(concurrency, latency)
        with tempfile.TemporaryDirectory() as folder, open_store(Path(folder) / "store.db") as store:
            http = BareHttp(concurrency)
            sides: dict[str, Side] = {
                BARE_HTTP: http,
                BARE_LITELLM: Bare(concurrency),
                STACK: Stack(concurrency, store),
            }
            rates = await compare(sides, numbers, each, rounds)
            await http.close()
        table[str(concurrency)] = {"calls": each, **rates, "ratio": ratios(rates)}
        print(line(concurrency, rates, table[str(concurrency)]["ratio"]), flush=True)
    await close_connections()
    return table


def round_size(concurrency: int, latency: float) -> int:
    """Return the number of calls that take about `ROUND` seconds, at most two hundred a second."""
    return min(600, max(2 * concurrency, int(concurrency * ROUND / max(latency, 0.01))))


async def compare(sides: Mapping[str, Side], numbers: Iterator[int], calls: int, rounds: int) -> Rates:
    """Return each side's rates, in turns that change who goes first; a first round warms up and is not counted."""
    rates: Rates = {name: {"wall": [], "processor": []} for name in sides}
    for turn in range(rounds + 1):
        for name in list(sides)[:: 1 if turn % 2 else -1]:
            elapsed = await sides[name].ask_all(prompts(numbers, calls))
            if turn:
                for clock, seconds in elapsed._asdict().items():
                    rates[name][clock].append(calls / seconds)
    return rates


async def server_capacity(rounds: int) -> float:
    """Return the median calls a second of httpx with 64 requests in flight."""
    http, numbers = BareHttp(64), count()
    rates = await compare({BARE_HTTP: http}, numbers, 400, rounds)
    await http.close()
    return statistics.median(rates[BARE_HTTP]["wall"])


def ratios(rates: Rates) -> dict[str, float]:
    """Return the median over rounds of the stack's rate divided by litellm's in the same round."""
    ours, theirs = rates[STACK], rates[BARE_LITELLM]
    return {clock: statistics.median(a / b for a, b in zip(ours[clock], theirs[clock], strict=True)) for clock in ours}


def line(concurrency: int, rates: Rates, ratio: dict[str, float]) -> str:
    """Return one row of the printed table."""
    medians = {name: statistics.median(clocks["wall"]) for name, clocks in rates.items()}
    shown = ", ".join(f"{name} {rate:6.1f}/s" for name, rate in medians.items())
    return f"concurrency {concurrency:3}: {shown}, ratio {ratio['wall']:.3f} (processor time: {ratio['processor']:.3f})"


def readme_figures() -> dict[str, str]:
    """Return the figures of the README, by block."""
    found = json.loads((Path(__file__).parent / "results" / "engine_overhead.json").read_text())
    table: dict[str, Any] = found["concurrency"]
    sides = [name for name in (BARE_HTTP, BARE_LITELLM, STACK) if name in next(iter(table.values()))]
    capacity = found["server_capacity"]
    without_latency = f" Without latency the server answers {capacity:.0f} calls of httpx a second." if capacity else ""
    columns = ("requests in flight", "calls a round", *sides, "ratio, wall clock", "ratio, processor time")
    lines = [
        f"Medians of {found['rounds']} rounds a side; latency {1000 * found['latency']:.0f} ms; Python "
        f"{found['machine']['python']}, {found['machine']['processors']} cores.{without_latency}",
        "",
        f"| {' | '.join(columns)} |",
        "|---" * len(columns) + "|",
    ]
    for concurrency, rates in table.items():
        shown = " | ".join(f"{statistics.median(rates[name]['wall']):.1f}/s" for name in sides)
        ratio = rates["ratio"]
        lines.append(f"| {concurrency} | {rates['calls']} | {shown} | {ratio['wall']:.2f} | {ratio['processor']:.2f} |")
    return {"engine": "\n".join(lines)}


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=0, help="per round and side; by default about three seconds")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--latency", type=float, default=0.3, help="seconds until the server answers")
    parser.add_argument("--output", type=Path, help="where every round's figures go, as JSON")
    arguments = parser.parse_args()
    os.environ["OPENAI_API_KEY"] = "none"
    with server(0.0) as address:
        os.environ["OPENAI_API_BASE"] = address
        capacity = asyncio.run(server_capacity(3))
    print(f"server: {capacity:.0f} calls a second of httpx without latency", flush=True)
    with server(arguments.latency) as address:
        os.environ["OPENAI_API_BASE"] = address
        table = asyncio.run(measure(arguments.calls, arguments.rounds, arguments.latency))
    if arguments.output:
        result = {
            "rounds": arguments.rounds,
            "latency": arguments.latency,
            "server_capacity": capacity,
            "machine": this_machine(),
            "concurrency": table,
        }
        arguments.output.parent.mkdir(parents=True, exist_ok=True)
        arguments.output.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
