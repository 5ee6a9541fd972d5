"""A budget that processes on several machines share, kept in the store."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial

from rubriclab.errors import BudgetReached
from rubriclab.judges.budget import CONTINUE, Caps
from rubriclab.judges.rounds import Rounds
from rubriclab.store.leases import is_gone, this_process
from rubriclab.store.shared_state import Document, SharedDocument

# Seconds after which a process counts as lost, and between two signs of life while it has requests in flight.
TERM = 60.0
RENEWAL = 15.0
# Seconds after its last request after which a budget may be removed: longer than a run takes, interruptions included.
UNUSED = 90 * 86_400.0
# Seconds between two attempts of requests that wait for those of other processes.
PAUSE = 0.2

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Share:
    """The calls and US dollars of one process, settled and in flight; `seen` is when it last wrote them."""

    calls: int = 0
    cost: float = 0.0
    calls_in_flight: int = 0
    cost_in_flight: float = 0.0
    seen: float = 0.0

    def __add__(self, other: Share) -> Share:
        return Share(
            self.calls + other.calls,
            self.cost + other.cost,
            self.calls_in_flight + other.calls_in_flight,
            self.cost_in_flight + other.cost_in_flight,
            max(self.seen, other.seen),
        )

    def reserved(self, cost: float) -> Share:
        """Return the share with one more call in flight."""
        return replace(self, calls_in_flight=self.calls_in_flight + 1, cost_in_flight=self.cost_in_flight + cost)

    def settled(self, reserved: float, cost: float | None) -> Share:
        """Return the share with a reservation replaced by its cost; `None` if the request is not billed."""
        in_flight = self.calls_in_flight - 1
        return replace(
            self,
            calls=self.calls + (cost is not None),
            cost=self.cost + (cost or 0.0),
            calls_in_flight=in_flight,
            cost_in_flight=self.cost_in_flight - reserved if in_flight else 0.0,
        )

    def ended(self) -> Share:
        """Return the share of a process that has ended: the provider may bill what was in flight."""
        return Share(self.calls + self.calls_in_flight, self.cost + self.cost_in_flight, seen=self.seen)


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether a call is allowed, or in `reached` the cap that forbids it; neither means that it has to wait."""

    allowed: bool = False
    reached: str | None = None


@dataclass(frozen=True, slots=True)
class Decided:
    """What a round has decided, and whether the process had been taken for lost."""

    decisions: tuple[Decision, ...]
    total: Share
    was_lost: bool


def is_unused_budget(document: Document, now: float) -> bool:
    """Return whether a document is a budget that no process has used for `UNUSED` seconds."""
    if "shares" not in document:
        return False
    shares = [Share(**fields) for fields in (document["ended"], *document["shares"].values())]
    return now - max(share.seen for share in shares) > UNUSED


