"""Scores of the same texts side by side: two sets of outputs, several systems, two versions or judges; with limits."""

from rubriclab.comparison.compare import compare_outputs
from rubriclab.comparison.drift import Drift, compare_scores
from rubriclab.comparison.limits import DriftLimits, LimitCheck, LimitOutcome, check_limits, worst_outcome
from rubriclab.comparison.pairing import Outputs, Pairing, PairingRule
from rubriclab.comparison.ranking import rank_systems
from rubriclab.comparison.results import OutputComparison, SystemRanking
from rubriclab.comparison.scorer_pair import PairedScore, ScorerPair, VersionWithJudge, score_both, scorer_pair

__all__ = [
    "Drift",
    "DriftLimits",
    "LimitCheck",
    "LimitOutcome",
    "OutputComparison",
    "Outputs",
    "PairedScore",
    "Pairing",
    "PairingRule",
    "ScorerPair",
    "SystemRanking",
    "VersionWithJudge",
    "check_limits",
    "compare_outputs",
    "compare_scores",
    "rank_systems",
    "score_both",
    "scorer_pair",
    "worst_outcome",
]
