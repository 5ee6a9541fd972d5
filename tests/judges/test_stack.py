"""The wrappers of a judge."""

from __future__ import annotations

import asyncio
import logging
import os
import random
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from commands import PATIENCE
from judge_questions import GOOD, Clock, ScriptedJudge, good, rate
from memory_answers import MemoryAnswers
from server import RunningServer

from rubriclab.errors import (
    BudgetReached,
    DataError,
    JudgeRefused,
    JudgeUnavailable,
    PromptRejected,
    ProviderDown,
    ReplayMiss,
    RubriclabError,
    SettingsError,
)
from rubriclab.judges.cache import Cached, Recording, Replay
from rubriclab.judges.connect import connect
from rubriclab.judges.judge import FILTERED, FakeJudge, Ledger, Metered, Reply, Usage, ask, dump_reply, request_digest
from rubriclab.judges.limits import Budgeted, Limited, LocalBreaker, LocalBudget, LocalLimits, Retried
from rubriclab.judges.llm import LanguageModel
from rubriclab.judges.options import JudgeOptions, Price
from rubriclab.models.version import Effort
from rubriclab.report import wording

PRICE = Price(1.0, 1000.0)


async def slow(prompt: Any) -> str:
    await asyncio.sleep(0.001)
    return GOOD


async def outcomes(judge: Any, count: int) -> list[Any]:
    prompts = [rate(f"text {n}", max_tokens=100) for n in range(count)]
    return await asyncio.gather(*map(judge.reply, prompts), return_exceptions=True)


@pytest.mark.parametrize("cap", [0, 1, 7, 20])
async def test_calls_are_capped_exactly_under_concurrency(cap: int) -> None:
    judge = ScriptedJudge(slow)
    results = await outcomes(Budgeted(judge, LocalBudget(max_calls=cap)), 20)
    assert judge.prompts == cap
    assert sum(isinstance(result, Reply) for result in results) == cap
    assert sum(isinstance(result, BudgetReached) for result in results) == 20 - cap


@pytest.mark.parametrize(
    ("fault", "calls"),
    [
        ("unreachable", 0),
        ("unauthorized", 0),
        ("not_found", 0),
        ("rate_limit", 0),
        ("overloaded", 0),
        ("server_error", 1),
        ("timeout", 1),
        ("cut_body", 1),
        ("too_long", 1),
        ("withheld", 1),
        ("empty", 1),
    ],
)
async def test_a_request_counts_unless_the_server_refused_it(server: RunningServer, fault: str, calls: int) -> None:
    server.script.append(fault)
    server.hang = 0.1
    budget, address = LocalBudget(), "http://127.0.0.1:9/v1" if fault == "unreachable" else None
    await outcomes(Budgeted(LanguageModel("openai/fake", timeout=60, api_base=address), budget), 1)
    assert budget.calls == calls


async def test_tokens_for_reasoning_are_reserved_too() -> None:
    model = LanguageModel("o3-mini", price=PRICE, reasoning_tokens=1000)
    judge = Budgeted(ScriptedJudge(slow), LocalBudget(max_cost=1.0), price=PRICE, tokens=model.most_tokens)
    with pytest.raises(BudgetReached, match="1 US dollars"):
        await judge.reply(rate(max_tokens=10))


def test_the_highest_price_of_a_token_is_reserved() -> None:
    usual, highest = LanguageModel("claude-sonnet-4-5").price, LanguageModel("claude-sonnet-4-5").highest_price
    assert usual
    assert highest
    assert highest.prompt > usual.prompt  # of writing to the prompt cache
    assert highest.completion >= usual.completion
    assert LanguageModel("openai/fake", price=PRICE).highest_price == PRICE
    assert LanguageModel("openai/fake").highest_price is None


async def test_request_that_is_cancelled_before_it_is_sent_reserves_nothing() -> None:
    held = asyncio.Event()

    async def script(_prompt: Any) -> Reply:
        await held.wait()
        return Reply(GOOD, "m", Usage(10, 5, 0.01))

    budget = LocalBudget(max_calls=2)
    judge = Budgeted(ScriptedJudge(script), budget)
    sent = [asyncio.create_task(judge.reply(rate(str(n)))) for n in range(3)]
    await asyncio.sleep(0.01)
    sent[2].cancel()
    held.set()
    await asyncio.gather(*sent, return_exceptions=True)
    assert (budget.calls, budget.cost) == (2, 0.02)


