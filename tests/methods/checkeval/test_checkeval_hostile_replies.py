"""Replies as models really give them, and worse: each question's answer is read rightly or missing, never miscounted.

Every reply is given twice, as the first one and after the complaint about it. What is expected stands beside it, for
the questions s01 to s04 in turn: `y`es, `n`o, not applicable (`-`), or missing (`?`).
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from checkeval_scripts import assignment, question, text

from rubriclab.judges.judge import FakeJudge
from rubriclab.methods.checkeval.score import CheckEvalScoringSettings, CheckEvalSettings, ask_questions, score
from rubriclab.models.rubric import Part

IDS = ("s01", "s02", "s03", "s04")
QUESTIONS = tuple(question(name) for name in IDS)
SOUND = ("yes", "no", "yes", "n/a")
CODES = {"y": "yes", "n": "no", "-": "n/a", "?": None}


def entry(name: Any, answer: Any, **fields: Any) -> dict[str, Any]:
    return {"question": name, "reason": "It shows.", "answer": answer, **fields}


def reply(*given: Any, ids: tuple[Any, ...] = IDS) -> str:
    """Return a reply with these answers to the questions in turn, as a list if an id is no key of its own."""
    if len(set(map(str, ids))) < len(ids) or not all(isinstance(name, str) for name in ids):
        return listed(*(entry(name, answer) for name, answer in zip(ids, given, strict=False)))
    return json.dumps({n: {"reason": "It shows.", "answer": a} for n, a in zip(ids, given, strict=False)})


def listed(*entries: Any) -> str:
    return json.dumps({"answers": entries})


ENTRIES = [entry(name, answer) for name, answer in zip(IDS, SOUND, strict=True)]

REPLIES = {
    # What is as it should be, or says the same in other clothes
    "as asked": (reply(*SOUND), "yny-"),
    "bold": (reply("**yes**", "**no**", "__Yes__", "*n/a*"), "yny-"),
    "other ways to say not applicable": (reply("NA", "n.a.", "not applicable", "Not Applicable."), "----"),
    "prose around": (f"Here is what I found.\n{reply(*SOUND)}\nI hope this helps: yes or no?", "yny-"),
    "another order": (listed(*(entry(n, a) for n, a in reversed([*zip(IDS, SOUND, strict=True)]))), "yny-"),
    "ids in brackets": (reply(*SOUND, ids=("[s01]", "[s02]", "[s03]", "[s04]")), "yny-"),
    "ids in bold, with colons": (reply(*SOUND, ids=("**s01**:", "s02:", "`s03`", '"s04"')), "yny-"),
    "ids in upper case": (reply(*SOUND, ids=("S01", "S02", "S03", "S04")), "yny-"),
    "more fields than asked for": (listed(*(entry(n, a, sure=0.4) for n, a in zip(IDS, SOUND, strict=True))), "yny-"),
    "a remark beside the answers": (json.dumps({"score": 5, **json.loads(reply(*SOUND))}), "yny-"),
    "words that hold a yes": (
        listed(entry("s01", "no", reason="Yes, yes! It is notable."), *(entry(n, "no") for n in IDS[1:])),
        "nnnn",
    ),
    # Answers that are none
    "hedged": (reply("maybe", "yes, partly", "it depends", "yes"), "???y"),
    "true and false": (reply(True, False, "yes", "no"), "??yn"),
    "numbers": (reply(1, 0, "1", "no"), "???n"),
    "null": (reply(None, "no", None, "yes"), "?n?y"),
    "empty": (reply("", "  ", "**", "yes"), "???y"),
    "a list of answers": (reply(["yes"], ["yes", "no"], "yes", "no"), "??yn"),
    "an object for an answer": (reply({"answer": "yes"}, "no", "yes", "no"), "?nyn"),
    # Not one answer to each question
    "two answers missing": (reply("yes", "no"), "yn??"),
    "the first missing": (reply("no", "yes", "n/a", ids=IDS[1:]), "?ny-"),
    "no answers": (listed(), "????"),
    "one answer too many": (listed(*ENTRIES, entry("s05", "yes")), "yny-"),
    "an unknown id in place of one": (reply(*SOUND, ids=("s01", "s02", "s99", "s04")), "yn?-"),
    "twice, differently": (
        listed(entry("s01", "yes"), entry("s01", "no"), *ENTRIES[1:]),
        "?ny-",
    ),
    "twice, alike": (listed(entry("s01", "yes"), *ENTRIES), "yny-"),
    "twice, once unreadable": (listed(entry("s01", "perhaps"), *ENTRIES), "?ny-"),
    "one id for all": (reply(*SOUND, ids=("s01", "s01", "s01", "s01")), "????"),
    "renumbered from 1": (reply(*SOUND, ids=("1", "2", "3", "4")), "yny-"),
    "renumbered as numbers": (reply(*SOUND, ids=(1, 2, 3, 4)), "yny-"),
    "renumbered as Q1": (reply(*SOUND, ids=("Q1", "Q2", "Q3", "Q4")), "yny-"),
    "renumbered, one too few": (reply(*SOUND[1:], ids=("Q1", "Q2", "Q3")), "????"),
    "counted from 0": (reply(*SOUND, ids=("s00", "s01", "s02", "s03")), "????"),
    "the question's words for its id": (reply(*SOUND, ids=("Is it?", "s02", "s03", "s04")), "?ny-"),
    "ids cut short": (reply(*SOUND, ids=("s1", "s2", "s3", "s04")), "???-"),
    "two ids in one": (reply("yes", "n/a", ids=("s01, s02, s03", "s04")), "y??-"),
    "an id that is a list": (reply(*SOUND, ids=(["s01"], "s02", "s03", "s04")), "?ny-"),
    "an entry that is a string": (
        listed("s01: yes", entry("s02", "no"), entry("s03", "yes"), entry("s04", "no")),
        "?nyn",
    ),
    "an entry without an id": (listed({"reason": "", "answer": "yes"}, entry("s02", "no")), "?n??"),
    "an entry without an answer": (listed({"question": "s01", "reason": "Yes."}, entry("s02", "no")), "?n??"),
    "reasons left out": (listed(*({"question": n, "answer": a} for n, a in zip(IDS, SOUND, strict=True))), "yny-"),
    "reasons that are null": (listed(*(entry(n, a, reason=None) for n, a in zip(IDS, SOUND, strict=True))), "yny-"),
    # Another form altogether
    "the paper's format": ("Q1: Yes\nQ2: No\nQ3: Yes\nQ4: Yes", "????"),
    "ids with answers, no JSON": ("s01: yes\ns02: no\ns03: yes\ns04: n/a", "????"),
    "answers by id": (json.dumps(dict(zip(IDS, SOUND, strict=True))), "yny-"),
    "the questions by their wording": (reply(*SOUND, ids=tuple(each.statement for each in QUESTIONS)), "yny-"),
    "answers by id in an object": (json.dumps({"answers": dict(zip(IDS, SOUND, strict=True))}), "yny-"),
    "answers as one string": (json.dumps({"answers": "yes no yes n/a"}), "????"),
    "a list without an object": (json.dumps(ENTRIES), "????"),
    "prose alone": ("Yes, I would say that all four hold. No doubt about it.", "????"),
    "nothing": ("", "????"),
}


@pytest.mark.parametrize(("given", "expected"), REPLIES.values(), ids=REPLIES)
async def test_a_hostile_reply_is_read_rightly_or_left_missing_with_the_reason(given: str, expected: str):
    part = Part(method="checkeval", settings=CheckEvalSettings().model_dump(mode="json"), criteria=QUESTIONS)
    judge = FakeJudge(lambda _: given)
    value, ratings = await score(text(), part, assignment(), judge)
    assert len(judge.prompts) <= 2
    for rated, code in zip(ratings, expected, strict=True):
        assert rated.score == {"y": 1.0, "n": 0.0}.get(code)
        assert rated.applies == (code != "-")
        assert "after one repair" in rated.reason or code != "?"
    asked = expected.replace("-", "")
    if not asked or asked.count("?") >= len(asked) / 2:
        assert value is None
    else:
        assert value == pytest.approx(1 + 4 * asked.count("y") / (len(asked) - asked.count("?")), abs=1e-5)


@pytest.mark.parametrize(("given", "expected"), REPLIES.values(), ids=REPLIES)
async def test_a_repair_in_good_form_mends_everything(given: str, expected: str):
    judge = FakeJudge(lambda prompt: reply(*SOUND) if prompt.repair else given)
    found = await ask_questions(text(), QUESTIONS, {}, assignment(), judge, settings=CheckEvalScoringSettings())
    read = tuple(found[name].answer for name in IDS)
    assert read == (SOUND if len(judge.prompts) == 2 else tuple(CODES[code] for code in expected))


async def test_what_was_wrong_is_told_in_the_repair_and_with_what_stays_missing():
    judge = FakeJudge(lambda _: reply("yes", "no", "maybe", "yes"))
    found = await ask_questions(text(), QUESTIONS, {}, assignment(), judge, settings=CheckEvalScoringSettings())
    told = "yes, no or n/a was expected; got 'maybe'"
    assert told in judge.prompts[1].repair.complaint
    assert told in found["s03"].reason
    assert found["s01"].reason == "It shows."


async def test_ids_that_are_numbers_are_ids_and_no_positions():
    questions = tuple(question(name) for name in ("2", "1"))
    judge = FakeJudge(lambda _: reply("yes", "no", ids=("1", "2")))
    found = await ask_questions(text(), questions, {}, assignment(), judge, settings=CheckEvalScoringSettings())
    assert {name: said.answer for name, said in found.items()} == {"1": "yes", "2": "no"}
