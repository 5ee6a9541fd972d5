"""The rounds of one text and of a stream of them, what is gained, and which scores can be compared."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st
from scripted_judge import DRAFT, comparison, criterion, mended, of_kind, part_of, rubric_of, scripted, sentence_rubric

from rubriclab.data.readers import from_rows
from rubriclab.errors import JudgeUnavailable
from rubriclab.learning.scoring import Score
from rubriclab.methods.method import CriterionRating, UnitVerdict
from rubriclab.models.sentences import split_sentences
from rubriclab.models.text import Example
from rubriclab.ops.improve import Reviser, why_incomparable
from rubriclab.ops.options import ImproveOptions

REF = "r@1"
FAULTY = replace(DRAFT, output="First right.  Second wrong one.\n\nThird wrong.")


async def improved(judge=None, text=FAULTY, *, rubric=None, writer=None, **settings):
    chosen, judge = ImproveOptions(**settings), judge or scripted()
    return await Reviser(rubric or sentence_rubric(), REF, judge, writer or judge, chosen).revise(text)


def hypotheses(*names):
    return rubric_of(part_of("hypoeval", *map(criterion, names), ask="separately"))


async def test_failing_sentences_are_rewritten_and_the_others_kept_as_they_stand():
    judge = scripted()
    found = await improved(judge)
    assert found.output == "First right.  Second right one.\n\nThird right."
    assert (found.outcome, found.faults_before, found.faults_left) == ("improved", 2, 0)
    assert (found.before.score, found.after.score) == (pytest.approx(1 + 4 / 3), 5)
    (done,) = found.rounds
    assert (done.accepted, done.score, done.reason) == (True, 5, "the judge: 2.333 to 5")
    assert [(change.sentence, change.diff) for change in done.changes] == [
        (2, "Second [-wrong-]{+right+} one."),
        (3, "Third [-wrong.-]{+right.+}"),
    ]
    assert [fault.sentences for fault in done.faults] == [(2,), (3,)]
    (prompt,) = of_kind(judge, "rewrite")
    assert (prompt.fields["failing"], prompt.fields["free"], prompt.sample) == ([2, 3], False, 0)


async def test_a_rewriting_that_does_not_raise_the_score_is_refused_and_another_wording_asked_for():
    judge = scripted(rewrite=lambda prompt: mended(prompt, good="right" if prompt.sample else "wrong, wrong"))
    found = await improved(judge)
    assert [done.accepted for done in found.rounds] == [False, True]
    assert found.rounds[0].rejected == "rejected by the judge"
    assert found.rounds[0].reason == "the judge: 2.333 to 2.333"
    assert found.rounds[0].changes[0].after == "Second wrong, wrong one."
    first, second = of_kind(judge, "rewrite")
    assert (first.temperature, first.sample) == (0, 0)
    assert second.temperature > 0
    assert second.sample > 0
    assert first.fields == second.fields
    assert found.output == "First right.  Second right one.\n\nThird right."


@pytest.mark.parametrize("rounds", [1, 2, 3])
async def test_there_are_no_more_rounds_than_asked_for(rounds):
    text = replace(DRAFT, output="Wrong wrong. A wrong. B wrong. C wrong. D wrong.")
    judge = scripted(rewrite=lambda prompt: mended(prompt, most=1))
    found = await improved(judge, text, rounds=rounds)
    assert [done.round for done in found.rounds] == list(range(1, rounds + 1))
    assert all(done.accepted for done in found.rounds)
    assert (found.faults_before, found.faults_left) == (5, 5 - rounds)
    assert all(prompt.sample == 0 for prompt in of_kind(judge, "rewrite"))
    assert [done.score for done in found.rounds] == sorted(done.score for done in found.rounds)


def unable(of):
    """Return a script that judges texts, but not those with the word `of`."""

    def script(prompt):
        if of in prompt.fields["output"]:
            raise JudgeUnavailable("the server is busy")
        return comparison(prompt)

    return script


@pytest.mark.parametrize(
    ("judge", "outcome", "reasons"),
    [
        (scripted(evaluate=unable("Second right")), "rejected by the judge", "the judge gives no score: "),
        (scripted(evaluate=unable("Second wrong")), "unscored", None),
        (scripted(rewrite=lambda _: "No."), "no usable rewriting", "unusable reply, also after one repair: it"),
    ],
)
@pytest.mark.parametrize("take", ["better", "every"])
async def test_without_a_score_of_both_texts_or_a_usable_reply_nothing_is_changed(judge, outcome, reasons, take):
    found = await improved(judge, take=take)
    assert (found.outcome, found.output) == (outcome, FAULTY.output)
    if reasons is None:
        assert found.rounds == ()
        assert "the server is busy" in found.unscored
    assert all(done.score is None and done.reason.startswith(reasons) for done in found.rounds)


async def test_a_score_that_rises_because_a_verdict_is_missing_is_no_rise():
    def silent_on_new(prompt):
        reply = comparison(prompt)
        new = {f"sentence {each['id']}" for each in prompt.fields["sentences"] if "right one" in each["text"]}
        return {name: entry for name, entry in reply.items() if name not in new}

    judge = scripted(evaluate=silent_on_new, rewrite=lambda prompt: mended(prompt, most=1))
    found = await improved(judge)
    assert (found.outcome, found.output) == ("rejected by the judge", FAULTY.output)
    assert (
        found.rounds[0].reason == "the judge: 2.333 to 3, but score lacks a verdict on sentence 2, which had one before"
    )


async def test_whole_texts_are_rewritten_where_no_sentence_is_named():
    def rate(prompt):
        good = prompt.fields["output"].count("right")
        return {"reasoning": f"{good} are right.", "score": min(5, 1 + 2 * good)}

    def rewrite(prompt):
        assert (prompt.fields["free"], prompt.fields["failing"]) == (True, [])
        return {"sentences": [{"sentence": 3, "reasoning": "Put right.", "text": "Third right."}]}

    found = await improved(scripted(rate=rate, rewrite=rewrite), rubric=hypotheses("a", "b"), rounds=1)
    assert found.output == "First right.  Second wrong one.\n\nThird right."
    assert [fault.reason for fault in found.rounds[0].faults] == ["1 are right.", "1 are right."]


async def test_scores_by_people_stay_with_the_text_that_they_are_of():
    kept = (await improved(text=DRAFT)).to_row()
    assert (kept["scores"], kept["annotations"]) == ({"coherence": 2.0}, {"coherence": (1.0, 3.0)})
    changed = (await improved()).to_row()
    assert not {"scores", "annotations"} & set(changed)
    (again,) = from_rows([changed])
    assert again == replace(FAULTY, output=changed["output"], scores={}, annotations={})


WORDS = st.lists(st.sampled_from(["First one.", "A wrong one.", "mr . wrong", "\n\n", "  ", "So wrong!", "“Good.”"]))
HOSTILE = st.lists(
    st.sampled_from(["", "no end", "First one.", "“Good.”", "“", "(", "mr .", "It is so.", "lower case", ". "]),
    max_size=4,
).map(" ".join) | st.text(max_size=30)


@given(WORDS.map(" ".join).filter(split_sentences), st.lists(HOSTILE, min_size=1, max_size=6), st.integers(1, 3))
async def test_whatever_the_writer_says_sentences_that_passed_stand_in_their_order(text, replies, rounds):
    left = itertools.cycle(replies)

    def hostile(prompt):
        numbers = prompt.fields["failing"]
        return {"sentences": [{"sentence": each, "reasoning": "", "text": next(left)} for each in numbers]}

    found = await improved(
        scripted(rewrite=hostile), Example(id="x", group="x", output=text, source="s"), rounds=rounds
    )
    passed = [sentence for sentence in split_sentences(text) if "wrong" not in sentence]
    after = iter(split_sentences(found.output))
    assert all(sentence in after for sentence in passed)


def poor(_):
    return {"reasoning": "It jumps.", "score": 2}


async def test_a_fault_of_the_whole_is_no_ground_to_change_a_sentence_that_passed():
    judge = scripted(rate=poor)
    found = await improved(judge, rubric=rubric_of(*sentence_rubric().parts, *hypotheses("a").parts))
    first, *_ = of_kind(judge, "rewrite")
    assert (first.fields["failing"], first.fields["free"]) == ([2, 3], False)
    assert [fault["sentences"] for fault in first.fields["faults"]] == [[2], [3], []]
    assert found.output == "First right.  Second right one.\n\nThird right."
    # One more round was to be had, but no sentence fails any more.
    assert (found.outcome, len(found.rounds), found.faults_left) == ("improved", 1, 1)
    assert found.stopped == "the faults are of the whole text, but only sentences at fault may change"


# Every rewriting taken, as in the paper


async def test_a_rewriting_that_scores_no_higher_is_taken_where_every_one_is():
    """Two of three sentences fail before and after the first rewriting: 1 + 4 x 1/3 = 2.333 both times. It is
    taken all the same (algorithm 1), and the second rewriting mends all of it.
    """
    tries = iter(["wrong, wrong", "right"])
    judge = scripted(rewrite=lambda prompt: mended(prompt, good=next(tries)))
    found = await improved(judge, take="every", rounds=2)
    assert [done.accepted for done in found.rounds] == [True, True]
    assert found.rounds[0].score == pytest.approx(1 + 4 / 3)
    assert found.after.score == 5
    first, second = of_kind(judge, "rewrite")
    assert second.fields["sentences"] != first.fields["sentences"]
    assert {first.temperature, second.temperature} == {0}


WHOLE = UnitVerdict("A. B.", (), 1.0, "")


def unit(value, *places):
    return UnitVerdict("A.", places, value, "")


def score(*units, **fields):
    rated = CriterionRating(**{"id": "q1", "score": 0.5, "reason": "", "units": units, **fields})
    return Score("t", "coherence", 3.0, (rated,), None, "r@1", "fake")


BOTH = (unit(0.0, 0), unit(1.0, 1))
LOST = UnitVerdict("It ends.", (), None, "")
SENTENCE = "q1 lacks a verdict on sentence 1, which had one before"
ON_WHOLE = "q1 has missing verdicts on the whole text: 0 before, 1 after"


@pytest.mark.parametrize(
    ("before", "after", "origins", "reason"),
    [
        # The same verdicts, a sentence less, and one that was split.
        (BOTH, (unit(1.0, 0), unit(1.0, 1)), ((0,), (1,)), None),
        (BOTH, (unit(1.0, 0),), ((1,),), None),
        (BOTH, (unit(1.0, 0), unit(1.0, 1), unit(1.0, 2)), ((0,), (0,), (1,)), None),
        ((unit(None, 0), unit(0.0, 1)), (unit(None, 0), unit(1.0, 1)), ((0,), (1,)), None),
        # By sentence and as a whole.
        (BOTH, (WHOLE,), ((0,), (1,)), "q1 judged the text by sentence before and as a whole after"),
        ((WHOLE,), BOTH, ((0,), (1,)), "q1 judged the text as a whole before and by sentence after"),
        # The verdict on a sentence is missing, has no unit, or one of two is; another's turned up.
        (BOTH, (unit(None, 0), unit(1.0, 1)), ((0,), (1,)), SENTENCE),
        (BOTH, (unit(1.0, 1),), ((0,), (1,)), SENTENCE),
        ((unit(0.0, 0), unit(None, 1)), (unit(None, 0), unit(1.0, 1)), ((0,), (1,)), SENTENCE),
        ((unit(0.0, 0), *BOTH), (unit(None, 0), unit(1.0, 0), unit(1.0, 1)), ((0,), (1,)), SENTENCE),
        ((unit(0.0, 0), unit(None, 0), unit(1.0, 1)), (unit(None, 0), unit(1.0, 1)), ((0,), (1,)), SENTENCE),
        ((WHOLE,), (LOST,), ((0,), (1,)), ON_WHOLE),
    ],
)
def test_scores_are_comparable_if_no_verdict_went_missing(before, after, origins, reason):
    assert why_incomparable(score(*before), score(*after), origins) == reason


def test_a_criterion_without_a_score_or_judged_before_only_is_not_comparable():
    assert why_incomparable(score(), score(score=None), ((0,),)) == ON_WHOLE
    assert why_incomparable(score(), score(id="q2"), ((0,),)) == "q1 was judged before only"
