"""CheckEval's figures as its studies hold them: they add up to the paper's means, and to what the READMEs say."""

from __future__ import annotations

import statistics

import pytest

from rubriclab.stats.significance import benjamini_hochberg, wilcoxon_paired, wilcoxon_ranksum
from rubriclab.studies.study import Published, Study, load_study

CHECKEVAL, GEVAL = "checkeval as published", "geval as published"
# Set and coefficient of each of the four tests in table 2, in its order.
TESTED = (("summeval", "spearman"), ("summeval", "kendall"), ("topical_chat", "spearman"), ("topical_chat", "pearson"))


@pytest.fixture(scope="module")
def study() -> Study:
    return load_study("checkeval-main")


def means(study: Study, arm: str, name: str, measure: str) -> list[float]:
    """Return each model's mean over the aspects of a set, in the order of the tables."""
    return [
        statistics.fmean(figure for aspect in study.sets[name] if (figure := each.figure(name, aspect, measure)))
        for each in published(study, arm, name)
    ]


def published(study: Study, arm: str, name: str) -> list[Published]:
    return [each for each in study.published if each.arm == (arm,) and name in each.figures]


def test_all_twelve_models_stand_beside_both_methods_on_every_set(study: Study) -> None:
    for arm in (CHECKEVAL, GEVAL):
        for name, aspects in study.sets.items():
            found = published(study, arm, name)
            assert len({each.judge for each in found}) == len(found) == 12
            assert all(set(each.figures[name]) == set(aspects) for each in found)


@pytest.mark.parametrize(
    ("which", "mean", "variance"),
    [
        ((GEVAL, "summeval", "spearman"), 0.3989, 0.0100),
        ((CHECKEVAL, "summeval", "spearman"), 0.4808, 0.0019),
        ((CHECKEVAL, "summeval", "kendall"), 0.4163, 0.0016),
        # Table 14 has the two coefficients of Topical-Chat the other way round.
        ((GEVAL, "topical_chat", "pearson"), 0.4342, 0.0220),
        ((CHECKEVAL, "topical_chat", "spearman"), 0.5546, 0.0042),
    ],
)
def test_table_14_comes_out_of_tables_18_and_20(study: Study, which: tuple[str, str, str], mean, variance) -> None:
    found = means(study, *which)
    assert statistics.fmean(found) == pytest.approx(mean, abs=6e-4)
    assert statistics.pvariance(found) == pytest.approx(variance, abs=2e-4)


def test_rank_sums_over_the_models_means_do_not_come_to_table_2_and_signed_ranks_are_all_significant(study) -> None:
    pairs = [(means(study, CHECKEVAL, *which), means(study, GEVAL, *which)) for which in TESTED]
    sums = benjamini_hochberg([wilcoxon_ranksum(*pair) for pair in pairs])
    signed = benjamini_hochberg([wilcoxon_paired(*pair) for pair in pairs])
    assert sums == pytest.approx((0.08, 0.17, 0.17, 0.08), abs=0.01)
    assert max(p for p in signed if p is not None) < 0.03


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
    assert max(apart[CHECKEVAL]) < 2e-4
    assert statistics.fmean(apart[GEVAL]) > 0.1
