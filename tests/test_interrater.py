"""Agreement of judges who apply one rubric: scores, criteria of both kinds, and what is missing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import astuple, replace

import numpy as np
import pytest
from scipy.stats import spearmanr
from scripted_judge import criterion, part_of, question, rubric_of

from rubriclab.learning.scoring import Score
from rubriclab.methods.method import CriterionRating
from rubriclab.models.rubric import Criterion, Rubric
from rubriclab.models.text import Example
from rubriclab.ops.agree import InterraterAgreement, interrater_agreement
from rubriclab.stats.intervals import Interval
from rubriclab.stats.rater_agreement import krippendorff_alpha

RNG = np.random.default_rng(7)
GROUPS, RIVALS = 8, 4
TEXTS = tuple(
    Example(id=f"t{g}{r}", output=f"Text {r} of {g}.", group=f"g{g}") for g in range(GROUPS) for r in range(RIVALS)
)
NOTHING = Interval(None)
ANSWERS = ("q1", "q2", "q3")


def ordered(name: str) -> Criterion:
    return question(name, "order")


def rubric(*criteria: Criterion) -> Rubric:
    return rubric_of(part_of("hypoeval", *criteria))


CHECKLIST = rubric(*map(ordered, ANSWERS))
HYPOTHESES = rubric(criterion("h1"), criterion("h2"))


def scores_of(values: Sequence[float], ratings: dict[str, Sequence[float]] | None = None) -> list[Score]:
    """Return a judge's scores, NaN where it gave none; `ratings` has its rating of each text by criterion."""
    ratings = ratings or {}
    return [
        Score(
            text.id,
            "coherence",
            None if math.isnan(value) else float(value),
            tuple(rating(name, values[place]) for name, values in ratings.items()),
            "no reply" if math.isnan(value) else None,
            "r@1",
            "judge",
        )
        for place, (text, value) in enumerate(zip(TEXTS, values, strict=True))
    ]


def rating(name: str, value: float, applies: bool = True) -> CriterionRating:
    return CriterionRating(name, None if math.isnan(value) else float(value), "because", applies)


