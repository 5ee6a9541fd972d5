"""The ledger."""

from __future__ import annotations

from typing import Any

import pytest
from judge_questions import GOOD, ScriptedJudge, rate

from rubriclab.errors import JudgeRefused, JudgeUnavailable, PromptRejected
from rubriclab.judges.judge import FakeJudge, Reply, Usage, ask
from rubriclab.judges.stack import Ledger, Metered
from rubriclab.models.version import Effort
from rubriclab.report import wording


def usages(*given: Usage) -> ScriptedJudge:
    left = list(given)

    async def script(prompt: Any) -> Reply:
        return Reply(GOOD, f"snapshot-{len(left)}", left.pop(0))

    return ScriptedJudge(script)


async def test_replies_are_summed_and_snapshots_gathered() -> None:
    ledger = Ledger()
    judge = Metered(usages(Usage(10, 1, 0.5), Usage(20, 2, 0.25)), ledger)
    for _ in range(2):
        await ask(judge, rate())
    spent = Effort(
        calls=2,
        prompt_tokens=30,
        completion_tokens=3,
        cost_usd=0.75,
        seconds=3.0,
        stages={rate().name: 2},
        stage_tokens={rate().name: 33},
    )
    assert ledger.effort(3.0) == spent
    assert wording.stages(spent) == f"{rate().name} 2 (33 tokens)"
    assert ledger.model_versions == {"snapshot-1", "snapshot-2"}


async def test_cost_is_unknown_once_any_price_is() -> None:
    ledger = Ledger()
    judge = Metered(usages(Usage(10, 1, 0.5), Usage(10, 1, None), Usage(10, 1, 0.5)), ledger)
    for _ in range(3):
        await ask(judge, rate())
    assert ledger.effort(0).cost_usd is None
    assert ledger.usage.prompt_tokens == 30


@pytest.mark.parametrize("error", [JudgeUnavailable("down."), PromptRejected("long.")])
async def test_reply_that_never_came_is_a_failure(error: Exception) -> None:
    async def script(prompt: Any) -> str:
        raise error

    ledger = Ledger()
    await ask(Metered(ScriptedJudge(script), ledger), rate())
    assert (ledger.calls, ledger.failed) == (0, 1)


async def test_refusal_ends_the_command_and_is_no_failed_answer() -> None:
    async def script(prompt: Any) -> str:
        raise JudgeRefused("no.")

    ledger = Ledger()
    with pytest.raises(JudgeRefused):
        await ask(Metered(ScriptedJudge(script), ledger), rate())
    assert ledger.failed == 0


@pytest.mark.parametrize(
    ("replies", "repaired", "failed"), [((GOOD,), 0, 0), (("?", GOOD), 1, 0), (("?", "?"), 1, 1), (("?", ""), 1, 1)]
)
async def test_repairs_and_missing_answers_are_counted(replies: tuple[str, ...], repaired: int, failed: int) -> None:
    left, ledger = list(replies), Ledger()
    answer = await ask(Metered(FakeJudge(lambda _: left.pop(0)), ledger), rate())
    assert (ledger.calls, ledger.repaired, ledger.failed) == (len(replies), repaired, failed)
    assert (answer.value is None) == (failed == 1)
