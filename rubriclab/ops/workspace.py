"""What operations share: the judge to use, the store, event loops and threads, and the display of progress."""

from __future__ import annotations

import asyncio
import html
import importlib
import logging
import os
import re
import sys
import threading
import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterable, Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar

from rubriclab.closing import Closing
from rubriclab.errors import JudgeError, NotConfirmed, SettingsError, StoreError
from rubriclab.judges.cache import InFlight, recorded_name
from rubriclab.judges.connect import EMBEDDED, account_name, connect, is_language_model, makes_requests
from rubriclab.judges.judge import Judge, Ledger
from rubriclab.judges.limits import REQUEST_TASK, Budget, Limits, LocalBudget
from rubriclab.judges.options import JudgeOptions
from rubriclab.judges.providers import server_address
from rubriclab.methods.method import Progress, ignore_progress
from rubriclab.models.characters import count, describe, quoted_judge
from rubriclab.models.rubric import Rubric
from rubriclab.models.version import Effort, Version
from rubriclab.ops.options import SettingsTables
from rubriclab.store.store import Access, Store, open_store
from rubriclab.store.tables import database_url, is_remote, sqlite_file

if TYPE_CHECKING:
    from rubriclab.judges.metrics import Metrics
    from rubriclab.learning.estimate import DryRun


class JudgedResult:
    """A result that needs a judge; `unanswered`: the error if no text was scored as replies failed, or `None`."""

    unanswered: str | None

    def raise_if_unanswered(self) -> None:
        if self.unanswered:
            raise JudgeError(self.unanswered)


@dataclass(frozen=True)
class JudgeChoice:
    """The judge to use, and the address of its server if it is not the provider's own.

    `named_by` is the imported version that names judge and address, `None` if the user named them. With
    `has_own_address`, `address` has priority over the address that the user gives for judges of this provider.
    """

    spec: str
    address: str | None = None
    named_by: str | None = None
    has_own_address: bool = False


def judge_or_offline(name: str | None, notify: Notify) -> str:
    _notify_embedded(name or EMBEDDED, "" if name else ", as none is configured", notify)
    return name or EMBEDDED


def no_reply_message(judge: str, rubric: str, n_scored: int, reason: str | None, ledger: Ledger) -> str | None:
    """Return a message that a judge gave no usable reply, if replies failed and no text has a score by this judge."""
    if n_scored or not reason or not ledger.failed:
        return None
    return f"{judge} gave no reply that {rubric} can use; the latest reason: {reason}"


def choose_judge(version: Version, judge_name: str | None, store: Store, notify: Notify) -> JudgeChoice:
    """Return the judge that the user has named, else the judge that the version was learned with, and notify of it.

    NotConfirmed if the user names no judge, and the judge was named by an imported version that is not confirmed.
    """
    provenance = version.provenance
    if judge_name:
        _notify_embedded(judge_name, "", notify)
        if recorded_name(judge_name) != recorded_name(provenance.judge):
            calibrated = f"{version.ref} is calibrated for {quoted_judge(provenance.judge)}"
            advice = f"`rubriclab transfer {version.ref} --to LABELLED --judge MODEL` says by how much"
            notify(f"{calibrated}; with another judge its agreement may differ: {advice}")
        return JudgeChoice(judge_name)
    reason = f", as {version.ref} was learned with it"
    _notify_embedded(provenance.judge, reason, notify)
    if provenance.judge == EMBEDDED:
        return JudgeChoice(EMBEDDED)
    source = imported_source(version, provenance.judge_from, store)
    judge = quoted_judge(provenance.judge, provenance.judge_address)
    if source and not source.trusted:
        origin = "" if source.ref == version.ref else f"{version.ref} was made with the judge of {source.ref}: "
        trust = f"if that judge may have your texts and your key, run: `rubriclab trust {source.ref}`"
        problem = f"{origin}{source.ref} was imported, and the judge that it names is not confirmed: {judge}."
        raise NotConfirmed(problem, f"Name a judge with `judge`, or, {trust}")
    notify(f"judge: {judge}{reason}")
    return JudgeChoice(provenance.judge, provenance.judge_address, source.ref if source else None)


