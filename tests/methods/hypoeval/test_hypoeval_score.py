"""Scoring: a weighted mean of what could be rated, or nothing where too little could."""

import pytest
from hypoeval_scripts import assignment, criterion, example, rating, scripted

from rubriclab.errors import JudgeUnavailable
from rubriclab.methods.hypoeval import score
from rubriclab.methods.hypoeval.score import HypoEvalSettings
from rubriclab.models.rubric import Part

TEXT = example(1, 3)


def part(*weights: float, **chosen) -> Part:
    criteria = tuple(criterion(f"h{i:02d}", weight=weight) for i, weight in enumerate(weights, start=1))
    return Part(method="hypoeval", settings=HypoEvalSettings(**chosen).model_dump(mode="json"), criteria=criteria)


def judge(*scores: float | None):
    """Rate by the criteria's numbers; None is a judge that gives no reply."""

    def script(prompt):
        value = scores[int(prompt.fields["criteria"][0]["id"][1:]) - 1]
        if value is None:
            raise JudgeUnavailable("busy")
        return rating(value, f"It is {value}.")

    return scripted(rate=script)


async def test_the_score_is_the_mean_over_hypotheses_with_each_reason():
    value, ratings = await score(TEXT, part(1, 1, 1), assignment(), judge(5, 2, 4))
    assert value == pytest.approx(11 / 3, abs=1e-6)
    assert [(r.criterion, r.score, r.reason) for r in ratings] == [
        ("h01", 5, "It is 5."),
        ("h02", 2, "It is 2."),
        ("h03", 4, "It is 4."),
    ]


async def test_weights_count():
    value, _ = await score(TEXT, part(3, 1), assignment(), judge(5, 1))
    assert value == 4


async def test_what_is_missing_is_left_out_of_the_mean_and_is_no_number():
    value, ratings = await score(TEXT, part(1, 1, 1), assignment(), judge(5, None, 4))
    assert value == 4.5
    assert [r.score for r in ratings] == [5, None, 4]


@pytest.mark.parametrize(
    ("weights", "scores", "expected"),
    [
        ((1, 1), (4, None), 4),
        ((1, 1, 1), (4, None, None), None),
        ((1, 1, 1, 1), (4, 2, None, None), 3),
        ((1, 1, 1, 1, 1), (4, 2, None, None, None), None),
        ((1, 3), (4, None), None),
        ((1, 3), (None, 2), 2),
        ((1, 1), (None, None), None),
    ],
)
async def test_less_than_half_of_the_weight_gives_no_score(weights, scores, expected):
    value, ratings = await score(TEXT, part(*weights), assignment(), judge(*scores))
    assert value == expected
    assert len(ratings) == len(weights)


async def test_the_concatenated_score_is_the_one_overall_rating():
    fake = scripted(rate=lambda p: rating(2) if len(p.fields["criteria"]) == 3 else rating(5))
    value, ratings = await score(TEXT, part(1, 7, 1, ask="concatenated"), assignment(), fake)
    assert (value, [r.criterion for r in ratings], len(fake.prompts)) == (2, ["overall"], 1)


async def test_ratings_together_score_as_separate_ones_do():
    replies = {f"h0{i}": {"reason": "Because.", "score": value} for i, value in enumerate((5, 2, 4), start=1)}
    fake = scripted(rate_together=lambda _: replies)
    together, _ = await score(TEXT, part(1, 1, 2, ask="together"), assignment(), fake)
    separately, _ = await score(TEXT, part(1, 1, 2), assignment(), judge(5, 2, 4))
    assert together == separately
    assert len(fake.prompts) == 1
