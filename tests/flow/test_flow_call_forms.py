"""Judges that cannot answer about many criteria at once: learning asks in the simplest form that they can answer."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from commands import HELDOUT, LABELLED, Commands
from server import RunningServer

LEARN = ("learn", LABELLED, "--task", "summarization", "--aspect", "coherence", "--name", "small")
OFFLINE = ("--generator", "embedded")
SHOWN = re.compile(r"^Answer with one JSON object .*:\n(\{.*\})$", re.MULTILINE)
# An entry of the form that a prompt shows: an id, and whether a reason stands before the verdict.
ENTRY = re.compile(r'"([\w.\'-]+)": (\{"reason": "\.\.\.", )?"?(score|answer|<|yes)')
UNUSABLE = "A fine text, I would say."


class SmallJudge:
    """A judge that answers usably about at most so many criteria at once, and only without reasons if it is `bare`."""

    def __init__(self, most: int, *, bare: bool = False) -> None:
        self.most, self.bare, self.asked = most, bare, list[int]()

    def __call__(self, messages: list[dict[str, str]], _body: dict[str, Any]) -> str:
        question = messages[1]["content"]
        form, score = SHOWN.findall(question)[-1], 1 + len(question) % 5
        if '"properties"' not in form:
            entries = ENTRY.findall(form)
            self.asked.append(len(entries))
            with_reasons = any(reason for _, reason, _ in entries)
            usable = len(entries) <= self.most and not (self.bare and with_reasons)
            return json.dumps(self._entries(entries, score)) if usable else UNUSABLE
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


@pytest.mark.parametrize(
    ("judge", "form", "words"),
    [
        (SmallJudge(10), {"criteria": 10, "reasons": True}, "10 criteria a call"),
        (SmallJudge(1), {"criteria": 1, "reasons": True}, "one criterion a call"),
        (SmallJudge(1, bare=True), {"criteria": 1, "reasons": False}, "one criterion a call, scores without reasons"),
    ],
)
def test_learning_and_scoring_ask_in_the_simplest_form_that_the_judge_can_answer_and_say_its_price(
    judge: SmallJudge, form: dict[str, Any], words: str, asking: Commands, provider: RunningServer
) -> None:
    provider.brain = judge
    done = asking(*LEARN, *OFFLINE, "--json")
    assert done.code == 0, done.err
    # The texts that are asked about in the usual form are five, and one in each simpler form.
    assert sum(number > judge.most for number in judge.asked) <= 10
    said = " ".join(done.err.split())
    assert re.search(rf"asked again in the form {words}, .* takes about [\d,]+ calls and [\d,]+ prompt tokens", said)
    stored = asking("show", "small", "--json").json["rubric"]["aggregation"]
    assert stored["form"] == form
    judge.asked.clear()
    scored = asking("score", HELDOUT, "--rubric", "small")
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
    assert "no usable rating of the first 5 texts in any form" in done.error
    assert repr(UNUSABLE) in done.error
    assert "it held no complete JSON object" in done.error
