"""Planning: which texts to label next, and how many more labels are worth it."""

from rubriclab.planning.curve import LearningCurve, learning_curve
from rubriclab.planning.plan import Advice, Clue, LabelPlan, Planned, Rated, plan

__all__ = ["Advice", "Clue", "LabelPlan", "LearningCurve", "Planned", "Rated", "learning_curve", "plan"]
