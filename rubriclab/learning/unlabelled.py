"""Rubrics without labels, from prior knowledge of an aspect.

The agreement of such a rubric with people is unknown. A language model is asked for one holistic score; the offline
judge, which does not understand texts, is replaced by text features with their prior weights.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rubriclab.errors import DataError
from rubriclab.learning.baselines import FEATURE_NAMES, feature_values
from rubriclab.learning.fitting import significant
from rubriclab.learning.rating_matrix import centers_and_spreads, standardised
from rubriclab.methods.baselines import BaselineSettings, whole_aspect
from rubriclab.methods.text_features import TextFeatureSettings, feature_criterion
from rubriclab.models.aggregation import Aggregation, Calibration, Term
from rubriclab.models.rubric import Part, Rubric
from rubriclab.models.text import Assignment, Example
from rubriclab.models.text_features import prior_directions
from rubriclab.option_names import option
from rubriclab.stats.interval import DIGITS

# The largest and smallest number of texts that means and standard deviations of features are computed from.
MOST, FEWEST = 1000, 5
# The standard deviation of scores as a share of the scale's width: 0.2 to 0.3 for labels of public sets.
SPREAD = 0.25


def judged_rubric(assignment: Assignment) -> Rubric:
    """Return the rubric that asks the judge for one score of the whole aspect."""
    settings = BaselineSettings().model_dump(mode="json")
    criterion = whole_aspect(assignment, assignment.aspect.definition)
    return _rubric(assignment, Part(method="direct", settings=settings, criteria=(criterion,)), None)


def text_feature_rubric(assignment: Assignment, examples: Sequence[Example]) -> Rubric:
    """Return the rubric of text features by their prior weights (`rubriclab.models.text_features.prior_directions`).

    Scores compare a text with `examples`: their mean is the middle of the scale.

    Args:
        examples: texts of the same kind, `MOST` at most; labels are not read.

    Raises:
        DataError: if there are fewer than `FEWEST` texts, or no text feature with a prior weight varies among them.
    """
    if len(examples) < FEWEST:
        raise DataError(
            f"Without labels and a language model, texts are compared with each other; got {len(examples)} usable,",
            f"expected at least {FEWEST}. Give more texts, or name a language model with {option('judge')}.",
        )
    aspect, scale = assignment.aspect, assignment.scale
    prior = prior_directions(aspect.name, aspect.definition, assignment.words.task)
    values = feature_values(examples, FEATURE_NAMES)
    centers, spreads = (significant(column) for column in centers_and_spreads(values))
    weights = np.array([prior[name] for name in FEATURE_NAMES]) * (spreads > 0)
    weights = (weights / (np.abs(weights).sum() or 1.0)).round(DIGITS)
    raw = standardised(values, centers, spreads) @ weights
    if not raw.std() > 0:
        raise DataError(
            f"No text feature that is known to matter for {aspect.name!r} varies over the {len(examples)} texts.",
            f"Give other texts, or name a language model with {option('judge')}.",
        )
    middle, reach = (scale.low + scale.high) / 2, SPREAD * scale.width
    line = Calibration(
        kind="linear",
        x=tuple(significant(raw.mean() + raw.std() * np.array([-1.0, 1.0])).tolist()),
        y=(middle - reach, middle + reach),
    )
    kept = np.flatnonzero(weights)
    terms = tuple(
        Term(
            criterion=FEATURE_NAMES[place],
            weight=float(weights[place]),
            center=float(centers[place]),
            spread=float(spreads[place]),
            low=float(weights[place]),
            high=float(weights[place]),
            selected=1.0,
        )
        for place in kept
    )
    criteria = tuple(feature_criterion(FEATURE_NAMES[place]) for place in kept)
    part = Part(method="text_features", settings=TextFeatureSettings().model_dump(mode="json"), criteria=criteria)
    return _rubric(assignment, part, Aggregation(terms=terms, calibration=line))


def _rubric(assignment: Assignment, part: Part, aggregation: Aggregation | None) -> Rubric:
    return Rubric(
        task=assignment.words.task,
        aspect=assignment.aspect,
        scale=assignment.scale,
        parts=(part,),
        aggregation=aggregation,
    )