def limited(judge: ScriptedJudge, clock: Clock, **limits: float) -> Limited:
    return Limited(judge, LocalLimits(concurrency=1, clock=clock, sleep=clock.sleep, **limits))


@pytest.mark.parametrize(
    ("per_minute", "idle", "more", "seconds"), [(60, 0, 120, 120), (600, 0, 9, 0), (600, 0, 10, 0.1), (60, 1000, 3, 2)]
)
async def test_requests_per_minute_are_waited_for_beyond_a_burst_that_idle_time_does_not_increase(
    per_minute: float, idle: float, more: int, seconds: float
) -> None:
    clock = Clock()
    judge = limited(ScriptedJudge(good), clock, requests_per_minute=per_minute)
    await judge.reply(rate())
    clock.now = idle
    for _ in range(more):
        await judge.reply(rate())
    assert clock.now == pytest.approx(idle + seconds)


# 60 replies of 100 tokens at 100 a second, the first of them from the burst, and the last prompt's estimate; and 10
# estimates of long prompts whose usage is not reported.
@pytest.mark.parametrize(
    ("usage", "text", "replies", "low", "high"),
    [(Usage(80, 20), "A text.", 61, 59, 63), (Usage(0, 0, None), "word " * 600, 11, 100, 200)],
)
async def test_tokens_per_minute_follow_what_replies_took(
    usage: Usage, text: str, replies: int, low: float, high: float
) -> None:
    async def script(prompt: Any) -> Reply:
        return Reply(GOOD, "m", usage)

    clock = Clock()
    judge = limited(ScriptedJudge(script), clock, tokens_per_minute=6000)
    for _ in range(replies):
        await judge.reply(rate(text))
    assert low <= clock.now <= high


def failing(*errors: Exception | None) -> ScriptedJudge:
    """Return a judge that raises `errors` one after the other, `None` for a reply, and replies from then on."""
    left = list(errors)

    async def script(prompt: Any) -> str:
        if left and (error := left.pop(0)):
            raise error
        return GOOD

    return ScriptedJudge(script)


def unavailable(wish: float | None = None) -> JudgeUnavailable:
    return JudgeUnavailable("busy.", retry_after=wish)


async def test_a_cancellation_that_comes_out_as_a_failed_request_ends_the_attempts() -> None:
    async def script(_prompt: Any) -> str:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            raise unavailable() from None
        return GOOD

    judge, clock = ScriptedJudge(script), Clock()
    asking = asyncio.ensure_future(Retried(judge, sleep=clock.sleep).reply(rate()))
    await asyncio.sleep(0)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(asking, 5)
    assert judge.prompts == 1


async def test_pauses_grow_within_their_bounds_and_are_jittered() -> None:
    first = set()
    for seed in range(5):
        clock = Clock()
        judge = Retried(failing(*[unavailable()] * 5), base=1, longest=5, sleep=clock.sleep, rng=random.Random(seed))
        await judge.reply(rate())
        assert all(most / 2 <= pause <= most for pause, most in zip(clock.slept, [1, 2, 4, 5, 5], strict=True))
        first.add(clock.slept[0])
    assert len(first) == 5


async def test_refusals_for_unknown_reasons_end_the_command_when_no_prompt_is_answered() -> None:
    async def missing(*errors: RubriclabError | None) -> int:
        judge = Retried(failing(*errors), attempts=1, breaker=LocalBreaker(3), sleep=Clock().sleep)
        return [(await ask(judge, rate())).value for _ in errors].count(None)

    doubtful, rejected = PromptRejected("no.", is_doubtful=True), PromptRejected("no.")
    for failure in (doubtful, unavailable()):
        assert await missing(*[failure] * 2, None, *[failure] * 2) == 4
        assert await missing(*[failure] * 2, rejected, *[failure] * 2) == 5
        with pytest.raises(ProviderDown):
            await missing(*[failure] * 3)
    assert await missing(*[rejected] * 9) == 9


