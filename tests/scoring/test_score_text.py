"""One text's score by a rubric."""

from dataclasses import asdict, fields

import pytest
from hypoeval_scripts import assignment, criterion, example, rating, scripted

from rubriclab.errors import JudgeUnavailable
from rubriclab.judges.judge import FakeJudge
from rubriclab.learning.scoring import CriterionScore, Score, assignment_of, score_text
from rubriclab.methods.hypoeval.score import HypoEvalSettings
from rubriclab.methods.method import UnitVerdict
from rubriclab.models.aggregation import (
    Aggregation,
    Calibration,
    Conformal,
    Term,
)
from rubriclab.models.rubric import Part, Rubric

TEXT = example(7, 3)
REF = "news-coherence@2"


def rubric(*parts: tuple[str, ...]) -> Rubric:
    """Return a rubric with one part for each tuple of criteria."""
    settings = HypoEvalSettings().model_dump(mode="json")
    made = tuple(
        Part(method="hypoeval", settings=settings, criteria=tuple(criterion(name) for name in names)) for names in parts
    )
    given = assignment()
    return Rubric(task="summarization", aspect=given.aspect, scale=given.scale, parts=made)


def judge(**scores: float | None):
    """Rate by criterion; None is a judge that gives no reply."""

    def script(prompt):
        value = scores[prompt.fields["criteria"][0]["id"]]
        if value is None:
            raise JudgeUnavailable("the server is busy")
        return rating(value, f"Worth {value}.")

    return scripted(rate=script)


async def test_a_score_comes_with_its_parts_reasons_rubric_and_judge():
    score = await score_text(rubric(("a", "b")), TEXT, judge(a=5, b=2), REF)
    assert score == Score(
        id="t07",
        aspect="coherence",
        score=3.5,
        criteria=(CriterionScore("a", 5, "Worth 5."), CriterionScore("b", 2, "Worth 2.")),
        unscored=None,
        rubric=REF,
        judge="fake",
    )


async def test_a_missing_criterion_is_shown_as_missing_and_the_score_stands_on_the_others():
    score = await score_text(rubric(("a", "b", "c")), TEXT, judge(a=5, b=None, c=4), REF)
    assert (score.score, score.unscored) == (4.5, None)
    assert score.criteria[1] == CriterionScore("b", None, "the server is busy")


async def test_too_little_to_go_by_means_no_score_and_the_reason():
    score = await score_text(rubric(("a", "b", "c")), TEXT, judge(a=5, b=None, c=None), REF)
    assert score.score is None
    assert score.unscored == "2 of 3 criteria without a usable rating; the first: the server is busy"


async def test_several_parts_are_averaged_and_each_is_needed():
    both = rubric(("a", "b"), ("c",))
    assert (await score_text(both, TEXT, judge(a=5, b=1, c=4), REF)).score == 3.5
    score = await score_text(both, TEXT, judge(a=5, b=1, c=None), REF)
    assert score.score is None
    assert score.unscored.startswith("1 of 3 criteria")


async def test_the_judge_is_asked_on_the_rubric_s_own_scale_aspect_and_task():
    fake = judge(a=5)
    await score_text(rubric(("a",)), TEXT, fake, REF)
    assert assignment_of(rubric(("a",))) == assignment()
    shown = fake.prompts[0].fields
    assert {name: shown[name] for name in ("words", "aspect", "scale")} == assignment().fields()


def combined(ask="by method", conformal=None, **weights: float) -> Rubric:
    """Return a rubric whose hypotheses, from one part each, count by weight; their centers are 3, their spreads 1."""
    terms = tuple(
        Term(criterion=name, weight=weight, center=3, spread=1, low=0, high=1, selected=1)
        for name, weight in weights.items()
    )
    straight = Calibration(kind="linear", x=(0, 1), y=(3, 4))
    aggregation = Aggregation(ask=ask, terms=terms, calibration=straight, conformal=conformal)
    return rubric(*((name,) for name in weights)).model_copy(update={"aggregation": aggregation})


HALF_A_POINT = Conformal(errors=(-0.5,) * 10 + (0.5,) * 10)


