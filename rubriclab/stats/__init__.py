"""Statistics over plain arrays: numbers in, numbers out, nothing else of rubriclab imported."""

from rubriclab.stats.agreement import Agreement, AgreementDifference, agreement, difference
from rubriclab.stats.interval import Interval
from rubriclab.stats.levels import ConstantRule, Level

__all__ = ["Agreement", "AgreementDifference", "ConstantRule", "Interval", "Level", "agreement", "difference"]
