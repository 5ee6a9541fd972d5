"""Statistics over plain arrays: numbers in, numbers out, nothing else of rubriclab imported.

Each measure is a module of its own; whatever can be written as a function of how often each cluster
counts gets its interval from `rubriclab.stats.bootstrap`.
"""

from rubriclab.stats.agreement import Agreement, AgreementDifference, agreement, difference
from rubriclab.stats.bootstrap import Statistic, cluster_bootstrap, estimate, percentile_interval, resample_counts
from rubriclab.stats.correlation import (
    is_constant,
    kendall,
    kendall_rows,
    pearson,
    pearson_rows,
    spearman,
    spearman_rows,
)
from rubriclab.stats.interval import Interval
from rubriclab.stats.levels import ConstantRule, Level, Unit

__all__ = [
    "Agreement",
    "AgreementDifference",
    "ConstantRule",
    "Interval",
    "Level",
    "Statistic",
    "Unit",
    "agreement",
    "cluster_bootstrap",
    "difference",
    "estimate",
    "is_constant",
    "kendall",
    "kendall_rows",
    "pearson",
    "pearson_rows",
    "percentile_interval",
    "resample_counts",
    "spearman",
    "spearman_rows",
]
