"""Comparison: whether one set of outputs is scored lower than another by the same version of a rubric."""

from rubriclab.comparison.compare import compare_outputs
from rubriclab.comparison.pairing import Outputs, Pairing, PairingRule
from rubriclab.comparison.ranking import rank_systems
from rubriclab.comparison.results import OutputComparison, SystemRanking

__all__ = [
    "OutputComparison",
    "Outputs",
    "Pairing",
    "PairingRule",
    "SystemRanking",
    "compare_outputs",
    "rank_systems",
]
