"""Arms: what they learn from, that they never ask more than was said before, and what they are counted to take."""

import numpy as np
import pytest
from one_case import bench_of, study

from experiments.runner.arms import course, learn, test as run_test
from experiments.runner.cases import Material
from experiments.runner.sets import Sets
from experiments.runner.study import SMALL_SETTINGS, Arm
from rubriclab.judges.embedded import EmbeddedJudge
from rubriclab.methods.catalogue import METHOD_NAMES, METHODS
from rubriclab.methods.sources import load_findings


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
    assert (min(done.learning.calls, done.scoring.calls) > 0) == (method == "joint" or METHODS[method].prompts != ())


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
