"""Planning: which texts to label next, and how many more labels are worth it."""

from rubriclab.active_learning.learning_curve import LearningCurve, learning_curve
from rubriclab.active_learning.plan import Clue, LabelingAdvice, LabelPlan, Planned, PlannedText, plan

__all__ = ["Clue", "LabelPlan", "LabelingAdvice", "LearningCurve", "Planned", "PlannedText", "learning_curve", "plan"]
