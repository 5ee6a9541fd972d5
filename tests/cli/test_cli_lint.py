"""`rubriclab lint`: the form and the duplicate questions of checklists."""

from __future__ import annotations

import json
from typing import Any

import pytest
from commands import CHECKOUT, Commands

FLUENCY = CHECKOUT / "stores" / "checklists" / "summarization" / "fluency.json"


def checklist(*questions: dict[str, Any]) -> bytes:
    content = {
        "format": "rubriclab-checklist/1",
        "task": "email",
        "aspect": "politeness",
        "definition": "How considerate it is.",
        "sub_dimensions": [{"name": "tone", "definition": "How it sounds.", "questions": questions}],
    }
    return json.dumps(content).encode()


TWICE = "Does the email address readers by their name?"


def test_a_duplicate_question_is_named_and_fails_whatever_file_has_it(rubriclab: Commands) -> None:
    questions = ({"id": "name", "text": "Does an email address the reader by their names?"}, {"text": TWICE})
    (rubriclab.folder / "own.json").write_bytes(checklist(*questions))
    done = rubriclab("lint", FLUENCY, "own.json")
    assert (done.code, done.err) == (1, "")
    assert done.out.splitlines() == [
        f"{FLUENCY}:",
        "8 questions, no duplicates",
        "own.json:",
        f"s01: asks the same as 'name'; keep one of them: {TWICE}",
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
    assert rubriclab("lint", "-", stdin=checklist({"text": one}, {"text": other})).code == 0
