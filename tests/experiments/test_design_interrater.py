"""The design `interrater`: one rubric, several judges, and how far they agree among themselves and with people."""

from __future__ import annotations

import numpy as np
import pytest
from one_case import outcome_of, study
from scipy.stats import spearmanr
from second_judge import SecondJudge

from experiments.runner.arms import course, learn
from experiments.runner.figures import human_scores
from experiments.runner.run import schedule
from rubriclab.errors import SettingsError
from rubriclab.judges.embedded import EmbeddedJudge
from rubriclab.learning.scoring import score_stream
from rubriclab.stats.agreement import agreement
from rubriclab.stats.reliability import fleiss_kappa, krippendorff_alpha

CHECKLIST = {
    "name": "checklist",
    "method": "checkeval",
    "labels": False,
    "settings": {"checkeval": {"diversified": 0, "elaborated_most": 0, "filter": "off"}},
}
SCORE = {"name": "score", "method": "direct", "labels": False}


def interrater(*arms):
    return study(design="interrater", arms=list(arms or (CHECKLIST, SCORE)), test_texts=None)


async def scored_by(judges, place: int, texts) -> list[list]:
    """Return what each judge gives the texts by the rubric that the first one learns."""
    learned = await learn(course(interrater().arms[place], (), texts.home), judges[0], seed=42)
    rubric = learned.trained.rubric
    return [[each async for each in score_stream(rubric, texts.test, judge, "coherence")] for judge in judges]


async def test_figures_on_a_checklist_are_those_of_its_single_answers(sets) -> None:
    judges = (EmbeddedJudge(), SecondJudge())
    outcome, texts = await outcome_of(interrater(), sets, *judges)
    scores = await scored_by(judges, 0, texts)
    table = np.array([[c.score for each in own for c in each.criteria] for own in scores], dtype=float)
    row = outcome.rows[0]
    assert set(np.unique(table)) == {0, 1}
    assert row.figures["alpha"].value == pytest.approx(krippendorff_alpha(table, "nominal").value, abs=1e-6)
    assert row.figures["kappa"].value == pytest.approx(fleiss_kappa(table).value, abs=1e-6)
    assert row.counts["compared"] == table.shape[1] == row.counts["criteria"] * row.counts["texts"]
    assert row.counts["answers"] == 2 * table.shape[1]
    assert row.note == "yes/no answers"


async def test_scores_are_compared_as_they_are_and_with_people(sets) -> None:
    judges = (EmbeddedJudge(), SecondJudge())
    outcome, texts = await outcome_of(interrater(), sets, *judges)
    scores = await scored_by(judges, 1, texts)
    table = np.array([[each.score for each in own] for own in scores], dtype=float)
    row = outcome.rows[1]
    assert row.note == "graded answers"
    assert row.figures["alpha"].value == pytest.approx(krippendorff_alpha(table, "interval").value, abs=1e-6)
    assert row.figures["score_alpha"].value == pytest.approx(krippendorff_alpha(table, "interval").value, abs=1e-6)
    human, groups = human_scores(texts), [text.group for text in texts.test]
    with_people = [agreement(own, human, groups, level="group").spearman.value for own in table]
    assert row.figures["spearman"].value == pytest.approx(np.mean(with_people), abs=1e-6)
    assert row.figures["spearman_sd"].value == pytest.approx(np.std(with_people, ddof=1), abs=1e-6)
    assert row.figures["score_spearman"].value == pytest.approx(spearmanr(*table)[0], abs=1e-6)


async def test_a_judge_who_answers_otherwise_more_often_agrees_less(sets) -> None:
    async def alphas(share: float) -> list[float]:
        outcome, _ = await outcome_of(interrater(), sets, EmbeddedJudge(), SecondJudge(share=share))
        return [row.figures[name].value for row in outcome.rows for name in ("alpha", "score_alpha")]

    near, middle, far = [np.array(await alphas(share)) for share in (0.05, 0.25, 0.5)]
    assert (near > middle).all()
    assert (middle > far).all()


def test_one_judge_alone_is_refused_before_anything_is_asked(sets) -> None:
    with pytest.raises(SettingsError, match="takes 2 to 20 judges, got 1"):
        schedule(interrater(), sets, 1)
