"""The training phase: labelled texts to a rubric with its provenance.

The path of a labelled row through joint training (`joint.train`):

1. `candidates`: each method proposes criteria and rates the row's text by them; `single_call` rates it once more by all
   criteria in one call, where the rubric may ask so. The row is now a row of the `rating_matrix`.
2. `baselines` measures the text; `shortcuts` finds criteria that follow these measures more than the raters do.
3. `fitting` fits a rubric: `feature_selection` drops columns that repeat others, `weighting` weighs the rest by the
   labels, `calibration` maps the weighted sum onto the raters' scale. `selection_path` does so for rubrics of rising
   price and keeps the smallest one within one standard error of the best.
4. `cross_validation` scores the row without the labels of its group: by the same criteria fitted anew, or by criteria
   learned anew.
5. These held-out scores are compared with the label by the `gate`, with standard errors from `jackknife`; `raters` and
   `contributions` add what the raters and the single methods allow to expect.

`single_method.train` trains one method alone; `unlabelled` makes a rubric without labels.
"""

from rubriclab.learning.baselines import best_measure, measure_values
from rubriclab.learning.single_method import Trained, train

__all__ = ["Trained", "best_measure", "measure_values", "train"]
