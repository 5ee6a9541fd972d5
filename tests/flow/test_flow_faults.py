"""A provider that fails: sometimes, always, or by refusing."""

from __future__ import annotations

import itertools
import json
from collections import deque

import pytest
import scripted_model
from commands import HELDOUT, Commands
from flow_server import MODEL, learn_little
from server import RunningServer

DEAD = ("--api-base", "http://127.0.0.1:9/v1", "--attempts", 1)


def test_unusable_replies_are_asked_for_again_only_if_told_so(provider: RunningServer, learned: Commands) -> None:
    command = ("score", "-", "--rubric", "news")
    text = HELDOUT.read_bytes().splitlines(keepends=True)[0]
    provider.brain = lambda _messages, _body: "I would rather not."
    (faulty,) = learned(*command, stdin=text).rows
    assert faulty["score"] is None
    provider.brain = scripted_model.reply
    before = provider.requests.total()
    assert learned(*command, stdin=text).rows == [faulty]
    assert provider.requests.total() == before
    (mended,) = learned(*command, "--retry-failed", stdin=text).rows
    assert mended["unscored"] is None
    assert provider.requests.total() > before


def test_a_refusal_ends_the_command_with_one_line_after_one_request(provider: RunningServer, asking: Commands) -> None:
    provider.script = deque(itertools.repeat("unauthorized", 100))
    done = learn_little(asking)
    assert (done.code, done.out, done.err.count("\n")) == (4, "", 2)
    assert done.error.startswith(f"{MODEL}: ")
    assert done.error.endswith("Check the key in OPENAI_API_KEY, and whether it may use this model.")
    assert provider.requests.total() == 1


def test_a_dead_server_ends_learning_with_its_address(asking: Commands) -> None:
    done = learn_little(asking, *DEAD)
    assert (done.code, done.out, done.err.count("\n")) == (4, "", 2)
    assert "Connect call failed ('127.0.0.1', 9)" in done.error


@pytest.mark.parametrize(("more", "reason"), [(DEAD, "Connect call failed"), ((), "no complete JSON object")])
def test_a_judge_without_one_usable_reply_is_no_result_of_scoring_or_evaluation(
    provider: RunningServer, learned: Commands, more: tuple[object, ...], reason: str
) -> None:
    some = b"".join(HELDOUT.read_bytes().splitlines(keepends=True)[:3])
    provider.brain = lambda _messages, _body: "I would rather not."
    given = ("-", "--rubric", "news", *more)
    scored = learned("score", *given, "--fail-under", 1, "--max-unscored", 1, stdin=some)
    assert [row["score"] for row in scored.rows] == [None] * 3
    evaluated = learned("evaluate", *given, "--json", stdin=some)
    for done in (scored, evaluated):
        assert done.code == 4
        assert done.error.startswith(f"{MODEL} gave no reply that news@1 can use; the latest reason: ")
        assert reason in done.error


@pytest.mark.parametrize(("share", "code"), [(0.2, 1), (0.25, 0)])
def test_more_unscored_texts_than_allowed_are_exit_code_1_after_all_rows(
    provider: RunningServer, learned: Commands, share: float, code: int
) -> None:
    rows = [json.loads(line) for line in HELDOUT.read_bytes().splitlines()[:4]]
    rows[1]["output"] += " A zebra."
    provider.brain = lambda messages, body: "No." if "zebra" in str(messages) else scripted_model.reply(messages, body)
    texts = "\n".join(map(json.dumps, rows)).encode()
    done = learned("score", "-", "--rubric", "news", "--max-unscored", share, stdin=texts)
    assert [row["score"] is None for row in done.rows] == [False, True, False, False]
    assert done.code == code
    if code:
        assert done.error == "1 of 4 texts have no score; --max-unscored allows a share of 0.2."


def test_the_raw_replies_of_a_missing_score_are_kept_and_explained(provider: RunningServer, learned: Commands) -> None:
    rows = [json.loads(line) for line in HELDOUT.read_bytes().splitlines()[:3]]
    rows[1]["output"] += " A zebra."
    provider.brain = lambda messages, body: (
        "I am not a judge." if "zebra" in str(messages) else scripted_model.reply(messages, body)
    )
    texts = "\n".join(map(json.dumps, rows)).encode()
    done = learned("score", "-", "--rubric", "news", "--keep-replies", "kept.jsonl", stdin=texts)
    assert done.code == 0, done.err
    assert "I am not a judge." not in done.out
    (kept,) = [json.loads(line) for line in (learned.folder / "kept.jsonl").read_text().splitlines()]
    assert kept["id"] == rows[1]["id"]
    assert kept["unscored"] == done.rows[1]["unscored"]
    assert set(kept["missing"]) == {each["id"] for each in done.rows[1]["criteria"]}
    assert len(kept["replies"]) == 2 * len(kept["missing"]), "each reply, and that to its repair"
    for reply in kept["replies"]:
        assert reply["text"] == "I am not a judge."
        assert reply["fault"] == "it held no complete JSON object."

    (learned.folder / "zebra.jsonl").write_text(json.dumps(rows[1]))
    before = provider.requests.total()
    explained = learned("explain", "zebra.jsonl", "--rubric", "news")
    assert explained.code == 4
    assert f"{MODEL} gave no reply that news@1 can use" in explained.error
    assert "I am not a judge." in explained.out
    assert "it held no complete JSON object." in explained.out
    assert provider.requests.total() == before, "the replies are cached"
    assert len(learned("explain", "zebra.jsonl", "--rubric", "news", "--json").json["replies"]) == len(kept["replies"])

    (learned.folder / "good.jsonl").write_text(json.dumps(rows[0]))
    assert learned("explain", "good.jsonl", "--rubric", "news", "--json").json["replies"] == []


def test_a_server_that_dies_on_the_way_ends_scoring_instead_of_leaving_every_text_unscored(
    provider: RunningServer, learned: Commands
) -> None:
    provider.script = deque(itertools.repeat("server_error", 1000))
    done = learned("score", HELDOUT, "--rubric", "news", "--attempts", 1)
    assert done.code == 4
    assert "20 prompts in a row got no reply from openai/fake" in done.error
    assert "cached answers are not requested again" in done.error
    assert len(done.rows) < 20
