"""Drift: what changes for texts without labels when another version, or another judge, takes over."""

from rubriclab.drift.compare import drift
from rubriclab.drift.limits import DriftLimits, LimitCheck, check
from rubriclab.drift.pairs import PairedScore, Scorer, ScorerPair, pairing, score_both
from rubriclab.drift.results import Drift

__all__ = [
    "Drift",
    "DriftLimits",
    "LimitCheck",
    "PairedScore",
    "Scorer",
    "ScorerPair",
    "check",
    "drift",
    "pairing",
    "score_both",
]
