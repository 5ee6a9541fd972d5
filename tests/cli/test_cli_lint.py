"""`rubriclab lint`: the form and the duplicate questions of checklists."""

from __future__ import annotations

import pytest
from commands import CHECKOUT, Commands
from scripted_judge import checklist

FLUENCY = CHECKOUT / "stores" / "checklists" / "summarization" / "fluency.json"


def asking(one: str, other: str) -> bytes:
    return checklist((2,), changes={"a1": {"text": one}, "a2": {"text": other}}).model_dump_json().encode()


TWICE = "Does the email address readers by their name?"


def test_a_duplicate_question_is_named_and_fails_whatever_file_has_it(rubriclab: Commands) -> None:
    (rubriclab.folder / "own.json").write_bytes(asking("Does an email address the reader by their names?", TWICE))
    done = rubriclab("lint", FLUENCY, "own.json")
    assert (done.code, done.err) == (1, "")
    assert done.out.splitlines() == [
        f"{FLUENCY}:",
        "8 questions, no duplicates",
        "own.json:",
        f"a2: asks the same as 'a1'; keep one of them: {TWICE}",
        "2 questions, 1 duplicate",
    ]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Does the cause come before the effect?", "Does the effect come before the cause?"),
        ("Is the first sentence about the main event?", "Is the last sentence about the main event?"),
        ("Does the email name a date?", "Does the email name no date?"),
        ("Is it longer than 5 lines?", "Is it longer than 50 lines?"),
        ("Is each name correct?", "Is any name correct?"),
    ],
)
def test_questions_with_another_order_word_negation_or_number_are_not_duplicates(
    one: str, other: str, rubriclab: Commands
) -> None:
    assert rubriclab("lint", "-", stdin=asking(one, other)).code == 0
