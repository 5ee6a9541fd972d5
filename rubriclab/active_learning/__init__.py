"""Planning: which texts to label next."""

from rubriclab.active_learning.plan import LabelPlan, PoolText, SelectedText, UnusualRating, plan

__all__ = ["LabelPlan", "PoolText", "SelectedText", "UnusualRating", "plan"]
