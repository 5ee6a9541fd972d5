"""`rubriclab lint`: the faults of a checklist, one by one, and an exit code that says whether there are any."""

from __future__ import annotations

import json
from typing import Any

import pytest
from checkeval_questions import FAULTY
from commands import CHECKOUT, Commands

FLUENCY = CHECKOUT / "stores" / "checklists" / "summarization" / "fluency.json"


def checklist(*questions: dict[str, Any], aspect: str = "politeness") -> bytes:
    content = {
        "format": "rubriclab-checklist/1",
        "task": "email",
        "aspect": aspect,
        "definition": "How considerate it is.",
        "sub_dimensions": [{"name": "tone", "definition": "How it sounds.", "questions": questions}],
    }
    return json.dumps(content).encode()


def test_a_sound_checklist_has_no_faults(rubriclab: Commands) -> None:
    done = rubriclab("lint", FLUENCY)
    assert (done.code, done.err) == (0, "")
    assert done.out == "8 questions, no faults\n"
    assert rubriclab("lint", FLUENCY, "--json").json == {"questions": 8, "faults": []}


def test_several_checklists_are_checked_and_one_fault_in_any_fails(rubriclab: Commands) -> None:
    (rubriclab.folder / "own.json").write_bytes(checklist({"text": "Does the email repeat itself?"}))
    done = rubriclab("lint", FLUENCY, "own.json")
    assert done.code == 1
    assert done.out.startswith(f"{FLUENCY}:\n8 questions, no faults\nown.json:\ns01: wrong-polarity")
    rows = rubriclab("lint", FLUENCY, "own.json", "--json").json
    assert [(row["file"], len(row["faults"])) for row in rows] == [(str(FLUENCY), 0), ("own.json", 1)]


def test_faults_are_printed_one_by_one_with_their_question_and_counted(rubriclab: Commands) -> None:
    (rubriclab.folder / "own.json").write_bytes(
        checklist(
            {"id": "tone", "text": "Is the tone friendly and respectful?"},
            {"text": "Is the reader addressed by name?"},
            {"text": "Does the email repeat itself?"},
        )
    )
    done = rubriclab("lint", "own.json")
    assert (done.code, done.err) == (1, "")
    tone, tone_text, second, second_text, count = done.out.splitlines()
    assert tone == "tone: double-barrelled: 'friendly and respectful' joins two questions: make a question of each"
    assert tone_text == "    Is the tone friendly and respectful?"
    assert second.startswith("s02: wrong-polarity: 'repeat' is a defect")
    assert second_text == "    Does the email repeat itself?"
    assert count == "3 questions, 2 faults"


def test_a_fault_of_a_sub_dimension_names_it(rubriclab: Commands) -> None:
    content = json.loads(checklist({"text": "Is the reader addressed by name?"}))
    twin = {"name": "manner", "definition": "How it sounds.", "questions": [{"text": "Does it say thank you?"}]}
    content["sub_dimensions"].append(twin)
    done = rubriclab("lint", "-", stdin=json.dumps(content).encode())
    assert done.code == 1
    assert done.out.startswith("sub-dimension 'manner': duplicate: it is defined as 'tone' is")


def test_faulty_questions_are_named_in_the_order_of_the_file(rubriclab: Commands) -> None:
    planted = [
        (kind, {"id": f"{kind}-{i}", "text": asked.text, "better": asked.better})
        for kind, faulty in FAULTY.items()
        for i, asked in enumerate(faulty)
        if asked.aspect == "coherence"
    ]
    assert len(planted) >= 30
    content = checklist(*(question for _, question in planted), aspect="coherence")
    done = rubriclab("lint", "-", "--json", stdin=content)
    assert done.code == 1
    found = [(fault["kind"], fault["question"]) for fault in done.json["faults"]]
    assert len({(kind, question["id"]) for kind, question in planted} & set(found)) >= 0.8 * len(planted)
    order = {question["id"]: i for i, (_, question) in enumerate(planted)}
    assert [order[name] for _, name in found] == sorted(order[name] for _, name in found)


def test_standard_input_is_read_and_json_holds_all_of_a_fault(rubriclab: Commands) -> None:
    done = rubriclab("lint", "-", "--json", stdin=checklist({"id": "end", "text": "Is the ending good?"}))
    assert (done.code, done.err) == (1, "")
    message = "'good' leaves open what would be seen: name the sign that shows it"
    assert done.json == {
        "questions": 1,
        "faults": [{"sub_dimension": "tone", "question": "end", "kind": "vague", "message": message}],
    }


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "standard input is no checklist: it is not JSON"),
        (b"\xff", "standard input is no checklist: it is not UTF-8 text."),
        (checklist(), "standard input: sub_dimensions[0].questions: expected a list of at least 1, got a list of 0"),
        (
            checklist({"id": "a", "text": " "}),
            "standard input: sub_dimensions[0].questions[0].text: expected a non-empty text, got only white space.",
        ),
    ],
)
def test_a_malformed_file_is_one_line_of_error(rubriclab: Commands, content: bytes, message: str) -> None:
    done = rubriclab("lint", "-", stdin=content)
    assert (done.code, done.out) == (2, "")
    assert done.error.startswith(message)


def test_a_file_is_asked_for_and_has_to_be_there(rubriclab: Commands) -> None:
    assert rubriclab("lint").code == 2
    done = rubriclab("lint", "none.json")
    assert (done.code, done.out) == (2, "")
    assert done.error.startswith("none.json cannot be read: No such file or directory.")
