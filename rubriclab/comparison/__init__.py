"""Two or more columns of scores of the same texts: sets of outputs, systems, versions or judges; with limits."""

from rubriclab.comparison.columns import PairedScore, RubricPair, paired_rubrics, score_columns
from rubriclab.comparison.compare import compare_columns, compare_outputs
from rubriclab.comparison.pairing import Outputs, PairingRule
from rubriclab.comparison.ranking import SystemRanking, rank_systems
from rubriclab.comparison.results import AnchorLook, Comparison, DriftLimits, LimitCheck, LimitOutcome

__all__ = [
    "AnchorLook",
    "Comparison",
    "DriftLimits",
    "LimitCheck",
    "LimitOutcome",
    "Outputs",
    "PairedScore",
    "PairingRule",
    "RubricPair",
    "SystemRanking",
    "compare_columns",
    "compare_outputs",
    "paired_rubrics",
    "rank_systems",
    "score_columns",
]
