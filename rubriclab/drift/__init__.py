"""Drift: what changes for texts without labels when another version, or another judge, takes over."""

from rubriclab.drift.compare import drift
from rubriclab.drift.limits import Check, Limits, check
from rubriclab.drift.pairs import Pairing, ScoredPair, ScoredSide, pairing, score_both
from rubriclab.drift.results import Drift

__all__ = ["Check", "Drift", "Limits", "Pairing", "ScoredPair", "ScoredSide", "check", "drift", "pairing", "score_both"]
