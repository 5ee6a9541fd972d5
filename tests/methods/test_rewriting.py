"""The faults that a judge finds, what is asked of a writer, how a reply is read, and how the text is put together."""

from __future__ import annotations

import itertools
import json
import re
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st
from scripted_judge import DRAFT, assignment, criterion, question, rubric_of, scripted, sentence_rubric, whole

from rubriclab.errors import SettingsError
from rubriclab.judges.replies import Reply, parse_reply
from rubriclab.methods import rewriting
from rubriclab.methods.method import CriterionRating, UnitVerdict
from rubriclab.models.rubric import Part
from rubriclab.models.sentences import sentence_spans
from rubriclab.models.text import Units
from rubriclab.prompts import render

PIECES = ["He came.", "mr . smith left .", "U.S. aid?", "“So!”", "no end", "***", "''", ". ", "\n\n", *" \n\t۔"]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=12).map("".join) | st.text(max_size=60)
MARKED = re.compile("\ue000(\\d+)\ue001")
OUTPUT = DRAFT.output


def fault(*sentences):
    """Return a fault of these sentences; of the whole text, if there are none."""
    return rewriting.TextFault("order", "Does it follow?", "yes", sentences, "It does not follow.")


def given_back(*entries):
    return {"sentences": [{"sentence": number, "reasoning": "Mended.", "text": text} for number, text in entries]}


def prompt(*faults, example=DRAFT, any_sentence=False):
    return rewriting.rewrite_prompt(sentence_rubric(), example, faults or [fault(2)], any_sentence=any_sentence)


def complaint(reply, asked=None):
    value, told = parse_reply(Reply(json.dumps(reply), "m"), asked or prompt())
    return None if value else told


async def draft(*replies, asked=None, output=DRAFT.output):
    """Return what a writer's replies to one prompt come to, and what it was asked."""
    left = list(replies)
    writer = scripted(rewrite=lambda _: left.pop(0))
    return await rewriting.rewrite(writer, asked or prompt(), output), writer.prompts


def gaps_of(text):
    """Return what stands before, between and after the sentences."""
    spans = sentence_spans(text)
    ends, starts = [0, *(end for _, end in spans)], [*(start for start, _ in spans), len(text)]
    return [text[end:start] for end, start in zip(ends, starts, strict=True)]


@given(TEXTS, st.data())
def test_sentences_that_are_not_replaced_and_all_between_are_kept_character_by_character(text, data):
    spans = sentence_spans(text)
    numbers = st.integers(1, max(1, len(spans)))
    changes = data.draw(st.dictionaries(numbers, st.text(min_size=1, max_size=9), max_size=len(spans)))
    gaps = gaps_of(text)
    words = [changes.get(number, text[start:end]) for number, (start, end) in enumerate(spans, 1)]
    expected = gaps[0] + "".join(word + gap for word, gap in zip(words, gaps[1:], strict=True))
    found, places = rewriting.replace_sentences(text, changes if spans else {})
    assert found == expected
    assert [found[start:end] for start, end in places.values()] == words


@given(TEXTS.filter(lambda text: "\ue000" not in text), st.data())
def test_a_sentence_that_is_removed_takes_nothing_with_it_but_white_space(text, data):
    spans = sentence_spans(text)
    removed = data.draw(st.sets(st.integers(1, len(spans)))) if spans else set()
    gaps = gaps_of(text)
    marks = {number: "" if number in removed else f"\ue000{number}\ue001" for number in range(1, len(spans) + 1)}
    found, _ = rewriting.replace_sentences(text, marks)
    kept = [int(number) for number in MARKED.findall(found)]
    assert kept == [number for number in marks if number not in removed]
    between = re.split("\ue000\\d+\ue001", found)
    assert "".join("".join(between).split()) == "".join("".join(gaps).split())
    for place, (one, other) in enumerate(itertools.pairwise(kept), 1):
        if other == one + 1:
            assert between[place] == gaps[one]


@pytest.mark.parametrize(
    ("text", "removed", "left"),
    [
        ("One here. Two here. Three here.", 2, "One here. Three here."),
        ("One here. Two here. Three here.\n", 3, "One here. Two here.\n"),
        ("  One here. Two here.", 1, "  Two here."),
        ("One here.\n\nTwo here. Three here.", 2, "One here.\n\nThree here."),
        ("One here. Two here.\n\nThree here.", 2, "One here.\n\nThree here."),
        ("One here.\n\nTwo here.\n\nThree here.", 2, "One here.\n\nThree here."),
        ("Only one.", 1, ""),
    ],
)
def test_a_sentence_that_is_removed_leaves_one_gap_and_the_larger_break(text, removed, left):
    assert rewriting.replace_sentences(text, {removed: ""})[0] == left


