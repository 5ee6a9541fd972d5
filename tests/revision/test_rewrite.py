"""What is asked of a writer, how its reply is read, and how the text is put together again."""

import itertools
import json
import re
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st
from revision_scripts import TEXT, fault, hypotheses, scripted, sentence_rubric

from rubriclab.errors import JudgeUnavailable
from rubriclab.judges.judge import Reply, read
from rubriclab.learning.rewriting import (
    TextRewrite,
    replaced,
    rewrite,
    rewrite_prompt,
)
from rubriclab.models.text import sentence_spans
from rubriclab.prompts import render

PIECES = [
    "He came.",
    "mr . smith left .",
    "U.S. aid?",
    "“So!”",
    "no end",
    "***",
    "''",
    " ",
    "\n",
    "\n\n",
    "\t",
    ". ",
    "۔",
]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=12).map("".join) | st.text(max_size=60)
MARKED = re.compile("\ue000(\\d+)\ue001")


def given_back(*entries):
    """Return a reply that changes sentences to texts."""
    return {"sentences": [{"sentence": number, "reasoning": "Mended.", "text": text} for number, text in entries]}


def prompt(*faults, example=TEXT, any_sentence=False):
    return rewrite_prompt(sentence_rubric(), example, faults or [fault(2)], any_sentence=any_sentence)


def complaint(reply, asked=None):
    text = reply if isinstance(reply, str) else json.dumps(reply)
    value, told = read(Reply(text, "m"), asked or prompt())
    return None if value else told


async def draft(*replies, asked=None, output=TEXT.output):
    """Return what a writer's replies to one prompt come to, and what it was asked."""
    left = list(replies)
    writer = scripted(rewrite=lambda _: left.pop(0))
    return await rewrite(writer, asked or prompt(), output), writer.prompts


@given(TEXTS, st.data())
def test_sentences_that_are_not_replaced_and_all_between_are_kept_character_by_character(text, data):
    spans = sentence_spans(text)
    numbers = st.integers(1, max(1, len(spans)))
    changes = data.draw(st.dictionaries(numbers, st.text(min_size=1, max_size=9), max_size=len(spans)))
    ends = [0, *(end for _, end in spans)]
    starts = [*(start for start, _ in spans), len(text)]
    gaps = [text[end:start] for end, start in zip(ends, starts, strict=True)]
    words = [changes.get(number, text[start:end]) for number, (start, end) in enumerate(spans, 1)]
    expected = gaps[0] + "".join(word + gap for word, gap in zip(words, gaps[1:], strict=True))
    found, places = replaced(text, changes if spans else {})
    assert found == expected
    assert [found[start:end] for start, end in places.values()] == words


@given(TEXTS.filter(lambda text: "\ue000" not in text), st.data())
def test_a_sentence_that_is_removed_takes_nothing_with_it_but_white_space(text, data):
    spans = sentence_spans(text)
    removed = data.draw(st.sets(st.integers(1, len(spans)))) if spans else set()
    ends = [0, *(end for _, end in spans)]
    starts = [*(start for start, _ in spans), len(text)]
    gaps = [text[end:start] for end, start in zip(ends, starts, strict=True)]
    marks = {number: "" if number in removed else f"\ue000{number}\ue001" for number in range(1, len(spans) + 1)}
    found, _ = replaced(text, marks)
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
    assert replaced(text, {removed: ""})[0] == left


def test_only_failing_sentences_may_change_unless_the_text_is_free():
    fields = prompt(fault(3), fault(2), fault(2)).fields
    assert (fields["failing"], fields["free"]) == ([2, 3], False)
    assert [sentence["id"] for sentence in fields["sentences"]] == [1, 2, 3]
    assert "only 2, 3 may be changed; got sentence 1" in complaint(given_back((1, "X.")), prompt(fault(2), fault(3)))
    mixed = prompt(fault(2), fault())
    assert "only 2 may be changed; got sentence 1" in complaint(given_back((1, "X.")), mixed)
    assert "as a whole" in render(mixed)[1]["content"]
    free = prompt(fault(), any_sentence=True)
    assert complaint(given_back((1, "X."), (3, "Y.")), free) is None


@pytest.mark.parametrize(
    ("reply", "wrong"),
    [
        (given_back((4, "X.")), "only 2 may be changed; got sentence 4"),
        (given_back((0, "X.")), "only 2 may be changed; got sentence 0"),
        (given_back((2, "X."), (2, "Y.")), "each sentence can be changed once; got 2, 2"),
        ({"sentences": [{"sentence": True, "reasoning": "", "text": "X."}]}, "a number was expected; got True"),
        (given_back((2, "So \u202eit is.")), "without control characters, got '\\u202e'"),
        (given_back((2, "So \u2066it is.")), "without control characters, got '\\u2066'"),
        (given_back((2, "\x1b[31mSo it is.")), "without control characters, got '\\x1b'"),
        (given_back((2, "So it is.\x1f")), "without control characters, got '\\x1f'"),
        ({"sentences": [{"sentence": 2, "reasoning": ""}]}, "sentences[0].text: missing"),
        ({"sentences": [{"sentence": 2, "reasoning": "", "text": None}]}, "expected a text, got null"),
        ("Sentence 2 should be: X.", "no complete JSON object"),
    ],
)
def test_a_reply_that_cannot_be_used_says_why(reply, wrong):
    assert wrong in complaint(reply)


