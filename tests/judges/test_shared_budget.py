"""A budget that several processes share holds exactly, whoever is lost."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

import pytest
from shared_documents import MemoryDocument

from rubriclab.errors import BudgetReached, StoreUnavailable
from rubriclab.judges import shared_budget
from rubriclab.judges.shared_budget import SharedBudget
from rubriclab.store import open_store


def budgets(document: MemoryDocument, number: int, **caps: float) -> list[SharedBudget]:
    made = [SharedBudget(document, **caps) for _ in range(number)]  # type: ignore[arg-type]
    for n, budget in enumerate(made):
        # As if on machines of their own, so that whether they live is not looked up.
        budget._process = f"machine{n}:1:1:00"
    return made


async def spend(sharing: Sequence[SharedBudget], calls: int, cost: float = 0.0) -> tuple[int, int]:
    """Return how many of `calls` were made and how many refused."""

    async def call(budget: SharedBudget) -> None:
        await budget.reserve(cost)
        await asyncio.sleep(0.001)
        budget.settle(cost, cost)

    calling = asyncio.gather(*(call(sharing[n % len(sharing)]) for n in range(calls)), return_exceptions=True)
    done = await asyncio.wait_for(calling, 30)
    refused = sum(isinstance(error, BudgetReached) for error in done)
    return done.count(None), refused


async def test_processes_together_make_exactly_as_many_calls_as_allowed() -> None:
    assert await spend(budgets(MemoryDocument(), 3, max_calls=50), 120) == (50, 70)


async def test_processes_together_spend_no_more_than_allowed() -> None:
    made, refused = await spend(budgets(MemoryDocument(), 3, max_cost=1.0), 60, 0.03)
    assert (made, refused) == (33, 27)


async def test_requests_of_a_process_share_its_writes() -> None:
    document = MemoryDocument()
    await spend(budgets(document, 1, max_calls=1000), 500)
    assert document.changes < 50


async def test_a_call_waits_for_those_in_flight_elsewhere_before_the_cap_counts_as_reached(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(shared_budget, "PAUSE", 0.01)
    first, second = budgets(MemoryDocument(), 2, max_calls=1)
    await first.reserve(0.0)
    waiting = asyncio.ensure_future(second.reserve(0.0))
    await asyncio.sleep(0.05)
    assert not waiting.done()
    first.settle(0.0, None)
    await waiting


async def test_what_a_lost_process_had_in_flight_counts_as_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_budget, "PAUSE", 0.01)
    document = MemoryDocument()
    lost, living = budgets(document, 2, max_calls=3)
    await lost.reserve(0.0)
    await living.reserve(0.0)
    living.settle(0.0, 0.0)
    await living.reserve(0.0)
    waiting = asyncio.ensure_future(living.reserve(0.0))
    await asyncio.sleep(0.03)
    living.settle(0.0, 0.0)
    await asyncio.sleep(0.03)
    assert not waiting.done()
    document.now += 2 * shared_budget.TERM
    with pytest.raises(BudgetReached, match="The cap of 3 calls is reached"):
        await waiting


async def test_a_process_of_this_machine_that_has_ended_is_lost_at_once() -> None:
    document = MemoryDocument()
    (living,) = budgets(document, 1, max_calls=2)
    lost = SharedBudget(document, max_calls=2)
    own = lost._process.split(":")
    lost._process = ":".join([own[0], own[1], "0", own[3]])  # this id, but of a process that started before
    await lost.reserve(0.0)
    await living.reserve(0.0)
    living.settle(0.0, 0.0)
    with pytest.raises(BudgetReached):
        await living.reserve(0.0)


async def test_a_process_that_was_taken_for_lost_goes_on_within_the_caps() -> None:
    document = MemoryDocument()
    slow, other = budgets(document, 2, max_calls=4)
    await slow.reserve(0.0)
    document.now += 2 * shared_budget.TERM
    assert await spend([other], 1) == (1, 0)
    slow.settle(0.0, 0.0)
    assert await spend([slow, other], 4) == (2, 2)


async def test_a_write_that_is_repeated_changes_nothing() -> None:
    document = MemoryDocument()
    document.twice = True
    assert await spend(budgets(document, 2, max_calls=10), 15) == (10, 5)


async def test_a_cancelled_request_gives_its_call_back() -> None:
    document = MemoryDocument()
    (budget,) = budgets(document, 1, max_calls=2)
    request = asyncio.ensure_future(budget.reserve(0.0))
    await asyncio.sleep(0)
    request.cancel()
    await asyncio.sleep(0.05)
    assert await spend([budget], 3) == (2, 1)


async def test_a_process_that_leaves_is_forgotten_and_its_calls_are_not() -> None:
    document = MemoryDocument()
    first, second = budgets(document, 2, max_calls=5)
    assert await spend([first], 3) == (3, 0)
    await first.reserve(0.0)
    first.close()
    assert "machine0" not in document.content
    assert await spend([second], 3) == (1, 2)


async def test_a_budget_is_unused_a_while_after_its_last_request_whoever_made_it() -> None:
    document = MemoryDocument()
    first, second = budgets(document, 2, max_calls=5)
    assert not is_unused(document)
    await spend([first], 1)
    document.now += shared_budget.UNUSED / 2
    await spend([second], 1)
    document.now += shared_budget.UNUSED / 2 + 1
    assert not is_unused(document)
    second.close()
    document.now += shared_budget.UNUSED - 1
    assert not is_unused(document)
    document.now += 2
    assert is_unused(document)


def is_unused(document: MemoryDocument) -> bool:
    return shared_budget.is_unused_budget(json.loads(document.content), document.now)


async def test_requests_fail_while_the_database_is_away_and_go_on_when_it_is_back() -> None:
    document = MemoryDocument()
    (budget,) = budgets(document, 1, max_calls=2)
    document.away = True
    with pytest.raises(StoreUnavailable):
        await budget.reserve(0.0)
    document.away = False
    assert await spend([budget], 3) == (2, 1)


async def test_the_caps_hold_in_a_database(schema: str) -> None:
    with open_store(schema) as one, open_store(schema) as two:
        sharing = [SharedBudget(store.shared_state("run"), max_calls=40) for store in (one, two, one)]
        assert await spend(sharing, 90) == (40, 50)
