"""How replies are read: one entry for each number, and of a reply that failed twice what is sound."""

import pytest
from dcr_scripts import evaluation as evaluate, marks as convert, part, repairs, scripted, sentences, text
from hypoeval_scripts import assignment

from rubriclab.errors import JudgeUnavailable
from rubriclab.methods.dcr import DCR, Mark, SentenceVerdict

FOUR = sentences(4, bad=[2])
SOUND = "+-++"
CODES = {1.0: "+", 0.0: "-", None: "?"}


async def read(judge, **chosen):
    """Return the marks of four sentences as signs, `?` where missing, and the rating."""
    _, (rated,) = await DCR.score(text(FOUR), part(**chosen), assignment(), judge)
    return "".join(CODES[unit.value] for unit in rated.units), rated


def keyed(what, ids, entries):
    """Return the reply, as a list if an id is no key of its own."""
    if len(set(ids)) < len(ids):
        return {"entries": [{"id": n, **entry} for n, entry in zip(ids, entries, strict=True)]}
    names = [f"{what} {n}" if type(n) is int else str(n) for n in ids]
    return dict(zip(names, entries, strict=True))


def marked(*signs, ids=(1, 2, 3, 4)):
    return keyed("report", ids, [{"thought": "Clear.", "mark": sign} for sign in signs])


def reasoned(*reasons, ids=(1, 2, 3, 4)):
    return keyed("sentence", ids, [{"reason": said} for said in reasons])


OK, BAD = "All there. Consistent.", "Wrong name. It is not consistent."

MARKS = {
    "whole numbers": (marked(1, -1, 1, 1), SOUND),
    "strings": (marked("+1", "-1", "1", " 1 "), SOUND),
    "another order": (marked(1, 1, -1, 1, ids=(4, 3, 2, 1)), SOUND),
    "numbers as words": (marked(1, -1, 1, 1, ids=("1", "[2]", "report 3", "**4**:")), SOUND),
    "without thoughts": ({f"report {n}": {"mark": s} for n, s in enumerate((1, -1, 1, 1), 1)}, SOUND),
    "zero": (marked(1, 0, 1, 1), "+?++"),
    "a half": (marked(0.5, -1, 1, 1), "?-++"),
    "decimals": (marked(1.0, -1.0, 1, 1), "+-++"),
    "truth values": (marked(True, False, 1, 1), "??++"),
    "words": (marked("positive", "negative", 1, 1), "??++"),
    "another minus": (marked(1, "−1", 1, 1), "+-++"),
    "null and a list": (marked(None, [-1], 1, 1), "??++"),
    "two and minus two": (marked(2, -2, 1, 1), "??++"),
    "too few": (marked(1, -1, ids=(1, 3)), "+?-?"),
    "too many": (marked(1, -1, 1, 1, -1, ids=(1, 2, 3, 4, 5)), SOUND),
    "marks alone": ({f"report {n}": s for n, s in enumerate((1, -1, 1, 1), 1)}, SOUND),
    "none": ({}, "????"),
    "unknown number": (marked(1, -1, 1, 1, ids=(1, 2, 3, 9)), "+-+?"),
    "counted from zero": (marked(1, -1, 1, 1, ids=(0, 1, 2, 3)), "????"),
    "counted from two": (marked(1, -1, 1, 1, ids=(2, 3, 4, 5)), "????"),
    "negative number": (marked(1, -1, 1, 1, ids=(1, 2, 3, "-4")), "+-+?"),
    "number that is true": (marked(1, -1, 1, 1, ids=(True, 2, 3, 4)), "?-++"),
    "twice alike": (marked(1, -1, -1, 1, 1, ids=(1, 2, 2, 3, 4)), SOUND),
    "twice, unlike": (marked(1, -1, 1, 1, 1, ids=(1, 2, 2, 3, 4)), "+?++"),
    "twice, once unusable": (marked(1, -1, 0, 1, 1, ids=(1, 2, 2, 3, 4)), "+?++"),
    "an array as in the paper": ({"marks": [1, -1, 1, 1]}, "????"),
    "one sign for all": ({"marks": 1}, "????"),
}

