"""The design `crossed`: what one judge learned, scored by another."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest
from second_judge import SecondJudge

from experiments.runner.arms import course, learn
from experiments.runner.bench import Bench
from experiments.runner.designs.crossed import CROSSED
from experiments.runner.figures import human_scores
from experiments.runner.run import schedule
from experiments.runner.study import BASELINES, Study, parse_study
from rubriclab.errors import SettingsError
from rubriclab.judges.embedded import EmbeddedJudge
from rubriclab.scoring import score_stream
from rubriclab.stats.agreement import agreement

JUDGES = {"1 by 1": [1, 1], "1 by 2": [1, 2], "2 by 2": [2, 2], "2 by 1": [2, 1]}
FEW = {"hypoeval": {"sources": "prior knowledge", "selected": 3}}


def study(**fields: object) -> Study:
    raw = {
        "name": "some",
        "question": "What?",
        "design": "crossed",
        "sets": {"summeval": ["coherence"]},
        "labels": [12],
        "test_texts": 24,
        "arms": [{"name": name, "method": "hypoeval", "settings": FEW} for name in JUDGES],
        "compare": [["1 by 2", "1 by 1"]],
        "options": {"judges": JUDGES},
    }
    return parse_study({**raw, **fields}, "here")


class Counting(SecondJudge):
    """A judge that counts what it is asked, by template."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.prompts: list[str] = []

    async def reply(self, prompt):
        self.prompts.append(prompt.name)
        return await super().reply(prompt)


def outcome_of(some: Study, sets, *judges):
    (case,) = schedule(some, sets, len(judges)).cases
    bench = Bench(some, sets, judges)
    return asyncio.run(CROSSED.run(bench, case)), bench, case


def test_each_arm_has_the_figures_of_its_own_two_judges(sets) -> None:
    some, judges = study(), (EmbeddedJudge(), SecondJudge(share=0.8))
    outcome, bench, case = outcome_of(some, sets, *judges)
    texts = bench.material(case)

    async def scores(learner, scorer) -> list[float]:
        trained = await learn(course(some.arms[0], texts.learned_from, texts.home), learner, seed=case.seed)
        return [each.score async for each in score_stream(trained.rubric, texts.test, scorer, "any")]

    rows = {row.arm: row for row in outcome.rows}
    assert list(rows) == [*JUDGES, *BASELINES]
    for name, (learner, scorer) in JUDGES.items():
        found = np.array(asyncio.run(scores(judges[learner - 1], judges[scorer - 1])), dtype=float)
        expected = agreement(found, human_scores(texts), [text.group for text in texts.test], level="group")
        assert rows[name].figures["spearman"].value == pytest.approx(expected.spearman.value, abs=1e-6)
    assert len({rows[name].figures["spearman"].value for name in JUDGES}) == 4
    (gap,) = outcome.gaps
    values = [rows[name].figures["spearman"].value for name in ("1 by 2", "1 by 1")]
    assert gap.difference.value == pytest.approx(values[0] - values[1], abs=2e-6)


def test_each_judge_learns_once_and_is_told_beforehand_what_it_is_asked_at_most(sets) -> None:
    judges = Counting("one"), Counting("other")
    outcome, bench, case = outcome_of(study(), sets, *judges)
    most = CROSSED.at_most(bench, case)
    for judge, estimate in zip(judges, most, strict=True):
        assert judge.prompts.count("hypoeval/propose") == 1
        assert 0 < len(judge.prompts) <= estimate.calls
    rows = {row.arm: row for row in outcome.rows}
    assert rows["1 by 1"].learning == rows["1 by 2"].learning
    assert len(judges[0].prompts) == (
        rows["1 by 1"].learning.calls + rows["1 by 1"].scoring.calls + rows["2 by 1"].scoring.calls
    )


def test_arms_that_learn_otherwise_do_not_share_what_is_learned(sets) -> None:
    judge = Counting("one")
    others = {"hypoeval": {**FEW["hypoeval"], "selected": 1}}
    arms = [
        {"name": "two", "method": "hypoeval", "settings": FEW},
        {"name": "one", "method": "hypoeval", "settings": others},
    ]
    some = study(arms=arms, compare=[], options={"judges": {"two": [1, 1], "one": [1, 2]}})
    outcome_of(some, sets, judge, SecondJudge())
    assert judge.prompts.count("hypoeval/propose") == 2


def test_an_arm_that_cannot_learn_says_why_and_the_others_go_on(sets) -> None:
    arms = [{"name": "no labels", "method": "few_shot", "labels": False}, {"name": "direct", "method": "direct"}]
    some = study(arms=arms, compare=[], options={"judges": {"no labels": [1, 2], "direct": [2, 1]}})
    outcome, _, _ = outcome_of(some, sets, EmbeddedJudge(), SecondJudge())
    first, second, *_ = outcome.rows
    assert first.missing == "few_shot learns from labelled texts, and there are none."
    assert second.figures


def test_an_arm_without_questions_to_start_from_costs_nothing(sets) -> None:
    def most(*arms: dict[str, str]) -> tuple[int, ...]:
        judges = (EmbeddedJudge(), SecondJudge())
        some = study(arms=arms, compare=[], options={"judges": {arm["name"]: [1, 2] for arm in arms}})
        (case,) = schedule(some, sets, 2).cases
        return tuple(estimate.calls for estimate in CROSSED.at_most(Bench(some, sets, judges), case))

    direct, dcr = {"name": "direct", "method": "direct"}, {"name": "dcr", "method": "dcr"}
    assert most(dcr, direct) == most(direct)
    assert most(dcr) == (0, 0)


def test_one_judge_under_two_names_is_refused(sets) -> None:
    with pytest.raises(SettingsError, match="one and the same judge"):
        outcome_of(study(), sets, EmbeddedJudge(), EmbeddedJudge())


@pytest.mark.parametrize("count", [1, 3])
def test_it_takes_two_judges(sets, count: int) -> None:
    with pytest.raises(SettingsError, match=f"takes 2 judges, and {count} were named"):
        schedule(study(), sets, count)


@pytest.mark.parametrize(
    ("judges", "told"),
    [
        ({"1 by 1": [1, 1]}, "see to '1 by 2'"),
        ({**JUDGES, "more": [1, 1]}, "see to 'more'"),
        ({**JUDGES, "1 by 1": [1, 3]}, "options.judges"),
        ({**JUDGES, "1 by 1": [1]}, "options.judges"),
    ],
)
def test_options_that_leave_an_arm_s_judges_open_are_refused(sets, judges: dict, told: str) -> None:
    with pytest.raises(SettingsError, match=told):
        schedule(study(options={"judges": judges}), sets, 2)
