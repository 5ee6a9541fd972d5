"""What the operations share: the judge to ask, the workspace in which they ask it, and the versions to load.

A workspace holds the store, and the ledger and the budget of all its judges. An operation that asks a judge first
prepares a `Job`, which can estimate its calls, and then runs it.

The judge to ask is the one that the user names, or the one that a version was learned with. If that version was
imported, its author chose the judge and its server, so the user has to confirm the version first.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Coroutine, Iterable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar

from rubriclab.errors import JudgeError, NotConfirmed, SettingsError, StoreError
from rubriclab.judges.cache import InFlight, short_judge_name
from rubriclab.judges.connect import EMBEDDED, account_name, connect, is_language_model, makes_requests
from rubriclab.judges.judge import Judge, Ledger
from rubriclab.judges.limits import Budget, Limits, LocalBudget
from rubriclab.judges.options import JudgeOptions
from rubriclab.judges.providers import server_address
from rubriclab.models.characters import count, describe, quoted_judge
from rubriclab.models.rubric import Rubric
from rubriclab.models.version import Effort, Version
from rubriclab.ops.options import SettingsTables
from rubriclab.running import Closing, no_progress, with_logging
from rubriclab.store.store import Store, StoreAccess, open_store
from rubriclab.store.tables import database_url, is_remote, sqlite_file

if TYPE_CHECKING:
    from rubriclab.judges.batch import OpenBatch
    from rubriclab.judges.metrics import Metrics
    from rubriclab.learning.estimate import DryRun
    from rubriclab.running import ProgressDisplay


# A function that shows a message to the user.
Notify = Callable[[str], None]
P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True)
class Job(Generic[T]):
    """A prepared operation that has sent no request yet.

    Preparing may raise `NoStore`, `NotInStore` and `NotConfirmed`. Running may raise `JudgeRefused`, `BudgetReached`,
    `ReplayMiss` and `ProviderDown`, which concern every text; answers so far are kept in the store.
    """

    estimate: Callable[[], DryRun]
    run: Callable[[], Coroutine[Any, Any, T]]


class JudgedResult:
    unanswered: str | None  # the message of the error, if replies failed and no text has a score

    def raise_if_unanswered(self) -> None:
        if self.unanswered:
            raise JudgeError(self.unanswered)


def no_reply_message(judge: str, rubric: str, n_scored: int, reason: str | None, ledger: Ledger) -> str | None:
    """Return the message that a judge gave no usable reply, if replies failed and it scored no text, else `None`."""
    if n_scored or not reason or not ledger.failed:
        return None
    return f"{judge} gave no reply that {rubric} can use; the latest reason: {reason}"


@dataclass(frozen=True)
class JudgeChoice:
    """The judge to ask (`spec`, as users name it), and the address of its server if it is not the provider's own.

    Attributes:
        chosen_by: the imported version that chose judge and address; `None` if the user or the user's own version did.
        overrides_api_base: whether `address` is used even if the user gives another for judges of this provider.
    """

    spec: str
    address: str | None = None
    chosen_by: str | None = None
    overrides_api_base: bool = False


def _notify_embedded(judge: str, reason: str, notify: Notify) -> None:
    if judge == EMBEDDED:
        explanation = "it measures texts offline, by English word lists, and is no language model"
        notify(f"judge: embedded{reason}; {explanation} (name another with `judge`)")


def judge_or_offline(name: str | None, notify: Notify) -> str:
    _notify_embedded(name or EMBEDDED, "" if name else ", as none is configured", notify)
    return name or EMBEDDED


def choose_judge(version: Version, judge_name: str | None, store: Store, notify: Notify) -> JudgeChoice:
    """Return the judge that the user has named, else the judge that the version was learned with, and notify of it.

    Raises NotConfirmed if an imported version that the user has not confirmed would choose the judge.
    """
    provenance = version.provenance
    if judge_name:
        _notify_embedded(judge_name, "", notify)
        if short_judge_name(judge_name) != short_judge_name(provenance.judge):
            calibrated = f"{version.ref} is calibrated for {quoted_judge(provenance.judge)}"
            advice = f"`rubriclab transfer {version.ref} --to LABELLED --judge MODEL` says by how much"
            notify(f"{calibrated}; with another judge its agreement may differ: {advice}")
        return JudgeChoice(judge_name)
    reason = f", as {version.ref} was learned with it"
    _notify_embedded(provenance.judge, reason, notify)
    if provenance.judge == EMBEDDED:
        return JudgeChoice(EMBEDDED)
    imported = imported_version(version, provenance.judge_from, store)
    judge = quoted_judge(provenance.judge, provenance.judge_address)
    if imported and not imported.trusted:
        origin = "" if imported.ref == version.ref else f"{version.ref} was made with the judge of {imported.ref}: "
        trust = f"if that judge may have your texts and your key, run: `rubriclab trust {imported.ref}`"
        problem = f"{origin}{imported.ref} was imported, and the judge that it names is not confirmed: {judge}."
        raise NotConfirmed(problem, f"Name a judge with `judge`, or, {trust}")
    notify(f"judge: {judge}{reason}")
    return JudgeChoice(provenance.judge, provenance.judge_address, imported.ref if imported else None)


def choose_generator(version: Version, store: Store, notify: Notify) -> JudgeChoice | None:
    """Return the model that proposed the criteria of a version; `None` if it is the judge, or is not confirmed."""
    provenance = version.provenance
    address = provenance.generator_address
    if (provenance.generator, address) == (provenance.judge, provenance.judge_address):
        return None
    imported = imported_version(version, provenance.generator_from, store)
    if provenance.generator == EMBEDDED or imported is None or imported.trusted:
        overrides_api_base = address is not None and address != provenance.judge_address
        return JudgeChoice(provenance.generator, address, imported.ref if imported else None, overrides_api_base)
    generator = quoted_judge(provenance.generator, address)
    notify(f"the judge proposes criteria, not {generator}, as {imported.ref} was imported and is not confirmed")
    return None


def imported_version(version: Version, recorded_ref: str | None, store: Store) -> Version | None:
    """Return the imported version whose author chose a judge: `version` itself, or the version named `recorded_ref`."""
    if version.imported:
        return version
    return store.load(recorded_ref) if recorded_ref else None


def online_judges(version: Version) -> dict[str, tuple[str, str | None]]:
    """Return name and address of the `judge` and, if it is another, the `generator`; the offline judge is left out."""
    provenance = version.provenance
    judges = {"judge": (provenance.judge, provenance.judge_address)}
    generator = (provenance.generator, provenance.generator_address)
    if generator != judges["judge"]:
        judges["generator"] = generator
    return {role: judge for role, judge in judges.items() if judge[0] != EMBEDDED}


def describe_judges(version: Version) -> str:
    online = online_judges(version).items()
    return " and ".join(f"the {role} {quoted_judge(*judge, max_length=None)}" for role, judge in online)


# The environment variable with a key for the generator alone; `Workspace.generator` decides when it is used.
GENERATOR_KEY = "RUBRICLAB_GENERATOR_API_KEY"


class GivenAddress:
    """The server's address that the user gives. It applies to `first_judge`, or else to the first judge that asks.

    Judges of the same provider get it too. A judge of another provider does not: the server must not get its key.
    """

    def __init__(self, address: str | None, first_judge: str | None = None) -> None:
        self._address = address
        self._first = first_judge if first_judge and makes_requests(first_judge) else None
        self._lock = Lock()

    def for_judge(self, judge: str) -> str | None:
        if self._address is None or not makes_requests(judge):
            return None
        with self._lock:
            self._first = self._first or judge
        same_provider = judge == self._first or account_name(judge) == account_name(self._first)
        return self._address if same_provider else None


@dataclass(eq=False)
class Workspace(Closing):
    """The store, the options of judges, and the ledger and budget that all judges share.

    Attributes:
        location: path or URL of the store; `None` for the user's default store.
        record: the file to which requests and replies are recorded.
        settings: the settings of methods that a configuration file sets.
        budget: caps on calls and money; by default the caps in `options`.
        limits: the limits on simultaneous requests that all judges share; by default each judge has its own limits.
        in_flight: requests under way. A service copies its workspace for each call; the copies share these requests.
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
        # `functools.cache` drops repeated messages, such as those of operations that score texts twice.
        self.notify = cache(self.notify)

    @property
    def store(self) -> Store:
        return self.open_store(create=False, access="write if possible")

    def open_store(self, *, create: bool = False, access: StoreAccess = "write") -> Store:
        """Return the open store, opened now if needed. Raises NoStore if it does not exist and `create` is false."""
        if self._store is None:
            self._store = self._resources.enter_context(open_store(self.location, create=create, access=access))
        return self._store

    def _address(self, choice: JudgeChoice) -> str | None:
        assert self.given_address
        if choice.overrides_api_base:
            return choice.address
        return self.given_address.for_judge(choice.spec) or choice.address

    def judge(self, choice: JudgeChoice, *, fresh: bool = False, api_key_variable: str | None = None) -> Judge:
        """Return the chosen judge, which uses the answers cached in the store unless `fresh` is set.

        `api_key_variable` names the environment variable with the API key, if it is not the provider's usual variable.
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
            api_key_variable=api_key_variable,
            in_flight=self.in_flight,
            folder=file.parent if file else None,
        )

    def generator(self, choice: JudgeChoice, judge_choice: JudgeChoice, judge: Judge) -> Judge:
        if choice == judge_choice:
            return judge
        uses_generator_key = False
        if is_language_model(choice.spec):
            if makes_requests(judge_choice.spec) and account_name(choice.spec) == account_name(judge_choice.spec):
                # The variable of their provider holds the key of the judge's server, which no other server may get.
                address = server_address(choice.spec, self._address(choice))
                uses_generator_key = address != server_address(judge_choice.spec, self._address(judge_choice))
            else:
                # At an address of the generator's own, `GENERATOR_KEY`, if set, replaces the provider's variable.
                uses_generator_key = choice.overrides_api_base and bool(os.environ.get(GENERATOR_KEY))
        return self.judge(choice, api_key_variable=GENERATOR_KEY if uses_generator_key else None)

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
    def texts_at_once(self) -> int:
        """How many texts are scored at the same time: a batch, or enough that a late reply delays no other request."""
        return self.options.batch_size if self.options.batch else 2 * self.options.concurrency

    def model_versions(self) -> list[str]:
        return sorted(self.ledger.model_versions)

    def effort(self) -> Effort:
        return self.ledger.effort(round(time.monotonic() - self._started, 3))

    def close(self) -> None:
        open_batches: Sequence[OpenBatch] = ()
        if self.options.batch and self._store:
            with suppress(StoreError):
                open_batches = self._store.batches.list_open()
        if open_batches:
            batches = "1 batch is" if len(open_batches) == 1 else f"{len(open_batches):,} batches are"
            collect = "run the same command again to collect the answers"
            cancel = f"or cancel: `rubriclab batches --cancel {open_batches[0].name}`"
            self.notify(f"{batches} still under way at the provider and will be charged: {collect}, {cancel}")
        self._resources.close()
        self._store = None
        if damaged := len(self.ledger.damaged_answers):
            answers = f"{count(damaged, 'cached answer')} {'is' if damaged == 1 else 'are'}"
            self.notify(f"{answers} damaged and asked for again; see: `rubriclab verify`")
            self.ledger.damaged_answers.clear()


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
    """Return the version. An imported one is loaded again: the user may have confirmed it meanwhile."""
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
