"""What a command works with: the store, the judges, the ledger; opened once, closed at the end."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from rubriclab.errors import SettingsError
from rubriclab.judges.budget import Budget
from rubriclab.judges.connect import EMBEDDED, connect
from rubriclab.judges.judge import Judge
from rubriclab.judges.ledger import Ledger
from rubriclab.judges.options import JudgeOptions
from rubriclab.judges.price import parse_price
from rubriclab.rubric import Effort
from rubriclab.store import Store, open_store

T = TypeVar("T")
JUDGE_SETTINGS = (
    "concurrency",
    "timeout",
    "attempts",
    "requests_per_minute",
    "tokens_per_minute",
    "max_calls",
    "max_cost",
    "structured",
    "api_base",
)


@dataclass(frozen=True)
class Session:
    """An open store, the options that judges are asked with, and the ledger that all of them share."""

    store: Store
    options: JudgeOptions
    budget: Budget
    ledger: Ledger
    record: Path | None
    started: float

    def judge(self, spec: str) -> Judge:
        """Return the judge that a user calls `spec`, connected to the store's answers."""
        return connect(
            spec,
            options=self.options,
            ledger=self.ledger,
            answers=self.store.answers,
            record=self.record,
            budget=self.budget,
        )

    def effort(self) -> Effort:
        """Return what the command has taken so far."""
        return self.ledger.effort(round(time.monotonic() - self.started, 3))


@contextmanager
def session(store: str | None, given: Mapping[str, Any]) -> Iterator[Session]:
    """Open what a command works with; `given` holds the judge options as the command line has them."""
    options = judge_options(given)
    record = Path(given["record"]) if given.get("record") else None
    with open_store(store) as opened:
        budget = Budget(options.max_calls, options.max_cost)
        yield Session(opened, options, budget, Ledger(), record, time.monotonic())


def judge_options(given: Mapping[str, Any]) -> JudgeOptions:
    """Return the options that were given, the defaults for the rest.

    Raises:
        SettingsError: for a value out of bounds.
    """
    from pydantic import ValidationError

    values = {name: given[name] for name in JUDGE_SETTINGS if given.get(name) is not None}
    if given.get("price"):
        values["price"] = parse_price(given["price"])
    try:
        return JudgeOptions(**values)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = str(first["loc"][0]).replace("_", "-")
        raise SettingsError(f"--{name}: {first['msg']}; got {first['input']!r}.") from None


def chosen_judge(given: str | None, learned_with: str | None = None) -> str:
    """Return the judge to use, and say in one line which it is where the user has not named one."""
    if given:
        judge, why = given, ""
    elif learned_with:
        judge, why = learned_with, ", as the rubric was learned with it"
    else:
        judge, why = EMBEDDED, ", as none is configured"
    if judge == EMBEDDED:
        note(f"judge: embedded{why}; it measures texts offline and is not a language model (--judge names another)")
    elif why:
        note(f"judge: {judge}{why}")
    if given and learned_with and given != learned_with:
        note(f"the rubric was learned with {learned_with}; with another judge its agreement may differ")
    return judge


def note(text: str) -> None:
    """Say something to the person at the terminal, beside the results."""
    click.echo(text, err=True)


def finish(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run asynchronous work to its end, closing the connections of language models afterwards."""

    async def run() -> T:
        from rubriclab.judges.language_model import close_connections

        try:
            return await work()
        finally:
            await close_connections()

    return asyncio.run(run())
