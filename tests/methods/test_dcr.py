"""DCR: settings, scores, replies, what labelled texts say of it, and prompts."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from hypothesis import given, settings as tries, strategies as st
from scripted_judge import ASPECT, assignment, compared, comparisons, dcr_part, learn, of_kind, scripted, training_input

from rubriclab.errors import ChecklistError, DataError
from rubriclab.methods.dcr import DCR, DCRSettings
from rubriclab.methods.method import choose_settings
from rubriclab.models.sentences import split_sentences
from rubriclab.models.text import Example, Scale, Units
from rubriclab.prompts import render

SOURCE = "Ann met Bo in Ulm. They spoke of rain."


def text(output, source=SOURCE, **fields):
    return Example(**{"id": "t", "group": "g", "output": output, "source": source, **fields})


def claims(count, bad=()):
    """Return `count` sentences; those numbered in `bad`, from 1, are false."""
    return " ".join(f"Claim {n} is {'false' if n in bad else 'true'}." for n in range(1, count + 1))


def split_as(*sentences):
    """Return the reply of a judge that splits the text into `sentences`."""
    return lambda prompt: {"sentences": [{"sentence": each, **compared(prompt, each)} for each in sentences]}


def test_the_paper_s_preset_has_a_second_call_that_converts_all_reasons_at_once():
    paper = choose_settings(DCR.settings, DCR.presets, {"preset": "paper"})
    assert paper == DCRSettings(level="sentence", sentences="judge", verdict="converted", most_per_call=200)


async def rate(example, judge=None, scale=(), **chosen):
    value, (rated,) = await DCR.score(example, dcr_part(**chosen), assignment(*scale), judge or scripted())
    assert value == rated.score
    return rated


async def test_each_sentence_has_its_mark_and_its_reason():
    output = claims(4, bad=[2])
    rated = await rate(text(output))
    assert rated.score == 4
    assert [verdict.unit for verdict in rated.units] == list(split_sentences(output))
    assert [verdict.sentences for verdict in rated.units] == [(0,), (1,), (2,), (3,)]
    assert [verdict.value for verdict in rated.units] == [1, 0, 1, 1]
    assert rated.units[1].reason == "It says: Claim 2 is false. So it is not consistent."
    head = "3 of 4 sentences of the summary are consistent with the source text. Sentence 2: "
    assert rated.reason == head + rated.units[1].reason


@tries(deadline=None, max_examples=30)
@given(
    good=st.lists(st.booleans(), min_size=1, max_size=12),
    portion=st.integers(1, 5),
    low=st.integers(-5, 5),
    width=st.integers(1, 9),
)
def test_the_score_is_the_share_of_consistent_sentences_on_the_scale(good, portion, low, width):
    output = claims(len(good), bad=[n for n, is_good in enumerate(good, 1) if not is_good])
    scale = Scale(low=low, high=low + width, whole=True)
    rated = asyncio.run(rate(text(output), scale=(scale,), most_per_call=portion))
    assert rated.score == pytest.approx(low + width * sum(good) / len(good), abs=1e-5)
    assert [verdict.value for verdict in rated.units] == [float(is_good) for is_good in good]


@pytest.mark.parametrize(("level", "calls"), [("sentence", 6), ("paragraph", 2)])
async def test_the_estimated_calls_are_those_of_a_long_text(level: str, calls: int):
    judge, long_text, settings = scripted(), text(claims(25)), {"level": level, "most_per_call": 10}
    await rate(long_text, judge, **settings, verdict="converted")
    chosen = DCRSettings.model_validate({**settings, "verdict": "converted"})
    assert DCR.learning_calls(training_input([long_text]), chosen).judge == len(judge.prompts) == calls


SPLIT = "Ann is true. Bo is false! And so on"


@pytest.mark.parametrize("verdict", ["converted", "with the reason"])
async def test_the_paper_s_judge_splits_the_text_in_the_call_that_compares_it(verdict: str):
    judge = scripted(evaluate=split_as("Ann is true. Bo is false!", "And so  on"))
    rated = await rate(text(SPLIT), judge, sentences="judge", most_per_call=1, verdict=verdict)
    (asked,) = of_kind(judge, "evaluate")
    assert "To be judged" not in render(asked)[-1]["content"]
    assert len(judge.prompts) == (2 if verdict == "converted" else 1)
    assert [(verdict.unit, verdict.sentences, verdict.value) for verdict in rated.units] == [
        ("Ann is true. Bo is false!", (0, 1), 0),
        ("And so on", (2,), 1),
    ]
    assert rated.score == 3


@pytest.mark.parametrize("parts", [["Ann is true.", "Bo is false!"], [SPLIT, "More."], []], ids=str)
async def test_a_split_that_is_not_the_text_leaves_the_text_unscored(parts: list[str]):
    judge = scripted(evaluate=split_as(*parts))
    rated = await rate(text(SPLIT), judge, sentences="judge")
    assert sum(prompt.repair is not None for prompt in judge.prompts) == 1
    assert rated.score is None
    assert [(verdict.unit, verdict.sentences) for verdict in rated.units] == [(SPLIT, ())]


@pytest.mark.parametrize(
    ("example", "chosen", "reason"),
    [
        (text("A claim.", source=None), {}, "there is no source text to compare it with (field 'source')"),
        (text("A claim."), {"material": "reference"}, "there is no reference summary to compare it with"),
        (text(""), {}, "there is no sentence in the summary"),
        (text("..."), {"level": "paragraph"}, "there is no sentence in the summary"),
    ],
)
async def test_what_cannot_be_compared_is_unscored_and_nothing_is_asked(example, chosen, reason):
    judge = scripted()
    rated = await rate(example, judge, **chosen)
    assert rated.score is None
    assert rated.reason.startswith(reason)
    assert (rated.units, judge.prompts) == ((), [])


FOUR = claims(4, bad=[2])
SOUND = "+-++"
CODES = {1.0: "+", 0.0: "-", None: "?"}


async def read(judge, **chosen):
    """Return the marks of four sentences as signs, `?` where missing, and the rating."""
    _, (rated,) = await DCR.score(text(FOUR), dcr_part(**chosen), assignment(), judge)
    return "".join(CODES[verdict.value] for verdict in rated.units), rated


def marked(*signs):
    return {f"report {n}": {"thought": "Clear.", "mark": sign} for n, sign in enumerate(signs, 1)}


MARKS = {
    "whole numbers": (marked(1, -1, 1, 1), SOUND),
    "zero": (marked(1, 0, 1, 1), "+?++"),
    "decimals": (marked(1.0, -1.0, 1, 1), "+-++"),
    "truth values": (marked(True, False, 1, 1), "??++"),
    "another minus": (marked(1, "−1", 1, 1), "+-++"),
    "marks alone": ({f"report {n}": s for n, s in enumerate((1, -1, 1, 1), 1)}, SOUND),
    "an array as in the paper": ({"marks": [1, -1, 1, 1]}, "????"),
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
    assert sum(prompt.repair is not None for prompt in judge.prompts) <= 1
    counts(code, rated)


def with_label(bad=(0, 1, 2, 3), **fields):
    """Return texts of four sentences, of which as many are false as `bad` says; labels fall as these rise."""
    return tuple(
        replace(
            text(claims(4, bad=range(1, wrong + 1)), **fields),
            id=f"t{at}",
            group=f"g{at % 2}",
            scores={ASPECT: 5.0 - wrong},
        )
        for at, wrong in enumerate(bad)
    )


async def run(texts=(), given=None, judge=None, **chosen):
    chosen = {"verdict": "converted", **chosen}
    return await learn("dcr", texts, judge=judge, given={"checklist": given or comparisons()}, **chosen)


async def test_labelled_texts_are_evidence_and_decide_nothing():
    texts = with_label()
    learned = await run(texts)
    evidence = learned.part.criteria[0].evidence
    assert (evidence.judged, evidence.missing, evidence.pearson) == (4, 0, 1.0)
    assert dict(zip(learned.examples, learned.scores, strict=True)) == {each.id: each.scores[ASPECT] for each in texts}
    assert not learned.optimistic
    turned = [replace(each, scores={ASPECT: 6.0 - each.scores[ASPECT]}) for each in texts]
    other = await run(turned)
    assert other.part.criteria[0].evidence.pearson == -1.0
    assert other.part.criteria[0].statement == learned.part.criteria[0].statement
    assert other.scores.tolist() == learned.scores.tolist()


@pytest.mark.parametrize("material", ["source", "context", "reference"])
async def test_where_no_text_has_it_learning_fails_before_anything_is_asked(material):
    judge, beside = scripted(), comparisons(beside=[material])
    bare = [replace(each, source=None) for each in with_label()]
    with pytest.raises(DataError, match=f"None of the 4 labelled texts can be compared with its .*field '{material}'"):
        await run(bare, beside, judge)
    with pytest.raises(DataError, match=f"no sentence .* Give texts with words in both the output and the {material}"):
        await run([replace(each, **{material: "Ann."}, output="...") for each in bare], beside, judge)
    assert judge.prompts == []
    learned = await run([replace(each, **{material: "Ann met Bo."}) for each in bare], beside)
    assert learned.part.units.beside == (material,)


@pytest.mark.parametrize(
    ("units", "came"),
    [
        (None, "has no `units`: nothing says what sentences are compared with"),
        ({"kind": "sentence pair", "beside": ["source"]}, "are for a sentence pair beside source, which"),
        ({"kind": "sentence", "beside": ["source", "context"]}, "sentence beside source and context, which"),
        (
            {"kind": "sentence", "beside": ["source"], "weights": "judge"},
            "sentence beside source, with weights from the judge",
        ),
    ],
    ids=str,
)
async def test_a_checklist_for_something_else_is_refused_with_what_was_expected(units, came):
    given = comparisons().model_copy(update={"units": Units.model_validate(units) if units else None})
    with pytest.raises(ChecklistError, match=came) as raised:
        await run(with_label(), given)
    assert '"units": {"kind": "sentence", "beside": ["source"]}' in raised.value.hint
