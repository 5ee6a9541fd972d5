"""What a training record says as numbers: the labelled texts by all candidates, and by the rubric's own criteria."""

from __future__ import annotations

import numpy as np

from rubriclab.learning.baselines import SURFACE, measure_values
from rubriclab.learning.cross_validation import allowed_columns
from rubriclab.learning.rating_matrix import RatingMatrix, candidate_table
from rubriclab.learning.settings import JointSettings
from rubriclab.provenance import Provenance
from rubriclab.rubric import Rubric
from rubriclab.stats.correlation import FloatArray
from rubriclab.text_features.prior import usual_directions
from rubriclab.training_record import TrainingRecord


def recorded_table(record: TrainingRecord, rubric: Rubric) -> RatingMatrix:
    """Return the labelled texts by all candidate criteria; what a call costs is not known of them."""
    return candidate_table(
        record.candidates,
        record.matrix,
        np.array([rubric.scores_on.moved_to(rubric.scale, text.label) for text in record.texts], dtype=float),
        texts=[(text.id, text.group) for text in record.texts],
        bundles=("",) * len(record.candidates),
        scale=rubric.scale,
        usual=usual_directions(rubric.aspect.name, rubric.aspect.definition, rubric.task),
    )


def refitting(provenance: Provenance) -> JointSettings:
    """Return the settings to fit the rubric's numbers anew with: as it was trained.

    Calls are not counted, and the map onto the scale is a straight line, which changes no correlation.
    """
    trained = JointSettings.model_validate(dict(provenance.settings.get("joint", {})))
    fixed = {"calibration": "linear", "calls_per_text": 0}
    return JointSettings.model_validate({**trained.model_dump(), **fixed})


def eligible(record: TrainingRecord, rubric: Rubric, provenance: Provenance) -> RatingMatrix:
    """Return the labelled texts by the candidates that more labels could bring into the rubric.

    With a bound on calls these are the candidates of its methods; where shortcuts were left out, those that are none.
    """
    table, trained = recorded_table(record, rubric), refitting(provenance)
    columns = list(range(len(table.methods)))
    if provenance.settings.get("joint", {}).get("calls_per_text"):
        asked = {part.method for part in rubric.parts}
        columns = [place for place in columns if table.methods[place] in asked]
    surface = measure_values([text.example for text in record.texts], SURFACE)
    allowed = allowed_columns(table, surface, trained, provenance.seed)
    return table.columns([place for place in columns if place in allowed] or columns)


def own_values(record: TrainingRecord, rubric: Rubric) -> FloatArray:
    """Return the labelled texts' scores by the rubric's criteria, in the order of its terms, NaN where missing."""
    place = {candidate.criterion.id: column for column, candidate in enumerate(record.candidates)}
    terms = rubric.aggregation.terms if rubric.aggregation else ()
    return record.matrix[:, [place[term.criterion] for term in terms]]
