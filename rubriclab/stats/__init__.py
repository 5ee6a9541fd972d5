"""Statistics over plain arrays. Nothing here imports other parts of rubriclab."""

from rubriclab.stats.agreement import Agreement, AgreementDifference, ConstantRule, Level, agreement, difference
from rubriclab.stats.intervals import Interval

__all__ = ["Agreement", "AgreementDifference", "ConstantRule", "Interval", "Level", "agreement", "difference"]
