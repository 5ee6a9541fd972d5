"""What the engine adds to a call: rates of litellm alone and of the whole stack.

    python -m experiments.benchmarks.engine_overhead --latency 0.3 --rounds 5 --output results/engine_overhead.json

Both sides send the same requests to the same server, in turns, so that a noisy machine disturbs them alike. The server
answers after `--latency` seconds. litellm gets finished messages and returns the response; the stack renders the
prompt, looks its answer up in SQLite, keeps limits and a budget, sends the request by litellm, stores the reply, enters
it in a ledger and parses it.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from experiments.benchmarks.common import ANSWER, parser_of, server, store, stored, this_machine
from rubriclab.data.aspect import Aspect, Assignment, TaskWords
from rubriclab.data.example import Example
from rubriclab.data.scale import Scale
from rubriclab.judges import JudgeOptions, Ledger, Price, ask, close_connections, connect, messages_of
from rubriclab.judges.providers import OWN_CLIENT, load_litellm
from rubriclab.methods.hypoeval.score import rate_prompt
from rubriclab.prompts import Prompt
from rubriclab.rubric import Criterion, Evidence, Level
from rubriclab.store import open_store

CONCURRENCY = (1, 8, 64, 256)
# Seconds that a round of calls takes at least, if latency decides.
ROUND = 3.0
LITELLM, STACK = "bare litellm", "whole stack"
MODEL = "openai/fake"
# Limits that are checked for each call and never reached.
OPTIONS = {"requests_per_minute": 1e9, "tokens_per_minute": 1e12, "max_cost": 1e9, "price": Price(0.15, 0.6)}

AskOne = Callable[[Any], Awaitable[None]]


def prompts(numbers: Iterator[int], calls: int) -> list[Prompt[Any]]:
    """Return prompts as of scoring: 300 words of source, 60 to rate, five levels; no two alike."""
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
    texts = (
        Example(id=str(n), group="g", source=source, output=f"Summary {n}. " + "It rained. " * 30)
        for n in (next(numbers) for _ in range(calls))
    )
    return [rate_prompt(text, [criterion], assignment) for text in texts]


def litellm_alone(concurrency: int) -> AskOne:
    """Return litellm, with no more requests in flight than the stack has."""
    slots, acompletion = asyncio.Semaphore(concurrency), load_litellm().acompletion

    async def one(turns: list[dict[str, Any]]) -> None:
        limits = {"temperature": 0.0, "max_tokens": 512, "timeout": 60, "num_retries": 0, "max_retries": 0}
        async with slots:
            response = await acompletion(model=MODEL, messages=turns, **limits)
        assert response.choices[0].message.content == ANSWER

    return one


def whole_stack(concurrency: int, answers: Any) -> AskOne:
    """Return what `connect` returns, with the answers of a store."""
    options = JudgeOptions(concurrency=concurrency, **OPTIONS)
    judge = connect(MODEL, options=options, ledger=Ledger(), answers=answers)

    async def one(prompt: Prompt[Any]) -> None:
        assert (await ask(judge, prompt)).value is not None

    return one


async def rates(name: str, one: AskOne, asked: Sequence[Prompt[Any]]) -> dict[str, float]:
    """Return the prompts per second of wall-clock and of processor time, if all are asked at once."""
    # litellm alone uses its default client, and gets finished messages.
    ours = os.environ.pop(OWN_CLIENT, None) if name == LITELLM else None
    items = [[dict(turn) for turn in messages_of(prompt)] for prompt in asked] if name == LITELLM else asked
    wall, processor = time.perf_counter(), time.process_time()
    await asyncio.gather(*map(one, items))
    spent = {"wall": time.perf_counter() - wall, "processor": time.process_time() - processor}
    if ours:
        os.environ[OWN_CLIENT] = ours
    return {clock: len(asked) / seconds for clock, seconds in spent.items()}


async def measure(calls: int, rounds: int, latency: float) -> dict[str, Any]:
    """Return rates per concurrency and side, round by round; a first round warms up and does not count."""
    numbers = count()
    table: dict[str, Any] = {}
    for concurrency in CONCURRENCY:
        # At most two hundred calls a second.
        each = calls or min(600, max(2 * concurrency, int(concurrency * ROUND / max(latency, 0.01))))
        found: dict[str, dict[str, list[float]]] = {name: {"wall": [], "processor": []} for name in (LITELLM, STACK)}
        with tempfile.TemporaryDirectory() as folder, open_store(Path(folder) / "store.db") as opened:
            sides = {LITELLM: litellm_alone(concurrency), STACK: whole_stack(concurrency, opened.answers)}
            for turn in range(rounds + 1):
                for name in list(sides)[:: 1 if turn % 2 else -1]:
                    for clock, rate in (await rates(name, sides[name], prompts(numbers, each))).items():
                        found[name][clock] += [rate] if turn else []
        ratio = {
            clock: statistics.median(a / b for a, b in zip(found[STACK][clock], found[LITELLM][clock], strict=True))
            for clock in ("wall", "processor")
        }
        table[str(concurrency)] = {"calls": each, **found, "ratio": ratio}
        print(row(str(concurrency), table[str(concurrency)]), flush=True)
    await close_connections()
    return table


def row(concurrency: str, found: dict[str, Any]) -> str:
    """Return a row of the table."""
    shown = " | ".join(f"{statistics.median(found[name]['wall']):.1f}/s" for name in (LITELLM, STACK))
    ratio = found["ratio"]
    return f"| {concurrency} | {found['calls']} | {shown} | {ratio['wall']:.2f} | {ratio['processor']:.2f} |"


def readme_figures() -> dict[str, str]:
    """Return the figures of the README, by block."""
    found = stored("engine_overhead")
    columns = ("requests in flight", "calls a round", LITELLM, STACK, "ratio, wall clock", "ratio, processor time")
    lines = [
        f"Medians of {found['rounds']} rounds a side; latency {1000 * found['latency']:.0f} ms; Python "
        f"{found['machine']['python']}, {found['machine']['processors']} cores.",
        "",
        f"| {' | '.join(columns)} |",
        "|---" * len(columns) + "|",
        *(row(concurrency, each) for concurrency, each in found["concurrency"].items()),
    ]
    return {"engine": "\n".join(lines)}


def main() -> None:
    """Measure, print and store."""
    parser = parser_of(__doc__)
    parser.add_argument("--calls", type=int, default=0, help="per round and side; by default about three seconds")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--latency", type=float, default=0.3, help="seconds until the server answers")
    given = parser.parse_args()
    with server(given.latency) as address:
        os.environ |= {"OPENAI_API_BASE": address, "OPENAI_API_KEY": "none"}
        table = asyncio.run(measure(given.calls, given.rounds, given.latency))
    about = {"rounds": given.rounds, "latency": given.latency, "machine": this_machine()}
    store({**about, "concurrency": table}, given.output)


if __name__ == "__main__":
    main()
