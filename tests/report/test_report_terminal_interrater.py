"""The view of judges' agreement: every figure of both kinds of criteria, and what it all says in words."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from report_samples import printed, words_of

from rubriclab.data import Scale
from rubriclab.interrater import (
    CriterionAgreement,
    Figure,
    Figures,
    InterraterAgreement,
    JudgePair,
    JudgeScores,
    Kind,
    ScoreAgreement,
)
from rubriclab.report.interrater import interrater_view, sentences
from rubriclab.stats import IntervalEstimate

NOTHING = IntervalEstimate(None, None, None)
HOSTILE = "[red]not markup[/red] \x1b[31mred \x9b2J \u202eright :smile: gone"
BINNED: tuple[Figure, ...] = (
    "alpha_interval",
    "alpha_ordinal",
    "alpha_nominal",
    "fleiss_kappa",
    "linear_kappa",
    "quadratic_kappa",
)
FIGURES: dict[Kind, tuple[Figure, ...]] = {
    "yes/no": ("alpha_nominal", "fleiss_kappa", "cohen_kappa"),
    "part-by-part": ("alpha_interval", "linear_kappa", "quadratic_kappa"),
    "graded": ("alpha_ordinal", "fleiss_kappa", "linear_kappa", "quadratic_kappa"),
}


def around(value: float | None) -> IntervalEstimate:
    return NOTHING if value is None else IntervalEstimate(value, value - 0.1, value + 0.1)


def figures(names: tuple[Figure, ...], value: float | None) -> Figures:
    """Return figures that can be told apart: each a hundredth above the one before."""
    return {name: around(None if value is None else value + place / 100) for place, name in enumerate(names)}


def criterion(name: str, kind: Kind, value: float | None, **fields: Any) -> CriterionAgreement:
    own: dict[str, Any] = {"trait": "linked sentences", "criteria": 1, "answers": 60, "missing": 0, "inapplicable": 0}
    return CriterionAgreement(id=name, kind=kind, figures=figures(FIGURES[kind], value), **(own | fields))


def found(**fields: Any) -> InterraterAgreement:
    own: dict[str, Any] = {
        "aspect": "coherence",
        "scale": Scale(low=1, high=5, whole=True),
        "bins": 5,
        "texts": 60,
        "groups": 12,
        "resampled": "groups",
        "judges": (JudgeScores("embedded", 60, 0, 3.1, 0.62), JudgeScores("openai/mine", 59, 1, 3.9, 0.41)),
        "pairs": (JudgePair("embedded", "openai/mine", 59, around(0.7), around(-0.8)),),
        "scores": ScoreAgreement(59, 1, figures(BINNED[:2], 0.71), figures(BINNED, 0.51)),
        "criteria": (
            criterion("q1", "yes/no", 0.32, missing=2),
            criterion("h1", "graded", 0.11),
            criterion("q2", "yes/no", 0.62, inapplicable=7),
            criterion("q3", "yes/no", None),
        ),
        "pooled": (criterion("yes/no", "yes/no", 0.42, criteria=3, answers=180, missing=2, inapplicable=7),),
    }
    return InterraterAgreement(**(own | fields))


def said(**fields: Any) -> str:
    return " ".join(sentences(found(**fields)))


def test_judges_pairs_scores_and_criteria_are_shown_with_every_figure() -> None:
    shown = words_of(interrater_view("news@2", found()))
    for part in (
        "news@2: coherence 60 texts on 1 (lowest) to 5 (highest), whole numbers only",
        "95 % bootstrap intervals over 12 groups of texts",
        "A embedded 60 0 3.10 0.62",
        "B openai/mine 59 1 3.90 0.41",
        "A, B 59 0.70 [0.60, 0.80] -0.80 [-0.90, -0.70]",
        "Scores 59 texts with two or more, 1 missing as they are in 5 bins",
        "alpha, interval 0.71 [0.61, 0.81] 0.51 [0.41, 0.61]",
        "alpha, ordinal 0.72 [0.62, 0.82] 0.52 [0.42, 0.62]",
        "alpha, nominal 0.53 [0.43, 0.63]",
        "Fleiss' kappa 0.54 [0.44, 0.64]",
        "kappa, linear weights 0.55 [0.45, 0.65]",
        "kappa, quadratic weights 0.56 [0.46, 0.66]",
        "5 of equal width from 1 to 5",
        "Yes/no questions alpha: nominal alpha Fleiss' kappa Cohen's kappa missing n/a",
        "q1 linked sentences 0.32 0.33 0.34 2 0 [0.22, 0.42] [0.23, 0.43] [0.24, 0.44]",
        "q2 linked sentences 0.62 0.63 0.64 0 7",
        "q3 linked sentences undefined undefined undefined 0 0",
        "all 3 pooled 0.42 0.43 0.44 2 7",
        "Graded criteria alpha: ordinal; kappas: in 5 bins, with quadratic weights alpha Fleiss' kappa weighted kappa",
        "h1 linked sentences 0.11 0.12 0.14 0",
    ):
        assert part in shown


def test_questions_asked_part_by_part_say_so() -> None:
    shown = words_of(interrater_view("news@2", found(criteria=(criterion("q1", "part-by-part", 0.5),), pooled=())))
    assert "Questions asked part by part shares of parts with the good answer; alpha: interval" in shown
    assert "q1 linked sentences 0.50 0.51 0.52 0" in shown


def test_it_fits_into_80_columns() -> None:
    wide = {name: IntervalEstimate(-0.123, -0.456, -0.012) for name in BINNED}
    scores = ScoreAgreement(59, 1, wide, wide)
    pairs = (
        JudgePair(
            "embedded", "openai/mine", 59, IntervalEstimate(-0.1, -0.2, -0.0), IntervalEstimate(-10.8, -11.2, -10.1)
        ),
    )
    lines = printed(interrater_view("news@2", found(scores=scores, pairs=pairs)), width=80).splitlines()
    assert max(map(len, lines)) <= 80
    rows = [line for line in lines if line.startswith(("alpha, ", "Fleiss' kappa ", "kappa, "))]
    assert len(rows) == len(BINNED)
    assert all("-0.12 [-0.46, -0.01]" in row for row in rows)


def test_kinds_of_criteria_that_a_rubric_lacks_are_not_mentioned() -> None:
    shown = words_of(interrater_view("news@2", found(criteria=(criterion("h1", "graded", 0.5),), pooled=())))
    assert "Yes/no" not in shown
    assert "pooled" not in shown
    assert "n/a" not in shown


def test_nothing_from_outside_acts_on_the_terminal() -> None:
    judges = tuple(dataclasses.replace(judge, judge=f"{HOSTILE} {place}") for place, judge in enumerate(found().judges))
    evil = found(
        aspect=HOSTILE,
        judges=judges,
        pairs=(JudgePair(judges[0].judge, judges[1].judge, 59, around(0.7), around(-0.8)),),
        criteria=(criterion(HOSTILE, "graded", 0.5, trait=HOSTILE), criterion("h2", "graded", 0.1)),
    )
    shown = printed(interrater_view(HOSTILE, evil))
    assert not {"\x1b", "\x9b", "\u202e"} & set(shown)
    assert "[red]not markup[/red]" in shown
    assert ":smile:" in shown


def test_alpha_is_placed_by_krippendorff_s_convention_and_named_as_his() -> None:
    for value, width, lies in (
        (0.5, 0.1, "lies below 0.667."),
        (0.7, 0.02, "lies between 0.667 and 0.800."),
        (0.9, 0.1, "lies above 0.800."),
        (0.7, 0.2, "reaches from below 0.667 to above 0.800."),
        (0.65, 0.1, "reaches from below 0.667 to between 0.667 and 0.800."),
    ):
        alpha = IntervalEstimate(value, value - width, value + width)
        scores = dataclasses.replace(found().scores, unbinned={"alpha_interval": alpha, "alpha_ordinal": alpha})
        assert (
            f"Krippendorff (2004) relies on data from 0.800 on and draws tentative conclusions from 0.667 on; the "
            f"interval of the first figure {lies}" in said(scores=scores)
        )


def test_severity_the_extremes_and_what_is_missing_are_said() -> None:
    words = said()
    assert "alpha of the scores is 0.71 [0.61, 0.81] as they are (interval) and 0.53 [0.43, 0.63] in 5 bins" in words
    assert "Mean scores reach from 3.10 (A) to 3.90 (B)" in words
    assert "Spearman's correlation (0.70) does not." in words
    assert "Of the 3 yes/no criteria, the judges agree most on q2 (alpha 0.62) and least on q1 (0.32)." in words
    assert "Alpha is undefined for 1 of the 3 yes/no criteria" in words
    assert "graded criteria" not in words
    assert words.endswith("1 score and 2 answers are missing; the figures rest on the others.")


@pytest.mark.parametrize("values", [(1.0, 1.0), (0.4, 0.401)])
def test_criteria_that_look_equally_agreed_on_have_no_extremes(values: tuple[float, ...]) -> None:
    equal = tuple(criterion(f"q{place}", "yes/no", value) for place, value in enumerate(values))
    assert "agree most" not in said(criteria=equal)
    assert "agree most" in said(criteria=(*equal, criterion("q9", "yes/no", 0.1)))


def test_of_several_pairs_the_mean_correlation_is_said() -> None:
    judges = (*found().judges, JudgeScores("third", 60, 0, 2.5, 0.3))
    pairs = tuple(
        JudgePair(first, second, 59, around(value), around(0.1))
        for first, second, value in (
            ("embedded", "openai/mine", 0.2),
            ("embedded", "third", 0.6),
            ("openai/mine", "third", None),
        )
    )
    assert "from 2.50 (C) to 3.90 (B)" in said(judges=judges, pairs=pairs)
    assert "(0.40, mean over 2 pairs)" in said(judges=judges, pairs=pairs)


def test_an_undefined_alpha_is_explained() -> None:
    none = figures(BINNED, None)
    words = said(
        scores=ScoreAgreement(0, 60, none, none),
        judges=(JudgeScores("a", 60, 0, 3, 1), JudgeScores("b", 0, 60, None, None)),
        pairs=(JudgePair("a", "b", 0, NOTHING, NOTHING),),
    )
    assert "alpha of the scores is undefined: fewer than two texts have two scores, or all scores are equal" in words
    assert "Mean scores" not in words


@pytest.mark.parametrize("judges", [2, 26, 28])
def test_any_number_of_judges_has_names_for_the_table_of_pairs(judges: int) -> None:
    many = tuple(JudgeScores(f"j{number}", 60, 0, 3.0, 1.0) for number in range(judges))
    last = JudgePair("j0", many[-1].judge, 60, around(0.5), around(0.1))
    shown = words_of(interrater_view("news@2", found(judges=many, pairs=(last,))))
    assert f"A, {'BZ'[judges > 2] if judges <= 26 else judges} 60 0.50" in shown
