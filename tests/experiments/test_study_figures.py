"""Figures of a case: the paper's rule beside ours, baselines among them, differences paired."""

import numpy as np
import pytest
from one_case import study

from experiments.runner.cases import Material
from experiments.runner.figures import agreement_row, baseline_evaluators, bases
from experiments.runner.study import BASELINES
from rubriclab.models.text import Assignment, Example, find_aspect, parse_scale, task_words
from rubriclab.ops.evaluate import Evaluator
from rubriclab.stats import agreement

ASSIGNMENT = Assignment(task_words("story"), find_aspect("story", "coherence"), parse_scale("1:5"))
DRAW = np.random.default_rng(1)


def texts(labels: list[list[float]]) -> Material:
    """Return a case whose groups have these labels; longer texts have higher ones."""
    test = tuple(
        Example(
            id=f"{g}{p}",
            output="word " * int(3 + 4 * label + p) + f"end {g}.",
            group=f"g{g}",
            scores={"coherence": label},
        )
        for g, own in enumerate(labels)
        for p, label in enumerate(own)
    )
    return Material("summeval", ASSIGNMENT, test, test, "drawn")


GROUPS = texts([[1, 2, 5, 3], [4, 4, 4, 4], [2, 5, 1, 4], [3, 3, 3, 3], [5, 1, 2, 2]])
ALONE = texts([[1], [3], [2], [5], [4], [4]])


def test_a_constant_group_counts_as_one_by_the_papers_rule_and_is_left_out_by_ours() -> None:
    scores = DRAW.normal(size=len(GROUPS.test))
    row = agreement_row(study(constant="papers"), GROUPS, Evaluator("a", scores))
    human = [each.scores["coherence"] for each in GROUPS.test]
    by_group = [each.group for each in GROUPS.test]
    for rule, figures in (("papers", row.figures), ("skip", row.ours)):
        found = agreement(scores, human, by_group, level="group", constant=rule)  # type: ignore[arg-type]
        assert figures["spearman"].value == pytest.approx(found.spearman.value, abs=1e-6)
        assert figures["kendall"].low == pytest.approx(found.kendall.low, abs=1e-6)
    assert row.figures["spearman"].value == pytest.approx((3 * row.ours["spearman"].value + 2) / 5, abs=1e-5)
    assert row.counts["constant_groups"] == 2
    assert (row.counts["texts"], row.counts["n"], row.counts["groups"]) == (20, 20, 5)


def test_the_level_is_the_papers_or_what_the_texts_allow() -> None:
    assert bases(study(), GROUPS)["paper"].level == "group"
    assert bases(study(), ALONE)["paper"].level == "dataset"
    both = bases(study(level="dataset", constant="papers"), GROUPS)
    assert (both["paper"].level, both["paper"].constant) == ("dataset", "papers")
    assert (both["ours"].level, both["ours"].constant) == ("group", "skip")


def test_baselines_are_the_word_count_and_the_best_measure_in_its_direction() -> None:
    (count, nothing), (best, measure) = baseline_evaluators(GROUPS)
    assert (count.name, best.name) == BASELINES
    assert count.scores.tolist() == [len(each.output.split()) for each in GROUPS.test]
    assert nothing == ""
    assert measure
    human = np.array([each.scores["coherence"] for each in GROUPS.test])
    assert np.corrcoef(best.scores, human)[0, 1] > 0.8
    constant = texts([[3, 3], [3, 3]])
    assert [each.name for each, _ in baseline_evaluators(constant)] == [BASELINES[0]]


def test_unscored_texts_are_counted_and_left_out() -> None:
    scores = DRAW.normal(size=20)
    scores[3] = np.nan
    row = agreement_row(study(), GROUPS, Evaluator("a", scores, answers_missing=2, answers=40))
    assert row.ours is None, "where the paper does as we do, figures stand once"
    assert (row.counts["unscored"], row.counts["answers"], row.counts["answers_missing"]) == (1, 40, 2)
