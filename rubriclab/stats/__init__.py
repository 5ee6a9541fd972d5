"""Statistics over plain arrays. Nothing here imports other parts of rubriclab."""

from rubriclab.stats.intervals import Interval
from rubriclab.stats.score_agreement import Agreement, AgreementDifference, ConstantRule, Level, agreement, difference

__all__ = ["Agreement", "AgreementDifference", "ConstantRule", "Interval", "Level", "agreement", "difference"]