async def test_filtered_reply_neither_begins_the_count_again_nor_is_counted() -> None:
    async def script(prompt: Any) -> Reply:
        if prompt.fields["output"] == "filtered":
            return Reply("", "m", filtered=True)
        raise unavailable()

    judge = Retried(ScriptedJudge(script), attempts=1, breaker=LocalBreaker(3), sleep=Clock().sleep)
    for text in ("filtered", "filtered", "filtered", "down", "down", "filtered"):
        assert (await ask(judge, rate(text))).value is None
    with pytest.raises(ProviderDown):
        await ask(judge, rate("down"))


def waiting(gate: asyncio.Event, answer: Any = GOOD) -> ScriptedJudge:
    async def script(prompt: Any) -> Any:
        await gate.wait()
        if isinstance(answer, Exception):
            raise answer
        return answer

    return ScriptedJudge(script)


def opened() -> asyncio.Event:
    gate = asyncio.Event()
    gate.set()
    return gate


async def test_filtered_reply_is_kept_and_missing_with_its_reason(server: RunningServer) -> None:
    answers, ledger = MemoryAnswers(), Ledger()
    for _ in range(2):
        server.script.append("withheld")
        judge = connect("openai/fake", options=JudgeOptions(), ledger=ledger, answers=answers)
        answer = await ask(judge, rate())
        assert (answer.value, answer.missing) == (None, FILTERED)
    assert len(server.bodies) == 1
    assert (ledger.calls, ledger.cached, ledger.failed) == (1, 1, 2)
    assert ledger.usage.prompt_tokens > 0


@pytest.mark.parametrize("answer", ["in time", "late", "never", "with an error"])
async def test_reply_that_arrives_soon_after_a_cancellation_is_kept(answer: str) -> None:
    ended = False

    async def script(_prompt: Any) -> str:
        nonlocal ended
        try:
            await asyncio.sleep({"in time": 0.03, "with an error": 0.03, "late": 0.5}.get(answer, 60))
            if answer == "with an error":
                raise JudgeUnavailable("busy.")
            return GOOD
        finally:
            ended = True

    answers, budget, source = MemoryAnswers(), LocalBudget(max_calls=1), ScriptedJudge(script)
    limited = Limited(Budgeted(source, budget, grace=0.1), LocalLimits(concurrency=1))
    asked = asyncio.create_task(Cached(Retried(limited), answers).reply(rate()))
    await asyncio.sleep(0.01)
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    kept = answers.get(request_digest(source.identity, rate()))
    assert (kept is not None) == (answer == "in time")
    assert ended
    assert budget.calls == 1


async def test_second_cancellation_waits_no_longer() -> None:
    judge = Cached(Budgeted(waiting(asyncio.Event()), LocalBudget()), MemoryAnswers())
    asked = asyncio.create_task(judge.reply(rate()))
    await asyncio.sleep(0.01)
    for _ in range(2):
        asked.cancel()
        await asyncio.sleep(0.01)
    assert asked.cancelled()


async def test_those_who_wait_share_the_error() -> None:
    gate = asyncio.Event()
    judge = waiting(gate, JudgeUnavailable("down."))
    cached = Cached(judge, MemoryAnswers())
    tasks = [asyncio.create_task(cached.reply(rate())) for _ in range(5)]
    await asyncio.sleep(0)
    gate.set()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(isinstance(result, JudgeUnavailable) for result in results)
    assert judge.prompts == 1


@pytest.mark.parametrize(("cancelled", "requests"), [(0, 2), (1, 1)])
async def test_those_who_wait_go_on_where_one_is_cancelled_and_take_its_place(cancelled: int, requests: int) -> None:
    gate = asyncio.Event()
    judge = waiting(gate)
    cached = Cached(judge, MemoryAnswers())
    tasks = [asyncio.create_task(cached.reply(rate())) for _ in range(4)]
    await asyncio.sleep(0)
    tasks[cancelled].cancel()
    await asyncio.sleep(0)
    gate.set()
    results = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 5)
    assert [isinstance(result, Reply) for result in results] == [place != cancelled for place in range(4)]
    assert judge.prompts == requests


