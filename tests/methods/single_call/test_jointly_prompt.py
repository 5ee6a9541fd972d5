"""What the one prompt shows of criteria of all kinds, and of the text."""

from __future__ import annotations

import pytest
from checkeval_scripts import question
from hypoeval_scripts import assignment, criterion, example
from single_call_scripts import CHECKLIST, DIMENSIONS, DIRECT, EXPLAINED, HYPOTHESES, IDS, PARTS, STEPS, part_of

from rubriclab.methods.single_call import can_join, judge_prompt
from rubriclab.models.rubric import Part
from rubriclab.models.text import Assignment, Example
from rubriclab.prompts import render
from rubriclab.prompts.render import render_turns

TEXT = example(1, 3, source="The source.", context="The context.")
KINDS = {"a criterion": HYPOTHESES, "a question": CHECKLIST, "a score of the whole": DIRECT}


def shown(*parts: Part, text: Example = TEXT, about: Assignment | None = None) -> str:
    """Return the user's turn."""
    system, user = render(judge_prompt(text, parts, about or assignment()))
    assert (system["role"], user["role"]) == ("system", "user")
    return user["content"]


APART = [
    part_of("checkeval", question("q1"), answers="yes or no"),
    part_of("checkeval", question("q1"), answers="yes or no"),
    part_of("hypoeval", criterion("h1"), ask="concatenated"),
    part_of("direct", *DIRECT.criteria, form="score only"),
    part_of("direct", *DIRECT.criteria, scoring="weighted"),
    part_of("seeval", *EXPLAINED.criteria, elicitation="open"),
]


def test_what_is_asked_in_another_form_than_the_one_prompt_has_is_asked_apart():
    assert [can_join(part) for part in PARTS] == [True] * len(PARTS)
    assert [can_join(part) for part in APART] == [False] * len(APART)


def test_every_criterion_is_shown_once_with_its_id_and_wording():
    content = shown(*PARTS)
    assert [content.count(f"\n[{name}] ") for name in IDS] == [1] * len(IDS)
    for each in HYPOTHESES.criteria:
        assert f"\n[{each.id}] {each.trait}: {each.statement}\n" in content
        assert all(f"   {level.score:g}: {level.description}\n" in content for level in each.levels)
    for each in CHECKLIST.criteria:
        assert f"\n[{each.id}] {each.statement}\n" in content


def test_questions_stand_below_their_sub_dimension_and_its_meaning():
    content = shown(*PARTS)
    first, second = content.index(f"\nSide 1: {DIMENSIONS['Side 1']}\n"), content.index("\nSide 2: ")
    assert first < content.index("[q1]") < content.index("[q3]") < second < content.index("[q2]")
    assert "\nSide 3\n[q4] " in shown(part_of("checkeval", question("q4", "Side 3")))


def test_scores_of_the_whole_go_by_what_their_method_gives_the_judge():
    content = shown(*PARTS)
    assert "\n[e1] Go by this explanation" in content
    assert f":\n{EXPLAINED.criteria[0].statement}\n" in content
    assert "\n[geval] Go through these steps" in content
    assert f":\n{STEPS.criteria[0].statement}\n" in content
    assert "\n[direct] Go by the definition above.\n" in content
    assert DIRECT.criteria[0].statement not in content
    assert content.count(assignment().aspect.definition) == 1


def test_no_prompt_tells_which_answer_is_better():
    turned, plain = (part_of("checkeval", question("q1", better=better)) for better in ("no", "yes"))
    assert shown(turned) == shown(plain)


def test_what_a_question_presupposes_stands_behind_it():
    stated = question("q1", seed="q9", absent="n/a", broken="no")
    content = shown(part_of("checkeval", stated, question("q2")))
    assert f"\n[q1] {stated.statement} (absent: n/a; broken: no)\n" in content
    assert f"\n[q2] {question('q2').statement}\n" in content


@pytest.mark.parametrize("name", KINDS)
def test_only_the_kinds_that_are_asked_for_are_spoken_of(name: str):
    _, turn = render_turns(judge_prompt(TEXT, (KINDS[name],), assignment()))
    question_, form = turn.parts[0].split("Answer with one")
    assert {each for each in KINDS if f"- For {each}:" in question_} == {name}
    assert all(f'"{each.id}": {{"reason": "..."' in form for each in KINDS[name].criteria)
    assert "\n\n\n" not in question_


def test_the_reply_has_each_id_in_the_order_asked_a_reason_before_every_verdict_and_scores_within_the_scale():
    schema = judge_prompt(TEXT, PARTS, assignment()).reply.model_json_schema()
    assert (
        tuple(schema["properties"])
        == tuple(schema["required"])
        == ("h1", "h2", "q1", "q3", "q2", "e1", "direct", "geval")
    )
    entries = schema["$defs"].values()
    assert {tuple(form["properties"]) for form in entries} == {("reason", "score"), ("reason", "answer")}
    verdicts = [list(form["properties"].values())[1] for form in entries]
    assert {(each.get("minimum"), each.get("maximum"), *each.get("enum", ())) for each in verdicts} == {
        (1, 5),
        (None, None, "yes", "no", "n/a"),
    }
