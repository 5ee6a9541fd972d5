"""Prompts that are sent as batches, to a local server with OpenAI's endpoints for files and batches."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from batch_server import BatchServer
from judge_questions import rate
from memory_answers import MemoryAnswers

from rubriclab.errors import BatchCancelled, BudgetReached, JudgeRefused, ProviderDown, SettingsError, StoreError
from rubriclab.judges import batch as batched
from rubriclab.judges.connect import connect
from rubriclab.judges.judge import JudgeAnswer, Ledger, ask
from rubriclab.judges.limits import CANCELLATION_GRACE
from rubriclab.judges.options import JudgeOptions, as_price
from rubriclab.ops.versions import BatchesOptions, batches
from rubriclab.ops.workspace import JudgeChoice, Workspace
from rubriclab.store.store import Store, open_store

N = 12
OPTIONS: dict[str, Any] = {"batch": True}


@pytest.fixture(autouse=True)
def _pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batched, "FIRST_PAUSE", 0.02)
    monkeypatch.setattr(batched, "QUIET_SECONDS", 0.03)


async def asked(
    store: Store, texts: Sequence[int] = range(N), ledger: Ledger | None = None, **options: Any
) -> list[JudgeAnswer[Any] | BaseException]:
    judge = connect(
        "openai/fake",
        options=JudgeOptions(**{**OPTIONS, **options}),
        ledger=ledger or Ledger(),
        answers=store.answers,
        batches=store.batches,
    )
    return await asyncio.gather(*(ask(judge, rate(f"text {n}")) for n in texts), return_exceptions=True)


def values(answers: Sequence[JudgeAnswer[Any] | BaseException]) -> list[Any]:
    for answer in answers:
        if isinstance(answer, BaseException):
            raise answer
    return [answer.value for answer in answers if isinstance(answer, JudgeAnswer)]


@pytest.fixture
def store(tmp_path: Path) -> Any:
    with open_store(tmp_path / "store.db") as store:
        yield store


async def test_a_wave_is_one_batch_whose_requests_and_answers_are_those_of_single_calls(
    batch_server: BatchServer, store: Store, tmp_path: Path
) -> None:
    batched = await asked(store)
    assert batch_server.steps.count("create") == 1
    assert not batch_server.bodies
    assert store.batches.list_open() == ()
    assert not batch_server.files, "they are deleted"
    with open_store(tmp_path / "single.db") as single:
        direct = await asked(single, batch=False)
    assert values(batched) == values(direct)
    bodies = {json.dumps(body, sort_keys=True) for body in batch_server.bodies}
    assert bodies == set(batch_server.processed)
    assert [answer.reply.text for answer in batched] == [answer.reply.text for answer in direct]
    assert await asked(store, batch=False) != []
    assert len(batch_server.bodies) == N, "the answers are cached under the keys of single calls"


async def test_fewer_prompts_than_a_batch_is_worth_are_sent_one_by_one(batch_server: BatchServer, store: Store) -> None:
    assert len(values(await asked(store, range(9)))) == len(batch_server.bodies) == 9
    assert not batch_server.steps


async def test_an_unusable_reply_is_repaired_in_the_next_wave(batch_server: BatchServer, store: Store) -> None:
    good = batch_server.brain
    batch_server.brain = lambda messages, body: "no JSON" if len(messages) < 3 else good(messages, body)
    ledger = Ledger()
    assert None not in values(await asked(store, ledger=ledger))
    assert len(batch_server.batches) == 2
    assert (ledger.calls, ledger.repaired) == (2 * N, N)


async def test_costs_are_those_of_batches(batch_server: BatchServer, store: Store) -> None:
    ledger, direct = Ledger(), Ledger()
    await asked(store, ledger=ledger, price=as_price("10:20"))
    with open_store(":memory:") as other:
        await asked(other, ledger=direct, price=as_price("10:20"), batch=False)
    assert ledger.usage.cost_usd == pytest.approx((direct.usage.cost_usd or 0) / 2)
    assert ledger.usage.prompt_tokens == direct.usage.prompt_tokens


async def test_a_batch_holds_no_more_calls_than_the_budget_allows(batch_server: BatchServer, store: Store) -> None:
    answers = await asked(store, max_calls=11)
    assert batch_server.processed.total() == 11
    assert sum(isinstance(answer, BudgetReached) for answer in answers) == 1
    values(await asked(store))
    assert batch_server.processed.total() == 11
    assert len(batch_server.bodies) == 1


async def test_a_wave_reserves_its_cost_before_it_is_sent(
    batch_server: BatchServer, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batched, "MIN_BATCH", 1)
    answers = await asked(store, max_cost=3, price=as_price("100:1000"), reasoning_tokens=0)
    assert None not in values(answers)
    sizes = [batch["request_counts"]["total"] for batch in batch_server.batches.values()]
    # The worst cost of a prompt is 1,024 tokens at half of the price: 0.51 dollars.
    assert (max(sizes), sum(sizes)) == (5, N)


async def test_requests_of_an_expired_batch_that_were_not_processed_are_sent_again_and_do_not_count_twice(
    batch_server: BatchServer, store: Store
) -> None:
    batch_server.ends = ["expired"]
    assert None not in values(await asked(store, range(24), max_calls=24))
    assert [batch["request_counts"]["total"] for batch in batch_server.batches.values()] == [24, 12]
    assert set(batch_server.processed.values()) == {1}


async def test_a_prompt_is_sent_in_no_more_batches_than_attempts(
    batch_server: BatchServer, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batched, "MIN_BATCH", 1)
    batch_server.ends = ["expired"] * 9
    answers = await asked(store, range(24), attempts=2)
    missing = [answer for answer in answers if isinstance(answer, JudgeAnswer) and answer.value is None]
    assert len(batch_server.batches) == 2
    assert len(missing) == 6
    assert missing[0].missing.startswith("no reply after 2 attempts: openai/fake: the request was not processed: ")


def responses(status: int, body: Any, count: int = 1) -> Callable[..., Any]:
    """Return what replaces the responses to the first requests of a batch."""

    def spoil(answers: list[bytes], errors: list[bytes]) -> tuple[list[bytes], list[bytes]]:
        rows = [json.loads(line) | {"response": {"status_code": status, "body": body}} for line in answers[:count]]
        return [*(json.dumps(row).encode() for row in rows), *answers[count:]], errors

    return spoil


def error(message: str, code: Any = None) -> dict[str, Any]:
    return {"error": {"message": message, "type": "x", "code": code}}


@pytest.mark.parametrize(
    ("status", "body"),
    [
        *((200, error("overloaded", code)) for code in (502, {"nested": 1})),
        (200, {"choices": 7}),
        (500, error("something broke")),
    ],
    ids=str,
)
async def test_a_request_that_failed_for_the_moment_is_sent_again_if_the_cap_allows(
    batch_server: BatchServer, store: Store, status: int, body: Any
) -> None:
    batch_server.spoil = responses(status, body)
    assert [type(answer) for answer in await asked(store, max_calls=N)].count(BudgetReached) == 1
    assert not batch_server.bodies
    assert None not in values(await asked(store))
    assert len(batch_server.bodies) == 1, "one prompt alone is sent without a batch"


async def test_a_request_that_is_refused_ends_the_run_and_keeps_the_other_answers(
    batch_server: BatchServer, store: Store
) -> None:
    batch_server.spoil = responses(404, error("there is no such model"))
    answers = await asked(store)
    assert [type(answer) for answer in answers].count(JudgeRefused) == 1
    assert store.answers.count() == N - 1


async def test_a_setting_that_two_batches_refuse_is_left_out_later(batch_server: BatchServer, store: Store) -> None:
    spoil = batch_server.spoil = responses(400, error("Unsupported value: 'temperature' does not support 0."), N)

    def on_step(step: str) -> None:  # the second batch ends after the requests of the first one were sent again
        if (step, len(batch_server.batches)) == ("create", 1):
            batch_server.spoil, batch_server.checks = spoil, 9

    batch_server.on_step = on_step
    assert None not in values(await asked(store, range(2 * N), batch_size=N))
    has_temperature = ["temperature" in json.loads(body) for body in batch_server.processed]
    assert has_temperature.count(True) == has_temperature.count(False) == 2 * N


async def test_damaged_missing_repeated_and_unknown_lines_are_survived(
    batch_server: BatchServer, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    def spoil(answers: list[bytes], errors: list[bytes]) -> tuple[list[bytes], list[bytes]]:
        unknown = json.dumps({**json.loads(answers[3]), "custom_id": "f" * 64}).encode()
        no_completion = json.dumps({**json.loads(answers[4]), "response": {"status_code": 200, "body": 7}}).encode()
        failed = json.dumps({**json.loads(answers[5]), "response": {"status_code": 503, "body": {}}}).encode()
        odd = [b"[1]", b"null", b"{}", b'{"custom_id": 3}', b"[" * 100_000]
        return [answers[0][:50], *answers[2:4], answers[2], unknown, no_completion, failed, *answers[5:], *odd], errors

    batch_server.spoil = spoil
    assert None not in values(await asked(store, range(24)))
    assert "7 lines that answer none of its requests" in caplog.text
    assert len(batch_server.bodies) == 3
    assert store.batches.list_open() == ()


async def test_a_batch_that_fails_as_a_whole_ends_the_run(batch_server: BatchServer, store: Store) -> None:
    batch_server.ends = ["failed"]
    answers = await asked(store)
    assert all(isinstance(answer, JudgeRefused) for answer in answers)
    assert str(answers[0]).startswith("batch batch_0 failed: it is malformed")
    assert store.batches.list_open() == ()


async def test_a_store_that_fails_after_a_batch_was_refused_ends_the_run(
    batch_server: BatchServer, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers, get = store.answers, store.answers.get

    def failing(digest: str) -> Any:
        if "status" in batch_server.steps:
            raise StoreError("The disk is gone.")
        return get(digest)

    monkeypatch.setattr(answers, "get", failing)
    batch_server.ends = ["failed"]
    found = await asyncio.wait_for(asked(store), 10)
    assert [str(each) for each in found] == ["The disk is gone."] * N


async def test_a_batch_that_does_not_fit_into_the_queue_is_sent_again_later(
    batch_server: BatchServer, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rubriclab.judges.batch.QUEUE_PAUSE", 0.05)
    batch_server.ends = ["failed"]
    batch_server.fault = {"code": "token_limit_exceeded", "message": "Enqueued token limit reached."}
    assert None not in values(await asked(store))
    assert len(batch_server.batches) == 2


@pytest.mark.parametrize("step", range(5))
async def test_a_failed_request_about_a_batch_is_repeated(batch_server: BatchServer, store: Store, step: int) -> None:
    batch_server.statuses = [200] * step + [503]
    assert None not in values(await asked(store))
    assert len(batch_server.batches) == 1, "one whose creation was reported as failed is found again"


def others(created: float, count: int = 250) -> dict[str, dict[str, Any]]:
    """Return batches that somebody else made at a time."""
    described = {"object": "batch", "endpoint": "/v1/chat/completions", "completion_window": "24h"}
    same: dict[str, Any] = {**described, "status": "completed", "created_at": int(created)}
    return {f"other_{n}": {"id": f"other_{n}", "input_file_id": f"theirs-{n}", **same} for n in range(count)}


async def test_a_batch_whose_creation_was_reported_as_failed_is_found_behind_250_newer_ones(
    batch_server: BatchServer, store: Store
) -> None:
    batch_server.statuses = [200, 503]
    newer = others(time.time())
    batch_server.on_step = lambda step: step == "create" and batch_server.batches.update(newer)
    assert None not in values(await asked(store))
    assert (batch_server.steps.count("create"), batch_server.steps.count("list")) == (1, 3)


async def test_a_batch_is_looked_for_no_further_back_than_it_can_be(batch_server: BatchServer, store: Store) -> None:
    batch_server.batches.update(others(time.time() - 3 * 86_400))
    batch_server.statuses = [200, 503]
    batch_server.on_step = lambda step: step == "create" and batch_server.batches.pop("batch_250", None)
    asking = await asked(store, attempts=1)
    assert batch_server.steps[:4] == ["upload", "create", "list", "create"]
    assert len(asking) == N


async def test_a_provider_that_answers_no_request_ends_the_run(
    batch_server: BatchServer, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch_server.statuses = [503] * 100
    monkeypatch.setattr(batched, "FIRST_PAUSE", 0.001)
    assert all(isinstance(answer, ProviderDown) for answer in await asked(store))


async def test_a_batch_cancelled_elsewhere_ends_the_run_with_its_answers_cached(
    batch_server: BatchServer, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batched, "MIN_BATCH", 1)
    batch_server.ends = ["cancelled"]
    answers = await asked(store)
    assert sum(isinstance(answer, BatchCancelled) for answer in answers) == N // 2
    assert store.answers.count() == N // 2
    assert None not in values(await asked(store))
    assert set(batch_server.processed.values()) == {1}


async def test_a_batch_is_sent_and_cancelled_with_the_key_of_its_address_and_calls_that_wait_end_at_once(
    batch_server: BatchServer, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-judge-0123456789")
    monkeypatch.setenv("RUBRICLAB_GENERATOR_API_KEY", "sk-of-the-generator")
    batch_server.checks = 1000
    with Workspace(tmp_path / "store.db", JudgeOptions(batch=True)) as workspace:
        writer = JudgeChoice("openai/y", batch_server.url, overrides_api_base=True)
        monkeypatch.setenv("OPENAI_API_BASE", "http://127.0.0.1:9/v1")
        judge_choice = JudgeChoice("openai/x")
        generator = workspace.generator(writer, judge_choice, workspace.judge(judge_choice))
        polled, loop = asyncio.Event(), asyncio.get_running_loop()
        batch_server.on_step = lambda step: step == "status" and loop.call_soon_threadsafe(polled.set)
        running = asyncio.gather(*(generator.reply(rate(f"text {n}")) for n in range(N)))
        await polled.wait()
        cancelled_at = time.monotonic()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        assert time.monotonic() - cancelled_at < CANCELLATION_GRACE
        await batches(workspace, BatchesOptions(cancel="batch_0"))
    assert batch_server.batches["batch_0"]["status"] == "cancelled"
    assert batch_server.keys == {"sk-of-the-generator"}


@pytest.mark.parametrize("judge", ["anthropic/claude-sonnet-4-5", "ollama/llama3", "bedrock/amazon.nova-lite-v1:0"])
def test_a_provider_without_batches_is_refused_at_once(judge: str, store: Store) -> None:
    with pytest.raises(SettingsError, match="cannot be asked in batches; that is possible with the providers openai"):
        connect(
            judge, options=JudgeOptions(batch=True), ledger=Ledger(), answers=MemoryAnswers(), batches=store.batches
        )
