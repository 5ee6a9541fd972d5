"""Drift: how scores change when another version, or another judge, is used."""

from rubriclab.drift.compare import compare_scores
from rubriclab.drift.limits import DriftLimits, LimitCheck, check_limits, worst_outcome
from rubriclab.drift.pairs import PairedScore, ScorerPair, VersionWithJudge, score_both, scorer_pair
from rubriclab.drift.results import Drift

__all__ = [
    "Drift",
    "DriftLimits",
    "LimitCheck",
    "PairedScore",
    "ScorerPair",
    "VersionWithJudge",
    "check_limits",
    "compare_scores",
    "score_both",
    "scorer_pair",
    "worst_outcome",
]