def simulated(judges: int = 3, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    quality = rng.normal(3, 1, len(TEXTS))
    return np.clip(quality + rng.normal(0, 0.6, (judges, len(TEXTS))), 1, 5).round(2)


def agreement_of(table: np.ndarray, **given) -> InterraterAgreement:
    return interrater_agreement(HYPOTHESES, TEXTS, {f"j{n}": scores_of(row) for n, row in enumerate(table)}, **given)


def groups() -> list[str]:
    return [text.group for text in TEXTS]


def test_figures_of_the_scores_are_those_of_the_statistics_drawn_by_group():
    table = simulated()
    table[1, 4] = table[2, 4] = table[0, 9] = np.nan
    found = agreement_of(table)
    assert (found.unit, found.groups, found.texts) == ("groups", GROUPS, len(TEXTS))
    assert (found.scores.texts, found.scores.missing) == (len(TEXTS) - 1, 3)
    assert found.scores.alpha == krippendorff_alpha(table, "interval", groups())
    assert found.scores.alpha.low < found.scores.alpha.value < found.scores.alpha.high


def test_a_severe_judge_lowers_alpha_but_not_the_rank_correlation():
    kind = np.clip(simulated(judges=1)[0] / 2 + 2, 1, 4)
    found = agreement_of(np.array([kind, kind + 1]))
    (pair,) = found.pairs
    assert pair.spearman.value == pytest.approx(1)
    unseen = 1 - 0.05 ** (1 / GROUPS)  # by the rule of three, for differences from -4 to 4
    assert astuple(pair.difference) == pytest.approx((-1, -1 - 3 * unseen, -1 + 5 * unseen))
    assert found.scores.alpha.value < 0.6
    assert found.scores.reliability is not None
    assert found.scores.reliability[0] == "unreliable"
    severe, mild = found.judges
    assert mild.mean == pytest.approx(severe.mean + 1)
    assert mild.deviation == pytest.approx(severe.deviation) == pytest.approx(np.std(kind, ddof=1))


def test_each_pair_is_compared_on_the_texts_that_both_scored():
    table = simulated()
    table[0, :3] = table[1, 2:6] = np.nan
    found = agreement_of(table)
    assert [(pair.first, pair.second, pair.n) for pair in found.pairs] == [
        ("j0", "j1", len(TEXTS) - 6),
        ("j0", "j2", len(TEXTS) - 3),
        ("j1", "j2", len(TEXTS) - 4),
    ]
    both = ~np.isnan(table[0]) & ~np.isnan(table[1])
    assert found.pairs[0].spearman.value == pytest.approx(spearmanr(table[0][both], table[1][both]).statistic)
    assert found.pairs[0].difference.value == pytest.approx((table[0][both] - table[1][both]).mean())
    assert [(judge.scored, judge.unscored) for judge in found.judges] == [(29, 3), (28, 4), (32, 0)]


def test_yes_no_questions_are_compared_as_nominal_and_pooled_over_texts_and_questions():
    answers = (RNG.random((2, 3, len(TEXTS))) < RNG.random((3, len(TEXTS)))).astype(float)
    scored = {
        f"j{n}": scores_of(mine.mean(axis=0) * 4 + 1, dict(zip(ANSWERS, mine, strict=True)))
        for n, mine in enumerate(answers)
    }
    found = interrater_agreement(CHECKLIST, TEXTS, scored)
    assert [(row.id, row.trait, row.kind, row.criteria) for row in found.criteria] == [
        (name, "order", "yes/no", 1) for name in ANSWERS
    ]
    for number, row in enumerate(found.criteria):
        assert row.alpha == krippendorff_alpha(answers[:, number], "nominal", groups())
        assert (row.answers, row.missing, row.inapplicable) == (len(TEXTS), 0, 0)
    (pooled,) = found.pooled
    assert (pooled.kind, pooled.criteria, pooled.answers) == ("yes/no", 3, 3 * len(TEXTS))
    every = answers.reshape(2, -1)
    assert pooled.alpha == krippendorff_alpha(every, "nominal", groups() * 3)


def test_graded_criteria_and_answers_in_shares_of_parts_are_compared_as_intervals():
    ratings = simulated(judges=2, seed=4)
    shares = RNG.integers(0, 7, (2, len(TEXTS))) / 6
    scored = {f"j{n}": scores_of(ratings[n], {"h1": ratings[n], "q1": shares[n]}) for n in range(2)}
    found = interrater_agreement(rubric(criterion("h1"), ordered("q1")), TEXTS, scored)
    for row, table in zip(found.criteria, (ratings, shares), strict=True):
        assert row.kind == "graded"
        assert row.alpha == krippendorff_alpha(table, "interval", groups())


def test_missing_answers_and_those_that_do_not_apply_are_left_out_and_counted_apart():
    yes = np.ones(len(TEXTS))
    first = scores_of(yes, {"q1": (np.arange(len(TEXTS)) % 2).astype(float)})  # type: ignore[arg-type, dict-item]
    given = [rating("q1", np.nan, applies=False), rating("q1", np.nan), *(row.criteria[0] for row in first[2:])]
    second = [replace(row, criteria=(each,), judge="b") for row, each in zip(first, given, strict=True)]
    # A row that could not be judged at all has no criteria.
    second[2] = Score(TEXTS[2].id, "coherence", None, (), "no reply", "r@1", "b")
    (row,) = interrater_agreement(rubric(ordered("q1")), TEXTS, {"a": first, "b": second}).criteria
    assert (row.answers, row.missing, row.inapplicable) == (len(TEXTS) - 3, 2, 1)
    assert row.alpha.value == 1


def test_what_cannot_be_told_is_undefined():
    same, none = np.full(len(TEXTS), 3.0), np.full(len(TEXTS), np.nan)
    for table in ([same, same], [same, none], [none, none]):
        found = agreement_of(np.array(table))
        assert found.scores.alpha == NOTHING
        assert found.pairs[0].spearman == NOTHING
    assert (found.judges[0].mean, found.judges[0].deviation, found.judges[0].unscored) == (None, None, len(TEXTS))
    assert found.pairs[0].difference == NOTHING
    assert (found.criteria, found.pooled, found.scores.texts) == ((), (), 0)
