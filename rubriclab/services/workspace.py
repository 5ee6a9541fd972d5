"""What an operation works with: the store, how judges are asked, what that has taken, and whom to notify."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, ParamSpec, Self, TypeVar

from rubriclab.base_options import option_error
from rubriclab.descriptions import describe
from rubriclab.errors import SettingsError, StoreError
from rubriclab.judges.budget import Budget, LocalBudget
from rubriclab.judges.connect import connect, makes_requests, provider
from rubriclab.judges.judge import Judge
from rubriclab.judges.ledger import Ledger
from rubriclab.judges.limits import Limits
from rubriclab.judges.options import JudgeOptions
from rubriclab.judges.price import as_price
from rubriclab.judges.recording import Recorder
from rubriclab.judges.retry import Breaker
from rubriclab.methods.method import Progress, silent
from rubriclab.option_names import command
from rubriclab.provenance import Effort
from rubriclab.rubric import Rubric
from rubriclab.services.base import SettingsTables
from rubriclab.services.progress_log import ProgressDisplay, logged
from rubriclab.store import Store, Version, open_store
from rubriclab.store.engine import is_remote
from rubriclab.store.store import Access

if TYPE_CHECKING:
    from rubriclab.metrics import Metrics
    from rubriclab.services.judge_choice import JudgeChoice


class GivenAddress:
    """The address of a server, for the first judge that asks for it and the others of its provider.

    Judges of another provider have another key, which that server must not get: they are asked at their own address.
    """

    def __init__(self, address: str | None) -> None:
        self._address = address
        self._first: str | None = None
        self._lock = Lock()

    def for_judge(self, judge: str) -> str | None:
        """Return the address if it is for this judge."""
        if self._address is None or not makes_requests(judge):
            return None
        with self._lock:
            self._first = self._first or judge
        is_for_it = judge == self._first or _server(judge) == _server(self._first)
        return self._address if is_for_it else None


def _server(judge: str) -> str:
    """Return the provider whose server and key a judge has; litellm has two names for some, as for Ollama."""
    return provider(judge).removesuffix("_chat")


P = ParamSpec("P")
T = TypeVar("T")

# Told what a person should know beside the results.
Notify = Callable[[str], None]


def no_progress(_ledger: Ledger) -> AbstractContextManager[Progress]:
    """Return a display that shows nothing."""
    return nullcontext(silent)


@dataclass(eq=False)
class Workspace:
    """The store, the options that judges are asked with, and the ledger and budget that all of them share.

    Attributes:
        location: path or URL of the store; `None` for the user's own.
        options: how judges are asked.
        notify: told what a person should know beside the results.
        progress: shows how far an operation is.
        record: the file that requests and replies are recorded to, or what writes them down elsewhere.
        settings: hyperparameters of methods, from a configuration file.
        budget: caps on calls and money; by default those in `options`.
        limits: when requests may be sent, for all judges together; by default each judge has those in `options`.
        given_address: the one in the options, for the first judge and the others of its provider.
        breaker: ends the operation if too many prompts in a row fail; by default each judge has its own.
        ledger: counts what is asked.
        metrics: counts every request to a provider.
    """

    location: str | Path | None = None
    options: JudgeOptions = field(default_factory=JudgeOptions)
    notify: Notify = lambda _text: None
    progress: ProgressDisplay = no_progress
    record: Path | Recorder | None = None
    settings: SettingsTables = field(default_factory=dict)
    budget: Budget | None = None
    limits: Limits | None = None
    given_address: GivenAddress | None = None
    breaker: Breaker | None = None
    ledger: Ledger = field(default_factory=Ledger)
    metrics: Metrics | None = None

    def __post_init__(self) -> None:
        # Shared by all judges of the operation.
        self.budget = self.budget or LocalBudget(self.options.max_calls, self.options.max_cost)
        self.given_address = self.given_address or GivenAddress(self.options.api_base)
        self._started = time.monotonic()
        self._held = ExitStack()
        self._store: Store | None = None
        self._shows_progress = self.progress is not no_progress
        self.progress = logged(self.progress)
        self.notify = _once(self.notify)

    @property
    def store(self) -> Store:
        """The store, opened where it is first used; one that may only be read will do."""
        return self.open_store(create=False, access="either")

    def open_store(self, *, create: bool = False, access: Access = "write") -> Store:
        """Return the store, opened so unless it is open already.

        Raises:
            NoStore: if there is none, and it is not to be made.
            StoreError: if it cannot be opened.
        """
        if self._store is None:
            self._store = self._held.enter_context(open_store(self.location, create=create, access=access))
        return self._store

    def give_address_to(self, judge: str | None) -> None:
        """Keep the address in the options for the provider of this judge, if one is named, before others are asked."""
        if judge and self.given_address:
            self.given_address.for_judge(judge)

    def judge(self, choice: JudgeChoice, *, fresh: bool = False) -> Judge:
        """Return the judge chosen, connected to the store's answers unless `fresh`; a given address comes first."""
        assert self.given_address
        given = None if choice.is_apart else self.given_address.for_judge(choice.spec)
        return connect(
            choice.spec,
            options=self.options.model_copy(update={"api_base": given or choice.address}),
            ledger=self.ledger,
            answers=None if fresh else self.store.answers,
            record=self.record,
            budget=self.budget,
            limits=self.limits,
            batches=self.store.batches,
            notify=self.notify,
            metrics=self.metrics,
            breaker=self.breaker,
        )

    async def off_event_loop(self, work: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T:
        """Return what synchronous work with the store returns, without blocking the event loop on a remote store."""
        if not is_remote(self.location):
            return work(*arguments, **options)
        return await asyncio.to_thread(work, *arguments, **options)

    @property
    def shows_progress(self) -> bool:
        """Whether anybody sees how far an operation is."""
        return self._shows_progress

    @property
    def under_way(self) -> int:
        """How many texts are scored at a time.

        Twice the requests, so that a slow one never leaves the others idle; or as many as a batch has prompts.
        """
        return self.options.batch_size if self.options.batch else 2 * self.options.concurrency

    def model_versions(self) -> list[str]:
        """Return the model names that providers reported so far, sorted."""
        return sorted(self.ledger.model_versions)

    def effort(self) -> Effort:
        """Return what the operation has taken so far."""
        return self.ledger.effort(round(time.monotonic() - self._started, 3))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the store, and say what batches are left and how many cached answers turned out to be damaged."""
        if self.options.batch and self._store:
            self._notify_open_batches(self._store)
        self._held.close()
        self._store = None
        if count := len(self.ledger.damaged):
            answers = "1 cached answer is" if count == 1 else f"{count} cached answers are"
            self.notify(f"{answers} damaged and asked for again; see: {command('verify')}")
            self.ledger.damaged.clear()

    def _notify_open_batches(self, store: Store) -> None:
        with suppress(StoreError):
            left = store.batches.open()
            if left:
                batches = "1 batch is" if len(left) == 1 else f"{len(left)} batches are"
                self.notify(
                    f"{batches} still under way at the provider and will be charged: run the same command again to "
                    f"collect the answers, or cancel: {command('batches', cancel=left[0].name)}"
                )


def _once(notify: Notify) -> Notify:
    """Return what tells a text the first time only: operations that score twice would repeat themselves."""
    told = set[str]()

    def notify_once(text: str) -> None:
        if text not in told:
            told.add(text)
            notify(text)

    return notify_once


def judge_options(values: Mapping[str, Any]) -> JudgeOptions:
    """Return the options that are given, the defaults for those that are `None`.

    Raises:
        SettingsError: for a value out of bounds.
    """
    from pydantic import ValidationError

    given = {name: value for name, value in values.items() if value is not None}
    if "price" in given:
        given["price"] = as_price(given["price"])
    try:
        return JudgeOptions(**given)
    except ValidationError as error:
        raise option_error(error, JudgeOptions) from None


# A reference (`NAME`, `NAME@3`, `NAME@production`), a version, or a rubric that is not stored.
RubricLike = str | Version | Rubric

_REFERENCES = "Give a version, or a text: NAME (the newest), NAME@NUMBER or NAME@TAG."


def ref_of(rubric: Any) -> str:
    """Return the reference of a version, or the one that is given as a text.

    Raises:
        SettingsError: if it is neither.
    """
    if isinstance(rubric, Version):
        return rubric.ref
    if isinstance(rubric, str):
        return rubric
    if isinstance(rubric, Rubric):
        raise SettingsError("Expected a version in the store, got a rubric that is not stored.", _REFERENCES)
    raise SettingsError(f"Expected a rubric, got {describe(rubric)}.", _REFERENCES)


def version_of(workspace: Workspace, rubric: str | Version) -> Version:
    """Return the version that is meant; of an imported one, what the store now says of its confirmation.

    Raises:
        NotInStore: if there is no such version.
        SettingsError: if `rubric` is neither a reference nor a version.
    """
    if isinstance(rubric, Version) and not rubric.imported:
        return rubric
    return workspace.store.load(ref_of(rubric))


def versions_of(workspace: Workspace, rubrics: Any) -> tuple[Version, ...]:
    """Return the versions that are meant, each once, in their order.

    Raises:
        NotInStore: if there is no such version.
        SettingsError: if there is none, or one is neither a reference nor a version.
    """
    several = isinstance(rubrics, Iterable) and not isinstance(rubrics, str | bytes | Version)
    named = tuple(rubrics) if several else (rubrics,)
    if not named:
        raise SettingsError("Expected one rubric or more, got none.", _REFERENCES)
    return tuple({version.ref: version for version in (version_of(workspace, rubric) for rubric in named)}.values())
