"""The training phase: labelled texts to a rubric with its provenance.

The path of a labelled row through joint training (`joint.train`):

1. `candidates`: each method proposes criteria and rates the row's text by them; `single_call` rates it again by all
   criteria in one call, if all methods can share one. The row is now a row of the `rating_matrix`.
2. `baselines` computes text features.
3. `selection` takes the criteria that correlate most with the labels, and the scores of the whole; `fitting` fits the
   rubric: `feature_selection` drops redundant columns, `weighting` fits weights, `calibration` maps the weighted sum
   onto the raters' scale.
4. `fitting.held_out` scores the row in the same way without the labels of its group.
5. The `gate` compares these held-out scores with the label, with standard errors from `jackknife`; `raters` adds the
   interrater agreement.

`single_method.train` trains one method alone; `unlabelled` makes a rubric without labels.
"""

from rubriclab.learning.baselines import best_feature, feature_values
from rubriclab.learning.single_method import Trained, train

__all__ = ["Trained", "best_feature", "feature_values", "train"]
