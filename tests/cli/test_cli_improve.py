"""`rubriclab improve`: offline by consistency, with other judges on a local server, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
import scripted_model
from commands import HELDOUT, LABELLED, Commands
from server import RunningServer, Unavailable

DAMAGED = ("swapped_facts-severe", "off_topic-mild", "none")
LINES = [line for line in HELDOUT.read_bytes().splitlines(keepends=True) if json.loads(line)["system"] in DAMAGED][:4]
ROWS = [{**json.loads(line), "ticket": f"T{number}"} for number, line in enumerate(LINES)]
LINES = [json.dumps(row).encode() + b"\n" for row in ROWS]
BROKEN = b'{"id": "blank", "output": " "}\n'
IMPROVE = ("improve", "texts.jsonl", "--rubric", "news@1")
REWRITTEN = "Nine grey owls carried a lantern over the hill"


@pytest.fixture(scope="session")
def consistency(tmp_path_factory: pytest.TempPathFactory) -> Commands:
    """A store with facts@1, by which every sentence is held against the source."""
    commands = Commands(tmp_path_factory.mktemp("consistency"), RUBRICLAB_STORE="store.db")
    few = b"".join(LABELLED.read_bytes().splitlines(keepends=True)[:3])
    learn = ("learn", "-", "--task", "summarization", "--aspect", "consistency", "--scale", "1:5")
    assert commands(*learn, "--method", "dcr", "--name", "facts", stdin=few).code == 0
    return commands


def test_each_row_has_its_text_and_the_record_in_order_and_what_changed_can_be_read(consistency: Commands) -> None:
    (consistency.folder / "texts.jsonl").write_bytes(b"".join([*LINES[:2], BROKEN, *LINES[2:]]))
    done = consistency("improve", "texts.jsonl", "--rubric", "facts", "-o", "improved.jsonl", "--diff", "changes.txt")
    assert (done.code, done.out) == (0, ""), done.err
    shown = (consistency.folder / "changes.txt").read_text("utf-8")
    first, second, blank, *others = consistency.read("improved.jsonl")
    for row, given in zip([first, second, *others], ROWS, strict=True):
        record = row["improvement"]
        assert row["id"] == given["id"]
        assert (record["rubric"], record["judge"], record["writer"]) == ("facts@1", "embedded", "embedded")
        assert all(row[name] == given[name] for name in ("group", "system", "source", "ticket"))
        changed = record["outcome"] == "improved"
        assert changed == (row["output"] != given["output"]) == ("scores" not in row)
        assert changed == (record["after"] > record["before"]) == (f"{row['id']}\n" in shown)
        for change in (change for done in record["rounds"] for change in done["changes"]):
            assert (f"{change['sentence']}. {change['diff']}"[:40] in shown) == changed
    assert (blank["id"], blank.keys()) == ("blank", {"id", "improvement"})
    assert blank["improvement"]["unscored"].endswith("got only white space, expected a non-empty text")
    assert [blank["improvement"][name] for name in ("outcome", "before", "rounds")] == ["unscored", None, []]


def writing(messages: list[dict[str, str]], body: dict[str, Any]) -> str:
    """Score rewritten texts 5 and others 2; rewrite the first sentence, in other words for another sample."""
    if "sentences" not in scripted_model.Question(messages[1]["content"]).form:
        reply, text = json.loads(scripted_model.reply(messages, body)), messages[1]["content"]
        reply["score"] = 1 if body["model"] == "second" and "quite" in text else 5 if REWRITTEN in text else 2
        return json.dumps(reply)
    words = REWRITTEN if body["temperature"] else f"{REWRITTEN} quite"
    return json.dumps({"sentences": [{"sentence": 1, "reasoning": "Clearer.", "text": f"{words} at dusk."}]})


@pytest.fixture
def asking(own: Commands, models: RunningServer) -> Commands:
    """The command line with a store of rubrics, three texts, and a server with models that judge and write."""
    models.brain = writing
    (own.folder / "texts.jsonl").write_bytes(b"".join(LINES[:3]))
    return Commands(own.folder, **own.environment, OPENAI_API_BASE=models.url, OPENAI_API_KEY="none")


def test_so_does_a_writer_of_whom_none_comes_after_the_rows(asking: Commands, models: RunningServer) -> None:
    def deaf(messages: list[dict[str, str]], body: dict[str, Any]) -> str:
        if body["model"] == "dead":
            raise Unavailable
        return writing(messages, body)

    models.brain = deaf
    roles = ("--judge", "openai/judge", "--writer", "openai/dead")
    done = asking(*IMPROVE, *roles, "--attempts", 1, "-o", "improved.jsonl")
    assert done.code == 4, done.err
    assert done.error.startswith("The writer gave no reply at all; the latest reason: ")
    rows = asking.read("improved.jsonl")
    assert [row["improvement"]["outcome"] for row in rows] == ["no usable rewriting"] * 3
