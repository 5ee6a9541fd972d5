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
    """Return the ratings of the labelled texts by all candidate criteria."""
    return candidate_table(
        record.candidates,
        record.matrix,
        np.array([rubric.scores_on.moved_to(rubric.scale, text.label) for text in record.texts], dtype=float),
        texts=[(text.id, text.group) for text in record.texts],
        scale=rubric.scale,
        prior_direction=usual_directions(rubric.aspect.name, rubric.aspect.definition, rubric.task),
    )


def refit_settings(provenance: Provenance) -> JointSettings:
    """Return the settings to refit the rubric's weights: as it was trained, with a linear map onto the scale.

    The map changes no correlation.
    """
    trained = JointSettings.model_validate(dict(provenance.settings.get("joint", {})))
    return trained.model_copy(update={"calibration": "linear"})


def eligible_candidates(record: TrainingRecord, rubric: Rubric, provenance: Provenance) -> RatingMatrix:
    """Return the ratings of the labelled texts by the candidates that more labels could add to the rubric.

    If shortcuts were excluded, only candidates that are none.
    """
    table, settings = recorded_table(record, rubric), refit_settings(provenance)
    columns = list(range(len(table.methods)))
    features = feature_values([text.example for text in record.texts], FEATURE_NAMES)
    allowed = allowed_columns(table, features, settings, provenance.seed)
    return table.columns([column for column in columns if column in allowed] or columns)


def rubric_ratings(record: TrainingRecord, rubric: Rubric) -> FloatArray:
    """Return the labelled texts' ratings by the rubric's criteria, in the order of its terms, NaN where missing."""
    column_of = {candidate.criterion.id: column for column, candidate in enumerate(record.candidates)}
    terms = rubric.aggregation.terms if rubric.aggregation else ()
    return record.matrix[:, [column_of[term.criterion] for term in terms]]
