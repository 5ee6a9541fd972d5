"""Replies as models really give them, and worse: each verdict is read rightly or missing, never miscounted.

Every reply is given twice, as the first one and after the complaint about it. What is expected stands beside it, for
question a1 about u1, u2 and u3 in turn: `y`es, `n`o, or missing (`?`).
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from seal_scripts import exam, pack, scripted, text

from rubriclab.judges.judge import FakeJudge
from rubriclab.judges.llm import strict_schema
from rubriclab.methods.seal.score import (
    TextVerdicts,
    judge_text,
    score_verdicts,
    unit_form,
)
from rubriclab.stats.intervals import DIGITS

IDS = ("u1", "u2", "u3")
CODES = {"y": 1.0, "n": 0.0, "?": None}
ONE = pack(sizes=(1,))


def entry(answer: Any, question: str = "a1", **fields: Any) -> dict[str, Any]:
    return {question: {"reason": "It shows.", "answer": answer, **fields}}


def reply(*given: Any, ids: tuple[Any, ...] = IDS, **more: Any) -> str:
    """Return a reply with these answers about the units in turn."""
    return json.dumps({**{name: entry(answer) for name, answer in zip(ids, given, strict=False)}, **more})


SOUND = reply("yes", "no", "yes")
REPLIES = {
    "as asked": (SOUND, "yny"),
    "in other clothes": (reply("**Yes**", "NO.", "yes - it does"), "yny"),
    "another order": (reply("yes", "yes", "no", ids=("u3", "u1", "u2")), "yny"),
    "ids with their markers": (reply("yes", "no", "yes", ids=("<<<u1>>>", "[u2]", "U3")), "yny"),
    "ids with what stands beside them": (reply("yes", "no", "yes", ids=("u1, sentence", "u2, x", "u3")), "yny"),
    "the question in brackets": (json.dumps({name: entry("no", "[A1]") for name in IDS}), "nnn"),
    "a list of units": (json.dumps({"units": [{"id": name, **entry("no")} for name in IDS]}), "nnn"),
    "too few": (reply("yes", "no"), "yn?"),
    "too many": (reply("yes", "no", "yes", u4=entry("yes")), "yny"),
    "a unit that was not asked about": (reply("yes", "no", "yes", ids=("u1", "u2", "u9")), "yn?"),
    "a question that was not asked": (reply("yes", "no", u1={**entry("yes", "b1"), **entry("yes", "b2")}), "?n?"),
    "twice, alike": (reply("yes", "no", "yes", U1=entry("yes")), "yny"),
    "twice, differently": (reply("yes", "no", "yes", U1=entry("no")), "?ny"),
    "not applicable": (reply("n/a", "no", "yes"), "?ny"),
    "neither yes nor no": (reply("perhaps", "yes and no", "yes"), "??y"),
    "numbers": (reply(1, 0, True), "???"),
    "without reasons": (json.dumps({n: {"a1": {"answer": "no"}} for n in IDS}), "nnn"),
    "verdicts alone": (json.dumps({n: {"a1": "no"} for n in IDS}), "nnn"),
    "numbered from 1": (reply("yes", "no", "yes", ids=("1", "2", "3")), "yny"),
    "shifted by one": (reply("yes", "no", "yes", ids=("u2", "u3", "u4")), "???"),
    "shifted by one, in another order": (reply("yes", "no", "yes", ids=("u1", "u0", "u2")), "???"),
    "an entry that is no object": (reply("yes", "no", "yes", u1="a1: yes"), "?ny"),
    "the paper's form": ('{"adjacent coherence relation": "1,0,1"}', "???"),
    "numbers for entries": ('{"u1": 5, "u2": 5, "u3": 5}', "???"),
    "nothing": ("", "???"),
}


async def judged(said: Any, **settings: Any) -> TextVerdicts:
    return await judge_text(text(3), exam(ONE, **settings), FakeJudge(said if callable(said) else lambda _: said))


@pytest.mark.parametrize(("given", "expected"), REPLIES.values(), ids=REPLIES)
async def test_a_hostile_reply_is_read_rightly_or_left_missing(given: str, expected: str):
    found = await judged(given)
    assert [found.verdicts[name, "a1"].value for name in IDS] == [CODES[code] for code in expected]
    value, (rating,) = score_verdicts(found, exam(ONE).questions, exam().assignment.scale)
    if expected.count("?") > 1:
        assert (value, rating.score) == (None, None)
    else:
        share = expected.count("y") / (3 - expected.count("?"))
        assert value == pytest.approx(1 + 4 * share, abs=1e-5)
        assert rating.score == round(share, DIGITS)


async def test_a_repair_in_good_form_mends_everything():
    for given, _ in REPLIES.values():
        found = await judged(lambda prompt, given=given: SOUND if prompt.repair else given)
        assert None not in [verdict.value for verdict in found.verdicts.values()]


async def test_the_repair_is_told_what_is_missing_or_given_twice():
    for given, told in (
        (reply("yes"), "u2: missing; u3: missing."),
        (reply("yes", "no", u3={}), "u3.a1: missing."),
        (reply("yes", "no", "yes", U1=entry("no")), "u1: one entry was expected; got 2."),
    ):
        judge = FakeJudge(lambda _, given=given: given)  # type: ignore[misc]
        found = await judge_text(text(3), exam(ONE), judge)
        assert told in judge.prompts[1].repair.complaint
        missing = [verdict for verdict in found.verdicts.values() if verdict.value is None]
        assert missing
        assert all(told in verdict.reason for verdict in missing)


# Weights

WEIGHED = pack("response", sizes=(3,), weights="judge")


async def weighed(weights: Any, **settings: Any) -> tuple[Any, ...]:
    """Return the score with these weights in the reply, of answers yes, no, no, and the ratings."""
    judge = scripted(lambda question, *_: question == "a1")

    def script(prompt):
        said = judge._script(prompt)
        return {**said, "weights": weights} if prompt.fields["weigh"] else said  # type: ignore[dict-item]

    asked = exam(WEIGHED, **settings)
    return score_verdicts(await judge_text(text(2), asked, FakeJudge(script)), asked.questions, asked.assignment.scale)


def listing(*given: Any, ids: tuple[str, ...] = ("a1", "a2", "a3")) -> dict[str, Any]:
    return dict(zip(ids, given, strict=False))


@pytest.mark.parametrize(
    ("weights", "share"),
    [
        (listing(0.5, 0.3, 0.2), 0.5),
        (listing(5, 3, 2), 0.5),
        (listing(1, 1, 1), 1 / 3),
        (listing("0.2", "0.2", "0.6"), 0.2),
        (listing(1e300, 1e300, 1e300), 1 / 3),
        (listing(0.6, 0.2, 0.2, ids=("[a1]", "A2", "a3:")), 0.6),
        (dict(reversed(listing(0.5, 0.3, 0.2).items())), 0.5),
        ([{"question": name, "weight": weight} for name, weight in listing(0.5, 0.3, 0.2).items()], 0.5),
    ],
    ids=str,
)
async def test_positive_weights_are_made_to_sum_to_one(weights: Any, share: float):
    value, ratings = await weighed(weights)
    assert value == pytest.approx(1 + 4 * share, abs=1e-5)
    assert sum(rating.weight for rating in ratings) == pytest.approx(1, abs=1e-5)
    assert ratings[0].weight == pytest.approx(share, abs=1e-5)


@pytest.mark.parametrize(
    "weights",
    [
        listing(0, 0, 0),
        listing(0.5, 0.6, -0.1),
        listing(0.5, 0.5),
        listing(0.5, 0.2, 0.3, ids=("a1", "a2", "A2")),
        listing(0.5, 0.2, 0.3, ids=("a1", "a2", "b1")),
        listing("much", "some", "little"),
        listing("NaN", 0.5, 0.5),
        listing(True, True, True),
        [0.5, 0.3, 0.2],
        None,
    ],
    ids=str,
)
async def test_weights_that_cannot_be_used_leave_the_text_unscored_and_keep_the_verdicts(weights: Any):
    value, ratings = await weighed(weights)
    assert value is None
    for rating, held in zip(ratings, (1.0, 0.0, 0.0), strict=True):
        assert (rating.score, rating.weight) == (None, None)
        assert rating.reason.startswith("there are no weights by the judge: ")
        assert rating.units[0].value == held


async def test_sound_weights_count_where_the_verdicts_beside_them_are_lost():
    def script(prompt):
        said = scripted(lambda question, *_: question == "a1", weights={"a1": 3})._script(prompt)
        return {"weights": said["weights"]} if prompt.fields["weigh"] else said  # type: ignore[index]

    asked = exam(pack("sentence", sizes=(3,), weights="judge"), most_per_call=3)
    found = await judge_text(text(3), asked, FakeJudge(script))
    value, ratings = score_verdicts(found, asked.questions, asked.assignment.scale)
    assert value == pytest.approx(1 + 4 * 0.6, abs=1e-5)
    assert [unit.value for unit in ratings[0].units] == [None, 1.0, 1.0]


# Supporting facts

SUPPORTED = pack("fact", sizes=(1,), beside=("source",), support={"a1": "source"})


def naming(*facts: Any) -> Any:
    return {f"u{n}": {"a1": {"reason": "Seen.", "facts": f}} for n, f in enumerate(facts, 1)}


@pytest.mark.parametrize(
    ("named", "value", "support"),
    [
        (["c1"], 1.0, ("Fact 0 of source 1.",)),
        (["[C2]"], 1.0, ("Fact 1 of source 1.",)),
        (["c1: Fact 0 of source 1.", "c1"], 1.0, ("Fact 0 of source 1.",)),
        ([], 0.0, ()),
        (["c9"], 0.0, ()),
        (["u1"], 0.0, ()),
        (["the third sentence"], 0.0, ()),
        (["c9", "c2"], 1.0, ("Fact 1 of source 1.",)),
        ("c1", None, ()),
        ([1], None, ()),
    ],
    ids=str,
)
async def test_a_claim_holds_only_if_a_fact_that_is_named_exists(named: Any, value: Any, support: Any):
    judge = scripted(per_sentence=2, support=lambda _: naming(named, *[["c1"]] * 5))
    found = await judge_text(text(3, source="A source."), exam(SUPPORTED), judge)
    verdict = found.verdicts["u1", "a1"]
    assert (verdict.value, verdict.support) == (value, support)
    assert ("does not exist" in verdict.reason) == (named in (["c9"], ["u1"], ["the third sentence"]))
    assert [found.verdicts[f"u{n}", "a1"].value for n in range(2, 7)] == [1.0] * 5


# Ratings


@pytest.mark.parametrize("template", ["seal/verify", "seal/support", "seal/rate"])
def test_every_form_has_a_strict_schema_with_the_reason_before_the_verdict_and_the_weights_last(template: str):
    fields = {
        "units": [{"id": "u1"}, {"id": "u2"}],
        "questions": [{"id": "a1", "text": "Is it?"}],
        "weigh": True,
        "bare": False,
        "scale": {"low": 1, "high": 5, "whole": True},
    }
    schema = strict_schema(unit_form(template, fields))
    assert list(schema["properties"]) == ["u1", "u2", "weights"]
    (entry_,) = [each for each in schema["$defs"].values() if "reason" in each["properties"]]
    assert list(entry_["properties"]).index("reason") == 0
