"""Wilcoxon's tests and the correction for many tests: whether one evaluator's figures differ from another's by chance.

Wilcoxon 1945, "Individual comparisons by ranking methods", has both tests; the rank-sum test is also known as Mann and
Whitney's U. CheckEval (section 5.1) compares average correlations over evaluator models by rank sums and corrects them
by Benjamini & Hochberg 1995, "Controlling the false discovery rate".

Where figures belong together (the same aspect, seed or model under both evaluators), the signed-rank test uses that and
the rank-sum test throws it away. All p-values are two-sided.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rubriclab.stats import FloatArray

# Differences of decimal figures miss each other by rounding alone (0.55 - 0.49 and 0.46 - 0.40); ranks would see it.
DECIMALS = 12


def wilcoxon_paired(first: npt.ArrayLike, second: npt.ArrayLike) -> float | None:
    """Return the p-value of Wilcoxon's signed-rank test; None where no pair differs, so that nothing can be ranked.

    Pairs without a difference are left out, as Wilcoxon does; equal differences share their mean rank. Of up to 50
    differences without ties, and of up to 13 with ties, the p-value is exact; beyond, it is the normal approximation,
    corrected for ties.

    Args:
        first, second: shape (pairs,), in the same order.

    Raises:
        ValueError: shapes differ, or a value is nan or infinite (leave pairs out where one is missing).
    """
    one, other = _figures("first", first), _figures("second", second)
    if one.shape != other.shape:
        raise ValueError(f"first, second: expected as many figures in both, got {len(one)} and {len(other)}")
    differences = np.round(one - other, DECIMALS)
    differences = differences[differences != 0]
    if not len(differences):
        return None
    from scipy.stats import wilcoxon

    return float(wilcoxon(differences).pvalue)


def wilcoxon_ranksum(first: npt.ArrayLike, second: npt.ArrayLike) -> float | None:
    """Return the p-value of Wilcoxon's rank-sum test of two independent samples; None where one of them is empty.

    Equal figures share their mean rank. Where a sample has at most eight figures and none is tied, the p-value is
    exact; else it is the normal approximation, corrected for ties and continuity.

    Args:
        first, second: shape (figures,), each of its own length.

    Raises:
        ValueError: a value is nan or infinite, or there is more than one dimension.
    """
    one, other = _figures("first", first), _figures("second", second)
    if not len(one) or not len(other):
        return None
    from scipy.stats import mannwhitneyu

    return float(mannwhitneyu(one, other).pvalue)


def _figures(name: str, values: npt.ArrayLike) -> FloatArray:
    figures = np.asarray(values, dtype=np.float64)
    if figures.ndim != 1 or not np.isfinite(figures).all():
        raise ValueError(f"{name}: expected finite figures of shape (n,), got shape {figures.shape}: {figures}")
    return figures
