"""Baselines, which learn nothing from labels, or only which texts to show as examples."""

from rubriclab.methods.baselines.definition import ANALYZE_RATE, DIRECT
from rubriclab.methods.baselines.few_shot import FEW_SHOT
from rubriclab.methods.baselines.geval import GEVAL

__all__ = ["ANALYZE_RATE", "DIRECT", "FEW_SHOT", "GEVAL"]
