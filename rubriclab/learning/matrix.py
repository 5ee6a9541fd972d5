"""The rating matrix: a row for each labelled text, a column for each candidate criterion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rubriclab.models.aggregation import Bounds
from rubriclab.models.text import Assignment, Example, Scale, group_keys
from rubriclab.models.text_features import prior_weights
from rubriclab.models.version import Candidate
from rubriclab.stats.correlation import BoolArray, FloatArray, IntArray
from rubriclab.stats.intervals import renumber

# A difference that is smaller than this, relative to the compared values, is a rounding error.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class RatingMatrix:
    """Ratings of the labelled texts by all candidates.

    Attributes:
        values: shape (texts, candidates), NaN where missing. Answers to questions are from 0 to 1, text features in
            their own units, other ratings on the raters' scale.
        labels, groups: by text; the other arrays and `methods` are by candidate.
        is_feature: whether a candidate is a text feature. Only the weights of text features may be negative.
        is_question: whether a candidate is a question, whose values are from 0 to 1 and not points of the scale.
        holistic: whether values are ratings of the whole text.
        prior_weights: weights expected without labels: of text features -1 to 1, relative to each other; of others 1.
        is_from_own_group: shape (texts, candidates), whether a label of the text's group helped to make the candidate.
        weight_bounds: the lowest and highest share of all weights that a person allows, shape (candidates, 2).
    """

    values: FloatArray
    labels: FloatArray
    groups: tuple[str, ...]
    methods: tuple[str, ...]
    is_feature: BoolArray
    is_question: BoolArray
    holistic: BoolArray
    prior_weights: FloatArray
    is_from_own_group: BoolArray
    scale: Scale
    weight_bounds: FloatArray | None = None

    def select_rows(self, mask_or_indices: BoolArray | IntArray) -> RatingMatrix:
        return replace(
            self,
            values=self.values[mask_or_indices],
            labels=self.labels[mask_or_indices],
            groups=tuple(np.array(self.groups, dtype=object)[mask_or_indices].tolist()),
            is_from_own_group=self.is_from_own_group[mask_or_indices],
        )

    def select_columns(self, indices: list[int]) -> RatingMatrix:
        # The last axis of these arrays has an entry for each candidate.
        arrays = ("values", "is_feature", "is_question", "holistic", "prior_weights", "is_from_own_group")
        return replace(
            self,
            **{name: getattr(self, name)[..., indices] for name in arrays},
            methods=tuple(self.methods[index] for index in indices),
            weight_bounds=None if self.weight_bounds is None else self.weight_bounds[indices],
        )


def rating_matrix(
    candidates: Sequence[Candidate],
    values: FloatArray,
    examples: Sequence[Example],
    labels: FloatArray,
    assignment: Assignment,
    *,
    bounds: Mapping[str, Bounds] | None = None,
) -> RatingMatrix:
    """Return the rating matrix; `values` has shape (texts, candidates); `bounds` limits weights by criterion id."""
    aspect, groups = assignment.aspect, group_keys(examples)
    bounds = bounds or {}
    feature_weights = prior_weights(aspect.name, aspect.definition, assignment.words.task)
    criteria = [candidate.criterion for candidate in candidates]
    is_feature = np.array([criterion.kind == "feature" for criterion in criteria], dtype=bool)
    prior = [feature_weights.get(each.id, 0.0) if each.kind == "feature" else 1.0 for each in criteria]
    weight_bounds = default_bounds(is_feature)
    for column, criterion in enumerate(criteria):
        weight_bounds[column] = bounds.get(criterion.id, weight_bounds[column])
    # A candidate made with a text's label may depend on the source of the text, which the whole group shares.
    group_of = {example.id: group for example, group in zip(examples, groups, strict=True)}
    origins = [{group_of[text_id] for text_id in candidate.made_from} for candidate in candidates]
    is_from_own_group = [[group in origin_groups for group in groups] for origin_groups in origins]
    return RatingMatrix(
        values=values,
        labels=labels,
        groups=groups,
        methods=tuple(candidate.method for candidate in candidates),
        is_feature=is_feature,
        is_question=np.array([criterion.kind == "question" for criterion in criteria], dtype=bool),
        holistic=np.array([criterion.kind == "score" for criterion in criteria], dtype=bool),
        prior_weights=np.array(prior, dtype=float),
        is_from_own_group=np.array(is_from_own_group, dtype=bool).reshape(len(candidates), len(examples)).T,
        scale=assignment.scale,
        weight_bounds=weight_bounds if bounds else None,
    )


def default_bounds(is_feature: BoolArray) -> FloatArray:
    """Return the bounds of weights that nobody restricts, shape (candidates, 2): -1 to 1 for features, else 0 to 1."""
    return np.column_stack([np.where(is_feature, -1.0, 0.0), np.ones(len(is_feature))])


def canonical_order(table: RatingMatrix) -> IntArray:
    """Return the row numbers in an order that does not depend on the input's, so that sums are exactly reproducible."""
    # `lexsort` sorts by its last key first. So a label only orders texts of one group that have the same ratings.
    group = renumber(np.array(table.groups, dtype=str))
    return np.asarray(np.lexsort([table.labels, *table.is_from_own_group.T, *table.values.T, group]))


def centers_and_spreads(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the mean and standard deviation of each column's defined values; both are 0 if it has none."""
    defined = ~np.isnan(values)
    counts = np.maximum(defined.sum(axis=0), 1)
    centers: FloatArray = np.where(defined, values, 0.0).sum(axis=0) / counts
    deviations = np.where(defined, values - centers, 0.0)
    spreads: FloatArray = np.sqrt((deviations**2).sum(axis=0) / counts)
    largest = np.abs(np.where(defined, values, 0.0)).max(axis=0, initial=0.0)
    return centers, np.where(spreads > ROUNDING * largest, spreads, 0.0)


def standardize(values: FloatArray, centers: FloatArray, spreads: FloatArray) -> FloatArray:
    """Return (values - centers) / spreads, 0 if the value is missing or the column is constant."""
    z: FloatArray = (values - centers) / np.where(spreads > 0, spreads, np.inf)
    return np.where(np.isnan(z), 0.0, z)
