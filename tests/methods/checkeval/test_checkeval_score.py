"""From answers to a text's score."""

from typing import Any

import pytest
from checkeval_scripts import answers, assignment, checklist, question, seeds, text
from hypothesis import given, strategies as st

from rubriclab.judges.judge import FakeJudge
from rubriclab.methods.checkeval.score import (
    CheckEvalSettings,
    QuestionAnswer,
    good_share,
    rate_question,
    score,
    text_score,
)
from rubriclab.methods.method import CriterionRating
from rubriclab.models.rubric import Criterion, Part
from rubriclab.models.text import Scale

WEIGHTS = st.floats(0.01, 100)
SCORES = st.sampled_from([0.0, 1.0]) | st.floats(0, 1)
CELLS = st.lists(
    st.tuples(WEIGHTS, st.none() | SCORES, st.booleans(), st.sampled_from(["A", "B", "C"])), min_size=1, max_size=12
)


def build(cells) -> tuple[list[Criterion], dict[str, CriterionRating]]:
    """Return questions and ratings; a question that does not apply has no score."""
    questions = [
        question(f"q{at}", trait).model_copy(update={"weight": weight})
        for at, (weight, _, _, trait) in enumerate(cells)
    ]
    ratings = {
        f"q{at}": CriterionRating(f"q{at}", value if applies else None, "", applies)
        for at, (_, value, applies, _) in enumerate(cells)
    }
    return questions, ratings


def simple(*scores: float | str | None, trait: str = "A") -> tuple[list[Criterion], dict[str, CriterionRating]]:
    """Return questions of equal weight with these scores; `-` does not apply."""
    cells = [(1.0, None if value == "-" else value, value != "-", trait) for value in scores]
    return build(cells)


# The weighted share


@given(CELLS)
def test_a_share_is_the_weighted_mean_of_the_answers_there_are(cells):
    found = good_share(*build(cells))
    if found is not None:
        given_ = [(weight, value) for weight, value, applies, _ in cells if applies and value is not None]
        assert found == pytest.approx(sum(w * v for w, v in given_) / sum(w for w, _ in given_))


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ((1.0, None), None),
        ((1.0, 1.0, None), 1.0),
        ((1.0, None, None), None),
        ((1.0, None, "-", "-"), None),
        ((1.0, 0.0, None, "-"), 0.5),
        ((None,), None),
        (("-",), None),
        (("-", "-"), None),
    ],
)
def test_a_text_is_unscored_where_half_of_what_applies_is_missing(scores, expected: float | None):
    assert good_share(*simple(*scores)) == expected


def test_what_is_missing_counts_by_weight():
    heavy = [(3.0, None, True, "A"), (1.0, 1.0, True, "A"), (1.0, 1.0, True, "A")]
    light = [(1.0, None, True, "A"), (1.0, 1.0, True, "A"), (1.0, 1.0, True, "A")]
    assert good_share(*build(heavy)) is None
    assert good_share(*build(light)) == 1.0


@pytest.mark.parametrize(
    ("scale", "expected"),
    [
        (Scale(low=1, high=5, whole=True), 4.0),
        (Scale(low=0, high=1, whole=False), 0.75),
        (Scale(low=-3, high=3, whole=True), 1.5),
        (Scale(low=0.1, high=0.3, whole=False), 0.25),
    ],
)
def test_a_share_is_mapped_to_the_scale(scale: Scale, expected: float):
    questions, ratings = simple(1.0, 1.0, 1.0, 0.0)
    assert text_score(questions, ratings, scale) == expected


# One question's rating


@pytest.mark.parametrize(
    ("answer", "better", "value"),
    [("yes", "yes", 1.0), ("no", "yes", 0.0), ("yes", "no", 0.0), ("no", "no", 1.0)],
)
def test_an_answer_scores_by_the_question_s_polarity(answer: Any, better: Any, value: float):
    found = rate_question(question("a1", better=better), QuestionAnswer(answer, "Seen."))
    assert found == CriterionRating("a1", value, "Seen.")


def test_n_a_is_an_answer_and_a_missing_one_is_not():
    assert rate_question(question("a1"), QuestionAnswer("n/a", "None there.")) == CriterionRating(
        "a1", None, "None there.", False
    )
    assert rate_question(question("a1"), QuestionAnswer(None, "Lost.")) == CriterionRating("a1", None, "Lost.", True)


# A whole text


def part(questions=None, **chosen: Any) -> Part:
    return Part(
        method="checkeval",
        settings=CheckEvalSettings(**chosen).model_dump(mode="json"),
        criteria=questions or seeds(checklist((1, 2))),
        dimensions={"Side 1": "One.", "Side 2": "Two."},
    )


async def test_a_text_is_scored_with_every_answer_and_one_call_per_sub_dimension():
    judge = FakeJudge(lambda p: answers(p, lambda name, *_: {"a1": "yes", "b1": "no", "b2": "n/a"}[name]))
    value, ratings = await score(text(), part(), assignment(), judge)
    assert value == 3.0
    assert ratings == (answered_as("a1", 1.0), answered_as("b1", 0.0), answered_as("b2", None, applies=False))
    assert len(judge.prompts) == 2


async def test_scoring_follows_the_settings_that_the_part_was_learned_with():
    judge = FakeJudge(lambda p: answers(p, lambda name, *_: "yes" if name == "a1" else "no"))
    assert (await score(text(), part(), assignment(), judge))[0] == pytest.approx(1 + 4 / 3, abs=1e-6)
    before = len(judge.prompts)
    await score(text(), part(ask="together"), assignment(), judge)
    assert len(judge.prompts) == before + 1


def answered_as(name: str, value: float | None, applies: bool = True) -> CriterionRating:
    return CriterionRating(name, value, "Seen.", applies)