class SharedBudget:
    """The budget of one run, for any number of processes.

    Each process writes its own share, so that a repeated write changes nothing, and reserves calls while no other
    process can. A process that was killed is lost after `TERM` seconds, on the same machine at once; what it had in
    flight counts as spent, since the provider may bill it. A process that comes back after that counts its requests in
    flight twice: the caps hold, but may be reached early.

    Args:
        state: the run's document in the store.
        max_calls: replies from the provider; `None` for no cap.
        max_cost: US dollars; `None` for no cap.
    """

    def __init__(self, state: SharedDocument, max_calls: int | None = None, max_cost: float | None = None) -> None:
        self.max_cost = max_cost
        self._caps = Caps(max_calls, max_cost)
        self._state = state
        self._process = this_process()
        self._share = Share()
        self._is_written = False
        self._has_changed = False
        self._waiting: list[tuple[float, asyncio.Future[None]]] = []
        self._rounds = Rounds(self._round)

    async def reserve(self, cost: float) -> None:
        """Reserve one call and `cost` US dollars; see `Budget`.

        Raises:
            BudgetReached: if a cap is reached and no process has anything in flight.
            StoreUnavailable: if the database fails.
        """
        allowed = asyncio.get_running_loop().create_future()
        self._waiting.append((cost, allowed))
        self._rounds.wake()
        await allowed

    def settle(self, reserved: float, cost: float | None) -> None:
        """Replace a reservation by the actual `cost` in US dollars; see `Budget`."""
        self._share = self._share.settled(reserved, cost)
        self._has_changed = True
        self._rounds.wake()

    def close(self) -> None:
        """Leave the budget; calls that are still in flight count as made.

        Raises:
            StoreUnavailable: if the database fails.
        """
        if self._is_written:
            self._state.change(partial(_left, process=self._process, share=self._share))
            self._is_written = False

    async def _round(self) -> float | None:
        self._waiting = [(cost, allowed) for cost, allowed in self._waiting if not allowed.done()]
        if not (self._waiting or self._has_changed or self._share.calls_in_flight):
            return None
        asked, written, self._has_changed = tuple(self._waiting), self._share, False
        change = partial(
            _decided,
            process=self._process,
            share=written,
            known=self._is_written,
            caps=self._caps,
            costs=[cost for cost, _ in asked],
        )
        try:
            done = await asyncio.to_thread(self._state.change, change)
        except Exception as error:
            self._fail(error)
            return None
        self._is_written = True
        if done.was_lost:
            _log.warning("this process was taken for lost; its requests in flight count twice")
            self._share = replace(
                self._share, calls=self._share.calls - written.calls, cost=self._share.cost - written.cost
            )
        for (cost, allowed), decision in zip(asked, done.decisions, strict=True):
            self._tell(cost, allowed, decision, done.total)
        if any(not allowed.done() for _, allowed in self._waiting):
            return PAUSE
        return RENEWAL if self._has_changed or self._share.calls_in_flight else None

    def _tell(self, cost: float, allowed: asyncio.Future[None], decision: Decision, total: Share) -> None:
        if decision.allowed:
            self._share = self._share.reserved(cost)
            if allowed.done():  # its request was cancelled
                self.settle(cost, None)
            else:
                allowed.set_result(None)
        elif decision.reached and not allowed.done():
            _log.info("budget reached after %d calls and %.4g US dollars", total.calls, total.cost)
            allowed.set_exception(BudgetReached(decision.reached, CONTINUE))

    def _fail(self, error: Exception) -> None:
        self._has_changed = True
        for _, allowed in self._waiting:
            if not allowed.done():
                allowed.set_exception(error)


def _decided(
    document: Document,
    now: float,
    *,
    process: str,
    share: Share,
    known: bool,
    caps: Caps,
    costs: Sequence[float],
) -> tuple[Document, Decided]:
    """Return the document with the share of `process` and the calls that it may make, and what was decided."""
    ended, shares = _read(document, now, process)
    was_lost = known and process not in shares
    if was_lost:
        share = replace(share, calls=0, cost=0.0)
    others = sum((other for name, other in shares.items() if name != process), ended)
    decisions = []
    for cost in costs:
        total = others + share
        reached = caps.reached(total.calls + total.calls_in_flight, total.cost, total.cost_in_flight + cost)
        if reached is None:
            share = share.reserved(cost)
        decisions.append(Decision(reached is None, None if total.calls_in_flight else reached))
    written = _written(ended, {**shares, process: replace(share, seen=now)})
    return written, Decided(tuple(decisions), others + share, was_lost)


def _left(document: Document, now: float, *, process: str, share: Share) -> tuple[Document, None]:
    """Return the document without `process`, whose share has ended."""
    ended, shares = _read(document, now, process)
    if process in shares:
        ended += replace(share, seen=now).ended()
    return _written(ended, {name: other for name, other in shares.items() if name != process}), None


def _read(document: Document, now: float, process: str) -> tuple[Share, dict[str, Share]]:
    """Return the shares of the processes that have ended, as one, and of the others; lost ones have ended."""
    ended = Share(**document.get("ended", {}))
    shares = {name: Share(**fields) for name, fields in document.get("shares", {}).items()}
    lost = {name for name, share in shares.items() if name != process and (now - share.seen > TERM or is_gone(name))}
    for name in lost:
        ended += shares[name].ended()
    return ended, {name: share for name, share in shares.items() if name not in lost}


def _written(ended: Share, shares: Mapping[str, Share]) -> Document:
    return {"ended": asdict(ended), "shares": {name: asdict(share) for name, share in shares.items()}}
