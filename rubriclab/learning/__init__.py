"""The training phase: labelled texts to a rubric with its provenance.

The path of a labelled row through joint training (`joint.train`):

1. `candidates`: each method proposes criteria and rates the row's text by them; `single_call` rates it again by all
   criteria in one call, if the rubric may use a single call. The row is now a row of the `rating_matrix`.
2. `baselines` computes text features; `shortcuts` finds criteria that correlate with them more than the labels do.
3. `fitting` fits a rubric: `feature_selection` drops redundant columns, `weighting` fits weights to the labels,
   `calibration` maps the weighted sum onto the raters' scale. `selection_path` does so for rubrics of increasing price
   and selects the cheapest one within one standard error of the best.
4. `cross_validation` scores the row without the labels of its group: by the same criteria with new weights, or by new
   criteria.
5. The `gate` compares these held-out scores with the label, with standard errors from `jackknife`; `raters` adds the
   interrater agreement, and `contributions` the agreement of single methods.

`single_method.train` trains one method alone; `unlabelled` makes a rubric without labels.
"""

from rubriclab.learning.baselines import best_feature, feature_values
from rubriclab.learning.single_method import Trained, train

__all__ = ["Trained", "best_feature", "feature_values", "train"]
