"""How to read an evaluation: what each figure means, for those who see one for the first time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rubriclab.report.model import Pairs, Section
from rubriclab.rubric import Criterion
from rubriclab.stats.levels import ConstantRule

CONSTANT = {
    "papers": (
        "If people gave all texts of a group the same score, there is no order to agree with. Here such a group counts "
        "as 1, as in HypoEval's published figures (appendix B.1), which raises every evaluator's figure, a constant "
        "one's too. If a rubric alone gives all texts of a group the same score, the group counts as 0."
    ),
    "skip": (
        "If people gave all texts of a group the same score, there is no order to agree with, so the group is left "
        "out. If a rubric alone gives all texts of a group the same score, the group counts as 0."
    ),
}


def reading(constant: ConstantRule, criteria: Sequence[Criterion]) -> Section:
    """Return the explanations; `criteria` say which things that only some rubrics have are to be explained."""
    return Section("How to read this", (Pairs(tuple(_entries(constant, criteria))),), name="reading", page_only=True)


def _entries(constant: ConstantRule, criteria: Sequence[Criterion]) -> Iterator[tuple[str, str]]:
    yield (
        "Spearman correlation",
        "How similarly a rubric and people rank texts: 1 is the same order, 0 no relation, -1 the reverse. "
        "It ignores whether the scores are as high as people's. Pearson's coefficient also depends on the distances "
        "between scores; Kendall's counts pairs in the same order.",
    )
    yield (
        "Levels",
        "Within groups, only texts that answer the same source are compared, and the mean over the groups is shown: "
        "can the rubric rank rivals? Over all texts, it must also distinguish hard sources from easy ones. Between "
        "systems, only the systems' mean scores count, so the figure rests on few points.",
    )
    yield "Groups with constant labels", CONSTANT[constant]
    yield (
        "Free baselines",
        "Scores that take no calls: the number of words, and for each rubric the text "
        "feature that correlated best with its training labels. A rubric is worth its cost only if it is above them.",
    )
    yield (
        "Intervals",
        "95 % of 1,000 bootstrap samples of the groups (of the texts, if there is one group or each text is its own) "
        "lie within. Other texts would give other figures, mostly inside the interval. Two intervals may overlap "
        "although the difference is clear; differences are therefore computed on the same texts in the same samples: "
        "“above” and “below” mean that the interval of the difference excludes 0, “overlaps” that it does not.",
    )
    if any(criterion.question for criterion in criteria):
        yield (
            "Questions",
            "A question's score is 1 if the answer speaks for the text, which is “yes” unless “no is better” follows "
            "the question, and 0 otherwise; it may lie between for a text that was judged in parts. Answers of “n/a”, "
            "if a question cannot be asked of a text, are ignored.",
        )
    if any(criterion.evidence.rewards for criterion in criteria):
        yield (
            "Bandit",
            "While learning, a criterion is rated on one labelled text after another. The line is its reward: mean "
            "utility, which is 1 where ratings equal the labels, plus the shaded bonus for having been tried little.",
        )
    yield (
        "Unscored",
        "A text whose ratings failed has no score rather than an invented one. It is left out of the figures and "
        "counted.",
    )
