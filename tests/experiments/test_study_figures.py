"""Figures of a case: the paper's rule beside ours, baselines among them, differences paired."""

import numpy as np
import pytest
from one_case import study

from experiments.runner.cases import Material
from experiments.runner.figures import agreement_row
from rubriclab.learning.evaluation import Evaluator
from rubriclab.models.text import Assignment, Example, find_aspect, parse_scale, task_words
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