async def test_a_damaged_answer_is_asked_again_once_and_noted() -> None:
    answers, judge, damaged = MemoryAnswers(), waiting(opened()), set()
    digest = request_digest(judge.identity, rate())
    answers.put(digest, {"txt": "?"})
    cached = Cached(judge, answers, damaged=damaged)
    first, second = await cached.reply(rate()), await cached.reply(rate())
    assert (first.text, first.cached, second.text, second.cached) == (GOOD, False, GOOD, True)
    assert judge.prompts == 1
    assert damaged == {digest}
    assert answers.get(digest) == {"txt": "?"}


class Overtaken(MemoryAnswers):
    """Answers into which another process puts its own before the first of the asker's."""

    def __init__(self, *others: dict[str, Any]) -> None:
        super().__init__()
        self.others = list(others)

    def put(self, digest: str, answer: dict[str, Any]) -> bool:
        """Keep the other's, if there is one left, then the asker's."""
        if self.others:
            super().put(digest, self.others.pop())
        return super().put(digest, answer)


async def test_of_two_replies_the_one_that_is_kept_is_returned_and_both_are_counted() -> None:
    other = Reply("another process's", "m", Usage(1, 1, 0.5))
    own = Reply(GOOD, "m", Usage(3, 4, 0.01))
    answers = Overtaken(dump_reply(other))
    reply = await Cached(waiting(opened(), own), answers).reply(rate())
    assert reply == Reply("another process's", "m", Usage(3, 4, 0.01), cached=False)


class Remote(MemoryAnswers):
    """Answers that take until the event loop has had a turn, as over a network."""

    remote = True

    def __init__(self) -> None:
        super().__init__()
        self._loop = asyncio.get_running_loop()
        self.stored = 0

    def _wait(self) -> None:
        turn = threading.Event()
        self._loop.call_soon_threadsafe(turn.set)
        assert turn.wait(PATIENCE), "the event loop is blocked"

    def get(self, digest: str) -> dict[str, Any] | None:
        """Return the answer, late."""
        self._wait()
        return super().get(digest)

    def put(self, digest: str, answer: dict[str, Any]) -> bool:
        """Cache the answer, late."""
        self._wait()
        self.stored += 1
        return super().put(digest, answer)


async def test_identical_requests_are_merged_though_their_look_ups_overlap() -> None:
    judge = ScriptedJudge(good)
    cached = Cached(judge, Remote())
    replies = await asyncio.gather(*(cached.reply(rate()) for _ in range(5)))
    assert judge.prompts == 1
    assert {reply.text for reply in replies} == {GOOD}


async def test_a_reply_that_arrived_is_cached_though_its_request_is_cancelled_while_all_threads_are_busy() -> None:
    answers = Remote()
    arrived, free = asyncio.Event(), threading.Event()

    async def with_busy_threads(_prompt: Any) -> str:
        for _ in range(64):  # more than the thread pool has: storing has to wait for its turn
            asyncio.get_running_loop().run_in_executor(None, free.wait, PATIENCE)
        arrived.set()
        return GOOD

    request = asyncio.ensure_future(Cached(ScriptedJudge(with_busy_threads), answers).reply(rate()))
    await arrived.wait()
    await asyncio.sleep(0)
    request.cancel()
    await asyncio.sleep(0)
    free.set()
    with pytest.raises(asyncio.CancelledError):
        await request
    assert answers.stored == 1


def digest_of(text: str) -> str:
    return request_digest(ScriptedJudge(good).identity, rate(text))


async def recorded(path: Path, *texts: str, identity: str = "scripted") -> ScriptedJudge:
    judge = ScriptedJudge(good, identity=identity)
    recording = Recording(judge, path)
    for text in texts:
        await recording.reply(rate(text))
    return judge


