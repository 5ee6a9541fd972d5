"""The designs `decisions` and `discrimination`: scores read as yes or no."""

from __future__ import annotations

import numpy as np
import pytest
from one_case import RAW, bench_of, outcome_of, study
from scripted_judge import drawn_score, scripted
from sklearn.metrics import precision_recall_fscore_support, roc_auc_score

from experiments.runner.designs.decisions import _f1_gap, auroc
from experiments.runner.figures import human_scores
from rubriclab.ops.evaluate import Evaluator

DIRECT = RAW["arms"][0]


def decisions(*arms, **fields):
    raw = {"design": "decisions", "sets": {"qags_cnndm": ["consistency"]}, "labels": [0], "test_texts": None}
    return study(**{**raw, "arms": list(arms or (DIRECT,)), "options": {"good_from": 0.5}, **fields})


@pytest.mark.parametrize("border", [0.5, 1.0])
async def test_precision_recall_and_f1_are_those_of_scikit_learn(sets, border: float) -> None:
    some = decisions(options={"good_from": border})
    outcome, texts = await outcome_of(some, sets, judge := scripted())
    given = {prompt.fields["output"]: drawn_score(prompt) for prompt in judge.prompts}
    through = np.array([given[text.output] for text in texts.test]) >= border
    good = human_scores(texts) >= border
    precision, recall, f1, _ = precision_recall_fscore_support(good, through, average="binary")
    row, baseline = outcome.rows
    assert {name: row.figures[name].value for name in ("precision", "recall", "f1")} == pytest.approx(
        {"precision": precision, "recall": recall, "f1": f1}, abs=1e-6
    )
    assert (row.counts["good"], row.counts["let_through"]) == (good.sum(), through.sum())
    assert row.figures["f1"].low < f1 < row.figures["f1"].high
    assert row.figures["spearman"].value is not None
    assert baseline.figures["recall"].value == 1
    assert baseline.figures["precision"].value == pytest.approx(good.mean(), abs=1e-6)


def test_a_difference_in_f1_is_taken_on_the_texts_that_both_scored(sets) -> None:
    _, _, texts = bench_of(decisions(), sets)
    human = human_scores(texts)
    other = np.where(np.arange(len(human)) % 3 == 0, 1 - human, human)
    other[5] = np.nan
    found = _f1_gap(texts, 0.5, Evaluator("one", human), Evaluator("other", other)).difference
    kept = ~np.isnan(other)
    *_, f1, _ = precision_recall_fscore_support(human[kept] >= 0.5, other[kept] >= 0.5, average="binary")
    assert found.value == pytest.approx(1 - f1, abs=1e-6)
    assert 0 < found.low < found.value < found.high


async def test_texts_without_a_score_are_left_out_and_counted(sets) -> None:
    _, _, texts = bench_of(some := decisions(), sets)
    silent = texts.test[0].output
    judge = scripted(score=lambda prompt: None if prompt.fields["output"] == silent else 1.0)
    row = (await outcome_of(some, sets, judge))[0].rows[0]
    assert row.counts["unscored"] == 1
    assert row.counts["let_through"] == len(texts.test) - 1


async def test_discrimination_is_the_area_of_high_human_scores_against_low_ones(sets) -> None:
    some = decisions(design="discrimination", sets={"qqp": ["equivalence"]}, options={})
    outcome, texts = await outcome_of(some, sets, judge := scripted())
    given = {prompt.fields["output"]: drawn_score(prompt) for prompt in judge.prompts}
    scores = [given[text.output] for text in texts.test]
    high = human_scores(texts) >= 0.5
    assert outcome.rows[0].figures["auroc"].value == pytest.approx(roc_auc_score(high, scores), abs=1e-6)
    assert outcome.rows[0].counts["positive"] == high.sum()


def test_the_area_leaves_out_texts_without_a_score_and_is_undefined_for_texts_of_one_kind() -> None:
    scores, high = np.array([0.1, 0.4, np.nan, 0.8, 0.4, 0.9]), np.array([False, False, True, True, True, True])
    known = ~np.isnan(scores)
    assert auroc(scores, high).value == pytest.approx(roc_auc_score(high[known], scores[known]))
    assert auroc(scores, np.ones(6, dtype=bool)).value is None
