"""Judges that cannot answer about many criteria at once: learning asks in the simplest form that they can answer."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from commands import HELDOUT, LABELLED, TASK, Commands
from flow_server import ONE_ROUND, some_texts
from server import RunningServer

LEARN = ("learn", "labelled.jsonl", *TASK, "--name", "small")
OFFLINE = ("--generator", "embedded")
# A few criteria, where it does not matter how many.
FEW = ("--method", "direct", "--method", "hypoeval", *ONE_ROUND)
SHOWN = re.compile(r"^Answer with one JSON object .*:\n(\{.*\})$", re.MULTILINE)
# An entry of the form that a prompt shows: an id, and whether a reason stands before the verdict.
ENTRY = re.compile(r'"([\w.\'-]+)": (\{"reason": "\.\.\.", )?"?(score|answer|<|yes)')
TEXTS = re.compile(r'"(text \d+)": \{')
UNUSABLE = "A fine text, I would say."


@pytest.fixture(autouse=True)
def _texts(asking: Commands) -> None:
    for path, step in ((LABELLED, 3), (HELDOUT, 6)):
        (asking.folder / path.name).write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[::step]))


class SmallJudge:
    """A judge that answers usably about at most `most` criteria at once, and only without reasons if it is `bare`."""

    def __init__(self, most: int, *, bare: bool = False) -> None:
        self.most, self.bare, self.asked = most, bare, list[int]()

    def __call__(self, messages: list[dict[str, str]], _body: dict[str, Any]) -> str:
        question = messages[1]["content"]
        form, score = SHOWN.findall(question)[-1], 1 + len(question) % 5
        if '"properties"' not in form:
            entries = ENTRY.findall(form)
            self.asked.append(len(entries))
            usable = len(entries) <= self.most and not (self.bare and any(reason for _, reason, _ in entries))
            unusable = UNUSABLE if len(entries) > self.most else "{}"
            said = self._entries(entries, score)
            texts = TEXTS.findall(form)
            return json.dumps(dict.fromkeys(texts, said) if texts else said) if usable else unusable
        if self.bare and '"reasoning"' in form:
            return UNUSABLE
        whole = {"groups": [], "explanation": "I look at the order.", "reasoning": "So it seems.", "score": score}
        return json.dumps({name: value for name, value in whole.items() if f'"{name}"' in form})

    def _entries(self, entries: list[tuple[str, str, str]], score: int) -> dict[str, Any]:
        said = {name: score if verdict in {"score", "<"} else "yes" for name, _, verdict in entries}
        if self.bare:
            return said
        return {
            name: {"reason": "So it seems.", ("answer" if value == "yes" else "score"): value}
            for name, value in said.items()
        }


def test_learning_and_scoring_ask_in_the_simplest_form_that_the_judge_can_answer_and_say_its_price(
    asking: Commands, provider: RunningServer
) -> None:
    provider.brain = judge = SmallJudge(1, bare=True)
    done = asking(*LEARN, *OFFLINE, *FEW, "--json")
    assert done.code == 0, done.err
    # The texts that are asked about in the usual form are five, and one in each simpler form.
    assert sum(number > judge.most for number in judge.asked) <= 10
    said = " ".join(done.err.split())
    note = r"no complete JSON object[^)]*\); the judge is now asked for one criterion a call, scores without reasons"
    assert re.search(rf"{note}, .* take about [\d,]+ calls and [\d,]+ prompt tokens", said)
    stored = asking("show", "small", "--json").json["rubric"]["aggregation"]
    assert stored["form"] == {"criteria": 1, "reasons": False}
    judge.asked.clear()
    scored = asking("score", "-", "--rubric", "small", stdin=some_texts(2))
    assert scored.code == 0, scored.err
    assert max(judge.asked) <= judge.most
    assert all(row["score"] is not None for row in scored.rows)


def test_with_nothing_usable_learning_gives_up_after_ten_calls_and_quotes_the_reply(
    asking: Commands, provider: RunningServer
) -> None:
    provider.brain = judge = SmallJudge(0)
    done = asking(*LEARN, *OFFLINE)
    assert done.code == 4, done.err
    assert len(judge.asked) <= 10
    assert "no usable rating of 5 texts in any form" in done.error
    assert repr(UNUSABLE) in done.error
    assert "it held no complete JSON object" in done.error


class EqualJudge:
    """A judge that gives every text the lowest score, and the raters' where a call is about few criteria."""

    def __init__(self, most: int) -> None:
        self.most, self.small = most, SmallJudge(1000)
        rows = map(json.loads, Path(LABELLED).read_text("utf-8").splitlines())
        self.labels = {row["output"]: row["scores"]["coherence"] for row in rows}

    def __call__(self, messages: list[dict[str, str]], body: dict[str, Any]) -> str:
        reply = self.small(messages, body)
        number = reply.count('"score"')
        shown = (label for text, label in self.labels.items() if text in messages[1]["content"])
        return re.sub(r'"score": \d', f'"score": {next(shown, 1) if number <= self.most else 1}', reply)


EQUAL = "asked about 20 criteria at once, the judge gave every text the same value for each criterion"


def test_a_judge_that_gives_every_text_one_value_is_asked_about_fewer_criteria_if_its_values_differ_then(
    asking: Commands, provider: RunningServer
) -> None:
    provider.brain = judge = EqualJudge(7)
    done = asking(*LEARN, *OFFLINE, "--json")
    assert done.code == 0, done.err
    assert judge.small.asked[:5] == [20] * 5
    assert all(number <= 5 for number in judge.small.asked[10:])
    said = " ".join(done.err.split())
    assert re.search(rf"{EQUAL}; the judge is now asked for 5 criteria a call, .* take about [\d,]+ calls", said)
    assert asking("show", "small", "--json").json["rubric"]["aggregation"]["form"]["criteria"] == 5


def test_a_judge_whose_every_rating_is_equal_gives_the_mean_of_the_labels_and_learning_says_so(
    asking: Commands, provider: RunningServer
) -> None:
    provider.brain = EqualJudge(0)
    done = asking(*LEARN, *OFFLINE, "--set", "joint.ask=with rivals")
    assert done.code == 0, done.err
    said = " ".join(done.err.split())
    assert EQUAL.replace("20", "12") + ", also with 5 criteria a call and one criterion a call" in said
    assert "the score of every text is the mean of the labels" in said
    assert "each text is rated in a call of its own" in said
    scored = asking("score", "heldout.jsonl", "--rubric", "small")
    assert scored.code == 0, scored.err
    labels = [
        json.loads(line)["scores"]["coherence"]
        for line in (asking.folder / LABELLED.name).read_text("utf-8").splitlines()
    ]
    assert [row["score"] for row in scored.rows] == [pytest.approx(sum(labels) / len(labels), abs=1e-5)] * 12
