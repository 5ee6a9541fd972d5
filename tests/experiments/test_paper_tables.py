"""The papers' figures in the studies come to the means that the papers give."""

from __future__ import annotations

import statistics

import pytest

from experiments.runner.study import Published, Study, load_study

GPT, LLAMA = "gpt-4o-mini", "llama-3.3-70b"
Figures = dict[tuple[str, str, str], float]


def published(study: Study, arm: str) -> list[Published]:
    return [each for each in study.published if arm in each.arm]


def figures(study: Study, judge: str, arm: str) -> Figures:
    """Return by set, aspect and measure what the paper has for an arm."""
    return {
        (name, aspect, measure): value
        for each in published(study, arm)
        if each.judge == judge
        for name, aspects in each.figures.items()
        for aspect, values in aspects.items()
        for measure, value in zip(each.measures, values, strict=True)
    }


def change(before: Figures, after: Figures) -> float:
    """Return the mean relative change of the figures that both have."""
    return statistics.fmean(after[key] / before[key] - 1 for key in after)


def changes(name: str, arm: str, judges: tuple[str, ...] = (GPT, LLAMA)) -> float:
    study = load_study(name)
    return statistics.fmean(change(figures(study, judge, "hypoeval"), figures(study, judge, arm)) for judge in judges)


# Means over 16 of the paper's 18 aspects, as table 3 has no others here.
@pytest.mark.parametrize(("arm", "drop"), [("zero-shot generation", 0.0725), ("single criterion", 0.0819)])
def test_what_the_ablations_cost_is_what_the_paper_says(arm: str, drop: float) -> None:
    assert changes("hypoeval-ablations", arm) == pytest.approx(-drop, abs=0.007)


@pytest.mark.parametrize("judge", [GPT, LLAMA])
def test_learning_elsewhere_changes_the_paper_s_figures_by_less_than_a_hundredth(judge: str) -> None:
    assert abs(changes("hypoeval-ood", "hypoeval, learned elsewhere", (judge,))) < 0.01


def test_another_judge_changes_the_sums_as_the_paper_says() -> None:
    study = load_study("hypoeval-cross-model")

    def sums(arm: str) -> float:
        found = figures(study, f"{GPT}, {LLAMA}", arm)
        assert len(found) == 36
        return sum(found.values())

    assert sums("1 learns, 2 scores") / sums("1 learns, 1 scores") - 1 == pytest.approx(-0.020, abs=0.001)
    assert sums("2 learns, 1 scores") / sums("2 learns, 2 scores") - 1 == pytest.approx(0.0137, abs=0.0015)


# SEEval's own means over the aspects: (judge, arm, set) -> the two coefficients in the order of its tables.
SONNET = "claude-3-sonnet"
MEANS = {
    (SONNET, "analyze_rate, sampled", "topical_chat"): (0.668, 0.649),
    (SONNET, "geval", "topical_chat"): (0.575, 0.580),
    (SONNET, "seeval", "topical_chat"): (0.653, 0.655),
    (SONNET, "analyze_rate, sampled", "summeval"): (0.530, 0.445),
    (SONNET, "geval", "summeval"): (0.487, 0.444),
    (SONNET, "seeval", "summeval"): (0.524, 0.474),
    ("claude-3.5-sonnet", "analyze_rate", "topical_chat"): (0.659, 0.662),
    ("command-r-plus", "geval", "topical_chat"): (0.597, 0.590),
    ("command-r-plus", "seeval", "topical_chat"): (0.636, 0.632),
    ("mistral-large-2", "analyze_rate", "topical_chat"): (0.691, 0.684),
    ("claude-3.5-sonnet", "geval", "summeval"): (0.536, 0.487),
    ("claude-3.5-sonnet", "seeval", "summeval"): (0.562, 0.509),
    ("command-r-plus", "seeval", "summeval"): (0.521, 0.475),
    ("mistral-large-2", "analyze_rate", "summeval"): (0.547, 0.496),
}


def means(judge: str, arm: str, name: str) -> list[float]:
    study = load_study("seeval-main")
    (found,) = (each for each in published(study, arm) if each.judge == judge and name in each.figures)
    assert set(found.figures[name]) == set(study.sets[name])
    return [statistics.fmean(values) for values in zip(*found.figures[name].values(), strict=True)]


@pytest.mark.parametrize(("which", "expected"), MEANS.items(), ids=str)
def test_seeval_s_means_come_out_of_its_aspects(which: tuple[str, str, str], expected: tuple[float, float]) -> None:
    assert means(*which) == pytest.approx(expected, abs=0.00101)


GEVAL, CHECKEVAL = "geval as published", "checkeval as published"
# Of each pair in a row below.
TESTED = (("summeval", "spearman"), ("summeval", "kendall"), ("topical_chat", "spearman"), ("topical_chat", "pearson"))
# Means over the aspects (tables 18 and 20, last columns), of G-Eval and of CheckEval.
CHECKEVAL_MEANS = {
    "Mistral-Large": ((0.5171, 0.5486), (0.4676, 0.4797), (0.6389, 0.6451), (0.6176, 0.6452)),
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
        assert statistics.fmean(figures) == pytest.approx(CHECKEVAL_MEANS[judge][place][method], abs=2e-4)
