"""Drift: what changes for texts without labels when another version, or another judge, takes over."""

from rubriclab.drifting.drift import drift
from rubriclab.drifting.found import Drift
from rubriclab.drifting.limits import Check, Limits, check
from rubriclab.drifting.pairs import Pair, Pairing, Side, pairing, score_both

__all__ = ["Check", "Drift", "Limits", "Pair", "Pairing", "Side", "check", "drift", "pairing", "score_both"]
