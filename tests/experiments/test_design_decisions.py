"""The design `decisions`: scores read as yes or no, with precision, recall and F1 of the texts let through."""

from __future__ import annotations

import numpy as np
import pytest
from holistic_scripts import Overall, by_lot
from sklearn.metrics import precision_recall_fscore_support

from experiments.runner.bench import Bench
from experiments.runner.designs.decisions import DECISIONS, LETS_ALL, decision_row, f1_gap
from experiments.runner.figures import human_scores
from experiments.runner.run import schedule
from experiments.runner.study import Study, parse_study
from rubriclab.errors import SettingsError
from rubriclab.evaluation import Evaluator
from rubriclab.judges import FakeJudge
from rubriclab.judges.embedded import EmbeddedJudge

DIRECT = {"name": "direct", "method": "direct", "labels": False}
SENTENCES = {"name": "sentences", "method": "dcr", "labels": False}
WHOLE = {**SENTENCES, "name": "whole", "settings": {"dcr": {"level": "paragraph"}}}


def study(*arms: dict[str, object], **fields: object) -> Study:
    raw = {
        "name": "some",
        "question": "What?",
        "design": "decisions",
        "sets": {"qags_cnndm": ["consistency"]},
        "labels": [0],
        "arms": list(arms or (DIRECT,)),
        "options": {"good_from": 0.5},
    }
    return parse_study({**raw, **fields}, "here")


def texts_of(some: Study, sets):
    return Bench(some, sets, ()).material(schedule(some, sets).cases[0])


async def outcome_of(some: Study, sets, judge):
    """Return what the judge comes to on the study's only case."""
    (case,) = schedule(some, sets).cases
    return await DECISIONS.run(Bench(some, sets, (judge,)), case)


@pytest.mark.parametrize("border", [0.5, 1.0])
async def test_precision_recall_and_f1_are_those_of_scikit_learn(sets, border: float) -> None:
    some = study(options={"good_from": border})
    texts, outcome = texts_of(some, sets), await outcome_of(some, sets, judge := FakeJudge(Overall()))
    given = {prompt.fields["output"]: by_lot(prompt) for prompt in judge.prompts}
    through = np.array([given[text.output] for text in texts.test]) >= border
    good = human_scores(texts) >= border
    precision, recall, f1, _ = precision_recall_fscore_support(good, through, average="binary")
    row = outcome.rows[0]
    assert {name: row.figures[name].value for name in ("precision", "recall", "f1")} == pytest.approx(
        {"precision": precision, "recall": recall, "f1": f1}, abs=1e-6
    )
    assert (row.counts["good"], row.counts["let_through"]) == (good.sum(), through.sum())
    assert row.figures["f1"].low < f1 < row.figures["f1"].high
    assert row.figures["spearman"].value is not None


async def test_letting_all_texts_through_is_the_baseline(sets) -> None:
    some = study()
    good = (human_scores(texts_of(some, sets)) >= 0.5).mean()
    baseline = (await outcome_of(some, sets, EmbeddedJudge())).rows[-1]
    assert baseline.arm == LETS_ALL
    assert baseline.figures["recall"].value == 1
    assert baseline.figures["precision"].value == pytest.approx(good, abs=1e-6)
    assert baseline.figures["f1"].value == pytest.approx(2 * good / (1 + good), abs=1e-6)


async def test_sentences_are_judged_one_by_one_and_texts_as_a_whole(sets) -> None:
    def verdicts(prompt):
        said = {"reason": "So it is.", "consistent": "yes"}
        return {"sentences": [{"sentence": each["id"], **said} for each in prompt.fields["sentences"]]}

    judge = FakeJudge(verdicts)
    outcome = await outcome_of(study(SENTENCES, WHOLE), sets, judge)
    shown = {paragraph: [] for paragraph in (False, True)}
    for prompt in judge.prompts:
        shown[prompt.fields["paragraph"]].append(len(prompt.fields["sentences"]))
    assert set(shown[True]) == {1}
    assert max(shown[False]) > 1
    assert all(row.figures["recall"].value == 1 for row in outcome.rows)


def test_a_difference_in_f1_is_taken_on_the_texts_that_both_scored(sets) -> None:
    some = study()
    texts = texts_of(some, sets)
    human = human_scores(texts)
    other = np.where(np.arange(len(human)) % 3 == 0, 1 - human, human)
    other[5] = np.nan
    found = f1_gap(some, texts, Evaluator("one", human), Evaluator("other", other)).difference
    kept = ~np.isnan(other)
    *_, f1, _ = precision_recall_fscore_support(human[kept] >= 0.5, other[kept] >= 0.5, average="binary")
    assert found.value == pytest.approx(1 - f1, abs=1e-6)
    assert 0 < found.low < found.value < found.high


def test_texts_without_a_score_are_left_out_and_counted(sets) -> None:
    some = study()
    texts = texts_of(some, sets)
    scores = human_scores(texts)
    scores[:4] = np.nan
    row = decision_row(some, texts, Evaluator("one", scores))
    assert row.counts["unscored"] == 4
    assert row.counts["good"] == row.counts["let_through"] == (scores[4:] >= 0.5).sum()
    assert row.figures["f1"].value == 1


def test_precision_of_nothing_let_through_is_undefined(sets) -> None:
    some = study()
    texts = texts_of(some, sets)
    row = decision_row(some, texts, Evaluator("one", np.zeros(len(texts.test))))
    assert row.figures["precision"].value is None
    assert row.figures["recall"].value == row.figures["f1"].value == 0


async def test_an_arm_without_checks_for_the_aspect_says_so_and_the_others_go_on(sets) -> None:
    some = study(SENTENCES, DIRECT, sets={"summeval": ["coherence"]})
    rows = (await outcome_of(some, sets, EmbeddedJudge())).rows
    assert rows[0].missing
    assert rows[1].figures["f1"].value is not None


@pytest.mark.parametrize("options", [{"good_from": 0}, {"good_from": 1.1}, {"from": 1}])
def test_a_border_outside_the_scale_or_another_option_is_refused(sets, options) -> None:
    with pytest.raises(SettingsError, match=f"some: options.{next(iter(options))}"):
        schedule(study(options=options), sets)
