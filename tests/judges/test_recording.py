"""Recordings and replays."""

from __future__ import annotations

import json
import logging
import os
import tracemalloc
from pathlib import Path
from typing import Any

import orjson
import pytest
from judge_questions import GOOD, ScriptedJudge, good, rate
from memory_answers import MemoryAnswers
from server import RunningServer

from rubriclab.errors import DataError, ReplayMiss, SettingsError
from rubriclab.judges.connect import connect
from rubriclab.judges.llm import LanguageModel
from rubriclab.judges.options import JudgeOptions
from rubriclab.judges.stack import (
    HEADER,
    MAX_LINE_BYTES,
    Ledger,
    Recording,
    RecordingFile,
    Replay,
    open_replay,
    read_recording,
    recorded_name,
)


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


async def recorded(path: Path, *texts: str, identity: str = "scripted") -> ScriptedJudge:
    judge = ScriptedJudge(good, identity=identity)
    recording = Recording(judge, path)
    for text in texts:
        await recording.reply(rate(text))
    return judge


async def test_replay_answers_like_the_judge_that_was_recorded(server: RunningServer, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    source = LanguageModel("openai/fake", timeout=60)
    said = await Recording(source, path).reply(rate())
    replay = open_replay(f"recorded:{path}")
    again = await replay.reply(rate())
    assert (again.text, again.model, again.usage) == (said.text, said.model, said.usage)
    assert again.cached
    assert replay.name == f"recorded:{path}"
    assert replay.recorded_name == "openai/fake"
    assert replay.identity == source.identity
    assert len(server.bodies) == 1


async def test_replay_has_the_tokens_that_were_recorded(server: RunningServer, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    recording = Recording(LanguageModel("openai/fake", timeout=60), path)
    said, plain = await recording.reply(rate(alternatives=5)), await recording.reply(rate())
    assert said.tokens
    replay = Replay(path)
    assert (await replay.reply(rate(alternatives=5))).tokens == said.tokens
    assert (await replay.reply(rate())).tokens == plain.tokens == ()
    with pytest.raises(ReplayMiss):
        await replay.reply(rate(alternatives=4))


async def test_missing_request_is_named_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    await recorded(path, "one")
    with pytest.raises(ReplayMiss) as caught:
        await Replay(path).reply(rate("two"))
    message = str(caught.value)
    assert "questions/rate" in message
    assert "sha256:" in message
    assert f"`judge=scripted` and `record={path}`" in message


async def test_file_is_the_same_for_the_same_run(tmp_path: Path) -> None:
    for name in ("a", "b"):
        await recorded(tmp_path / name, "one", "two")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


async def test_every_line_is_on_disk_when_its_reply_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    recording = Recording(ScriptedJudge(good), path)
    for count in (1, 2, 3):
        await recording.reply(rate(f"text {count}"))
        assert len(rows(path)) == 2 + count


async def test_no_request_is_written_twice_also_in_a_second_run(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    await recorded(path, "one", "one")
    await recorded(path, "one", "two")
    assert len(rows(path)) == 4


async def test_two_judges_share_a_recording_and_are_told_apart_by_name(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    for name in ("rater", "proposer"):
        judge = ScriptedJudge(good, identity=name)
        judge.name = name
        await Recording(judge, path).reply(rate(name))
    assert (await Replay(path, "rater").reply(rate("rater"))).text == GOOD
    assert open_replay(f"recorded:{path}#proposer").identity == {"model": "proposer"}
    with pytest.raises(ReplayMiss):
        await Replay(path, "rater").reply(rate("proposer"))
    with pytest.raises(SettingsError, match=r"proposer, rater.*#proposer"):
        Replay(path)
    with pytest.raises(SettingsError, match="has no judge other; it holds proposer, rater"):
        Replay(path, "other")


async def test_file_with_a_number_sign_in_its_name_is_found(tmp_path: Path) -> None:
    path = tmp_path / "run#1.jsonl"
    await recorded(path, "one")
    assert open_replay(f"recorded:{path}").recorded_name == "scripted"


async def test_same_judge_with_other_settings_needs_another_file(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    await recorded(path, "one")
    with pytest.raises(DataError, match="new file"):
        Recording(ScriptedJudge(good, identity="elsewhere"), path)


async def test_half_written_last_line_is_left_out_and_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "run.jsonl"
    await recorded(path, "one", "two")
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    with caplog.at_level(logging.WARNING):
        replay = Replay(path)
    assert "incomplete line" in caplog.text
    assert (await replay.reply(rate("one"))).text == GOOD
    with pytest.raises(ReplayMiss):
        await replay.reply(rate("two"))
    await recorded(path, "two")
    assert path.read_bytes() == whole


@pytest.mark.parametrize("left", [0, 5])
async def test_run_killed_at_its_first_line_can_be_recorded_again(tmp_path: Path, left: int) -> None:
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
    for opening in (lambda: Replay(path), lambda: Recording(ScriptedJudge(good), path)):
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
        Replay(path)


def test_missing_file_or_folder_is_said(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        Replay(tmp_path / "none.jsonl")
    with pytest.raises(DataError, match="cannot be written"):
        Recording(ScriptedJudge(good), tmp_path / "none" / "run.jsonl")


async def test_recording_is_complete_where_answers_were_kept_before(server: RunningServer, tmp_path: Path) -> None:
    answers, path = MemoryAnswers(), tmp_path / "run.jsonl"
    options = JudgeOptions(timeout=60)
    await connect("openai/fake", options=options, ledger=Ledger(), answers=answers).reply(rate())
    await connect("openai/fake", options=options, ledger=Ledger(), answers=answers, record=path).reply(rate())
    assert len(server.bodies) == 1
    ledger = Ledger()
    await connect(f"recorded:{path}", options=options, ledger=ledger).reply(rate())
    assert (ledger.calls, ledger.cached) == (0, 1)


@pytest.mark.parametrize("place", ["pipe", "/dev/zero", "/dev/null", "."])
def test_what_is_no_regular_file_is_refused_before_it_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    for use in (
        lambda: Replay(Path(place)),
        lambda: RecordingFile(Path(place)),
        lambda: open_replay(f"recorded:{place}"),
    ):
        with pytest.raises(
            DataError, match=rf"The recording {place} cannot be read: it is (no regular file|a folder)\."
        ):
            use()


def test_a_line_without_end_is_refused_before_it_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "endless.jsonl"
    with path.open("wb") as file:
        file.write(orjson.dumps(HEADER) + b"\n")
        file.truncate(10 * MAX_LINE_BYTES)
    tracemalloc.start()
    with pytest.raises(DataError, match=r"endless\.jsonl, line 2 has more than 64,000,000 bytes"):
        read_recording(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3 * MAX_LINE_BYTES


@pytest.mark.parametrize(
    ("judge", "name"),
    [("recorded:a.jsonl#openai/x", "openai/x"), ("recorded:a.jsonl", "recorded:a.jsonl"), ("model#1", "model#1")],
)
def test_a_recording_that_names_its_judge_stands_for_that_judge(judge: str, name: str) -> None:
    assert recorded_name(judge) == name
