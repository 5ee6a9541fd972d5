"""The design `repeats`: the same arms several times over, and how far their figures lie apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from holistic_scripts import Overall, by_lot
from scipy.stats import spearmanr

from experiments.runner.bench import Bench
from experiments.runner.designs.repeats import REPEATS, STRIDE, spread
from experiments.runner.figures import human_scores
from experiments.runner.run import schedule
from experiments.runner.study import BASELINES, Study, parse_study
from rubriclab.errors import SettingsError
from rubriclab.judges import FakeJudge
from rubriclab.judges.cache import Cached, MemoryAnswers
from rubriclab.judges.embedded import EmbeddedJudge

DIRECT = {"name": "direct", "method": "direct", "labels": False}


def study(*arms: dict[str, object], **fields: object) -> Study:
    raw = {
        "name": "some",
        "question": "What?",
        "design": "repeats",
        "sets": {"qags_cnndm": ["consistency"]},
        "labels": [12],
        "arms": list(arms or (DIRECT,)),
    }
    return parse_study({**raw, **fields}, "here")


async def outcome_of(some: Study, sets, judge):
    """Return what the judge comes to on the study's first case, and the case's texts."""
    case = schedule(some, sets).cases[0]
    bench = Bench(some, sets, (judge,))
    return await REPEATS.run(bench, case), bench.material(case)


def scores_of(texts, judge: FakeJudge, run: int) -> list[float]:
    """Return what the script gave each text in one run."""
    given = {p.fields["output"]: by_lot(p) for p in judge.prompts if p.sample // STRIDE == run}
    return [given[text.output] for text in texts.test]


async def test_each_run_has_answers_of_its_own_and_the_first_those_of_a_usual_run(sets) -> None:
    judge = FakeJudge(Overall())
    _, texts = await outcome_of(study(test_texts=5), sets, Cached(judge, MemoryAnswers()))
    different = {text.output for text in texts.test}
    asked = [(prompt.fields["output"], prompt.sample) for prompt in judge.prompts]
    assert sorted(asked) == sorted((text, STRIDE * run) for text in different for run in range(3))


async def test_figures_are_means_over_the_runs_with_their_standard_deviation(sets) -> None:
    judge = FakeJudge(Overall())
    outcome, texts = await outcome_of(study(), sets, judge)
    scored = [scores_of(texts, judge, run) for run in range(3)]
    single = [spearmanr(scores, human_scores(texts))[0] for scores in scored]
    found = outcome.rows[0].figures
    assert [found[f"spearman, run {run}"].value for run in (1, 2, 3)] == pytest.approx(single, abs=1e-6)
    assert found["spearman"].value == pytest.approx(np.mean(single), abs=1e-6)
    assert found["spearman spread"].value == pytest.approx(np.std(single, ddof=1), abs=1e-6)
    assert found["spearman spread"].value > 0.01
    assert found["score spread"].value == pytest.approx(np.std(scored, axis=0, ddof=1).mean(), abs=1e-6)


async def test_a_judge_of_one_answer_and_the_baselines_have_no_spread(sets) -> None:
    outcome, _ = await outcome_of(study(sets={"summeval": ["coherence"]}), sets, EmbeddedJudge())
    assert [row.arm for row in outcome.rows] == ["direct", *BASELINES]
    for row in outcome.rows:
        assert row.figures["spearman"].value is not None
        assert {row.figures[name].value for name in ("spearman spread", "kendall spread", "score spread")} == {0}


async def test_what_varies_in_learning_is_in_the_spread(sets) -> None:
    steps: dict[str, Any] = {
        "geval__steps": lambda p: {"steps": [f"Step of run {p.sample // STRIDE}.", "Settle on a score."]}
    }
    judge = FakeJudge(Overall(**steps))
    geval = {"name": "geval", "method": "geval", "labels": False, "settings": {"geval": {"scoring": "once"}}}
    outcome, _ = await outcome_of(study(geval, test_texts=5), sets, judge)
    assert outcome.rows[0].learning.calls == 3
    rated = [prompt for prompt in judge.prompts if prompt.name == "geval/rate"]
    assert all(f"Step of run {p.sample // STRIDE}." in str(p.fields) for p in rated)


async def test_a_temperature_is_raised_and_never_lowered(sets) -> None:
    weighted = {"scoring": "weighted", "samples": 2, "temperature": 1.5}
    arms = (DIRECT, {"name": "geval", "method": "geval", "labels": False, "settings": {"geval": weighted}})
    some = study(*arms, options={"temperatures": [0.0, 1.0], "runs": 2}, test_texts=5)
    cases = schedule(some, sets).cases
    assert [case.variant for case in cases] == ["temperature 0", "temperature 1"]
    for case, expected in zip(cases, (0.0, 1.0), strict=True):
        judge = FakeJudge(Overall())
        await REPEATS.run(Bench(some, sets, (judge,)), case)
        asked = {(prompt.name, prompt.temperature) for prompt in judge.prompts}
        assert asked == {("direct/rate", expected), ("geval/steps", expected), ("geval/rate", 1.5)}


async def test_at_most_covers_all_runs(sets) -> None:
    some, judge = study(options={"runs": 4}, test_texts=5), FakeJudge(Overall())
    bench, case = Bench(some, sets, (judge,)), schedule(some, sets).cases[0]
    (most,) = REPEATS.at_most(bench, case)
    outcome = await REPEATS.run(bench, case)
    assert most.calls == len(judge.prompts) == outcome.rows[0].scoring.calls == 4 * len(bench.material(case).test)


async def test_an_arm_that_cannot_learn_says_why_and_the_others_go_on(sets) -> None:
    needs = {"name": "needs labels", "method": "few_shot", "labels": False}
    outcome, _ = await outcome_of(study(needs, DIRECT), sets, FakeJudge(Overall()))
    assert "labelled texts" in outcome.rows[0].missing
    assert outcome.rows[1].figures


async def test_a_text_that_a_run_does_not_score_is_counted_and_left_out_of_what_scores_moved(sets) -> None:
    some = study()
    first = Bench(some, sets, ()).material(schedule(some, sets).cases[0]).test[0].output

    def script(prompt) -> float | None:
        return None if prompt.fields["output"] == first and prompt.sample else by_lot(prompt)

    judge = FakeJudge(Overall(script))
    outcome, texts = await outcome_of(some, sets, judge)
    kept = [text.output != first for text in texts.test]
    assert outcome.rows[0].counts["unscored"] == 2 * kept.count(False)
    moved = np.std([scores_of(texts, judge, run) for run in range(3)], axis=0, ddof=1)[kept].mean()
    assert outcome.rows[0].figures["score spread"].value == pytest.approx(moved, abs=1e-6)


def test_a_spread_has_the_interval_of_a_normal_standard_deviation() -> None:
    # Of 3 values the chi-squared quantiles with 2 degrees of freedom are -2 ln(0.975) and -2 ln(0.025).
    found = spread([0.1, 0.2, 0.3])
    assert found.value == pytest.approx(0.1, abs=1e-6)
    assert found.low == pytest.approx(0.1 * np.sqrt(2 / (-2 * np.log(0.025))), abs=1e-6)
    assert found.high == pytest.approx(0.1 * np.sqrt(2 / (-2 * np.log(0.975))), abs=1e-6)


def test_a_spread_is_undefined_where_a_run_has_no_figure() -> None:
    assert spread([0.1, None, 0.3]).value is None


@pytest.mark.parametrize("options", [{"runs": 1}, {"temperatures": []}, {"temperatures": [3.0]}, {"times": 3}])
def test_options_that_make_no_sense_are_refused(sets, options) -> None:
    with pytest.raises(SettingsError, match=f"some: options.{next(iter(options))}"):
        schedule(study(options=options), sets)
