"""The design `interrater`: one rubric, several judges, and how far they agree among themselves and with people."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest
from second_judge import SecondJudge

from experiments.runner.arms import course, learn
from experiments.runner.bench import Bench
from experiments.runner.designs.interrater import CONCORDANCE
from experiments.runner.figures import human_scores
from experiments.runner.run import schedule
from experiments.runner.study import Study, parse_study
from rubriclab.errors import SettingsError
from rubriclab.judges.embedded import EmbeddedJudge
from rubriclab.scoring import score_stream
from rubriclab.stats.reliability import fleiss_kappa, krippendorff_alpha

CHECKLIST = {
    "name": "checklist",
    "method": "checkeval",
    "labels": False,
    "settings": {"checkeval": {"diversified": 0, "elaborated_most": 0, "filter": "off"}},
}
SCORE = {"name": "score", "method": "direct", "labels": False}


def study(*arms: dict[str, object], **fields: object) -> Study:
    raw = {
        "name": "some",
        "question": "What?",
        "design": "interrater",
        "sets": {"summeval": ["coherence"]},
        "labels": [12],
        "arms": list(arms or (CHECKLIST, SCORE)),
    }
    return parse_study({**raw, **fields}, "here")


def outcome_of(some: Study, sets, *judges):
    """Return what these judges come to on the study's only case, with the bench."""
    found = schedule(some, sets, len(judges))
    bench = Bench(some, sets, judges)
    (case,) = found.cases
    return asyncio.run(CONCORDANCE.run(bench, case)), bench, case


@pytest.fixture
def rows(sets):
    outcome, _, _ = outcome_of(study(), sets, EmbeddedJudge(), SecondJudge())
    return {row.arm: row for row in outcome.rows}


def test_figures_on_a_checklist_are_those_of_its_single_answers(rows, sets) -> None:
    some, judges = study(), (EmbeddedJudge(), SecondJudge())
    _, bench, case = outcome_of(some, sets, *judges)
    texts = bench.material(case)

    async def answers(judge) -> list[list[float]]:
        trained = await learn(course(some.arms[0], (), texts.home), judges[0], seed=case.seed)
        return [
            [criterion.score for criterion in score.criteria]
            async for score in score_stream(trained.rubric, texts.test, judge, "coherence")
        ]

    table = np.array([asyncio.run(answers(judge)) for judge in judges], dtype=float).reshape(2, -1)
    row = rows["checklist"]
    assert set(np.unique(table)) == {0, 1}
    assert row.figures["alpha"].value == pytest.approx(krippendorff_alpha(table, "nominal").value, abs=1e-6)
    assert row.figures["kappa"].value == pytest.approx(fleiss_kappa(table).value, abs=1e-6)
    assert row.counts["compared"] == table.shape[1] == row.counts["criteria"] * row.counts["texts"]
    assert row.counts["answers"] == 2 * table.shape[1]
    assert row.note == "yes/no answers"


def test_scores_are_compared_as_they_are_and_with_people(rows, sets) -> None:
    some, judges = study(), (EmbeddedJudge(), SecondJudge())
    _, bench, case = outcome_of(some, sets, *judges)
    texts = bench.material(case)

    async def scores(judge) -> list[float]:
        trained = await learn(course(some.arms[1], (), texts.home), judges[0], seed=case.seed)
        found = score_stream(trained.rubric, texts.test, judge, "coherence")
        return [score.score async for score in found]

    table = np.array([asyncio.run(scores(judge)) for judge in judges], dtype=float)
    row = rows["score"]
    assert row.note == "graded answers"
    assert row.figures["alpha"].value == pytest.approx(krippendorff_alpha(table, "ordinal").value, abs=1e-6)
    assert row.figures["score_alpha"].value == pytest.approx(krippendorff_alpha(table, "interval").value, abs=1e-6)
    human, groups = human_scores(texts), np.array([text.group for text in texts.test])
    from scipy.stats import spearmanr

    with_people = [
        np.mean([spearmanr(own[groups == group], human[groups == group])[0] for group in np.unique(groups)])
        for own in table
    ]
    assert row.figures["spearman"].value == pytest.approx(np.mean(with_people), abs=1e-6)
    assert row.figures["spearman_sd"].value == pytest.approx(np.std(with_people, ddof=1), abs=1e-6)
    assert row.figures["score_spearman"].value == pytest.approx(spearmanr(*table)[0], abs=1e-6)


def test_a_judge_who_answers_otherwise_more_often_agrees_less(sets) -> None:
    def alphas(share: float) -> list[float]:
        outcome, _, _ = outcome_of(study(), sets, EmbeddedJudge(), SecondJudge(share=share))
        return [row.figures[name].value for row in outcome.rows for name in ("alpha", "score_alpha")]

    near, middle, far = (np.array(alphas(share)) for share in (0.05, 0.25, 0.5))
    assert (near > middle).all()
    assert (middle > far).all()


def test_only_the_first_judge_learns_and_cost_is_told_beforehand(sets) -> None:
    asked = [SecondJudge("one"), SecondJudge("other"), SecondJudge("third")]
    outcome, bench, case = outcome_of(study({**CHECKLIST, "labels": True}), sets, *asked)
    (row,) = outcome.rows
    first, *others = CONCORDANCE.at_most(bench, case)
    texts = len(bench.material(case).test)
    assert row.counts["judges"] == 3
    assert others[0] == others[1]
    assert first.calls > others[0].calls >= texts
    assert row.scoring.calls <= 3 * others[0].calls
    assert 0 < row.learning.calls <= first.calls - others[0].calls


def test_one_judge_under_two_names_is_refused(sets) -> None:
    with pytest.raises(SettingsError, match="one and the same judge"):
        outcome_of(study(), sets, EmbeddedJudge(), EmbeddedJudge())


def test_one_judge_alone_is_refused_before_anything_is_asked(sets) -> None:
    with pytest.raises(SettingsError, match="takes 2 to 20 judges, and 1 were named"):
        schedule(study(), sets, 1)


def test_an_arm_whose_scores_nobody_can_compare_says_why_and_the_others_go_on(sets) -> None:
    needs_labels = {"name": "needs labels", "method": "few_shot", "labels": False}
    outcome, _, _ = outcome_of(study(needs_labels, SCORE), sets, EmbeddedJudge(), SecondJudge())
    without, whole = outcome.rows
    assert "labelled texts" in without.missing
    assert not without.figures
    assert whole.figures["alpha"].value is not None


def test_a_second_run_gives_the_same_figures(sets, rows) -> None:
    again, _, _ = outcome_of(study(), sets, EmbeddedJudge(), SecondJudge())
    assert [row.figures for row in again.rows] == [row.figures for row in rows.values()]
