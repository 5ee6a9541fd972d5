"""The training phase: labelled texts to a rubric with its provenance."""

from rubriclab.learning.floor import best_measure, measure_values
from rubriclab.learning.train import Trained, train

__all__ = ["Trained", "best_measure", "measure_values", "train"]
