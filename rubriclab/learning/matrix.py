"""The rating matrix: labelled texts by candidate criteria."""

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

# Smaller relative differences are rounding errors.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class RatingMatrix:
    """Ratings of the labelled texts by all candidates. All fields but `labels`, `groups` and `scale` are by candidate.

    Attributes:
        values: shape (texts, candidates), NaN where missing. Questions are from 0 to 1, text features in their own
            units, all others on the raters' scale.
        signed: whether higher values may be worse; false if a candidate's wording says which end is better.
        is_share: whether scores are shares from 0 to 1, and not points of the scale.
        holistic: whether scores are of the whole text.
        prior_direction: prior weight relative to candidates of the same kind: 1 if judged, -1 to 1 if signed.
        seen: shape (texts, candidates), true if the candidate was generated from a label of the text's group.
        limits: the lowest and highest weight that a person allows, as shares, shape (candidates, 2).
    """

    values: FloatArray
    labels: FloatArray
    groups: tuple[str, ...]
    methods: tuple[str, ...]
    signed: BoolArray
    is_share: BoolArray
    holistic: BoolArray
    prior_direction: FloatArray
    seen: BoolArray
    scale: Scale
    limits: FloatArray | None = None

    def rows(self, mask_or_indices: BoolArray | IntArray) -> RatingMatrix:
        return replace(
            self,
            values=self.values[mask_or_indices],
            labels=self.labels[mask_or_indices],
            groups=tuple(np.array(self.groups, dtype=object)[mask_or_indices].tolist()),
            seen=self.seen[mask_or_indices],
        )

    def columns(self, indices: list[int]) -> RatingMatrix:
        # The last axis of these arrays is that of the candidates.
        arrays = ("values", "signed", "is_share", "holistic", "prior_direction", "seen")
        return replace(
            self,
            **{name: getattr(self, name)[..., indices] for name in arrays},
            methods=tuple(self.methods[index] for index in indices),
            limits=None if self.limits is None else self.limits[indices],
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
    """Return the rating matrix with these scores, shape (texts, candidates); `bounds` limit weights, by id."""
    aspect, groups = assignment.aspect, group_keys(examples)
    bounds = bounds or {}
    directions = prior_weights(aspect.name, aspect.definition, assignment.words.task)
    criteria = [candidate.criterion for candidate in candidates]
    signed = np.array([criterion.kind == "feature" for criterion in criteria], dtype=bool)
    prior = [directions.get(each.id, 0.0) if each.kind == "feature" else 1.0 for each in criteria]
    limits = free_limits(signed)
    for column, criterion in enumerate(criteria):
        limits[column] = bounds.get(criterion.id, limits[column])
    # Texts of a group share a source. A candidate generated from one text of a group has seen the source of all.
    group_of = {example.id: group for example, group in zip(examples, groups, strict=True)}
    seen_groups = ({group_of[name] for name in candidate.made_from} for candidate in candidates)
    seen = [[group in sources for group in groups] for sources in seen_groups]
    return RatingMatrix(
        values=values,
        labels=labels,
        groups=groups,
        methods=tuple(candidate.method for candidate in candidates),
        signed=signed,
        is_share=np.array([criterion.kind == "question" for criterion in criteria], dtype=bool),
        holistic=np.array([criterion.kind == "score" for criterion in criteria], dtype=bool),
        prior_direction=np.array(prior, dtype=float),
        seen=np.array(seen, dtype=bool).reshape(len(candidates), len(examples)).T,
        scale=assignment.scale,
        limits=limits if bounds else None,
    )


def free_limits(signed: BoolArray) -> FloatArray:
    """Return the limits of weights that are fitted freely: from 0 to 1, from -1 if signed; shape (candidates, 2)."""
    return np.column_stack([np.where(signed, -1.0, 0.0), np.ones(len(signed))])


def canonical_order(table: RatingMatrix) -> IntArray:
    """Return the row numbers in an order independent of the input, so that sums are reproducible to the last bit."""
    # Groups come first and labels last: a label only changes a text's position among texts with the same ratings.
    group = renumber(np.array(table.groups, dtype=str))
    return np.asarray(np.lexsort([table.labels, *table.seen.T, *table.values.T, group]))


def centers_and_spreads(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return mean and standard deviation of each column's defined values, 0 without any, shapes (m,) each."""
    defined = ~np.isnan(values)
    counts = np.maximum(defined.sum(axis=0), 1)
    centers: FloatArray = np.where(defined, values, 0.0).sum(axis=0) / counts
    deviations = np.where(defined, values - centers, 0.0)
    spreads: FloatArray = np.sqrt((deviations**2).sum(axis=0) / counts)
    largest = np.abs(np.where(defined, values, 0.0)).max(axis=0, initial=0.0)
    return centers, np.where(spreads > ROUNDING * largest, spreads, 0.0)


def standardise(values: FloatArray, centers: FloatArray, spreads: FloatArray) -> FloatArray:
    """Return (values - centers) / spreads, 0 if the value is missing or the column is constant."""
    z: FloatArray = (values - centers) / np.where(spreads > 0, spreads, np.inf)
    return np.where(np.isnan(z), 0.0, z)
