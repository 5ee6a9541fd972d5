"""A training record as rating matrices: the labelled texts by all candidates, and by the rubric's own criteria."""

from __future__ import annotations

import numpy as np

from rubriclab.learning.baselines import FEATURE_NAMES, feature_values
from rubriclab.learning.cross_validation import allowed_columns
from rubriclab.learning.rating_matrix import RatingMatrix, candidate_table
from rubriclab.learning.settings import JointSettings
from rubriclab.provenance import Provenance
from rubriclab.rubric import Rubric
from rubriclab.stats.correlation import FloatArray
from rubriclab.text_features import usual_directions
from rubriclab.training_record import TrainingRecord


def recorded_table(record: TrainingRecord, rubric: Rubric) -> RatingMatrix:
    """Return the ratings of the labelled texts by all candidate criteria, without call costs."""
    return candidate_table(
        record.candidates,
        record.matrix,
        np.array([rubric.scores_on.moved_to(rubric.scale, text.label) for text in record.texts], dtype=float),
        texts=[(text.id, text.group) for text in record.texts],
        bundles=("",) * len(record.candidates),
        scale=rubric.scale,
        prior_direction=usual_directions(rubric.aspect.name, rubric.aspect.definition, rubric.task),
    )


def refit_settings(provenance: Provenance) -> JointSettings:
    """Return the settings to refit the rubric's weights: as it was trained, without a bound on calls.

    The map onto the scale is linear, which changes no correlation.
    """
    trained = JointSettings.model_validate(dict(provenance.settings.get("joint", {})))
    fixed = {"calibration": "linear", "calls_per_text": 0}
    return JointSettings.model_validate({**trained.model_dump(), **fixed})


def eligible_candidates(record: TrainingRecord, rubric: Rubric, provenance: Provenance) -> RatingMatrix:
    """Return the ratings of the labelled texts by the candidates that more labels could add to the rubric.

    With a bound on calls, only candidates of its methods; if shortcuts were excluded, only candidates that are none.
    """
    table, settings = recorded_table(record, rubric), refit_settings(provenance)
    columns = list(range(len(table.methods)))
    if provenance.settings.get("joint", {}).get("calls_per_text"):
        methods = {part.method for part in rubric.parts}
        columns = [column for column in columns if table.methods[column] in methods]
    features = feature_values([text.example for text in record.texts], FEATURE_NAMES)
    allowed = allowed_columns(table, features, settings, provenance.seed)
    return table.columns([column for column in columns if column in allowed] or columns)


def rubric_ratings(record: TrainingRecord, rubric: Rubric) -> FloatArray:
    """Return the labelled texts' ratings by the rubric's criteria, in the order of its terms, NaN where missing."""
    column_of = {candidate.criterion.id: column for column, candidate in enumerate(record.candidates)}
    terms = rubric.aggregation.terms if rubric.aggregation else ()
    return record.matrix[:, [column_of[term.criterion] for term in terms]]