def test_only_failing_sentences_may_change_unless_the_text_is_free():
    fields = prompt(fault(3), fault(2), fault(2)).fields
    assert (fields["failing"], fields["free"]) == ([2, 3], False)
    assert [sentence["id"] for sentence in fields["sentences"]] == [1, 2, 3]
    assert "expected a sentence that may change (2, 3), got 1" in complaint(
        given_back((1, "X.")), prompt(fault(2), fault(3))
    )
    mixed = prompt(fault(2), fault())
    assert "expected a sentence that may change (2), got 1" in complaint(given_back((1, "X.")), mixed)
    assert "as a whole" in render(mixed)[1]["content"]
    free = prompt(fault(), any_sentence=True)
    assert complaint(given_back((1, "X."), (3, "Y.")), free) is None


@pytest.mark.parametrize(
    ("reply", "wrong"),
    [
        (given_back((4, "X.")), "expected a sentence that may change (2), got 4"),
        (given_back((2, "X."), (2, "Y.")), "expected at most one change of each sentence, got 2, 2"),
        ({"sentences": [{"sentence": True, "reasoning": "", "text": "X."}]}, "a number was expected; got True"),
        (given_back((2, "So \u202eit is.")), "without control characters, got '\\u202e'"),
        (given_back((2, "\x1b[31mSo it is.")), "without control characters, got '\\x1b'"),
        ({"sentences": [{"sentence": 2, "reasoning": ""}]}, "sentences[0].text: missing"),
    ],
)
def test_a_reply_that_cannot_be_used_says_why(reply, wrong):
    assert wrong in complaint(reply)


async def test_a_reply_is_asked_for_once_more_and_then_what_is_sound_of_it_is_taken():
    found, asked = await draft(given_back((1, "X."), (2, "Mine.")), given_back((1, "X."), (2, "Mine now.")))
    assert found.output == "First one. Mine now. Third one."
    assert [change.sentence for change in found.changes] == [2]
    assert asked[1].repair.complaint.endswith("expected a sentence that may change (2), got 1.")


async def test_two_texts_for_one_sentence_are_none():
    twice = given_back((2, "X."), (2, "Y."), (3, "Third 1."))
    found, _ = await draft(twice, twice, asked=prompt(fault(2), fault(3)))
    assert found.output == "First one. Second one. Third 1."
    found, _ = await draft(twice, twice)
    assert found.unusable.startswith("unusable reply, also after one repair: ")


@pytest.mark.parametrize("entries", [[], [(2, "Second one.")], [(2, " Second\n one. ")]])
async def test_a_sentence_that_reads_as_before_is_no_change(entries):
    found, _ = await draft(given_back(*entries))
    assert (found.output, found.unusable) == (DRAFT.output, "the rewriting changes no sentence")


@pytest.mark.parametrize("text", ["", "—"])
async def test_a_rewriting_that_leaves_no_sentence_cannot_be_used(text):
    only = replace(DRAFT, output="Only one.")
    found, _ = await draft(given_back((1, text)), asked=prompt(fault(1), example=only), output="Only one.")
    assert found.unusable == "the rewriting removes the whole text"
    assert found.changes[0].before == "Only one."


async def test_a_new_wording_may_not_swallow_the_sentence_after_it_even_if_it_stands_elsewhere():
    found, _ = await draft(given_back((2, "no end")))
    assert (found.output, found.unusable) == (DRAFT.output, "the rewriting joins an unchanged sentence with another")
    found, _ = await draft(given_back((3, "no end")), asked=prompt(fault(3)))
    assert found.output == "First one. Second one. no end"
    text = "Ann is WRONG. It rained. Bo came. It was WRONG. They left."
    asked = prompt(fault(1), fault(4), example=replace(DRAFT, output=text))
    found, _ = await draft(given_back((1, "a new wording and"), (4, "It rained. Bo came.")), asked=asked, output=text)
    assert (found.output, found.unusable) == (text, "the rewriting joins an unchanged sentence with another")


async def test_each_new_sentence_is_known_by_the_old_ones_that_it_came_from():
    found, _ = await draft(given_back((1, ""), (3, "New one. And more.")), asked=prompt(fault(1), fault(3)))
    assert (found.output, found.origins) == ("Second one. New one. And more.", [[1], [2], [2]])
    found, _ = await draft(given_back((2, "new and"), (3, "newer")), asked=prompt(fault(2), fault(3)))
    assert (found.output, found.origins) == ("First one. new and newer", [[0], [1, 2]])


async def test_white_space_in_a_new_sentence_becomes_single_spaces_and_one_may_become_two():
    found, _ = await draft(given_back((2, "\tNew  one.\nAnd another. ")))
    assert found.output == "First one. New one. And another. Third one."
    assert found.changes[0].to_row()["diff"] == "[-Second-]{+New+} one. {+And another.+}"


def test_the_writer_sees_what_the_judge_saw_and_no_more():
    example = replace(DRAFT, context="A talk.", reference="The answer.")
    assert prompt(example=example).fields["reference"] is None
    beside = rewriting.rewrite_prompt(sentence_rubric("reference"), example, [fault(1)], any_sentence=False)
    assert {name: beside.fields[name] for name in ("source", "context", "reference")} == {
        "source": DRAFT.source,
        "context": "A talk.",
        "reference": "The answer.",
    }
    assert "scores" not in beside.fields


def rubric(*criteria, method="hypoeval", units=None):
    return rubric_of(Part(method=method, settings={}, criteria=criteria, units=units))


