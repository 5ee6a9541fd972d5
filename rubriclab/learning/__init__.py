"""The training phase: labelled texts to a rubric with its provenance."""

from rubriclab.learning.baselines import best_measure, measure_values
from rubriclab.learning.single_method import Trained, train

__all__ = ["Trained", "best_measure", "measure_values", "train"]
