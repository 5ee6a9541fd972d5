"""Agreement of an evaluator's scores with human scores, with intervals and counts.

There are three levels, as in papers on evaluation:

- ``group``: correlation among the texts that share an input, averaged over the inputs. Called summary level
  (HypoEval section 3, G-Eval, SEEval), story level (HypoEval) or sample level (CheckEval Table 1).
- ``dataset``: one correlation over all texts, as HypoEval section 3 reports it for WritingPrompt-A, where
  no two stories share a prompt.
- ``system``: one correlation over systems, each represented by the mean score of its texts.

Papers differ in how they treat inputs with constant human scores at group level:

- ``skip``: such an input is left out, as in G-Eval's published evaluation code and in CheckEval. Unlike in G-Eval's
  code, an input with constant scores by the evaluator but not by humans counts as 0: the evaluator has shown no
  agreement, and leaving the input out would reward it.
- ``papers``: such an input counts as 1, and an input with constant scores by the evaluator only as 0. HypoEval
  Appendix B.1 follows the implementation of PairS (Liu et al., COLM 2024) in this. It raises the agreement of every
  evaluator, even a constant one.

The published rules are for Spearman and Pearson; Kendall's tau-b is treated in the same way here.

Intervals are by the jackknife over groups; see `rubriclab.stats.jackknife`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rubriclab.stats.correlation import kendall_rows, pearson_rows, spearman_rows
from rubriclab.stats.interval import Interval
from rubriclab.stats.jackknife import CONFIDENCE, Statistic, estimate
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
from rubriclab.stats.paired import sign_flip_p


@dataclass(frozen=True)
class Agreement:
    """Agreement of predicted with human scores at one level."""

    level: Level
    n: int
    """Number of texts used."""
    groups: int
    """Number of groups used."""
    systems: int | None
    """Number of systems; at system level only."""
    constant_groups: int
    """Number of groups of two or more scored texts with constant human scores; relevant at group level only."""
    single_groups: int
    """Number of groups with one scored text; they are left out at group level."""
    constant: ConstantRule
    """Rule for groups with constant human scores at group level."""
    unit: Unit
    """What the jackknife leaves out: groups, or texts if there is a single group or every text is its own group."""
    too_few_groups: bool
    """Whether there are no intervals because these are fewer than `FEWEST_GROUPS`."""
    spearman: Interval
    pearson: Interval
    kendall: Interval


@dataclass(frozen=True)
class AgreementDifference:
    """Agreement of one evaluator minus another's, on the texts that both have scored."""

    level: Level
    n: int
    groups: int
    constant: ConstantRule
    unit: Unit
    too_few_groups: bool
    spearman: Interval
    p: float | None
    """Two-sided, by flips of the sign of each group's difference; at group level with enough groups only."""


def agreement(
    predicted: npt.ArrayLike,
    human: npt.ArrayLike,
    groups: Sequence[str],
    systems: Sequence[str] | None = None,
    *,
    level: Level,
    constant: ConstantRule = "skip",
    confidence: float = CONFIDENCE,
) -> Agreement:
    """Spearman, Pearson and Kendall (tau-b) agreement at one level, each with an interval.

    A value is `None` if undefined: no group of two texts, constant scores, fewer than two systems.

    Args:
        predicted: shape (n,), nan if unscored; these texts are left out.
        human: shape (n,).
        groups: the input of each text.
        systems: the system that wrote each text; needed at system level only.
        level: see the module's docstring.
        constant: rule for groups with constant human scores at group level.
        confidence: of the intervals.

    Raises:
        ValueError: lengths differ, a human score is not finite, a predicted score is infinite, a group or
            system is not a string, systems are missing at system level, or an option is out of range.
    """
    texts = scored_texts([predicted], human, groups, _needed(systems, level))
    used = used_texts(texts, level, constant)

    def estimated(coefficient: Coefficient) -> Interval:
        statistic = level_statistic(used, 0, coefficient, level, constant)
        return estimate(statistic, used.clusters, elements=len(used.human), correlation=True, confidence=confidence)

    return Agreement(
        level=level,
        n=len(used.human),
        groups=len(used.sizes),
        systems=used.systems if level == "system" else None,
        constant_groups=int(texts.constant.sum()),
        single_groups=int((texts.sizes == 1).sum()),
        constant=constant,
        unit=used.unit,
        too_few_groups=used.too_few_groups,
        spearman=estimated(spearman_rows),
        pearson=estimated(pearson_rows),
        kendall=estimated(kendall_rows),
    )


def agreement_value(
    predicted: npt.ArrayLike, human: npt.ArrayLike, groups: Sequence[str], *, level: Level, coefficient: Coefficient
) -> float:
    """Return one coefficient at group or data-set level, without an interval; nan if undefined.

    Arguments and errors as for `agreement`; `coefficient` is, for example, `spearman_rows`.
    """
    used = used_texts(scored_texts([predicted], human, groups, None), level, "skip")
    if not used.clusters:
        return math.nan
    return float(level_statistic(used, 0, coefficient, level, "skip")(np.ones((1, used.clusters)))[0])


def difference(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    human: npt.ArrayLike,
    groups: Sequence[str],
    systems: Sequence[str] | None = None,
    *,
    level: Level,
    constant: ConstantRule = "skip",
    confidence: float = CONFIDENCE,
) -> AgreementDifference:
    """Spearman agreement of the first evaluator minus the second's, with a paired interval.

    Both are compared on the texts that both scored, so the difficulty of a group cancels out.
    If the interval does not contain 0, one evaluator agrees better. Arguments and errors as for `agreement`.
    """
    texts = scored_texts([first, second], human, groups, _needed(systems, level))
    used = used_texts(texts, level, constant)
    first_agreement, second_agreement = (level_statistic(used, row, spearman_rows, level, constant) for row in (0, 1))
    return AgreementDifference(
        level=level,
        n=len(used.human),
        groups=len(used.sizes),
        constant=constant,
        unit=used.unit,
        too_few_groups=used.too_few_groups,
        spearman=estimate(
            lambda counts: first_agreement(counts) - second_agreement(counts),
            used.clusters,
            elements=len(used.human),
            confidence=confidence,
        ),
        p=_sign_flip_p(first_agreement, second_agreement, used) if level == "group" else None,
    )


def _sign_flip_p(first: Statistic, second: Statistic, used: ScoredTexts) -> float | None:
    if used.too_few_groups or used.unit == "texts":
        return None
    each_alone = np.eye(used.clusters)
    return sign_flip_p(first(each_alone) - second(each_alone))


def _needed(systems: Sequence[str] | None, level: Level) -> Sequence[str] | None:
    if level != "system":
        return None
    if systems is None:
        raise ValueError("systems: expected the system that wrote each text, for system level, got None")
    return systems