REASONS = {
    "sound": (reasoned(OK, BAD, OK, OK), SOUND),
    "numbers as words": (reasoned(OK, BAD, OK, OK, ids=("Sentence 1", "2.", "(3)", "4")), SOUND),
    "empty": (reasoned(OK, "", OK, OK), "+?++"),
    "blank": (reasoned(OK, " \n", OK, OK), "+?++"),
    "dots": (reasoned(OK, "...", OK, OK), "+?++"),
    "null": (reasoned(OK, None, OK, OK), "+?++"),
    "no text": (reasoned(OK, {"consistent": False}, OK, OK), "+?++"),
    "too few": (reasoned(OK, BAD, OK, ids=(1, 2, 4)), "+-?+"),
    "too many": (reasoned(OK, BAD, OK, OK, BAD, ids=(1, 2, 3, 4, 5)), SOUND),
    "twice alike": (reasoned(OK, OK, BAD, OK, OK, ids=(1, 1, 2, 3, 4)), SOUND),
    "twice, unlike": (reasoned(OK, BAD, BAD, OK, OK, ids=(1, 1, 2, 3, 4)), "?-++"),
    "sentences for numbers": (reasoned(OK, BAD, ids=("Claim 1 is true.", 2)), "?-??"),
    "bare reasons": ({"sentences": [OK, BAD, OK, OK]}, "????"),
    "nothing": ("", "????"),
}

VERDICTS = {
    "yes and no": (("yes", "no", "Yes.", "**yes**"), SOUND),
    "hedged": (("yes", "partly", "yes, but no", "yes"), "+??+"),
    "truth values": ((True, False, "yes", "yes"), "??++"),
    "words of the paper": (("yes", "not consistent", "true", "yes"), "+??+"),
}


def counts(code, rated):
    """Check that a score is made of the marks that are there, and of enough of them."""
    if code.count("?") >= 2:
        assert rated.score is None
        assert f"{code.count('?')} of 4 sentences of the summary without a usable mark; the first: " in rated.reason
    else:
        assert rated.score == pytest.approx(1 + 4 * code.count("+") / (4 - code.count("?")), abs=1e-5)
    assert all(unit.reason for unit in rated.units)


@pytest.mark.parametrize(("given", "code"), MARKS.values(), ids=MARKS)
async def test_marks_are_read_rightly_or_missing(given, code):
    judge = scripted(convert=lambda _: given)
    found, rated = await read(judge)
    assert found == code
    assert len(repairs(judge, "convert")) <= 1
    counts(code, rated)


@pytest.mark.parametrize(("given", "code"), REASONS.values(), ids=REASONS)
async def test_reasons_are_read_rightly_or_missing(given, code):
    judge = scripted(evaluate=lambda _: given)
    found, rated = await read(judge)
    assert found == code
    assert len(repairs(judge, "evaluate")) <= 1
    counts(code, rated)


@pytest.mark.parametrize(("given", "code"), VERDICTS.values(), ids=VERDICTS)
async def test_verdicts_are_read_as_answers_to_a_yes_no_question(given, code):
    told = reasoned(OK, BAD, OK, OK)
    for entry, answer in zip(told.values(), given, strict=True):
        entry["consistent"] = answer
    found, rated = await read(scripted(evaluate=lambda _: told), verdict="with the reason")
    assert found == code
    counts(code, rated)


@pytest.mark.parametrize("name", ["evaluate", "convert"])
async def test_a_repair_in_good_form_mends_everything(name):
    sound = {"evaluate": evaluate, "convert": convert}[name]
    judge = scripted(**{name: lambda prompt: sound(prompt) if prompt.repair else "Let me think."})
    assert (await read(judge))[0] == SOUND
    assert len(judge.prompts) == 3


async def test_what_was_wrong_is_told_in_the_repair_and_with_what_stays_missing():
    judge = scripted(convert=lambda _: marked(1, "minus", 1, 1))
    _, rated = await read(judge)
    told = "1 or -1 was expected; got 'minus'"
    assert told in repairs(judge, "convert")[0].repair.complaint
    assert told in rated.units[1].reason
    assert rated.units[1].reason.startswith("It says: Claim 2 is false.")
    judge = scripted(convert=lambda _: marked(1, -1, 1, ids=(1, 2, 7)))
    await read(judge)
    assert repairs(judge, "convert")[0].repair.complaint == "report 3: missing; report 4: missing."


async def test_only_reasons_that_exist_are_converted():
    judge = scripted(evaluate=lambda _: reasoned(OK, "", BAD, OK))
    found, _ = await read(judge)
    (asked,) = [prompt for prompt in judge.prompts if prompt.name == "dcr/convert"]
    assert asked.fields == {"reasons": [{"id": 1, "text": OK}, {"id": 3, "text": BAD}, {"id": 4, "text": OK}]}
    assert found == "+?-+"


@pytest.mark.parametrize("name", ["evaluate", "convert"])
async def test_what_never_came_is_missing_with_the_provider_s_words(name):
    def down(_):
        raise JudgeUnavailable("The provider is busy.")

    found, rated = await read(scripted(**{name: down}))
    assert found == "????"
    assert "The provider is busy." in rated.reason


def test_the_reason_is_asked_for_before_what_it_comes_to():
    for form, order in (
        (SentenceVerdict, "reason consistent"),
        (Mark, "thought mark"),
    ):
        assert list(form.model_json_schema()["properties"]) == order.split()