async def test_combined_criteria_count_by_their_weights_and_show_what_each_adds():
    score = await score_text(combined(conformal=HALF_A_POINT, a=0.75, b=0.25), TEXT, judge(a=4, b=1), REF)
    assert (score.score, score.interval) == (3.25, (2.75, 3.75))
    assert score.criteria == (
        CriterionScore("a", 4, "Worth 4.", contribution=0.75),
        CriterionScore("b", 1, "Worth 1.", contribution=-0.5),
    )


async def test_a_row_shows_interval_and_contributions_where_the_rubric_combines():
    row = (await score_text(combined(conformal=HALF_A_POINT, a=1.0), TEXT, judge(a=4), REF)).to_row()
    assert list(row) == ["id", "aspect", "score", "criteria", "unscored", "rubric", "judge", "interval"]
    assert row["interval"] == (3.5, 4.5)
    assert row["criteria"] == [{"id": "a", "score": 4, "reason": "Worth 4.", "applies": True, "contribution": 1.0}]
    without = (await score_text(combined(a=1.0), TEXT, judge(a=4), REF)).to_row()
    assert "interval" not in without
    assert without["criteria"][0]["contribution"] == 1.0


async def test_a_part_without_any_answer_costs_only_its_weight():
    score = await score_text(combined(a=0.75, b=0.25), TEXT, judge(a=4, b=None), REF)
    assert (score.score, score.unscored) == (3.75, None)
    assert score.criteria[1] == CriterionScore("b", None, "the server is busy", contribution=0.0)


async def test_too_little_of_the_weight_means_no_score_no_interval_and_no_contributions():
    score = await score_text(combined(conformal=HALF_A_POINT, a=0.75, b=0.25), TEXT, judge(a=None, b=4), REF)
    assert (score.score, score.interval) == (None, None)
    assert score.unscored == "1 of 2 criteria without a usable rating; the first: the server is busy"
    assert [criterion.contribution for criterion in score.criteria] == [None, None]


async def test_everything_can_be_asked_in_one_call():
    fake = FakeJudge(lambda _: {"a": rated(4), "b": rated(1)})
    score = await score_text(combined(ask="in one call", a=0.75, b=0.25), TEXT, fake, REF)
    assert [prompt.name for prompt in fake.prompts] == ["single_call/judge"]
    assert [(c.id, c.score, c.contribution) for c in score.criteria] == [("a", 4, 0.75), ("b", 1, -0.5)]
    assert score.score == 3.25


@pytest.mark.parametrize("ask", ["by method", "in one call"])
async def test_measures_are_counted_here_and_never_asked_about(ask):
    words = criterion("words").model_copy(update={"kind": "feature", "levels": ()})
    both = combined(ask=ask, a=0.5, words=0.5)
    parts = (both.parts[0], Part(method="text_features", settings={}, criteria=(words,)))
    fake = FakeJudge(lambda prompt: {"a": rated(4)} if "single_call" in prompt.name else rating(4))
    score = await score_text(both.model_copy(update={"parts": parts}), TEXT, fake, REF)
    assert [[each["id"] for each in prompt.fields["criteria"]] for prompt in fake.prompts] == [["a"]]
    # TEXT has three words, as many as the center says.
    assert [(c.id, c.score, c.contribution) for c in score.criteria] == [("a", 4.0, 0.5), ("words", 3.0, 0.0)]


def rated(score: float) -> dict[str, object]:
    """Return one entry of a reply about several criteria."""
    return {"reason": f"Worth {score}.", "score": score}


def test_a_row_has_every_field_of_the_score_and_leaves_out_what_is_not_known():
    unit = UnitVerdict("It rained.", (0, 2), 1.0, "It did.", ("rain",))
    known = CriterionScore("a", 1.0, "Yes.", applies=False, weight=0.5, units=(unit,), contribution=-0.25)
    bare = CriterionScore("b", None, "No reply.")
    score = Score("t", "coherence", 3.5, (known, bare), None, REF, "fake", (3.0, 4.0), "pass", "together")
    row = score.to_row()
    assert [*row, "replies"] == [field.name for field in fields(Score)], "replies have a file of their own"
    assert row["criteria"][0] == asdict(known)
    assert list(row["criteria"][0]) == [field.name for field in fields(CriterionScore)]
    assert row["criteria"][1] == {"id": "b", "score": None, "reason": "No reply.", "applies": True}
    assert {**row, "criteria": (), "replies": ()} == {**asdict(score), "criteria": ()}