async def test_a_reply_is_asked_for_once_more_and_then_what_is_sound_of_it_is_taken():
    found, asked = await draft(given_back((1, "X."), (2, "Mine.")), given_back((1, "X."), (2, "Mine now.")))
    assert found.output == "First one. Mine now. Third one."
    assert [change.sentence for change in found.changes] == [2]
    assert asked[1].repair.complaint.endswith("only 2 may be changed; got sentence 1.")


async def test_two_texts_for_one_sentence_are_none():
    twice = given_back((2, "X."), (2, "Y."), (3, "Third 1."))
    found, _ = await draft(twice, twice, asked=prompt(fault(2), fault(3)))
    assert found.output == "First one. Second one. Third 1."
    found, _ = await draft(twice, twice)
    assert found.unusable.startswith("unusable reply, also after one repair: ")


async def test_a_writer_that_gives_no_reply_leaves_the_reason():
    def busy(_):
        raise JudgeUnavailable("the server is busy")

    found = await rewrite(scripted(rewrite=busy), prompt(), TEXT.output)
    assert (found.output, found.changes, found.unusable) == (TEXT.output, (), "the server is busy")


@pytest.mark.parametrize("entries", [[], [(2, "Second one.")], [(2, " Second\n one. ")]])
async def test_a_sentence_that_reads_as_before_is_no_change(entries):
    found, _ = await draft(given_back(*entries))
    assert (found.output, found.unusable) == (TEXT.output, "the rewriting changes no sentence")


@pytest.mark.parametrize("text", ["", " \n", "...", "—"])
async def test_a_rewriting_that_leaves_no_sentence_cannot_be_used(text):
    only = replace(TEXT, output="Only one.")
    found, _ = await draft(given_back((1, text)), asked=prompt(fault(1), example=only), output="Only one.")
    assert found.unusable == "the rewriting removes the whole text"
    assert found.changes[0].before == "Only one."


async def test_a_new_wording_may_not_swallow_the_sentence_after_it():
    found, _ = await draft(given_back((2, "no end")))
    assert (found.output, found.unusable) == (TEXT.output, "the rewriting merges with a sentence that had to be kept")
    found, _ = await draft(given_back((3, "no end")), asked=prompt(fault(3)))
    assert found.output == "First one. Second one. no end"


async def test_a_sentence_swallowed_in_one_place_cannot_be_made_up_for_in_another():
    text = "Ann is WRONG. It rained. Bo came. It was WRONG. They left."
    asked = prompt(fault(1), fault(4), example=replace(TEXT, output=text))
    found, _ = await draft(given_back((1, "a new wording and"), (4, "It rained. Bo came.")), asked=asked, output=text)
    assert (found.output, found.unusable) == (text, "the rewriting merges with a sentence that had to be kept")


async def test_each_new_sentence_is_known_by_the_old_ones_that_it_came_from():
    found, _ = await draft(given_back((1, ""), (3, "New one. And more.")), asked=prompt(fault(1), fault(3)))
    assert (found.output, found.origins) == ("Second one. New one. And more.", [[1], [2], [2]])
    found, _ = await draft(given_back((2, "new and"), (3, "newer")), asked=prompt(fault(2), fault(3)))
    assert (found.output, found.origins) == ("First one. new and newer", [[0], [1, 2]])


async def test_white_space_in_a_new_sentence_becomes_single_spaces_and_one_may_become_two():
    found, _ = await draft(given_back((2, "\tNew  one.\nAnd another. ")))
    assert found.output == "First one. New one. And another. Third one."
    assert found.changes[0].to_row() == {
        "sentence": 2,
        "before": "Second one.",
        "after": "New one. And another.",
        "reasoning": "Mended.",
        "diff": "[-Second-]{+New+} one. {+And another.+}",
    }


def test_the_writer_sees_what_the_judge_saw_and_no_more():
    example = replace(TEXT, context="A talk.", reference="The answer.")
    assert prompt(example=example).fields["reference"] is None
    beside = rewrite_prompt(sentence_rubric("reference"), example, [fault(1)], any_sentence=False)
    assert {name: beside.fields[name] for name in ("source", "context", "reference")} == {
        "source": TEXT.source,
        "context": "A talk.",
        "reference": "The answer.",
    }
    assert "scores" not in beside.fields


def test_a_rewriting_is_asked_for_anew_by_another_sample():
    first, again = (rewrite_prompt(hypotheses(), TEXT, [fault()], sample, any_sentence=True) for sample in (0, 2))
    assert (first.temperature, first.sample) == (0, 0)
    assert again.temperature > 0
    assert again.sample > 2
    assert first.fields == again.fields


def test_each_criterion_is_told_once_for_all_that_fails_it():
    content = render(prompt(fault(2), fault(3)))[1]["content"]
    assert content.count(fault(2).asks) == 1
    assert "sentences 2, 3" in content
    assert "as a whole" in render(prompt(fault(), any_sentence=True))[1]["content"]


@given(st.lists(st.sampled_from([(), (1,), (2,), (3,), (1, 2)]), min_size=1, max_size=6))
def test_every_mixture_of_faults_can_be_asked_about(places):
    asked = prompt(*(fault(*place) for place in places), any_sentence=not any(places))
    assert render(asked)[1]["content"].endswith("}")
    assert asked.reply is TextRewrite
