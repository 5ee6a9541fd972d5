"""CheckEval's figures as its studies hold them: they add up to the paper's means, and to what the READMEs say."""

from __future__ import annotations

import statistics

import pytest

from experiments.runner.study import load_study

GEVAL, CHECKEVAL = "geval as published", "checkeval as published"
# What each pair in a row below is of; table 2 tests these four, in this order.
TESTED = (("summeval", "spearman"), ("summeval", "kendall"), ("topical_chat", "spearman"), ("topical_chat", "pearson"))
# Means over the aspects (tables 18 and 20, last columns), of G-Eval and of CheckEval.
MEANS = {
    "Llama3.1-70B": ((0.4048, 0.4628), (0.3622, 0.4037), (0.4483, 0.5709), (0.3917, 0.5727)),
    "Mistral-Large": ((0.5171, 0.5486), (0.4676, 0.4797), (0.6389, 0.6451), (0.6176, 0.6452)),
    "Qwen2.5-72B": ((0.4287, 0.5025), (0.3888, 0.4413), (0.6161, 0.5944), (0.61, 0.5994)),
    "Mistral-Small": ((0.1849, 0.4472), (0.1616, 0.3937), (0.5758, 0.4742), (0.5181, 0.4935)),
    "Gemma2-27B": ((0.4419, 0.5108), (0.3917, 0.4426), (0.3056, 0.5261), (0.2895, 0.5177)),
    "Qwen2.5-32B": ((0.497, 0.5213), (0.4501, 0.4415), (0.462, 0.5568), (0.3804, 0.5555)),
    "Llama3.1-8B": ((0.2352, 0.4145), (0.206, 0.3439), (0.1127, 0.4567), (0.0887, 0.4466)),
    "Gemma2-9B": ((0.3806, 0.4286), (0.337, 0.3672), (0.4573, 0.49), (0.3507, 0.5023)),
    "Qwen2.5-7B": ((0.4148, 0.4162), (0.3763, 0.3652), (0.4481, 0.4809), (0.3875, 0.471)),
    "GPT-4 Turbo": ((0.5088, 0.5212), (0.4636, 0.4636), (0.5947, 0.6323), (0.5814, 0.6372)),
    "GPT-4o": ((0.3237, 0.5042), (0.2897, 0.4377), (0.5175, 0.6395), (0.4337, 0.6338)),
    "GPT-4o-mini": ((0.4499, 0.4913), (0.4039, 0.4157), (0.5793, 0.588), (0.5614, 0.5889)),
}


@pytest.mark.parametrize("method", [0, 1])
@pytest.mark.parametrize("place", range(4))
def test_figures_of_the_study_add_up_to_the_papers_means(place: int, method: int) -> None:
    study, (name, measure) = load_study("checkeval-main"), TESTED[place]
    found = [each for each in study.published if each.arm == ((GEVAL, CHECKEVAL)[method],) and measure in each.measures]
    by_judge = {
        each.judge: [each.figures[name][aspect][each.measures.index(measure)] for aspect in study.sets[name]]
        for each in found
        if name in each.figures
    }
    assert len(by_judge) == 4
    for judge, figures in by_judge.items():
        assert statistics.fmean(figures) == pytest.approx(MEANS[judge][place][method], abs=2e-4)


def test_alpha_and_kappa_of_checklists_are_nearly_the_same_and_those_of_scores_are_not() -> None:
    found = load_study("checkeval-agreement").published
    apart = {
        arm: [
            abs(alpha - kappa)
            for each in found
            if each.arm == (arm,)
            for by_aspect in each.figures.values()
            for alpha, kappa in by_aspect.values()
        ]
        for arm in (CHECKEVAL, GEVAL)
    }
    assert max(apart[CHECKEVAL]) < 1.5e-4
    assert statistics.fmean(apart[GEVAL]) > 0.1
