"""Statistics over plain arrays: numbers in, numbers out, nothing else of rubriclab imported.

A statistic that is a function of cluster counts gets its interval from `rubriclab.stats.bootstrap`.
"""

from rubriclab.stats.agreement import (
    Agreement,
    AgreementDifference,
    agreement,
    difference,
)
from rubriclab.stats.bootstrap import (
    Statistic,
    batch_size,
    cluster_bootstrap,
    estimate,
    expanded_confidence,
    percentile_interval,
    resample_counts,
)
from rubriclab.stats.conformal import (
    error_bound,
    expected_error,
)
from rubriclab.stats.correlation import (
    FloatArray,
    IntArray,
    is_constant,
    kendall,
    kendall_rows,
    pearson,
    pearson_rows,
    spearman,
    spearman_rows,
)
from rubriclab.stats.interval import (
    Interval,
    rounded,
)
from rubriclab.stats.levels import (
    FEWEST_GROUPS,
    ConstantRule,
    Level,
    Unit,
)
from rubriclab.stats.paired import PairedMean, adjust_p_values, paired_mean

__all__ = [
    "FEWEST_GROUPS",
    "Agreement",
    "AgreementDifference",
    "ConstantRule",
    "FloatArray",
    "IntArray",
    "Interval",
    "Level",
    "PairedMean",
    "Statistic",
    "Unit",
    "adjust_p_values",
    "agreement",
    "batch_size",
    "cluster_bootstrap",
    "difference",
    "error_bound",
    "estimate",
    "expanded_confidence",
    "expected_error",
    "is_constant",
    "kendall",
    "kendall_rows",
    "paired_mean",
    "pearson",
    "pearson_rows",
    "percentile_interval",
    "resample_counts",
    "rounded",
    "spearman",
    "spearman_rows",
]
