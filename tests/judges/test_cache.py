"""Answers that are kept: cached replies and recordings."""

from __future__ import annotations

import asyncio
import os
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from commands import PATIENCE
from judge_questions import GOOD, ScriptedJudge, good, rate
from memory_answers import MemoryAnswers
from server import RunningServer

from rubriclab.errors import DataError, JudgeUnavailable, ReplayMiss, SettingsError
from rubriclab.judges.cache import Cached, Recording, Replay
from rubriclab.judges.connect import connect
from rubriclab.judges.judge import Ledger, ask, dump_reply, request_digest
from rubriclab.judges.limits import Budgeted, Limited, LocalBudget, LocalLimits, Retried
from rubriclab.judges.llm import LanguageModel
from rubriclab.judges.options import JudgeOptions
from rubriclab.judges.replies import FILTERED_MESSAGE, Reply, Usage


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
        assert (answer.value, answer.missing) == (None, FILTERED_MESSAGE)
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
    limited = Limited(Budgeted(source, budget, cancellation_grace=0.1), LocalLimits(concurrency=1))
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


async def test_those_who_wait_share_the_error_also_through_several_caches() -> None:
    gate, answers, in_flight = asyncio.Event(), MemoryAnswers(), {}
    judge = waiting(gate, JudgeUnavailable("down."))
    caches = [Cached(judge, answers, in_flight=in_flight) for _ in range(2)]
    tasks = [asyncio.create_task(cached.reply(rate())) for cached in (*caches, *caches)]
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
    cached = Cached(judge, answers, damaged_answers=damaged)
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
        self._wait()
        return super().get(digest)

    def put(self, digest: str, answer: dict[str, Any]) -> bool:
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
    with pytest.raises(ReplayMiss, match=rf"rate prompt \(sha256:.*`judge=.openai/fake.` and `record=.{path}.`"):
        await replay.reply(rate(alternatives=4))
    assert (replay.name, replay.recorded_judge) == (f"recorded:{path}", "openai/fake")
    beside = Replay("recorded:elsewhere/run.jsonl#openai/fake", tmp_path)
    assert await beside.reply(rate(alternatives=5)) == replace(said, cached=True)
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
    assert Replay(f"recorded:{path}").recorded_judge == "scripted"
    with pytest.raises(DataError, match="new file"):
        Recording(ScriptedJudge(good, identity="elsewhere"), path)


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
    with pytest.raises(DataError, match=rf"{place} cannot be (read|written): {fault}\."):
        Recording(ScriptedJudge(good), Path(place))


async def test_where_the_kept_one_of_two_replies_is_damaged_the_question_is_asked_again() -> None:
    judge = waiting(opened())
    assert (await Cached(judge, Overtaken({"txt": "?"})).reply(rate())).text == GOOD
    assert judge.prompts == 2
