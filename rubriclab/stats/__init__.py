"""Statistics over plain arrays: numbers in, numbers out, nothing else of rubriclab imported."""

from rubriclab.stats.agreement import Agreement, AgreementDifference, ConstantRule, Level, agreement, difference
from rubriclab.stats.intervals import Interval

__all__ = ["Agreement", "AgreementDifference", "ConstantRule", "Interval", "Level", "agreement", "difference"]
