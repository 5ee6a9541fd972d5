"""Planning: which texts to label next, and how many more labels are worth it."""

from rubriclab.active_learning.learning_curve import LearningCurve, learning_curve
from rubriclab.active_learning.plan import LabelPlan, PoolText, SelectedText, StoppingAdvice, UnusualRating, plan

__all__ = [
    "LabelPlan",
    "LearningCurve",
    "PoolText",
    "SelectedText",
    "StoppingAdvice",
    "UnusualRating",
    "learning_curve",
    "plan",
]