def found(given, *criteria, good_from=0.75):
    return rewriting.text_faults(given, criteria, DRAFT.output, good_from)


def test_a_hypothesis_scored_low_is_a_fault_of_the_whole_that_aims_at_its_highest_level():
    (fault,) = found(rubric(criterion("order")), CriterionRating("order", 3, "It jumps."))
    best = max(criterion("order").levels, key=lambda level: level.score)
    assert (fault.criterion, fault.asks, fault.aim) == ("order", criterion("order").statement, best.description)
    assert (fault.sentences, fault.reason) == ((), "It jumps.")
    (fault,) = found(rubric(whole()), CriterionRating("score", 2, "It jumps."))
    assert fault.aim == assignment().aspect.definition


@pytest.mark.parametrize(("score", "good_from", "is_fault"), [(4, 0.75, False), (3.9, 0.75, True), (4.9, 1, True)])
def test_from_which_share_of_the_scale_a_score_is_good_can_be_set(score, good_from, is_fault):
    assert bool(found(rubric(criterion("a")), CriterionRating("a", score, ""), good_from=good_from)) == is_fault


@pytest.mark.parametrize("better", ["yes", "no"])
def test_the_bad_answer_to_a_question_is_a_fault_that_aims_at_the_better_one(better):
    given = rubric(question("q1", better=better), question("q2"), method="checkeval")
    (fault,) = found(given, CriterionRating("q1", 0.0, "It does not."), CriterionRating("q2", 1.0, "It does."))
    assert (fault.asks, fault.aim, fault.reason) == (question("q1").statement, better, "It does not.")


@pytest.mark.parametrize(
    ("kind", "verdicts", "faults"),
    [
        (
            "sentence",
            [("First one.", (0,), 0.0), ("Second one.", (1,), 1.0), ("Third one.", (2,), None)],
            [((1,), "r")],
        ),
        ("sentence", [("a", (0,), 0.7), ("b", (1,), 0.8), ("c", (2,), 1.0)], [((1,), "r")]),
        ("fact", [("It is red.", (0,), 0.0), ("It is big.", (0,), 1.0)], [((1,), "“It is red.”: r")]),
        ("response", [(OUTPUT, (), 0.0)], [((), "r")]),
        ("sentence", [("It ends in May.", (), 0.0), (OUTPUT, (), 0.0)], [((), "“It ends in May.”: r"), ((), "r")]),
    ],
    ids=["counted from one", "below the share of a text", "a fact is named", "the whole text", "nowhere in the text"],
)
def test_failing_units_are_faults_of_their_sentences(kind, verdicts, faults):
    given = rubric(question("q1"), method="seal", units=Units(kind=kind))
    units = tuple(UnitVerdict(words, places, value, "r") for words, places, value in verdicts)
    told = found(given, CriterionRating("q1", 0.5, "", units=units))
    assert [(fault.sentences, fault.reason) for fault in told] == faults


def test_criteria_that_were_rated_as_one_are_one_fault_of_the_aspect():
    given = rubric(criterion("a"), criterion("b"))
    (fault,) = found(given, CriterionRating("overall", 2, "Weak."))
    assert (fault.criterion, fault.asks) == ("coherence", assignment().aspect.definition)
    assert all(name.levels[-1].description in fault.aim for name in (criterion("a"), criterion("b")))


def test_scores_without_reasons_are_nothing_to_rewrite_by():
    weighted = Part(method="direct", settings={"scoring": "weighted"}, criteria=(whole(),))
    with pytest.raises(SettingsError, match=r"r@1 scores by probabilities.*`settings={.direct.: {.scoring.: .once.}}`"):
        rewriting.require_reasons(rubric_of(weighted), "r@1")
    both = rubric_of(weighted, Part(method="hypoeval", settings={}, criteria=(criterion("a"),)))
    rewriting.require_reasons(both, "r@1")
    rated = (CriterionRating("score", 1, "Probability-weighted: 1: 99%."), CriterionRating("a", 1, "Low."))
    assert [fault.reason for fault in found(both, *rated)] == ["Low."]


WORDS = st.lists(st.sampled_from(["the", "ferry", "ends", "in", "May", "never", "a"]), max_size=12)


@given(WORDS, WORDS)
def test_both_sentences_can_be_read_off(before, after):
    shown = rewriting.ChangedSentence(1, " ".join(before), " ".join(after), "").diff
    old = re.sub(r"\{\+.*?\+\}", "", re.sub(r"\[-(.*?)-\]", r"\1", shown)).split()
    new = re.sub(r"\[-.*?-\]", "", re.sub(r"\{\+(.*?)\+\}", r"\1", shown)).split()
    assert (old, new) == (before, after)


def test_sentences_that_are_no_longer_there_are_counted():
    count = rewriting.count_changed_sentences
    assert count("One here. Two here. Three here.", "One here. Two and a half. Three here.") == 1
    assert count("One here. Two here.", "One here. One and a half here. Two here.") == 0
    assert count("One here. Two here.", "Two here. One here.") == 1
