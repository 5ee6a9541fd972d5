"""The linter finds most faults by their kind, hardly anything in sound questions and nothing in what ships."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import pytest
from checkeval_questions import FAULTY, SOUND, TWINS, Asked
from hypothesis import assume, given, strategies as st

from rubriclab.characters import is_blank
from rubriclab.checklist import Checklist, SeedQuestion, SubDimension, load_checklist, shipped_checklists
from rubriclab.methods.checkeval.lint import LintFinding, lint

HELD_OUT = Path(__file__).with_name("held_out_questions.tsv")
Kind = Literal["double-barrelled", "vague", "unanswerable", "wrong-polarity", "duplicate"]
KINDS = get_args(Kind)


def checklist(*questions: tuple[str, Literal["yes", "no"]], aspect: str = "coherence") -> Checklist:
    asked = tuple(SeedQuestion(id=f"q{i}", text=text, better=better) for i, (text, better) in enumerate(questions))
    sub = SubDimension(name="only", definition="All questions.", questions=asked)
    return Checklist(
        format="rubriclab-checklist/1", task="task", aspect=aspect, definition="Whatever.", sub_dimensions=(sub,)
    )


def faults_of(asked: Asked) -> tuple[LintFinding, ...]:
    return lint(checklist((asked.text, asked.better), aspect=asked.aspect))


def kinds(faults: Sequence[LintFinding]) -> list[str]:
    return [fault.kind for fault in faults]


def held_out() -> list[dict[str, str]]:
    """Return questions that no rule was written for: faulty ones by kind, sound ones, and pairs joined by `||`."""
    with HELD_OUT.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def held_out_kinds(row: dict[str, str]) -> set[str]:
    better: Literal["yes", "no"] = "yes" if row["better"] == "yes" else "no"
    texts = [(text, better) for text in row["text"].split(" || ")]
    return set(kinds(lint(checklist(*texts, aspect=row["aspect"]))))


def test_the_held_out_questions_are_many() -> None:
    counts = Counter(row["kind"] for row in held_out())
    assert sum(counts[kind] for kind in KINDS) >= 80
    assert counts["sound"] >= 80
    assert counts["distinct"] >= 10


@pytest.mark.parametrize("kind", KINDS)
def test_most_held_out_faults_are_found_and_hardly_a_sound_question_is_accused(kind: str) -> None:
    rows = [(row["kind"], held_out_kinds(row)) for row in held_out()]
    hits = [kind in named for own, named in rows if own == kind]
    false_alarms = sum(kind in named for own, named in rows if own == ("distinct" if kind == "duplicate" else "sound"))
    assert sum(hits) >= 0.8 * len(hits)
    assert sum(hits) >= 0.9 * (sum(hits) + false_alarms)


@pytest.mark.parametrize("kind", FAULTY)
def test_most_planted_faults_are_found_with_a_message_that_says_how_to_mend_them(kind: str) -> None:
    hits = 0
    for asked in FAULTY[kind]:
        faults = faults_of(asked)
        hits += kind in kinds(faults)
        assert all((fault.question, fault.sub_dimension) == ("q0", "only") for fault in faults)
        assert all(": " in fault.message for fault in faults)
    assert hits >= 0.8 * len(FAULTY[kind])


def test_hardly_a_sound_question_is_accused() -> None:
    assert sum(bool(faults_of(asked)) for asked in SOUND) <= 0.02 * len(SOUND)


@pytest.mark.parametrize(("task", "aspect"), shipped_checklists())
def test_nothing_is_found_in_what_ships(task: str, aspect: str) -> None:
    assert lint(load_checklist(task, aspect)) == ()


@pytest.mark.parametrize(("first", "second"), TWINS)
def test_the_second_of_two_twins_is_a_duplicate(first: str, second: str) -> None:
    found = [fault for fault in lint(checklist((first, "yes"), (second, "yes"))) if fault.kind == "duplicate"]
    assert [fault.question for fault in found] == ["q1"]
    assert "'q0'" in found[0].message


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Does the summary contradict the source text?", "Does the source text contradict the summary?"),
        ("Is every claim backed by the source text?", "Does the source text back every claim?"),
        ("Before the end, does the story name the cause?", "Does the story name the cause before the end?"),
    ],
)
def test_another_order_that_turns_nothing_round_is_a_duplicate(first: str, second: str) -> None:
    assert "duplicate" in kinds(lint(checklist((first, "yes"), (second, "yes"))))


def test_a_question_and_its_contrary_are_told_to_be_so() -> None:
    twins = checklist(("Does the summary contain errors?", "no"), ("Is the summary free of errors?", "yes"))
    assert [fault.message for fault in lint(twins)] == ["it asks the opposite of 'q0': keep one of them"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Does the summary name the place of the event?", "Does the summary name the time of the event?"),
        ("Is the first sentence about the main event?", "Is the last sentence about the main event?"),
        ("Does the summary name the main event?", "Does the summary name the cause of the main event?"),
        ("Do all names stand in the source text?", "Do all numbers stand in the source text?"),
        ("Does the story show the hero's fear?", "Does the story show the hero's joy?"),
        ("Does A follow B?", "Does B follow A?"),
        ("Is A followed by B?", "Is B followed by A?"),
        ("Does the cause come before the effect?", "Does the effect come before the cause?"),
        ("Does the summary follow the source text?", "Does the source text follow the summary?"),
        (
            "Does the summary use a longer title than the report?",
            "Does the report use a longer title than the summary?",
        ),
    ],
)
def test_questions_about_different_things_are_no_duplicates(first: str, second: str) -> None:
    assert lint(checklist((first, "yes"), (second, "yes"))) == ()


def test_sound_questions_of_one_checklist_are_no_duplicates_of_each_other() -> None:
    texts = dict.fromkeys((asked.text, asked.better) for asked in SOUND)
    assert "duplicate" not in kinds(lint(checklist(*texts, aspect="x")))


@pytest.mark.parametrize(
    ("text", "yes", "no"),
    [
        ("Does the summary contain errors?", 1, 0),
        ("Does the summary avoid errors?", 0, 1),
        ("Is the summary free of contradictions?", 0, 1),
        ("Does any sentence contradict another?", 1, 0),
        ("Does no sentence contradict another?", 0, 1),
        ("Is every claim backed by the source text?", 0, 1),
        ("Does the summary name the date of the trial?", 0, 0),
    ],
)
def test_which_answer_is_wrong_follows_from_what_is_asked(text: str, yes: int, no: int) -> None:
    found = {better: kinds(lint(checklist((text, better)))) for better in ("yes", "no")}
    assert (found["yes"].count("wrong-polarity"), found["no"].count("wrong-polarity")) == (yes, no)


@pytest.mark.parametrize(
    ("aspect", "word"),
    [
        ("coherence", "coherent"),
        ("consistency", "inconsistently"),
        ("fluency", "fluent"),
        ("informativeness", "informative"),
        ("relevance", "relevant"),
        ("empathy", "empathetic"),
        ("surprise", "surprising"),
        ("engagement", "engaging"),
        ("complexity", "complex"),
        ("grammaticality", "grammatical"),
        ("cohesiveness", "cohesive"),
        ("understandability", "understandable"),
        ("naturalness", "natural"),
        ("engagingness", "engaging"),
        ("groundedness", "grounded"),
        ("factual consistency", "consistent"),
    ],
)
def test_a_question_that_repeats_its_aspect_is_vague(aspect: str, word: str) -> None:
    (fault,) = (fault for fault in lint(checklist((f"Is a word {word} here?", "yes"), aspect=aspect)))
    assert fault.kind == "vague"
    assert f"{word.removeprefix('in')}" in fault.message
    assert lint(checklist(("Does the summary consist of one sentence?", "yes"), aspect=aspect)) == ()


@pytest.mark.parametrize("aspect", ["tone", "length", "grammar", "tense", "plot"])
def test_an_aspect_that_names_a_thing_may_be_asked_about_by_name(aspect: str) -> None:
    assert lint(checklist((f"Does the {aspect} change after the first scene?", "yes"), aspect=aspect)) == ()


def test_quoted_words_and_examples_are_no_part_of_what_is_asked() -> None:
    quoted = 'Is there a noun for every "he", "she" and "it" (or "very good")?'
    example = "Does the story use a device, such as a lie and a good joke, to delay its end?"
    assert lint(checklist((quoted, "yes"), (example, "yes"))) == ()


def test_a_long_question_is_a_matter_of_style() -> None:
    text = f"Does the summary {'again and ' * 17}again name the date?"
    assert kinds(lint(checklist((text, "yes")))) == ["style"]


def test_faults_come_in_the_order_of_the_file_with_their_sub_dimension() -> None:
    subs = tuple(
        SubDimension(name=name, definition=definition, questions=(SeedQuestion(id=name, text=text),))
        for name, definition, text in [
            ("one", "The same.", "Is it good?"),
            ("two", "the same.", "Does it name the winner"),
            ("three", "Another.", "What is it?"),
        ]
    )
    found = lint(checklist(("?", "yes")).model_copy(update={"sub_dimensions": subs}))
    assert [(fault.sub_dimension, fault.question, fault.kind) for fault in found] == [
        ("one", "one", "vague"),
        ("two", None, "duplicate"),
        ("two", "two", "style"),
        ("three", "three", "unanswerable"),
    ]


PIECES = (
    "does is can the a summary and or but , ? ; : / it not no error clear who what that in of by with if then there"
    " contain avoid repeat named and/or every at least plus & ( ) \" ' é"
)
pieces = st.sampled_from(PIECES.split())


@given(
    text=st.lists(pieces, min_size=1, max_size=12).map(" ".join) | st.text(min_size=1, max_size=40),
    better=st.sampled_from(["yes", "no"]),
    aspect=st.sampled_from(["coherence", "x", "(ness)", "überlänge"]),
)
def test_whatever_stands_there_the_linter_answers_and_answers_alike(text: str, better: Any, aspect: str) -> None:
    assume(not is_blank(text))
    asked = checklist((text, better), aspect=aspect)
    assert lint(asked) == lint(asked)
