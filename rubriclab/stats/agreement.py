"""How well an evaluator's scores agree with human scores, with intervals and with what the figures rest on.

Three levels, as papers on evaluation use them:

- ``group``: correlation among the texts that share an input, averaged over the inputs. Called summary level
  (HypoEval section 3, G-Eval, SEEval), story level (HypoEval) or sample level (CheckEval Table 1).
- ``dataset``: one correlation over all texts, as HypoEval section 3 reports it for WritingPrompt-A, where
  no two stories share a prompt.
- ``system``: one correlation over systems, each standing for the mean of its texts.

Papers differ in what an input with constant human scores counts for at group level:

- ``skip``: it is left out, as in G-Eval's published evaluation code and in CheckEval. Unlike in G-Eval's
  code, an input where the humans differ but the evaluator does not is kept and counts as 0: an evaluator
  that cannot tell texts apart has shown no agreement, and leaving the input out would reward it for that.
- ``papers``: it counts as 1, and an evaluator that is constant where the humans differ as 0. HypoEval
  Appendix B.1 follows the implementation of PairS (Liu et al., COLM 2024) in this. It raises every
  evaluator's figure, that of a constant one included.

The published rules are for Spearman and Pearson; Kendall's tau-b is treated alike here.

Intervals are percentile intervals of a bootstrap over groups; see `rubriclab.stats.bootstrap`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy.typing as npt

from rubriclab.stats.bootstrap import Statistic, batch_size, estimate
from rubriclab.stats.correlation import PAIR_LIMIT, kendall_rows, pearson_rows, spearman_rows
from rubriclab.stats.interval import Interval
from rubriclab.stats.levels import (
    Coefficient,
    ConstantRule,
    Level,
    ScoredTexts,
    Unit,
    level_statistic,
    scored_texts,
    used_texts,
)

KENDALL_RESAMPLES = 200
"""Resamples for Kendall's interval where more than `PAIR_LIMIT` texts or systems are ranked anew in each."""


@dataclass(frozen=True)
class Agreement:
    """Agreement of predicted with human scores at one level."""

    level: Level
    n: int
    """Texts that the figures rest on."""
    groups: int
    """Groups that the figures rest on."""
    constant_groups: int
    """Groups of two or more scored texts whose human scores are constant; of account at group level only."""
    single_groups: int
    """Groups with one scored text; at group level they are left out."""
    constant: ConstantRule
    """What a constant group counts for at group level."""
    resampled: Unit
    """What the bootstrap drew: groups, or texts where there is one group or every text is its own."""
    spearman: Interval
    pearson: Interval
    kendall: Interval


@dataclass(frozen=True)
class AgreementDifference:
    """Agreement of one evaluator less that of another, on the texts that both have scored."""

    level: Level
    n: int
    groups: int
    constant: ConstantRule
    resampled: Unit
    spearman: Interval


def agreement(
    predicted: npt.ArrayLike,
    human: npt.ArrayLike,
    groups: Sequence[str],
    systems: Sequence[str] | None = None,
    *,
    level: Level,
    constant: ConstantRule = "skip",
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Agreement:
    """Spearman, Pearson and Kendall (tau-b) agreement at one level, each with a bootstrap interval.

    A figure is None where it is undefined: no group of two texts, constant scores, fewer than two systems.

    Args:
        predicted: n scores, nan where the evaluator gave none; these texts are left out.
        human: n scores.
        groups: for each text the input that it shares with its rivals.
        systems: for each text what wrote it; needed at system level only.
        level: see the module's docstring.
        constant: what groups with constant human scores count for at group level.
        resamples: resamples of the bootstrap; 0 leaves the intervals out. Above `PAIR_LIMIT` texts at
            data-set level, or systems at system level, Kendall's interval takes at most `KENDALL_RESAMPLES`.
        confidence: share of the resamples that lies within an interval.
        seed: equal seeds give equal intervals, in whatever order the texts come.

    Raises:
        ValueError: lengths differ, a human score is not finite, a predicted score is infinite, a group or
            system is not a string, systems are missing at system level, or an option is out of range.
    """
    texts = scored_texts([predicted], human, groups, _needed(systems, level))
    used = used_texts(texts, level, constant)

    def estimated(coefficient: Coefficient, draws: int) -> Interval:
        statistic = level_statistic(used, 0, coefficient, level, constant)
        return _estimate(statistic, used, draws, confidence, seed)

    ranked = {"dataset": len(used.human), "system": int(used.system.max(initial=-1)) + 1, "group": 0}
    slow = ranked[level] > PAIR_LIMIT
    return Agreement(
        level=level,
        n=len(used.human),
        groups=len(used.sizes),
        constant_groups=int(texts.constant.sum()),
        single_groups=int((texts.sizes == 1).sum()),
        constant=constant,
        resampled=used.unit,
        spearman=estimated(spearman_rows, resamples),
        pearson=estimated(pearson_rows, resamples),
        kendall=estimated(kendall_rows, min(resamples, KENDALL_RESAMPLES) if slow else resamples),
    )


def difference(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    human: npt.ArrayLike,
    groups: Sequence[str],
    systems: Sequence[str] | None = None,
    *,
    level: Level,
    constant: ConstantRule = "skip",
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> AgreementDifference:
    """Spearman agreement of the first evaluator less that of the second, with a paired bootstrap interval.

    Both are held to the texts that both scored and to the same resamples of them, so what makes a group hard
    for both cancels out. An interval that leaves out 0 means that one evaluator agrees better.
    Arguments and errors as for `agreement`.
    """
    texts = scored_texts([first, second], human, groups, _needed(systems, level))
    used = used_texts(texts, level, constant)
    ours, theirs = (level_statistic(used, row, spearman_rows, level, constant) for row in (0, 1))
    return AgreementDifference(
        level=level,
        n=len(used.human),
        groups=len(used.sizes),
        constant=constant,
        resampled=used.unit,
        spearman=_estimate(lambda counts: ours(counts) - theirs(counts), used, resamples, confidence, seed),
    )


def _estimate(statistic: Statistic, used: ScoredTexts, resamples: int, confidence: float, seed: int) -> Interval:
    n = len(used.human)
    return estimate(
        statistic,
        used.clusters,
        resamples=resamples,
        confidence=confidence,
        seed=seed,
        batch=batch_size(n),
    )


def _needed(systems: Sequence[str] | None, level: Level) -> Sequence[str] | None:
    if level != "system":
        return None
    if systems is None:
        raise ValueError("systems: expected what wrote each text, as system level compares systems, got None")
    return systems
