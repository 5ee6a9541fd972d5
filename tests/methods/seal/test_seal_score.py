"""From verdicts to a text's score, and what its row tells of each question."""

from __future__ import annotations

from typing import Any

import pytest
from seal_scripts import always, assignment, exam, pack, part, scripted, text

from rubriclab.methods.seal.score import (
    TOLD,
    PairVerdict,
    TextVerdicts,
    Unit,
    score,
    score_verdicts,
)
from rubriclab.models.text import Scale

QUESTIONS = exam(pack(sizes=(1, 1))).questions
ONE_TO_FIVE = assignment().scale


def found(*rows: tuple[float | None, float | None], **fields: Any) -> TextVerdicts:
    """Return verdicts on questions a1 and b1 about as many units."""
    units = tuple(Unit(f"u{n}", f"Unit {n}.", (n - 1,)) for n in range(1, len(rows) + 1))
    verdicts = {
        (unit.id, question.id): PairVerdict(value, f"Reason {question.id} {unit.id}.")
        for unit, row in zip(units, rows, strict=True)
        for question, value in zip(QUESTIONS, row, strict=True)
    }
    return TextVerdicts(units, verdicts, **fields)


@pytest.mark.parametrize(
    ("scale", "expected"),
    [(ONE_TO_FIVE, 4.0), (Scale(low=0, high=1, whole=False), 0.75), (Scale(low=-3, high=3, whole=True), 1.5)],
)
def test_the_mean_over_units_is_mapped_to_the_scale(scale: Scale, expected: float):
    value, ratings = score_verdicts(found((1, 1), (1, 0)), QUESTIONS, scale)
    assert value == expected
    assert [(rating.criterion, rating.score, rating.weight) for rating in ratings] == [
        ("a1", 1.0, None),
        ("b1", 0.5, None),
    ]


def test_learned_weights_weigh_unless_the_judge_does():
    heavy = tuple(q.model_copy(update={"weight": 3.0}) if q.id == "a1" else q for q in QUESTIONS)
    value, ratings = score_verdicts(found((1, 0)), heavy, ONE_TO_FIVE)
    assert (value, [rating.weight for rating in ratings]) == (4.0, [0.75, 0.25])
    value, ratings = score_verdicts(found((1, 0), weights={"a1": 1, "b1": 3}), heavy, ONE_TO_FIVE)
    assert (value, [rating.weight for rating in ratings]) == (2.0, [0.25, 0.75])


def test_every_verdict_stands_in_the_row_with_its_place():
    _, (first, _) = score_verdicts(found((1, 0), (None, 1), (0.5, 1)), QUESTIONS, ONE_TO_FIVE)
    assert [(unit.unit, unit.sentences, unit.value) for unit in first.units] == [
        ("Unit 1.", (0,), 1),
        ("Unit 2.", (1,), None),
        ("Unit 3.", (2,), 0.5),
    ]
    assert first.units[0].reason == "Reason a1 u1."


def test_the_reason_tells_how_many_pass_and_first_why_the_others_do_not():
    _, (first, second) = score_verdicts(found((1, 1), (None, 1), (0, 1), (1, 1)), QUESTIONS, ONE_TO_FIVE)
    assert first.reason == ("2 of 4 units pass, 1 without a verdict: “Unit 3.”: Reason a1 u3; “Unit 2.”: Reason a1 u2.")
    assert second.reason == "4 of 4 units pass."
    _, (many, _) = score_verdicts(found(*[(0, 1)] * 9), QUESTIONS, ONE_TO_FIVE)
    assert many.reason.count("Reason") == TOLD
    _, (one, _) = score_verdicts(found((0, 1)), QUESTIONS, ONE_TO_FIVE)
    assert one.reason == "Reason a1 u1."
    _, (rated, _) = score_verdicts(found((0.5, 1), (1, 1), rated=True), QUESTIONS, ONE_TO_FIVE)
    assert rated.reason == "75% of the scale on average over 2 of 2 units: “Unit 1.”: Reason a1 u1."


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ([(None, 1), (None, 1)], "2 without a verdict"),
        ([(None, None), (1, 1)], "1 without a verdict"),
        ([(None, 1), (1, None), (1, 1)], "half or more of its units lack verdicts with half of the weight or more"),
    ],
)
def test_an_unscored_text_says_why_in_a_rating_without_a_score(rows: Any, why: str):
    value, ratings = score_verdicts(found(*rows), QUESTIONS, ONE_TO_FIVE)
    assert value is None
    assert any(rating.score is None and why in rating.reason for rating in ratings)
    assert all(rating.units for rating in ratings)


# As a method


async def test_a_part_scores_as_it_was_learned_to():
    given = part(pack(sizes=(1, 1)))
    value, ratings = await score(text(4), given, assignment(), scripted(lambda q, *_: q == "a1"))
    assert (value, [rating.score for rating in ratings]) == (3.0, [1.0, 0.0])
    assert {unit.sentences for unit in ratings[0].units} == {(0,), (1,), (2,), (3,)}
    bare = given.model_copy(update={"dimensions": None, "units": None})
    value, ratings = await score(text(4), bare, assignment(), scripted(always))
    assert (value, len(ratings[0].units)) == (5.0, 1)
