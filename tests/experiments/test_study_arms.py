"""Arms: what they learn from, that they never ask more than was said before, and what they are counted to take."""

import numpy as np
import pytest
from one_case import bench_of, outcome_of, study

from experiments.runner.arms import Tally, course, learn, test as run_test
from experiments.runner.cases import Material
from experiments.runner.sets import Sets
from experiments.runner.study import SMALL_SETTINGS, Arm
from rubriclab.errors import BudgetReached, ChecklistError, JudgeRefused, ProviderDown, ReplayMiss
from rubriclab.judges.embedded import EmbeddedJudge
from rubriclab.judges.judge import FakeJudge, Reply, Usage
from rubriclab.methods.catalogue import METHOD_NAMES
from rubriclab.methods.sources import load_findings
from rubriclab.prompts.prompt import Prompt


def texts_of(sets: Sets, name: str = "summeval", aspect: str = "consistency") -> Material:
    return bench_of(study(sets={name: [aspect]}, test_texts=12), sets)[2]


@pytest.mark.parametrize("method", [*METHOD_NAMES, "joint"])
async def test_every_method_learns_and_scores_all_texts(sets, method) -> None:
    texts = texts_of(sets)
    arm = Arm(name="a", method=method, methods=("checkeval", "direct")).with_settings(SMALL_SETTINGS)
    learned = await learn(course(arm, texts.learned_from, texts.assignment), EmbeddedJudge(), seed=1)
    done = await run_test(arm, learned, texts, EmbeddedJudge(), 4)
    assert len(done.evaluator.scores) == len(texts.test)
    assert np.isfinite(done.evaluator.scores).all()
    assert min(done.learning.calls, done.scoring.calls) > 0


def test_an_arm_without_labels_or_literature_sees_none(sets) -> None:
    texts = texts_of(sets)
    (plain,) = course(Arm(name="a", method="checkeval"), texts.learned_from, texts.assignment).plans
    (bare,) = course(
        Arm(name="a", method="checkeval", labels=False, literature=False), texts.learned_from, texts.assignment
    ).plans
    assert plain.training_input.examples == texts.learned_from
    assert plain.training_input.findings
    assert (bare.training_input.examples, bare.training_input.findings) == ((), ())
    assert bare.training_input.checklist == plain.training_input.checklist


def test_a_method_without_its_questions_stops_an_arm_of_its_own_and_leaves_a_joint_one(sets) -> None:
    texts = texts_of(sets, "hanna", "empathy")
    with pytest.raises(ChecklistError):
        course(Arm(name="a", method="dcr"), texts.learned_from, texts.assignment)
    together = course(Arm(name="a", method="joint", methods=("dcr", "direct")), texts.learned_from, texts.assignment)
    assert [plan.method.name for plan in together.plans] == ["direct"]


class Kept:
    """A judge whose every other answer was kept earlier."""

    name, identity = "kept", {"model": "kept"}

    def __init__(self) -> None:
        self.prompts = 0

    async def reply(self, _prompt: Prompt) -> Reply:
        self.prompts += 1
        usage = Usage(prompt_tokens=10, completion_tokens=2, cost_usd=0.25)
        return Reply("{}", "kept", usage, cached=self.prompts % 2 == 0)


async def test_answers_that_were_kept_count_like_new_ones() -> None:
    tally = Tally(Kept())
    for _ in range(4):
        await tally.reply(None)
    spent = tally.spent
    assert (spent.calls, spent.prompt_tokens, spent.completion_tokens, spent.cost_usd) == (4, 40, 8, 1.0)
    assert (tally.name, tally.identity) == ("kept", {"model": "kept"})


async def test_an_arm_that_scores_no_text_has_no_figure_and_the_study_goes_on(sets) -> None:
    silent = FakeJudge(lambda _prompt: "no numbers here")
    outcome, texts = await outcome_of(study(), sets, silent)
    assert {row.arm: row.missing for row in outcome.rows if row.missing} == {
        "direct": f"None of the {len(texts.test)} texts could be scored."
    }


@pytest.mark.parametrize("error", [ProviderDown("down"), JudgeRefused("key"), BudgetReached("cap"), ReplayMiss("gone")])
async def test_a_provider_that_is_down_ends_the_study(sets, error) -> None:
    bench, case, _ = bench_of(study(), sets)

    async def attempt(_arm: Arm) -> None:
        raise error

    with pytest.raises(type(error)):
        await bench.of_arms(case, attempt)


@pytest.mark.parametrize(
    ("name", "aspect", "source"),
    [
        ("summeval", "coherence", "Fabbri et al. (2021)"),
        ("hanna", "coherence", "Chhun et al. (2022)"),
        ("topical_chat", "groundedness", "Mehri and Eskenazi (2020)"),
    ],
)
def test_findings_about_the_raters_of_the_tested_set_are_left_out(sets, name, aspect, source) -> None:
    texts = texts_of(sets, name, aspect)
    given = course(Arm(name="a", method="hypoeval"), texts.learned_from, texts.assignment, texts.benchmarks)
    kept = {finding.citation.partition(",")[0] for finding in given.plans[0].training_input.findings}
    every = {finding.citation.partition(",")[0] for finding in load_findings(texts.assignment.words.task, aspect)}
    assert source in every
    assert source not in kept
    assert kept == every - {source}