def choose_generator(version: Version, store: Store, notify: Notify) -> JudgeChoice | None:
    """Return the model that proposed the criteria of a version, if it is not the judge and may be asked again."""
    provenance, address = version.provenance, version.provenance.generator_address
    if (provenance.generator, address) == (provenance.judge, provenance.judge_address):
        return None
    source = imported_source(version, provenance.generator_from, store)
    if provenance.generator == EMBEDDED or source is None or source.trusted:
        has_own_address = address is not None and address != provenance.judge_address
        return JudgeChoice(provenance.generator, address, source.ref if source else None, has_own_address)
    generator = quoted_judge(provenance.generator, address)
    notify(f"the judge proposes criteria, not {generator}, as {source.ref} was imported and is not confirmed")
    return None


def imported_source(version: Version, recorded_ref: str | None, store: Store) -> Version | None:
    """Return the imported version that named a judge: `version` itself, else that of `recorded_ref`, if any."""
    if version.imported:
        return version
    return store.load(recorded_ref) if recorded_ref else None


def online_judges(version: Version) -> dict[str, tuple[str, str | None]]:
    """Return the name and address, by role, of the different judges that a version names, except the offline judge."""
    provenance = version.provenance
    judges = {"judge": (provenance.judge, provenance.judge_address)}
    generator = (provenance.generator, provenance.generator_address)
    if generator != judges["judge"]:
        judges["generator"] = generator
    return {role: judge for role, judge in judges.items() if judge[0] != EMBEDDED}


def describe_judges(version: Version) -> str:
    online = online_judges(version).items()
    return " and ".join(f"the {role} {quoted_judge(*judge, max_length=None)}" for role, judge in online)


def _notify_embedded(judge: str, reason: str, notify: Notify) -> None:
    if judge == EMBEDDED:
        explanation = "it measures texts offline, by English word lists, and is no language model"
        notify(f"judge: embedded{reason}; {explanation} (name another with `judge`)")


# The environment variable with the key of a generator whose server is neither the provider's own nor the judge's.
GENERATOR_KEY = "RUBRICLAB_GENERATOR_API_KEY"


class GivenAddress:
    """An address that the user gives; it applies to the first judge that is connected, and others of its provider.

    Judges of other providers keep their own addresses: their keys must not reach this server.
    """

    def __init__(self, address: str | None) -> None:
        self._address = address
        self._first: str | None = None
        self._lock = Lock()

    def for_judge(self, judge: str) -> str | None:
        """Return the address if it applies to a judge, `None` if the judge keeps its own or makes no requests."""
        if self._address is None or not makes_requests(judge):
            return None
        with self._lock:
            self._first = self._first or judge
        same_provider = judge == self._first or account_name(judge) == account_name(self._first)
        return self._address if same_provider else None


P = ParamSpec("P")
T = TypeVar("T")

# Receives messages for the user besides the results.
Notify = Callable[[str], None]


@dataclass(frozen=True)
class Job(Generic[T]):
    """A prepared operation that has sent no request yet.

    Preparing raises what `load_version` and `choose_judge` raise. Running raises `JudgeRefused`, `BudgetReached`,
    `ReplayMiss` and `ProviderDown`, which concern every text; answers so far are kept in the store.
    """

    estimate: Callable[[], DryRun]
    run: Callable[[], Coroutine[Any, Any, T]]


def no_progress(_ledger: Ledger) -> AbstractContextManager[Progress]:
    return nullcontext(ignore_progress)


