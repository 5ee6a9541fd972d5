"""The caps that all processes of a run of pytest share."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from rubriclab.errors import BudgetReached
from rubriclab.integrations.pytest import run_database
from rubriclab.integrations.pytest.run_database import RunDatabase
from rubriclab.judges.options import JudgeOptions

RESERVE = """
import asyncio, sys
from pathlib import Path
from rubriclab.integrations.pytest.run_database import RunDatabase
from rubriclab.judges.options import JudgeOptions
asyncio.run(RunDatabase(Path(sys.argv[1])).budget(JudgeOptions(max_cost=1.0)).reserve(0.75))
print("reserved", flush=True)
sys.stdin.read()
"""


def started(folder: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", RESERVE, str(folder)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize(("caps", "made"), [({"max_calls": 20}, 20), ({"max_cost": 1.0}, 33)])
async def test_budgets_of_one_name_together_make_as_many_calls_as_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caps: dict[str, float], made: int
) -> None:
    monkeypatch.setattr(run_database, "PAUSE", 0.001)
    budgets = [RunDatabase(tmp_path).budget(JudgeOptions(**caps)) for _ in range(3)]

    async def call(number: int) -> None:
        budget = budgets[number % 3]
        for cost in (None, 0.03):  # the first is not billed
            await budget.reserve(0.03)
            await asyncio.sleep(0.001)
            budget.settle(0.03, cost)

    done = await asyncio.gather(*map(call, range(60)), return_exceptions=True)
    assert done.count(None) == made
    assert sum(isinstance(error, BudgetReached) for error in done) == 60 - made


async def test_a_call_waits_for_one_in_flight_in_another_process_and_counts_it_as_spent_if_it_is_killed(
    tmp_path: Path,
) -> None:
    with started(tmp_path) as other:
        assert other.stdout
        assert other.stdout.readline() == "reserved\n"
        budget = RunDatabase(tmp_path).budget(JudgeOptions(max_cost=1.0))
        waiting = asyncio.ensure_future(budget.reserve(0.5))
        await asyncio.sleep(2 * run_database.PAUSE)
        assert not waiting.done()
        other.kill()  # not waited for yet
        with pytest.raises(BudgetReached, match=r"0\.75 are spent or may be billed"):
            await waiting
        await budget.reserve(0.25)
