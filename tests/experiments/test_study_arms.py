"""Arms: what they learn from."""

import pytest
from one_case import bench_of, study

from experiments.runner.arms import course
from experiments.runner.cases import Material
from experiments.runner.sets import Sets
from experiments.runner.study import Arm
from rubriclab.methods.sources import load_findings


def texts_of(sets: Sets, name: str = "summeval", aspect: str = "consistency") -> Material:
    return bench_of(study(sets={name: [aspect]}, test_texts=12), sets)[2]


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