async def test_replay_answers_like_the_judge_that_was_recorded(server: RunningServer, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    source = LanguageModel("openai/fake", timeout=60)
    said = await Recording(source, path).reply(rate(alternatives=5))
    replay = Replay(f"recorded:{path}")
    assert await replay.reply(rate(alternatives=5)) == replace(said, cached=True)
    assert said.tokens
    with pytest.raises(ReplayMiss, match=rf"questions/rate prompt \(sha256:.*`judge=openai/fake` and `record={path}`"):
        await replay.reply(rate(alternatives=4))
    assert (replay.name, replay.recorded_name) == (f"recorded:{path}", "openai/fake")
    assert replay.identity == source.identity
    assert len(server.bodies) == 1


async def test_every_line_is_on_disk_when_its_reply_is_seen_and_none_is_written_twice(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    for _run in range(2):
        recording = Recording(ScriptedJudge(good), path)
        for text in ("one", "one", "two"):
            await recording.reply(rate(text))
            assert digest_of(text) in path.read_text()
    assert len(path.read_text().splitlines()) == 4
    await recorded(tmp_path / "again.jsonl", "one", "two")
    assert (tmp_path / "again.jsonl").read_bytes() == path.read_bytes()


async def test_two_judges_share_a_recording_and_are_told_apart_by_name(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    for name in ("rater", "proposer"):
        judge = ScriptedJudge(good, identity=name)
        judge.name = name
        await Recording(judge, path).reply(rate(name))
    assert (await Replay(f"recorded:{path}#rater").reply(rate("rater"))).text == GOOD
    assert Replay(f"recorded:{path}#proposer").identity == {"model": "proposer"}
    with pytest.raises(ReplayMiss):
        await Replay(f"recorded:{path}#rater").reply(rate("proposer"))
    with pytest.raises(SettingsError, match=r"proposer, rater.*#proposer"):
        Replay(f"recorded:{path}")
    with pytest.raises(SettingsError, match="has no judge other; it holds proposer, rater"):
        Replay(f"recorded:{path}#other")


async def test_same_judge_with_other_settings_needs_another_file(tmp_path: Path) -> None:
    path = tmp_path / "run#1.jsonl"  # a number sign need not stand before a judge
    await recorded(path, "one")
    assert Replay(f"recorded:{path}").recorded_name == "scripted"
    with pytest.raises(DataError, match="new file"):
        Recording(ScriptedJudge(good, identity="elsewhere"), path)


async def test_half_written_last_line_is_left_out_and_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "run.jsonl"
    await recorded(path, "one", "two")
    path.write_bytes(path.read_bytes()[:-20])
    with caplog.at_level(logging.WARNING):
        replay = Replay(f"recorded:{path}")
    assert "incomplete line" in caplog.text
    assert (await replay.reply(rate("one"))).text == GOOD
    with pytest.raises(ReplayMiss):
        await replay.reply(rate("two"))


@pytest.mark.parametrize("left", [0, 5, -20])
async def test_run_killed_at_any_line_can_be_recorded_again(tmp_path: Path, left: int) -> None:
    path = tmp_path / "run.jsonl"
    await recorded(path, "one")
    whole = path.read_bytes()
    path.write_bytes(whole[:left])
    await recorded(path, "one")
    assert path.read_bytes() == whole


@pytest.mark.parametrize("content", ["a note to keep", "a note to keep\n", '{"format": "other"}\n', "{}\n{}\n"])
async def test_file_that_is_no_recording_is_refused_and_untouched(tmp_path: Path, content: str) -> None:
    path = tmp_path / "notes.txt"
    path.write_text(content)
    for opening in (lambda: Replay(f"recorded:{path}"), lambda: Recording(ScriptedJudge(good), path)):
        with pytest.raises(DataError, match="line 1: expected the header"):
            opening()
    assert path.read_text() == content


@pytest.mark.parametrize(
    "damage", ["{}", "[]", "null", '{"request": "x", "reply": {"text": 3}}', "{", '{"judge": "x"}']
)
async def test_damage_within_is_named_with_its_line(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "run.jsonl"
    await recorded(path, "one")
    path.write_text(path.read_text() + damage + "\n")
    with pytest.raises(DataError, match="line 4"):
        Replay(f"recorded:{path}")


async def test_recording_is_complete_where_answers_were_kept_before(server: RunningServer, tmp_path: Path) -> None:
    answers, path = MemoryAnswers(), tmp_path / "run.jsonl"
    options = JudgeOptions(timeout=60)
    await connect("openai/fake", options=options, ledger=Ledger(), answers=answers).reply(rate())
    await connect("openai/fake", options=options, ledger=Ledger(), answers=answers, record=path).reply(rate())
    assert len(server.bodies) == 1
    ledger = Ledger()
    await connect(f"recorded:{path}", options=options, ledger=ledger).reply(rate())
    assert (ledger.calls, ledger.cached) == (0, 1)


@pytest.mark.parametrize("place", ["pipe", "/dev/zero", "/dev/null", ".", "none/run.jsonl"])
def test_what_is_no_regular_file_is_refused_before_it_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    fault = "it is (no regular file|a folder)" if "none" not in place else "No such file or directory"
    with pytest.raises(DataError, match=rf"The recording {place} cannot be read: {fault}\."):
        Replay(f"recorded:{place}")
    with pytest.raises(DataError, match=rf"The recording {place} cannot be (read|written): {fault}\."):
        Recording(ScriptedJudge(good), Path(place))


def usages(*given: Usage) -> ScriptedJudge:
    left = list(given)

    async def script(prompt: Any) -> Reply:
        return Reply(GOOD, f"snapshot-{len(left)}", left.pop(0))

    return ScriptedJudge(script)


@pytest.mark.parametrize(("second", "cost"), [(0.25, 0.75), (None, None)])
async def test_replies_are_summed_and_the_cost_is_unknown_once_any_price_is(
    second: float | None, cost: float | None
) -> None:
    ledger = Ledger()
    judge = Metered(usages(Usage(10, 1, 0.5), Usage(20, 2, second)), ledger)
    for _ in range(2):
        await ask(judge, rate())
    tokens = {"prompt_tokens": 30, "completion_tokens": 3, "stage_tokens": {rate().name: 33}}
    spent = Effort(calls=2, cost_usd=cost, seconds=3.0, stages={rate().name: 2}, **tokens)
    assert ledger.effort(3.0) == spent
    assert wording.stages(spent) == f"{rate().name} 2 (33 tokens)"
    assert ledger.model_versions == {"snapshot-1", "snapshot-2"}


@pytest.mark.parametrize(
    ("error", "failed"), [(JudgeUnavailable("down."), 1), (PromptRejected("long."), 1), (JudgeRefused("no."), 0)]
)
async def test_reply_that_never_came_is_a_failure_unless_it_ends_the_command(error: Exception, failed: int) -> None:
    ledger = Ledger()
    with pytest.raises(type(error)):
        await Metered(failing(error), ledger).reply(rate())
    assert (ledger.calls, ledger.failed) == (0, failed)


@pytest.mark.parametrize(
    ("replies", "repaired", "failed"), [((GOOD,), 0, 0), (("?", GOOD), 1, 0), (("?", "?"), 1, 1), (("?", ""), 1, 1)]
)
async def test_repairs_and_missing_answers_are_counted(replies: tuple[str, ...], repaired: int, failed: int) -> None:
    left, ledger = list(replies), Ledger()
    answer = await ask(Metered(FakeJudge(lambda _: left.pop(0)), ledger), rate())
    assert (ledger.calls, ledger.repaired, ledger.failed) == (len(replies), repaired, failed)
    assert (answer.value is None) == (failed == 1)


async def test_judge_and_generator_share_a_budget(server: RunningServer) -> None:
    options, ledger, budget = JudgeOptions(max_calls=4), Ledger(), LocalBudget(max_calls=4)
    judges = [connect(name, options=options, ledger=ledger, budget=budget) for name in ("openai/a", "openai/b")]
    questions = [ask(judge, rate(f"text {n}")) for judge in judges for n in range(3)]
    await asyncio.gather(*questions, return_exceptions=True)
    assert len(server.bodies) == ledger.calls == 4
