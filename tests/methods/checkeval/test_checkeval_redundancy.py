"""Which questions ask what another one already asks."""

from typing import Any

import pytest
from checkeval_scripts import assignment, of_kind, question, scripted, wording

from rubriclab.judges import FakeJudge
from rubriclab.methods.checkeval.redundancy import redundant, sameness, similarity
from rubriclab.methods.checkeval.settings import PRESETS, CheckEvalSettings

BASE = "Are the names of the people involved spelled as in the source?"
ALIKE = "Are the names of the places involved spelled as in the source?"


async def run(
    texts: dict[str, str], generator: FakeJudge | None = None, **chosen: Any
) -> tuple[dict[str, str], FakeJudge]:
    generator = generator or scripted()
    questions = [question(name, text=words) for name, words in texts.items()]
    return await redundant(questions, assignment(), generator, CheckEvalSettings(**chosen)), generator


def same_as(*names: str) -> FakeJudge:
    """Answer that the candidate repeats one of `names`, if such a one is shown."""

    def script(prompt):
        shown = [each["id"] for each in prompt.fields["others"]]
        return {"reasoning": "The same.", "same_as": next((name for name in names if name in shown), "none")}

    return scripted(redundant=script)


def test_similarity_ignores_case_punctuation_and_order():
    assert similarity("Is the order clear?", "is the Order CLEAR") == 100
    assert similarity("Is it short and clear?", "Is it clear and short?") == 100
    assert similarity(BASE, BASE) == 100


@pytest.mark.parametrize(
    "same",
    [
        "IS  the Order\nclear",
        "“Is the order clear?”",
        "'Is the order clear'",
        "Is the order clear.",
        "is the order clear ?",
    ],
)
def test_case_spaces_closing_marks_and_enclosing_quotes_leave_a_question_the_same(same: str):
    assert sameness("Is the order clear?", same) == 100


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Does the cause come before the effect?", "Does the effect come before the cause?"),
        ("Is it > 50 %?", "Is it < 50 %?"),
        ("Does it say -5?", "Does it say 5?"),
        ("Does it end with '!'?", "Does it end with '?'?"),
        ("Are all numbers in the summary correct?", "Are all names in the summary correct?"),
        ("Is the opening sentence clear?", "Is the closing sentence clear?"),
        (BASE, ALIKE),
        (
            f"{wording('long')[:-1]} in at least 20 % of its sentences?",
            f"{wording('long')[:-1]} in at least 30 % of its sentences?",
        ),
    ],
)
async def test_one_exchanged_word_or_sign_or_another_order_is_a_doubt_and_no_repetition(one: str, other: str):
    out, generator = await run({"q1": one, "q2": other})
    assert out == {}
    assert len(of_kind(generator, "redundant")) == 1


async def test_the_same_words_need_no_question():
    out, generator = await run({"q1": BASE, "q2": BASE.upper().replace("?", ".")})
    assert out == {"q2": "worded like q1 (100 of 100 in common)"}
    assert generator.asked == []


async def test_the_same_words_but_for_one_are_the_same_if_the_setting_says_so():
    out, _ = await run({"q1": BASE, "q2": ALIKE}, same_above=80)
    assert list(out) == ["q2"]


async def test_unlike_questions_need_none_either():
    out, generator = await run({name: wording(name) for name in ("q1", "q2", "q3")})
    assert out == {}
    assert generator.asked == []


async def test_all_doubtful_ones_are_asked_about_in_one_call():
    third = BASE.replace("people", "towns")
    out, generator = await run({"q1": BASE, "q2": ALIKE, "q3": third, "q4": wording("q4")}, same_as("q2"))
    prompts = of_kind(generator, "redundant")
    assert [[each["id"] for each in p.fields["others"]] for p in prompts] == [["q1"], ["q1", "q2"]]
    assert [p.fields["candidate"] for p in prompts] == [{"id": "q2", "text": ALIKE}, {"id": "q3", "text": third}]
    assert out == {"q3": "asks what q2 asks: The same."}


async def test_a_question_that_is_out_is_compared_no_further():
    third = BASE.replace("people", "towns")
    out, generator = await run({"q1": BASE, "q2": ALIKE, "q3": third}, same_as("q1"))
    assert [[each["id"] for each in p.fields["others"]] for p in of_kind(generator, "redundant")] == [["q1"], ["q1"]]
    assert list(out) == ["q2", "q3"]


@pytest.mark.parametrize("said", ["no", '{"reasoning": "r", "same_as": "q9"}', '{"same_as": "q1"}'])
async def test_a_doubt_without_a_usable_reply_keeps_the_question(said: str):
    out, _ = await run({"q1": BASE, "q2": ALIKE}, scripted(redundant=lambda _: said))
    assert out == {}


async def test_the_published_way_leaves_every_pair_but_the_same_words_to_the_model():
    texts = {"q1": BASE, "q2": wording("q2"), "q3": wording("q3"), "q4": BASE}
    _, generator = await run(texts, different_below=PRESETS["paper"]["different_below"])
    assert [[each["id"] for each in p.fields["others"]] for p in of_kind(generator, "redundant")] == [
        ["q1"],
        ["q1", "q2"],
    ]
