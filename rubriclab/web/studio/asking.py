"""Operations that pages run: what they post, and judges that are asked only once the price is agreed to.

An operation is first run without a single call: cached answers, the offline judge and recordings may be all that it
needs. If they are not, the page gets the price, and runs the operation again with the number of calls agreed to.
"""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from pydantic import Field, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from rubriclab.errors import BudgetReached, SettingsError
from rubriclab.judges.stack import Ledger, LocalBudget
from rubriclab.learning.estimate import DryRun
from rubriclab.models.base import FrozenModel
from rubriclab.models.characters import count
from rubriclab.ops.workspace import Callback, Notify, Workspace, finish, spent
from rubriclab.pydantic_errors import first_fault

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
BodyT = TypeVar("BodyT", bound=FrozenModel)


class Prepared(Protocol[T_co]):
    """An operation before anything is asked."""

    def estimate(self) -> DryRun:
        """Return an estimate of what it asks."""
        ...

    def run(self) -> Awaitable[T_co]:
        """Return its result."""
        ...


class Allowance(FrozenModel):
    """What a page may spend on an operation.

    Attributes:
        agreed: the number of calls that the user has agreed to; 0 where no price was shown.
        request: a name of the operation, under which the page asks how far it is.
    """

    agreed: int = Field(default=0, ge=0)
    request: str = Field(default="", max_length=100)


@dataclass(frozen=True)
class PriceQuote:
    """What an operation needs of a judge.

    Attributes:
        calls: about how many, by all judges together.
        money: about how much, in US dollars, or that it is unknown.
        words: both, with tokens, by judge.
    """

    calls: int
    money: str
    words: str

    def to_row(self) -> dict[str, Any]:
        """Return the price as one JSON object."""
        return {"calls": self.calls, "label": f"Get {count(self.calls, 'answer')} ({self.money})", "words": self.words}


@dataclass(frozen=True)
class Done(Generic[T]):
    """The result of an operation, and what the user should know beside it."""

    result: T
    notices: tuple[str, ...]


@dataclass(eq=False)
class Asking:
    """Runs operations of pages, and knows how far each is.

    Args:
        workspace: returns a workspace for one operation, given what is told its notices. The caps on calls and money
            are counted for all of them together, so that one at a time may spend.
    """

    workspace: Callable[[Notify], Workspace]
    _spending: threading.Lock = field(default_factory=threading.Lock)
    _under_way: dict[str, dict[str, Any]] = field(default_factory=dict)
    _stopped: set[str] = field(default_factory=set)

    async def run(self, prepare: Callable[[Workspace], Prepared[T]], allowance: Allowance) -> Done[T] | PriceQuote:
        """Return the result of an operation, or its price if it needs more calls than were agreed to.

        Args:
            prepare: returns the operation in a workspace, and is called in a thread.

        Raises:
            RubriclabError: as the operation does.
            Stopped: if the user stopped it; answers so far are kept.
        """
        return await run_in_threadpool(self._run, prepare, allowance)

    def progress(self, request: str) -> dict[str, Any]:
        """Return what an operation is doing and the share that is done; `None` for both once it is over."""
        return self._under_way.get(request, {"doing": None, "share": None})

    def stop(self, request: str) -> None:
        """End an operation at its next step."""
        if request in self._under_way:
            self._stopped.add(request)

    def _run(self, prepare: Callable[[Workspace], Prepared[T]], allowance: Allowance) -> Done[T] | PriceQuote:
        notices: list[str] = []

        def notify(text: str) -> None:
            notices.append(text)

        with self.workspace(notify) as workspace, self._shown(workspace, allowance.request):
            prepared = prepare(workspace)
            if allowance.agreed and price_of(prepared.estimate()).calls <= allowance.agreed:
                with self._spending:
                    return Done(finish(lambda: _awaited(prepared)), tuple(notices))
            workspace.budget = LocalBudget(max_calls=0)
            try:
                return Done(finish(lambda: _awaited(prepared)), tuple(notices))
            except BudgetReached:
                return price_of(prepared.estimate())

    @contextmanager
    def _shown(self, workspace: Workspace, request: str) -> Iterator[None]:
        """Keep how far an operation is while it runs."""

        @contextmanager
        def display(ledger: Ledger) -> Iterator[Callback]:
            def advance(doing: str, share: float) -> None:
                self._under_way[request] = {"doing": f"{doing}; {spent(ledger)}", "share": share}
                if request in self._stopped:
                    raise Stopped("Stopped. Answers so far are kept and not asked for again.")

            yield advance

        workspace.progress = display
        self._under_way[request] = {"doing": "preparing", "share": -1}
        try:
            yield
        finally:
            self._under_way.pop(request, None)
            self._stopped.discard(request)


def routes(asking: Asking) -> list[BaseRoute]:
    """Return the routes by which a page sees and stops its operations; no rubric has a name that begins with `-`."""

    async def progress(request: Request) -> Response:
        return JSONResponse(asking.progress(request.path_params["request"]))

    async def stop(request: Request) -> Response:
        asking.stop(request.path_params["request"])
        return JSONResponse({})

    return [
        Route("/-/operations/{request}", progress),
        Route("/-/operations/{request}/stop", stop, methods=["POST"]),
    ]


class Stopped(SettingsError):
    """The user has stopped an operation."""


def price_of(estimate: DryRun) -> PriceQuote:
    """Return the price of an operation by its estimate."""
    costs = [role.cost_usd for role in estimate.roles.values()]
    known = [cost for cost in costs if cost is not None]
    money = f"about ${sum(known):.4f}" if len(known) == len(costs) else "price unknown"
    return PriceQuote(sum(role.calls for role in estimate.roles.values()), money, " ".join(estimate.lines()))


async def body_of(request: Request, model: type[BodyT]) -> BodyT:
    """Return what a page has posted.

    Raises:
        SettingsError: if it has not the form that is expected.
    """
    try:
        return model.model_validate_json(await request.body())
    except ValidationError as error:
        raise SettingsError(f"{first_fault(error)}.") from None


async def _awaited(prepared: Prepared[T]) -> T:
    return await prepared.run()
