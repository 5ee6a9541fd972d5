"""What a command works with: the store, the judges, the ledger; opened once, closed at the end."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from rubriclab.cli import printing
from rubriclab.data.readers import Rows
from rubriclab.errors import NotConfirmed, SettingsError
from rubriclab.judges.budget import Budget
from rubriclab.judges.connect import EMBEDDED, connect
from rubriclab.judges.judge import Judge
from rubriclab.judges.ledger import Ledger
from rubriclab.judges.options import JudgeOptions
from rubriclab.judges.price import parse_price
from rubriclab.provenance import Effort
from rubriclab.pydantic_errors import first_fault
from rubriclab.report.wording import quoted_judge
from rubriclab.store import Store, Version, open_store

T = TypeVar("T")
note = printing.note
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
    "retry_failed",
)


@dataclass(frozen=True)
class JudgeChoice:
    """The judge to use, and the server to ask it at where that is not the provider's own.

    `named_by` is the imported version (`NAME@NUMBER`) that names both, `None` where the user did.
    """

    spec: str
    address: str | None = None
    named_by: str | None = None


@dataclass(frozen=True)
class Session:
    """An open store, the options that judges are asked with, and the ledger that all of them share."""

    store: Store
    options: JudgeOptions
    budget: Budget
    ledger: Ledger
    record: Path | None
    started: float

    def judge(self, choice: JudgeChoice) -> Judge:
        """Return the judge chosen, connected to the store's answers; a server named on the command line comes first."""
        server = {"api_base": self.options.api_base or choice.address}
        return connect(
            choice.spec,
            options=self.options.model_copy(update=server),
            ledger=self.ledger,
            answers=self.store.answers,
            record=self.record,
            budget=self.budget,
        )

    def effort(self) -> Effort:
        """Return what the command has taken so far."""
        return self.ledger.effort(round(time.monotonic() - self.started, 3))


@contextmanager
def session(store: str | None, given: Mapping[str, Any], *, create: bool = False) -> Iterator[Session]:
    """Open what a command works with; `given` holds the judge options as the command line has them."""
    options = judge_options(given)
    record = Path(given["record"]) if given.get("record") else None
    with open_store(store, create=create, access="write" if create else "either") as opened:
        budget = Budget(options.max_calls, options.max_cost)
        opened_session = Session(opened, options, budget, Ledger(), record, time.monotonic())
        try:
            yield opened_session
        finally:
            _note_damaged(opened_session.ledger)


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
        name, _, fault = first_fault(error).partition(":")
        raise SettingsError(f"--{name.replace('_', '-')}:{fault}.") from None


def judge_of(version: Version, named: str | None, store: Store) -> JudgeChoice:
    """Return the judge that the user has named, else the one that the version was learned with, and say which it is.

    Raises:
        NotConfirmed: if nobody is named, and an imported version named the judge that is not confirmed.
    """
    made = version.provenance
    if named:
        _say_embedded(named, "")
        if named != made.judge:
            note(
                f"{version.ref} is calibrated for {quoted_judge(made.judge)}; with another judge its agreement may "
                "differ: `rubriclab transfer` says by how much"
            )
        return JudgeChoice(named)
    why = f", as {version.ref} was learned with it"
    _say_embedded(made.judge, why)
    if made.judge == EMBEDDED:
        return JudgeChoice(EMBEDDED)
    source = named_by(version, made.judge_from, store)
    if source and not source.trusted:
        raise _not_confirmed(version, source)
    note(f"judge: {quoted_judge(made.judge, made.judge_address)}{why}")
    return JudgeChoice(made.judge, made.judge_address, source.ref if source else None)


def generator_of(version: Version, store: Store) -> JudgeChoice | None:
    """Return who proposed the criteria of a version, where that is not its judge and may be asked again.

    One that an unconfirmed imported version named is left out, which is said.
    """
    made = version.provenance
    if made.generator == made.judge:
        return None
    source = named_by(version, made.generator_from, store)
    if made.generator == EMBEDDED or source is None or source.trusted:
        return JudgeChoice(made.generator, made.generator_address, source.ref if source else None)
    generator = quoted_judge(made.generator, made.generator_address)
    note(f"the judge proposes criteria, not {generator}, as {source.ref} was imported and is not confirmed")
    return None


def named_by(version: Version, recorded: str | None, store: Store) -> Version | None:
    """Return the imported version that named a judge of `version`: itself, or else the one recorded, if any."""
    if version.imported:
        return version
    return store.load(recorded) if recorded else None


def _not_confirmed(version: Version, source: Version) -> NotConfirmed:
    made = version.provenance
    came = "" if source.ref == version.ref else f"{version.ref} was made with the judge of {source.ref}: "
    return NotConfirmed(
        f"{came}{source.ref} was imported, and the judge that it names is not confirmed: "
        f"{quoted_judge(made.judge, made.judge_address)}.",
        "Name a judge with --judge, or, if this one may have your texts and your key, run: "
        f"rubriclab trust {source.ref}",
    )


def judge_named(named: str | None) -> str:
    """Return the judge that the user has named, or else the offline one, and say so."""
    _say_embedded(named or EMBEDDED, "" if named else ", as none is configured")
    return named or EMBEDDED


def _note_damaged(ledger: Ledger) -> None:
    if count := len(ledger.damaged):
        what = "1 kept answer is damaged and was" if count == 1 else f"{count} kept answers are damaged and were"
        note(f"{what} not used; see: rubriclab verify")


def _say_embedded(judge: str, why: str) -> None:
    if judge == EMBEDDED:
        note(f"judge: embedded{why}; it measures texts offline and is not a language model (--judge names another)")


def note_comparisons(rows: Rows) -> None:
    """Say how many comparisons of texts stood among the rows, where nothing is made of them."""
    if rows.comparisons:
        count = len({line for line, _ in rows.comparisons})
        note(f"{count} {'row' if count == 1 else 'rows'} left out that hold no text, but compare others")


def finish(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run asynchronous work to its end, closing the connections of language models afterwards."""
    results: list[T] = []

    async def run() -> None:
        from rubriclab.judges.language_model import close_connections

        try:
            # Not returned: `asyncio.run` formats its finished task when it restores the signal handler, and with it
            # whatever the task returned. For the training record of 10,000 texts that took minutes and gigabytes.
            results.append(await work())
        finally:
            await _end_other_tasks()
            await close_connections()

    asyncio.run(run())
    return results[0]


async def _end_other_tasks() -> None:
    """Cancel what an error or Ctrl-C has left under way: it would open connections while they are being closed."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