@dataclass(eq=False)
class Workspace(Closing):
    """The store, the options of judges, and the ledger and budget that all judges share.

    Attributes:
        location: path or URL of the store; `None` for the user's default store.
        record: the file that requests and replies are recorded to.
        budget: caps on calls and money; by default those in `options`.
        limits: shared by all judges if given; by default each judge has its own.
        in_flight: requests under way; copies of a workspace, one for each simultaneous call, share them.
    """

    location: str | Path | None = None
    options: JudgeOptions = field(default_factory=JudgeOptions)
    notify: Notify = lambda _text: None
    progress: ProgressDisplay = no_progress
    record: Path | None = None
    settings: SettingsTables = field(default_factory=dict)
    budget: Budget | None = None
    limits: Limits | None = None
    given_address: GivenAddress | None = None
    ledger: Ledger = field(default_factory=Ledger)
    metrics: Metrics | None = None
    in_flight: InFlight = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.budget = self.budget or LocalBudget(self.options.max_calls, self.options.max_cost)
        self.given_address = self.given_address or GivenAddress(self.options.api_base)
        self._started = time.monotonic()
        self._resources = ExitStack()
        self._store: Store | None = None
        self.shows_progress = self.progress is not no_progress
        self.progress = with_logging(self.progress)
        # `cache` passes each message on once; operations that score texts twice repeat their messages.
        self.notify = cache(self.notify)

    @property
    def store(self) -> Store:
        return self.open_store(create=False, access="either")

    def open_store(self, *, create: bool = False, access: Access = "write") -> Store:
        """Return the store, opened with these options unless it is open already; NoStore if it does not exist."""
        if self._store is None:
            self._store = self._resources.enter_context(open_store(self.location, create=create, access=access))
        return self._store

    def generator(self, choice: JudgeChoice, judge_choice: JudgeChoice, judge: Judge) -> Judge:
        """Return the chosen generator, which may be the judge itself.

        A provider's environment variable holds the key for the judge's address. A generator of the same provider at
        another address has a key of its own.
        """
        if choice == judge_choice:
            return judge
        has_own_key = False
        if is_language_model(choice.spec):
            if makes_requests(judge_choice.spec) and account_name(choice.spec) == account_name(judge_choice.spec):
                address = server_address(choice.spec, self._address(choice))
                has_own_key = address != server_address(judge_choice.spec, self._address(judge_choice))
            else:
                has_own_key = choice.has_own_address and bool(os.environ.get(GENERATOR_KEY))
        return self.judge(choice, key_from=GENERATOR_KEY if has_own_key else None)

    def _address(self, choice: JudgeChoice) -> str | None:
        assert self.given_address
        if choice.has_own_address:
            return choice.address
        return self.given_address.for_judge(choice.spec) or choice.address

    def judge(self, choice: JudgeChoice, *, fresh: bool = False, key_from: str | None = None) -> Judge:
        """Return the chosen judge, which uses the answers cached in the store unless it is `fresh`.

        `key_from` names the environment variable with the judge's key; by default the provider's variable.
        """
        file = sqlite_file(database_url(self.location))
        return connect(
            choice.spec,
            options=self.options.model_copy(update={"api_base": self._address(choice)}),
            ledger=self.ledger,
            answers=None if fresh else self.store.answers,
            record=self.record,
            budget=self.budget,
            limits=self.limits,
            batches=self.store.batches,
            notify=self.notify,
            metrics=self.metrics,
            key_from=key_from,
            in_flight=self.in_flight,
            folder=file.parent if file else None,
        )

    async def off_event_loop(self, work: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T:
        """Run synchronous work with the store; if the store is remote, run it in a thread to free the event loop."""
        if not is_remote(self.location):
            return work(*arguments, **options)
        return await asyncio.to_thread(work, *arguments, **options)

    async def run(self, prepare: Callable[Concatenate[Workspace, P], Job[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """Return the result of an operation, such as `await workspace.run(learn, data, options)`."""
        job = await self.off_event_loop(prepare, self, *args, **kwargs)
        return await job.run()

    @property
    def max_under_way(self) -> int:
        """How many texts are scored at once: a batch, or twice the concurrency, so that slow texts block no request."""
        return self.options.batch_size if self.options.batch else 2 * self.options.concurrency

    def model_versions(self) -> list[str]:
        return sorted(self.ledger.model_versions)

    def effort(self) -> Effort:
        return self.ledger.effort(round(time.monotonic() - self._started, 3))

    def close(self) -> None:
        """Close the store, and notify of batches under way and of damaged cached answers."""
        if self.options.batch and self._store:
            with suppress(StoreError):
                if open_batches := self._store.batches.list_open():
                    batches = "1 batch is" if len(open_batches) == 1 else f"{len(open_batches):,} batches are"
                    collect = "run the same command again to collect the answers"
                    cancel = f"or cancel: `rubriclab batches --cancel {open_batches[0].name}`"
                    self.notify(f"{batches} still under way at the provider and will be charged: {collect}, {cancel}")
        self._resources.close()
        self._store = None
        if damaged := len(self.ledger.damaged):
            answers = f"{count(damaged, 'cached answer')} {'is' if damaged == 1 else 'are'}"
            self.notify(f"{answers} damaged and asked for again; see: `rubriclab verify`")
            self.ledger.damaged.clear()


# A reference (`NAME`, `NAME@3`, `NAME@production`), a version, or a rubric that is not stored.
RubricLike = str | Version | Rubric

_REFERENCE_HINT = "Give a version, or a text: NAME (the newest), NAME@NUMBER or NAME@TAG."


def rubric_ref(rubric: Any) -> str:
    if isinstance(rubric, Version):
        return rubric.ref
    if isinstance(rubric, str):
        return rubric
    if isinstance(rubric, Rubric):
        raise SettingsError("Expected a version in the store, got a rubric that is not stored.", _REFERENCE_HINT)
    raise SettingsError(f"Expected a rubric, got {describe(rubric)}.", _REFERENCE_HINT)


def load_version(workspace: Workspace, rubric: str | Version | None) -> Version:
    """Return the version; an imported version is loaded again, as it may have been confirmed meanwhile."""
    if isinstance(rubric, Version) and not rubric.imported:
        return rubric
    return workspace.store.load(rubric_ref(rubric))


def load_versions(workspace: Workspace, rubrics: Any) -> tuple[Version, ...]:
    is_collection = isinstance(rubrics, Iterable) and not isinstance(rubrics, str | bytes | Version)
    refs = tuple(rubrics) if is_collection else (rubrics,)
    if not refs:
        raise SettingsError("Expected one rubric or more, got none.", _REFERENCE_HINT)
    versions = [load_version(workspace, ref) for ref in refs]
    return tuple({version.ref: version for version in versions}.values())


def finish(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run asynchronous work to its end, then close the connections of language models.

    If a loop is running already, as in a notebook, work runs in a thread with its own loop. Ctrl-C cancels the work.
    """
    results: list[T] = []

    async def run() -> None:
        # The result is not returned: `asyncio.run` formats its finished task, with what it returned, when it restores
        # the signal handler. For the training record of 10,000 texts that took minutes and gigabytes.
        results.append(await finish_and_close(work()))

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        asyncio.run(run())
    else:
        with closing(BackgroundLoop()) as loop:
            loop.run(run)
    return results[0]


def iterate(stream: Callable[[], AsyncGenerator[T]]) -> Generator[T]:
    """Yield what an asynchronous stream yields, in a thread of its own; closing the iterator ends the stream."""
    with closing(BackgroundLoop()) as loop:
        running = stream()

        async def take_next() -> list[T]:  # the next result in a list, which is empty at the end
            async for result in running:
                return [result]
            return []

        try:
            while results := loop.run(take_next):
                yield results[0]
        finally:
            loop.run(running.aclose)


async def finish_and_close(work: Coroutine[Any, Any, T]) -> T:
    """Return what `work` returns, having ended the tasks it left and closed the connections of models."""
    from rubriclab.judges.llm import close_connections

    working = asyncio.create_task(work)
    try:
        # Shielded, so that a cancellation reaches all tasks at once: none sends requests while others await replies.
        return await asyncio.shield(working)
    finally:
        await end_other_tasks()
        await close_connections()


async def end_other_tasks() -> None:
    """Cancel the other tasks, which would open connections while connections are being closed.

    Tasks that are being cancelled already may wait for their replies.
    """
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        if not task.cancelling() and task.get_name() != REQUEST_TASK:
            task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


class ShieldedTasks(set[asyncio.Task[Any]]):
    """Tasks that go on until they end even if the caller is gone, since their answers are paid for."""

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        task = asyncio.create_task(work)
        self.add(task)
        task.add_done_callback(self._ended)
        return await asyncio.shield(task)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self.discard(task)
        if not task.cancelled():
            task.exception()  # marks the error as retrieved; asyncio would log it if the caller is gone

    async def finish(self, max_seconds: float) -> int:
        """Wait up to `max_seconds` for all tasks; return the number of tasks that have not ended."""
        if not self:
            return 0
        _ended, unfinished = await asyncio.wait(self, timeout=max_seconds)
        return len(unfinished)


class BackgroundLoop:
    """An event loop in a thread of its own, to which other threads and event loops give work until it is closed."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._closed = False
        self._thread = threading.Thread(target=self._loop.run_forever, name="rubriclab", daemon=True)
        self._thread.start()

    def run(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        future = self.start(work)
        try:
            return future.result()
        except KeyboardInterrupt:
            future.cancel()
            raise

    async def run_async(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Return what `work` returns without blocking the running event loop; cancelling cancels the work."""
        return await asyncio.wrap_future(self.start(work))

    def close(self, at_end: Callable[[], None] | None = None) -> None:
        """Cancel the work under way, close the connections of language models, call `at_end`, and end the thread."""
        if self._closed:
            return
        self._closed = True

        async def end() -> None:
            await finish_and_close(asyncio.sleep(0))
            await self._loop.shutdown_default_executor()
            if at_end:
                at_end()

        try:
            asyncio.run_coroutine_threadsafe(end(), self._loop).result()
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    def start(self, work: Callable[[], Coroutine[Any, Any, T]]) -> Future[T]:
        if self._closed:
            raise RuntimeError("The rubric is closed; open a new scorer.")
        return asyncio.run_coroutine_threadsafe(work(), self._loop)


NOTEBOOK_INTERVAL = 0.2  # seconds between two updates of a bar in a notebook
LINE_INTERVAL = 60.0  # seconds between two lines on standard error, if it is not a terminal


def in_notebook() -> bool:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")


@contextmanager
def terminal_bar(ledger: Ledger) -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress as Bar, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    description, spending = TextColumn("{task.description}"), TextColumn("{task.fields[spent]}")
    columns = (description, BarColumn(), spending, TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting", total=1.0, spent="")

        def advance(stage: str, share: float) -> None:
            total = 1.0 if share >= 0 else None  # `None` if the share is unknown
            bar.update(task, description=stage, total=total, completed=max(share, 0.0), spent=describe_spending(ledger))

        yield advance


@contextmanager
def regular_lines(ledger: Ledger) -> Iterator[Progress]:
    """Write a line to standard error, at most once a minute, with what is done and what is left."""
    start = last_line = time.monotonic()

    def advance(stage: str, share: float) -> None:
        nonlocal last_line
        now = time.monotonic()
        if now - last_line < LINE_INTERVAL:
            return
        last_line = now
        seconds = now - start
        parts = [stage, f"{seconds / 60:.0f} min"]
        if share > 0:
            parts += [f"{share:.0%} done", f"about {seconds * (1 - share) / share / 60:.0f} min left"]
        print("; ".join([", ".join(parts), describe_spending(ledger)]), file=sys.stderr, flush=True)

    yield advance


@contextmanager
def notebook_bar(ledger: Ledger) -> Iterator[Progress]:
    display: Any = importlib.import_module("IPython.display")
    handle = display.display(display.HTML(""), display_id=True)
    last_update = 0.0

    def advance(stage: str, share: float) -> None:
        nonlocal last_update
        if time.monotonic() - last_update < NOTEBOOK_INTERVAL:
            return
        last_update = time.monotonic()
        value = f' value="{share:.3f}"' if share >= 0 else ""
        spending = html.escape(describe_spending(ledger))
        handle.update(display.HTML(f"<progress{value}></progress> {html.escape(stage)}; {spending}"))

    try:
        yield advance
    finally:
        handle.update(display.HTML(""))


def describe_spending(ledger: Ledger) -> str:
    usage = ledger.usage
    tokens = usage.prompt_tokens + usage.completion_tokens
    counts = {"cached": ledger.cached, "failed": ledger.failed}
    token_counts = {"tokens": tokens, "of them read from the provider's cache": usage.cached_tokens}
    parts = [f"{ledger.calls:,} calls"]
    parts += [f"{number:,} {name}" for name, number in counts.items() if number]
    parts += [f"{number / 1000:,.0f}k {name}" for name, number in token_counts.items() if number]
    parts.append("price unknown" if usage.cost_usd is None else f"${usage.cost_usd:.4f}")
    return ", ".join(parts)


# Shows progress while its block runs; yields a function of the stage and the share done (0 to 1, below 0 if unknown).
ProgressDisplay = Callable[[Ledger], AbstractContextManager[Progress]]

LOG_INTERVAL = 10.0  # seconds between two log messages about the same phase

_log = logging.getLogger(__name__)


def with_logging(display: ProgressDisplay) -> ProgressDisplay:
    """Return a progress display that also logs a line for each new phase, and a line every `LOG_INTERVAL` seconds."""

    @contextmanager
    def show(ledger: Ledger) -> Iterator[Progress]:
        start = last_line = time.monotonic()
        phase = ""

        def log(event: str) -> None:
            nonlocal last_line
            last_line = time.monotonic()
            counts = (ledger.calls, ledger.cached, ledger.failed)
            _log.info("%s; %.0f s, %d calls, %d cached, %d failed", event, last_line - start, *counts)

        with display(ledger) as on_progress:

            def advance(stage: str, share: float) -> None:
                nonlocal phase
                on_progress(stage, share)
                # A phase is a stage without its numbers, which change with every text.
                stage_words = re.sub(r"[\d,]+", "", stage)
                if stage_words != phase or time.monotonic() - last_line >= LOG_INTERVAL:
                    phase = stage_words
                    log(stage)

            yield advance
            log("done")

    return show
