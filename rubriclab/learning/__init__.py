"""The training phase: labelled texts to a rubric with its provenance.

The path of a labelled row through joint training (`train.train_joint`):

1. `candidates`: each method proposes criteria and rates the row's text by them, and once more by all criteria in one
   call, if all methods can share one. The row is now a row of the `matrix`.
2. `baselines` computes text features.
3. `fitting` selects the criteria that correlate most with the labels, and the scores of the whole, drops redundant
   columns and fits the rubric: `weighting` fits weights, `calibration` maps the weighted sum onto the raters' scale.
4. `fitting.cross_validate` scores the row in the same way without the labels of its group.
5. The `gate` compares these held-out scores with the label, with jackknife standard errors, and adds the interrater
   agreement.

`train.train_method` trains one method alone; `baselines` also makes a rubric without labels.
"""
