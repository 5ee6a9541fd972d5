"""SEAL: units, proposals, verification, replies, aggregation and scores, and learning as a whole by script."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scripted_judge as scripts
from scripted_judge import text

from rubriclab.errors import ChecklistError, JudgeError
from rubriclab.judges.judge import FakeJudge
from rubriclab.methods.method import Learned, TrainingInput, choose_settings, ignore_progress
from rubriclab.methods.prompting import MAX_SAMPLES
from rubriclab.methods.seal import score
from rubriclab.methods.seal.learn import SEAL, checklist_questions, learn, propose, texts_to_show
from rubriclab.methods.sources import Checklist
from rubriclab.models.rubric import Part
from rubriclab.models.sentences import split_sentences
from rubriclab.models.text import Scale
from rubriclab.prompts import render
from rubriclab.stats.intervals import DIGITS


def pack(kind: str = "sentence", sizes: Sequence[int] = (1, 2), **fields: Any) -> Checklist:
    """Return a pack; `beside` and `weights` go to its units, and `support` maps ids of questions to materials."""
    beside = ("source", "reference") if kind == "triple" else fields.pop("beside", ())
    units = {"kind": kind, "beside": beside, "weights": fields.pop("weights", "equal")}
    changes = {name: {"support": material} for name, material in fields.pop("support", {}).items()}
    return scripts.checklist(sizes, units=units, changes=changes)


def exam(given: Checklist = pack(), **settings: Any) -> score.VerificationPlan:  # noqa: B008
    questions, dimensions = checklist_questions(given)
    assert given.units
    return score.VerificationPlan(
        questions, dimensions, given.units, scripts.assignment(), score.SealSettings(**settings)
    )


def pack_part(given: Checklist, **settings: Any) -> Part:
    asked = exam(given, **settings)
    part = scripts.part_of("seal", *asked.questions, dimensions=dict(asked.dimensions), **settings)
    return part.model_copy(update={"units": asked.units})


def pairs_asked(judge: FakeJudge) -> list[tuple[str, str]]:
    """Return every pair of unit and question that the judge was asked about, in order."""
    prompts = [prompt for prompt in judge.prompts if prompt.repair is None and "units" in prompt.fields]
    return [(unit["id"], asked["id"]) for p in prompts for unit in p.fields["units"] for asked in p.fields["questions"]]


def test_the_paper_s_preset_proposes_nothing_and_leaves_the_labels_alone():
    settings = choose_settings(score.SealSettings, score.PRESETS, {"preset": "paper"})
    assert settings == score.SealSettings(
        proposed=0, filter="off", most_per_call=200, sentences="judge", facts="one call", answers="bare"
    )
    assert (score.SealSettings().whole_below_sentences, score.SealSettings().whole_below_facts) == (3, 6)


async def test_the_estimated_calls_are_those_of_a_long_text():
    long_text = text(scripts.sentences(30), source="A source.", reference="A reference.", scores={scripts.ASPECT: 3})
    for kind, whole, calls in (("triple", False, 1), ("sentence", True, 1), ("sentence", False, 5)):
        judge, plan = scripts.scripted(), exam(pack(kind), proposed=0, most_per_call=20, decompose=not whole)
        await score.judge_text(long_text, plan, judge)
        training = scripts.training_input([long_text], checklist=pack(kind))
        assert SEAL.learning_calls(training, plan.settings).judge == len(judge.prompts) == calls


@pytest.mark.parametrize(
    ("weights", "packed", "judge"),
    [("as packed", "judge", True), ("as packed", "equal", False), ("judge", "equal", True), ("equal", "judge", False)],
)
def test_the_judge_weighs_where_the_setting_says_so_or_else_the_pack(weights: Any, packed: Any, judge: bool):
    assert exam(pack("response", weights=packed), weights=weights).judge_weighs is judge


@pytest.mark.parametrize("kind", ["sentence", "sentence pair"])
@pytest.mark.parametrize(
    ("count", "least", "whole"), [(2, 3, True), (3, 3, False), (4, 5, True), (5, 5, False), (1, 2, True)]
)
async def test_a_text_of_fewer_sentences_than_the_threshold_is_judged_whole(
    kind: Any, count: int, least: int, whole: bool
):
    found, units = await score.decompose(
        scripts.sentences(count), exam(pack(kind), whole_below_sentences=least), scripts.scripted()
    )
    assert (found == "whole") is whole
    if whole:
        assert units == (score.Unit("u1", scripts.sentences(count)),)


def said(*entries: tuple[Any, Any]) -> dict[str, Any]:
    """Return the reply, as a list if a sentence has several entries."""
    if len({sentence for sentence, _ in entries}) < len(entries):
        return {"facts": [{"sentence": sentence, "facts": facts} for sentence, facts in entries]}
    return {f"sentence {sentence}": facts for sentence, facts in entries}


A, B = (1, ["A."]), (2, ["B."])
REPLIES = {
    "as asked": (said(A, B), [(0, "A."), (1, "B.")]),
    "the same fact twice": (said((1, ["A.", "A."]), (2, ["A."])), [(0, "A."), (1, "A.")]),
    "a sentence twice, differently": (said(A, (1, []), B), [(1, "B.")]),
    "a sentence left out": (said(A), [(0, "A.")]),
}


@pytest.mark.parametrize(("reply", "expected"), REPLIES.values(), ids=REPLIES)
async def test_facts_that_are_sound_are_kept_and_sentences_without_a_sound_entry_are_lost(reply: Any, expected: Any):
    judge = FakeJudge(lambda _: reply)
    found = (await score.extract_facts({"output": scripts.sentences(2)}, scripts.assignment().words, judge))["output"]
    assert [(place, fact) for place, facts in enumerate(found) if isinstance(facts, list) for fact in facts] == expected
    lost = {place: why for place, why in enumerate(found) if isinstance(why, str)}
    assert set(lost) == {0, 1} - {place for place, _ in expected}
    assert all("after one repair" in why for why in lost.values())


TEXTS = scripts.examples(24)
PACK = pack("sentence pair", beside=("source", "reference"))


def training_input(texts: Any = TEXTS, given: Any = PACK) -> TrainingInput:
    return TrainingInput(tuple(texts), scripts.assignment(), checklist=given)


@pytest.mark.parametrize("count", [0, 1, 2, 5, 24])
def test_shown_texts_are_spread_over_the_ranking_whatever_their_order(count: int):
    found = texts_to_show(training_input(TEXTS[:count]))
    assert len({text.id for text in found}) == min(count, 6)
    assert texts_to_show(training_input(reversed(TEXTS[:count]))) == found


def side(name: str, question: str | None = None) -> dict[str, str]:
    return {"name": name, "definition": "d", "question": question or f"Is it {name}?"}


KNOWN = PACK.questions[0].text


@pytest.mark.parametrize(
    ("sides", "kept"),
    [
        ([side("New"), side("new"), side("Newer")], ["New", "Newer"]),
        ([side("Side 1"), side("New")], ["New"]),
        ([side("New", KNOWN.upper()), side("Newer")], ["Newer"]),
        ([side(f"New {n}") for n in range(9)], ["New 0", "New 1"]),
        ([side("Side 1")], None),
        ([], None),
        ([{"name": " ", "definition": "d", "question": "q"}], None),
    ],
)
async def test_only_new_ones_are_taken_and_no_more_than_asked_for(sides: Any, kept: Any):
    judge = FakeJudge(lambda _: {"reasoning": "So.", "sub_dimensions": sides})
    questions, _, failure = await propose(training_input(), score.SealSettings(proposed=2), judge)
    assert [question.trait for question in questions] == (kept or [])
    assert (failure is None) == bool(kept)
    assert len(scripts.of_kind(judge, "propose")) == (1 if kept else MAX_SAMPLES)


FACTS = pack("fact", sizes=(1,), beside=("source",), support={"a1": "source"})
MIXED = pack("fact", sizes=(1, 1), beside=("source", "reference"), support={"a1": "source"})
KINDS = ["sentence", "sentence pair", "fact", "response", "triple"]


def values(found: score.TextVerdicts) -> dict[tuple[str, str], float | None]:
    return {pair: verdict.value for pair, verdict in found.verdicts.items()}


def templates(judge: FakeJudge) -> list[str]:
    return [prompt.name.removeprefix("seal/") for prompt in judge.prompts]


@pytest.mark.parametrize("kind", KINDS)
async def test_every_question_is_put_to_every_unit(kind: str):
    judge = scripts.scripted()
    found = await score.judge_text(text(3, source="A source."), exam(pack(kind, beside=("source",))), judge)
    assert templates(judge) == (["facts", "facts", "verify"] if kind == "fact" else ["verify"])
    units = {"sentence": 3, "sentence pair": 2, "fact": 6}.get(kind, 1)
    assert len(found.units) == units
    assert pairs_asked(judge) == [(f"u{n}", q) for n in range(1, units + 1) for q in ("a1", "b1", "b2")]
    assert set(pairs_asked(judge)) == set(found.verdicts)


@pytest.mark.parametrize(
    ("chosen", "count", "template"),
    [
        ({}, 2, "rate"),
        ({"decompose": False}, 9, "verify"),
        ({"decompose": False}, 2, "verify"),
        ({"decompose": False, "verify": False}, 9, "rate"),
        ({"verify": False}, 9, "rate"),
        ({}, 9, "verify"),
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", ["sentence pair", "fact"])
async def test_ablations_and_short_texts_are_judged_as_the_settings_say(
    kind: str, chosen: Any, count: int, template: str
):
    given, judge = pack(kind, sizes=(2,)), scripts.scripted(says=lambda *_: True, per_sentence=1)
    found = await score.judge_text(text(count), exam(given, **chosen), judge)
    whole = count == 2 or "decompose" in chosen
    assert set(templates(judge)) - {"facts"} == {template}
    assert scripts.of_kind(judge, template)[0].fields["kind"] == ("whole" if whole else kind)
    assert [verdict.sentences == () for verdict in found.units] == [whole] * len(found.units)
    assert set(values(found).values()) == {1.0}
    assert found.is_rated == (template == "rate")


async def test_without_a_source_a_claim_that_needs_one_has_no_verdict():
    judge = scripts.scripted()
    found = await score.judge_text(text(3), exam(FACTS), judge)
    assert judge.prompts == []
    assert {verdict.reason for verdict in found.verdicts.values()} == {
        "no fact can be named: the summary comes without a source text"
    }
    judge = scripts.scripted()
    found = await score.judge_text(text(3, reference="Ref."), exam(MIXED), judge)
    assert {pair: value is None for pair, value in values(found).items()} == {
        (f"u{n}", q): q == "a1" for n in range(1, 7) for q in ("a1", "b1")
    }
    assert scripts.of_kind(judge, "support") == []


async def test_a_source_without_any_facts_leaves_its_claims_without_a_verdict_and_is_shown_as_it_is_to_others():
    usual = scripts.Scripted()
    judge = scripts.scripted(facts=lambda p: "no" if p.fields["sentences"][0]["what"] == "source" else usual(p))
    found = await score.judge_text(text(3, source="A source.", reference="Ref is so."), exam(MIXED), judge)
    assert {value is None for (_, question), value in values(found).items() if question == "a1"} == {True}
    assert "could not all be obtained: unusable reply" in found.verdicts["u1", "a1"].reason
    (verify,) = scripts.of_kind(judge, "verify")
    assert verify.fields["source"] == "A source."
    assert {fact["of"] for fact in verify.fields["facts"]} == {"reference"}


@pytest.mark.parametrize(("most", "first", "calls"), [(40, 10, 4), (1, 0, 121)])
async def test_weights_are_asked_for_once_with_all_questions_in_view(most: int, first: int, calls: int):
    judge = scripts.scripted(weights={"a1": 2})
    found = await score.judge_text(text(40), exam(pack(weights="judge"), most_per_call=most), judge)
    fields = judge.prompts[0].fields
    assert ([q["id"] for q in fields["questions"]], len(fields["units"])) == (["a1", "b1", "b2"], first)
    assert [prompt.fields["weigh"] for prompt in judge.prompts] == [True] + [False] * (calls - 1)
    assert found.weights == {"a1": 2, "b1": 1, "b2": 1}
    assert len(found.verdicts) == len(set(pairs_asked(judge))) == 120


@pytest.mark.parametrize("output", ["", "  \n ", "... ?"])
@pytest.mark.parametrize("kind", KINDS)
async def test_nothing_is_asked_about_an_empty_text(kind: str, output: str):
    judge = scripts.scripted()
    found = await score.judge_text(text(output), exam(pack(kind)), judge)
    assert (judge.prompts, found.units, found.why_unscored) == ([], (), "there is no sentence in the summary")


IDS = ("u1", "u2", "u3")
CODES = {"y": 1.0, "n": 0.0, "?": None}
ONE = pack(sizes=(1,))


def entry(answer: Any, question: str = "a1", **fields: Any) -> dict[str, Any]:
    return {question: {"reason": "It shows.", "answer": answer, **fields}}


def reply(*given: Any, ids: tuple[Any, ...] = IDS, **more: Any) -> str:
    return json.dumps({**{name: entry(answer) for name, answer in zip(ids, given, strict=False)}, **more})


SOUND = reply("yes", "no", "yes")
REPLIES_REPLIES = {
    "as asked": (SOUND, "yny"),
    "not applicable": (reply("n/a", "no", "yes"), "?ny"),
    "shifted by one, in another order": (reply("yes", "no", "yes", ids=("u1", "u0", "u2")), "???"),
    "the paper's form": ('{"adjacent coherence relation": "1,0,1"}', "???"),
}


@pytest.mark.parametrize(("given", "expected"), REPLIES_REPLIES.values(), ids=REPLIES_REPLIES)
async def test_a_hostile_reply_is_read_rightly_or_left_missing(given: str, expected: str):
    found = await score.judge_text(text(3), exam(ONE), FakeJudge(lambda _: given))
    assert [found.verdicts[name, "a1"].value for name in IDS] == [CODES[code] for code in expected]
    value, (rating,) = score.score_verdicts(found, exam(ONE).questions, exam().assignment.scale)
    if expected.count("?") > 1:
        assert (value, rating.score) == (None, None)
    else:
        share = expected.count("y") / (3 - expected.count("?"))
        assert value == pytest.approx(1 + 4 * share, abs=1e-5)
        assert rating.score == round(share, DIGITS)


WEIGHED = pack("response", sizes=(3,), weights="judge")


async def weighed(weights: Any, **settings: Any) -> tuple[Any, ...]:
    """Return the score with these weights in the reply, of answers yes, no, no, and the ratings."""
    judge = scripts.scripted(says=lambda question, *_: question == "a1")

    def script(prompt):
        said = judge._script(prompt)
        return {**said, "weights": weights} if prompt.fields["weigh"] else said  # type: ignore[dict-item]

    asked = exam(WEIGHED, **settings)
    return score.score_verdicts(
        await score.judge_text(text(2), asked, FakeJudge(script)), asked.questions, asked.assignment.scale
    )


def listing(*given: Any, ids: tuple[str, ...] = ("a1", "a2", "a3")) -> dict[str, Any]:
    return dict(zip(ids, given, strict=False))


@pytest.mark.parametrize(
    ("weights", "share"),
    [
        (listing(0.5, 0.3, 0.2), 0.5),
        (listing(5, 3, 2), 0.5),
        (listing("0.2", "0.2", "0.6"), 0.2),
        (listing(1e300, 1e300, 1e300), 1 / 3),
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
        listing("much", "some", "little"),
        listing("NaN", 0.5, 0.5),
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
        (["the third sentence"], 0.0, ()),
        (["c9", "c2"], 1.0, ("Fact 1 of source 1.",)),
        ("c1", None, ()),
    ],
    ids=str,
)
async def test_a_claim_holds_only_if_a_fact_that_is_named_exists(named: Any, value: Any, support: Any):
    judge = scripts.scripted(per_sentence=2, support=lambda _: naming(named, *[["c1"]] * 5))
    found = await score.judge_text(text(3, source="A source."), exam(FACTS), judge)
    verdict = found.verdicts["u1", "a1"]
    assert (verdict.value, verdict.support) == (value, support)
    assert ("does not exist" in verdict.reason) == (named in (["c9"], ["u1"], ["the third sentence"]))
    assert [found.verdicts[f"u{n}", "a1"].value for n in range(2, 7)] == [1.0] * 5


N = math.nan


@pytest.mark.parametrize(
    ("row", "weights", "expected"),
    [
        ([1, N], [1, 1], N),
        ([1, 0, N], [1, 1, 1], 0.5),
        ([1, N], [1.001, 1], 1.0),
        ([1, N], [1, 1.001], N),
        ([N] * 5 + [1] * 5, [0.1] * 10, N),
        ([N], [1], N),
    ],
)
def test_a_unit_is_missing_where_verdicts_of_half_its_weight_are(row, weights, expected):
    np.testing.assert_allclose(score.unit_scores(np.array([row], dtype=float), weights), [expected])


QUESTIONS = exam(pack(sizes=(1, 1))).questions
ONE_TO_FIVE = scripts.assignment().scale


def found(*rows: tuple[float | None, float | None], **fields: Any) -> score.TextVerdicts:
    """Return verdicts on questions a1 and b1 about as many units."""
    units = tuple(score.Unit(f"u{n}", f"Unit {n}.", (n - 1,)) for n in range(1, len(rows) + 1))
    verdicts = {
        (unit.id, question.id): unit.verdict(value, f"Reason {question.id} {unit.id}.")
        for unit, row in zip(units, rows, strict=True)
        for question, value in zip(QUESTIONS, row, strict=True)
    }
    return score.TextVerdicts(units, verdicts, **fields)


@pytest.mark.parametrize(
    ("scale", "expected"),
    [(ONE_TO_FIVE, 4.0), (Scale(low=0, high=1, whole=False), 0.75), (Scale(low=-3, high=3, whole=True), 1.5)],
)
def test_the_mean_over_units_is_mapped_to_the_scale(scale: Scale, expected: float):
    value, ratings = score.score_verdicts(found((1, 1), (1, 0)), QUESTIONS, scale)
    assert value == expected
    assert [(rating.id, rating.score, rating.weight) for rating in ratings] == [("a1", 1.0, None), ("b1", 0.5, None)]


TEXTS_LEARN = tuple(
    replace(text, output=f"{scripts.sentences(3)} {text.output}", reference="Ref is so.")
    for text in scripts.examples(24, groups=8)
)
LABELS = {text.output: text.scores[scripts.ASPECT] for text in TEXTS_LEARN}


async def run(
    texts: Any = TEXTS_LEARN,
    says: scripts.Says = scripts.drawn_verdict,
    *,
    given: Checklist | None = pack(),  # noqa: B008
    judge: FakeJudge | None = None,
    generator: FakeJudge | None = None,
    on_progress: Any = ignore_progress,
    **chosen: Any,
) -> tuple[Learned, FakeJudge, FakeJudge]:
    """Learn with two proposals, unless chosen otherwise, and return the result with the two judges."""
    judge, generator = judge or scripts.scripted(says=says), generator or scripts.scripted()
    training_input = TrainingInput(tuple(texts), scripts.assignment(), checklist=given)
    settings = score.SealSettings(**{"proposed": 2, **chosen})
    return (
        await learn(training_input, settings, judge=judge, generator=generator, seed=1, on_progress=on_progress),
        judge,
        generator,
    )


def reasons(learned: Learned) -> dict[str, str]:
    return {dropped.criterion.id: dropped.reason for dropped in learned.part.dropped}


def misleading(question: str, unit: str, output: str) -> bool:
    """Answer a1 with the labels, b1 against them, b2 always alike, p1 with them, and p2 by lot."""
    high = LABELS[output] >= 3
    told = {"a1": high, "b1": not high, "b2": True, "p1": LABELS[output] >= 4}
    return told.get(question, scripts.drawn_verdict(question, unit, output, seed=4))


async def test_what_the_labels_speak_against_leaves_and_proposals_stay_only_where_they_track_them():
    learned, _, _ = await run(says=misleading)
    left = reasons(learned)
    assert [each.id for each in learned.part.criteria] == ["a1", "p1"]
    assert left["b1"].startswith("runs against the labels: correlation -0.")
    assert left["b2"].startswith("the same answer for all 24 training texts")
    assert left["p2"].startswith("does not track the labels: correlation ")


async def test_with_the_filter_off_or_without_labels_all_stay():
    assert reasons((await run(says=misleading, filter="off"))[0]) == {}
    assert len((await run(()))[0].part.criteria) == 5


async def test_without_a_pack_and_without_proposals_there_is_nothing_to_ask():
    with pytest.raises(ChecklistError, match='`checklist="FILE"`'):
        await run(given=None, proposed=0)
    with pytest.raises(JudgeError, match="no questions to ask: no sub-dimensions could be proposed: unusable reply"):
        await run(given=None, generator=FakeJudge(lambda _: "no"))


def paper(**more):
    return choose_settings(SEAL.settings, SEAL.presets, {"preset": "paper", **more}).model_dump()


UNPACKED_FACTS = pack("fact", sizes=(2,))
BARE = [
    (FACTS, "support", {}),
    (UNPACKED_FACTS, "verify", {}),
    (UNPACKED_FACTS, "rate", {"verify": False}),
    (pack("sentence", sizes=(2,)), "verify", {}),
    (pack("response", sizes=(2,), weights="judge"), "verify", {}),
]


@pytest.mark.parametrize(("asked", "template", "more"), BARE)
async def test_no_reason_is_asked_for_and_the_score_is_that_of_verdicts_with_reasons(asked, template: str, more: dict):
    example, judge = text(4, source="A source. It says so."), scripts.scripted()
    value, ratings = await SEAL.score(example, pack_part(asked, **paper(**more)), scripts.assignment(), judge)
    explained, _ = await SEAL.score(
        example, pack_part(asked, **paper(answers="with reasons", **more)), scripts.assignment(), scripts.scripted()
    )
    assert value == explained is not None
    prompts = scripts.of_kind(judge, template)
    assert prompts
    assert not [prompt for prompt in prompts if "`reason`" in render(prompt)[1]["content"]]
    assert {unit.reason for rating in ratings for unit in rating.units} == {""}


SPLIT = "One. Two here! Three, at last. And four"


async def test_the_judge_splits_the_text_in_a_call_of_its_own():
    parts = ["One. Two here!", "Three,  at last.", "And four"]
    judge = scripts.scripted(split=lambda _: {"sentences": parts})
    given = pack_part(pack("sentence", sizes=(1,)), **paper())
    _, (rating,) = await SEAL.score(text(SPLIT), given, scripts.assignment(), judge)
    assert len(scripts.of_kind(judge, "split")) == 1
    assert [verdict.unit for verdict in rating.units] == ["One. Two here!", "Three, at last.", "And four"]
    assert [verdict.sentences for verdict in rating.units] == [(0, 1), (2,), (3,)]
    assert split_sentences(SPLIT)[2] == "Three, at last."


@pytest.mark.parametrize(
    "parts", [["One.", "Two here!"], ["One. Two here! Three at last. And four"], [SPLIT, "More."], []], ids=str
)
async def test_a_split_that_is_not_the_text_is_no_split(parts: list[str]):
    judge = scripts.scripted(split=lambda _: {"sentences": parts})
    given = pack_part(pack("sentence", sizes=(1,)), **paper())
    value, (rating,) = await SEAL.score(text(SPLIT), given, scripts.assignment(), judge)
    assert value is None
    assert "did not split" in rating.units[0].reason
