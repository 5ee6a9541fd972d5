"""Which wordings point to something outside themselves."""

import pytest

from rubriclab.checklist import load_checklist
from rubriclab.methods.replies import leaning
from rubriclab.shipped_files import content_path


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Does the summary say what that person or body did?", "that person"),
        ("Does the summary tell what was claimed in that matter?", "that matter"),
        ("Does the new matter make up at least half of the response?", "the new matter"),
        ("Does the summary tell the result that makes the event news?", "the event"),
        ("Does the response use words particular to this subject?", "this subject"),
        ("Is a subject named, and what is told about that very thing?", "that very thing"),
        ("Does this hold for the last sentence?", "this"),
        ("Is the former told before the latter?", "the former"),
        ("Does it do what question q1 asks for?", "question q1"),
    ],
)
def test_a_question_that_points_elsewhere_is_found(text: str, words: str):
    assert leaning(text) == words


@pytest.mark.parametrize(
    "text",
    [
        "Does the response belong to this conversation and to no other?",
        "Is this dialogue carried on?",
        "Does the summary state the event that the source text is chiefly about?",
        "If the response makes a claim, does it give a reason for that claim?",
        "Where the summary quotes somebody, does the quotation carry a main point?",
        "Does the response contain something that the dialogue so far does not?",
        "Is the fact of that which was said clear to those who read it?",
        "Does the main event of the source text open the summary?",
        "Does the response name more of those listed in the knowledge than one?",
        "Does the person, creature or thing at the centre of the prompt play a part?",
    ],
)
def test_a_question_that_names_what_it_means_is_left_alone(text: str):
    assert leaning(text) is None


def test_a_hypothesis_may_refer_to_its_own_first_sentence_but_to_no_other_hypothesis():
    assert leaning("Look for the cause. This turns a report into a story.", question=False) is None
    assert leaning("Look at the names, as mentioned above.", question=False) == "mentioned above"
    assert leaning("Unlike hypothesis 2, it counts names.", question=False) == "hypothesis 2"


def test_no_seed_that_ships_is_taken_to_point_elsewhere():
    files = sorted(content_path("stores", "checklists").rglob("*.json"))
    lists = [load_checklist(path.parent.name, path.stem) for path in files]
    assert len(lists) > 10
    assert [q.text for each in lists for q in each.questions if leaning(q.text)] == []
