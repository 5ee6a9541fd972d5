"""What scoring very many texts on a cluster takes, computed from what is assumed: nothing here is measured.

    python -m experiments.benchmarks.cluster_arithmetic --texts 100000000 --prompt-tokens 900 --completion-tokens 150

`python -m experiments figures` writes the table of the defaults into docs/cluster.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass, fields
from math import ceil
from textwrap import fill

from rubriclab.store.leases import RENEWAL

MILLION = 1_000_000
CALLS = (1, 4)
# Characters of a line of the page.
WIDTH = 128


@dataclass(frozen=True)
class Assumed:
    """What the arithmetic assumes; tokens and prices are of one call and of a million tokens in US dollars."""

    texts: int = 100_000_000
    prompt_tokens: int = 900
    completion_tokens: int = 150
    prompt_price: float = 0.15
    completion_price: float = 0.60
    requests_per_minute: int = 30_000
    fewer_requests_per_minute: int = 10_000
    tokens_per_minute: int = 150_000_000
    seconds_a_reply: float = 2.0
    requests_a_second_of_a_worker: float = 200.0
    bytes_an_answer: int = 2_000
    milliseconds_a_round_trip: float = 0.5
    milliseconds_a_commit: float = 1.0


@dataclass(frozen=True)
class Needed:
    """What one or more calls about each text take. A worker uses one core of a processor."""

    requests: int
    prompt_tokens: int
    completion_tokens: int
    dollars: float
    hours_at_fewer_requests: float
    hours_at_requests: float
    hours_at_tokens: float
    workers: int
    in_flight: int
    answer_bytes: int


def needed(assumed: Assumed, calls: int) -> Needed:
    """Return what scoring takes with so many calls a text."""
    requests = assumed.texts * calls
    prompt, completion = requests * assumed.prompt_tokens, requests * assumed.completion_tokens
    return Needed(
        requests,
        prompt,
        completion,
        (prompt * assumed.prompt_price + completion * assumed.completion_price) / MILLION,
        requests / assumed.fewer_requests_per_minute / 60,
        requests / assumed.requests_per_minute / 60,
        (prompt + completion) / assumed.tokens_per_minute / 60,
        ceil(assumed.requests_per_minute / 60 / assumed.requests_a_second_of_a_worker),
        ceil(assumed.requests_per_minute / 60 * assumed.seconds_a_reply),
        requests * assumed.bytes_an_answer,
    )


def table(assumed: Assumed) -> str:
    """Return what is assumed and what follows from it, as Markdown."""
    columns = [needed(assumed, calls) for calls in CALLS]
    rows: list[tuple[str, Callable[[Needed], str]]] = [
        ("requests", lambda need: _large(need.requests)),
        ("prompt tokens", lambda need: _large(need.prompt_tokens)),
        ("completion tokens", lambda need: _large(need.completion_tokens)),
        ("US dollars", lambda need: f"{need.dollars:,.0f}"),
        (
            f"hours at {assumed.fewer_requests_per_minute:,} requests a minute",
            lambda need: f"{need.hours_at_fewer_requests:,.0f}",
        ),
        (f"hours at {assumed.requests_per_minute:,} requests a minute", lambda need: f"{need.hours_at_requests:,.0f}"),
        (f"hours at {_large(assumed.tokens_per_minute)} tokens a minute", lambda need: f"{need.hours_at_tokens:,.0f}"),
        (f"workers for {assumed.requests_per_minute:,} requests a minute", lambda need: str(need.workers)),
        (f"requests in flight for {assumed.requests_per_minute:,} a minute", lambda need: f"{need.in_flight:,}"),
        ("GB of answers in the store", lambda need: f"{need.answer_bytes / 1e9:,.0f}"),
    ]
    calls = [f"{calls} call{'s' * (calls > 1)} a text" for calls in CALLS]
    lines = [f"| | {' | '.join(calls)} |", "|---|" + "---:|" * len(CALLS)]
    lines += [f"| {name} | {' | '.join(map(show, columns))} |" for name, show in rows]
    return "\n".join([*_assumptions(assumed), "", *lines])


def writes(assumed: Assumed) -> str:
    """Return what the database has to write."""
    second = assumed.requests_per_minute / 60
    round_trip, commit = assumed.milliseconds_a_round_trip, assumed.milliseconds_a_commit
    held = 2 * round_trip + commit
    paragraphs = (
        f"At {assumed.requests_per_minute:,} requests a minute, which are {second:,.0f} a second, the database commits "
        f"{2 * second:,.0f} statements a second: for each request, one that claims it and one that keeps the answer. "
        f"Each worker deletes the claims of answered requests together, every {RENEWAL:g} seconds.",
        "All workers write the budget of a run to one row of the database, and the rates of a judge to another. A "
        "worker has at most one transaction at a time on each, for all its requests that wait: the busier the "
        f"database, the more requests share a transaction. With round trips of {round_trip:g} ms and commits of "
        f"{commit:g} ms, a transaction holds its row for two round trips and a commit, {held:g} ms, so there are at "
        f"most {1000 / held:,.0f} a second on a row, for all workers together.",
    )
    return "\n\n".join(fill(paragraph, WIDTH) for paragraph in paragraphs)


def _assumptions(assumed: Assumed) -> list[str]:
    return [
        "This is arithmetic, not a measurement. It assumes:",
        "",
        f"- {_large(assumed.texts)} texts",
        f"- {assumed.prompt_tokens} prompt tokens and {assumed.completion_tokens} completion tokens a call",
        f"- US dollars for a million prompt and completion tokens: {assumed.prompt_price:.2f} and "
        f"{assumed.completion_price:.2f}",
        f"- {assumed.seconds_a_reply:g} seconds a reply",
        f"- {assumed.requests_a_second_of_a_worker:g} requests a second of a worker that has a core to itself",
        f"- {assumed.bytes_an_answer:,} bytes an answer in the database, with its index",
    ]


def _large(number: int) -> str:
    for size, word in ((10**9, "billion"), (MILLION, "million")):
        if number >= size:
            return f"{number / size:,g} {word}"
    return f"{number:,}"


def readme_figures() -> dict[str, str]:
    """Return the figures of docs/cluster.md, by block."""
    return {"cluster": table(Assumed()), "cluster writes": writes(Assumed())}


def main() -> None:
    """Print the arithmetic of other figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for each in fields(Assumed):
        parser.add_argument(f"--{each.name.replace('_', '-')}", type=type(each.default), default=each.default)
    assumed = Assumed(**vars(parser.parse_args()))
    print(table(assumed), writes(assumed), sep="\n\n")


if __name__ == "__main__":
    main()
