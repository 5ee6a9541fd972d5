"""Planning: which texts to label next, and how many more labels are worth it."""

from rubriclab.active_learning.learning_curve import LearningCurve, learning_curve
from rubriclab.active_learning.plan import InformativeCriterion, LabelPlan, PoolText, SelectedText, StoppingAdvice, plan

__all__ = [
    "InformativeCriterion",
    "LabelPlan",
    "LearningCurve",
    "PoolText",
    "SelectedText",
    "StoppingAdvice",
    "learning_curve",
    "plan",
]
