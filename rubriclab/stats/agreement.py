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

Intervals are percentile intervals of a bootstrap over groups; see `rubriclab.stats.bootstrap`. With fewer than
`FEWEST_GROUPS` groups there are none, as they would be far too narrow.
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
"""Maximum number of resamples for Kendall's interval with more than `PAIR_LIMIT` texts or systems."""


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
    resampled: Unit
    """What the bootstrap resampled: groups, or texts if there is a single group or every text is its own group."""
    too_few_groups: bool
    """Whether there are no intervals because groups would be resampled and are fewer than `FEWEST_GROUPS`."""
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
    resampled: Unit
    too_few_groups: bool
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

    A value is `None` if undefined: no group of two texts, constant scores, fewer than two systems.

    Args:
        predicted: shape (n,), nan if unscored; these texts are left out.
        human: shape (n,).
        groups: the input of each text.
        systems: the system that wrote each text; needed at system level only.
        level: see the module's docstring.
        constant: rule for groups with constant human scores at group level.
        resamples: of the bootstrap; 0 for no intervals. Above `PAIR_LIMIT` texts at data-set level, or systems at
            system level, at most `KENDALL_RESAMPLES` for Kendall's interval.
        confidence: share of the resamples within an interval.
        seed: equal seeds give equal intervals, in any order of the texts.

    Raises:
        ValueError: lengths differ, a human score is not finite, a predicted score is infinite, a group or
            system is not a string, systems are missing at system level, or an option is out of range.
    """
    texts = scored_texts([predicted], human, groups, _needed(systems, level))
    used = used_texts(texts, level, constant)

    def estimated(coefficient: Coefficient, draws: int) -> Interval:
        return _estimate(level_statistic(used, 0, coefficient, level, constant), used, draws, confidence, seed)

    return Agreement(
        level=level,
        n=len(used.human),
        groups=len(used.sizes),
        systems=used.systems if level == "system" else None,
        constant_groups=int(texts.constant.sum()),
        single_groups=int((texts.sizes == 1).sum()),
        constant=constant,
        resampled=used.unit,
        too_few_groups=used.too_few_groups,
        spearman=estimated(spearman_rows, resamples),
        pearson=estimated(pearson_rows, resamples),
        kendall=estimated(kendall_rows, _kendall_resamples(used, level, resamples)),
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
    """Spearman agreement of the first evaluator minus the second's, with a paired bootstrap interval.

    Both are compared on the texts that both scored, with the same resamples, so the difficulty of a group cancels out.
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
        resampled=used.unit,
        too_few_groups=used.too_few_groups,
        spearman=_estimate(
            lambda counts: first_agreement(counts) - second_agreement(counts), used, resamples, confidence, seed
        ),
    )


def _kendall_resamples(used: ScoredTexts, level: Level, resamples: int) -> int:
    ranked = {"dataset": len(used.human), "system": used.systems, "group": 0}
    return min(resamples, KENDALL_RESAMPLES) if ranked[level] > PAIR_LIMIT else resamples


def _estimate(statistic: Statistic, used: ScoredTexts, resamples: int, confidence: float, seed: int) -> Interval:
    n = len(used.human)
    return estimate(
        statistic,
        used.clusters,
        resamples=0 if used.too_few_groups else resamples,
        confidence=confidence,
        seed=seed,
        batch=batch_size(n),
    )


def _needed(systems: Sequence[str] | None, level: Level) -> Sequence[str] | None:
    if level != "system":
        return None
    if systems is None:
        raise ValueError("systems: expected the system that wrote each text, for system level, got None")
    return systems
