"""The whole stack."""

from __future__ import annotations

import asyncio

import pytest
from judge_questions import rate
from memory_answers import MemoryAnswers
from server import RANDOM_FAULTS, RunningServer

from rubriclab.errors import SettingsError
from rubriclab.judges.connect import connect
from rubriclab.judges.judge import ask
from rubriclab.judges.options import JudgeOptions, as_price
from rubriclab.judges.stack import Ledger, LocalBudget


async def test_every_fault_is_survived_and_counted(server: RunningServer) -> None:
    server.faults, server.seed, server.hang = 0.2, 3, 2.5
    ledger = Ledger()
    options = JudgeOptions(timeout=2, concurrency=16)
    judge = connect("openai/fake", options=options, ledger=ledger, answers=MemoryAnswers())
    answers = await asyncio.gather(*(ask(judge, rate(f"text {n}")) for n in range(120)))
    missing = sum(answer.value is None for answer in answers)
    assert set(server.faulty) == {"none", *RANDOM_FAULTS}
    assert ledger.failed == missing < 20
    assert ledger.repaired > 0
    assert ledger.calls == server.answered.total() >= 120
    assert server.repeated == 0


async def test_judge_and_generator_share_a_budget(server: RunningServer) -> None:
    options, ledger, budget = JudgeOptions(max_calls=4), Ledger(), LocalBudget(max_calls=4)
    judges = [connect(name, options=options, ledger=ledger, budget=budget) for name in ("openai/a", "openai/b")]
    questions = [ask(judge, rate(f"text {n}")) for judge in judges for n in range(3)]
    await asyncio.gather(*questions, return_exceptions=True)
    assert len(server.bodies) == ledger.calls == 4


@pytest.mark.parametrize("text", ["", "1", "1:2:3", "a:b", "-1:2", "nan:1", "1:inf"])
def test_price_that_is_not_two_numbers_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match=r"0\.15:0\.60"):
        as_price(text)


def test_price_is_per_million_tokens() -> None:
    assert as_price("2:10").cost(500_000, 100_000) == pytest.approx(2.0)
