"""The scores of one aspect: how many, of whom, on which scale, and how far the raters agree."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rubriclab.data import Example, PairwiseComparison, labelled
from rubriclab.data.example import named_reasons
from rubriclab.data.scale import Scale, scale_of
from rubriclab.learning.raters import ratings
from rubriclab.stats.interval import Interval
from rubriclab.stats.reliability import krippendorff_alpha

# Half points on a scale from 1 to 4 have 7 values; more would not fit beside the other columns of a terminal.
MOST_VALUES = 7


@dataclass(frozen=True, slots=True)
class AspectCheck:
    """The scores of one aspect.

    Attributes:
        labels: texts with a score or annotations.
        raters: the raters' names; empty where they are unknown.
        scale: given, or taken from the labels; `None` without labels.
        distribution: the number of labels by value; of more than `MOST_VALUES` values, rounded half up to whole
            numbers, or to tenths on a scale of width 2 or less.
        reasons: the raters' reasons for their scores.
        agreement: Krippendorff's alpha (interval metric) among the raters; `None` unless texts have several ratings.
    """

    aspect: str
    labels: int
    raters: tuple[str, ...]
    scale: Scale | None
    distribution: Mapping[float, int]
    reasons: int
    agreement: Interval | None


def aspects_of(examples: Sequence[Example], compared: Sequence[tuple[int, PairwiseComparison]]) -> list[str]:
    counts = Counter(aspect for example in examples for aspect in example.scores.keys() | example.annotations.keys())
    counts.update(comparison.aspect for _, comparison in compared if comparison.aspect)
    return sorted(counts, key=lambda aspect: (-counts[aspect], aspect))


def check_aspect(examples: Sequence[Example], aspect: str, scale: Scale | None) -> AspectCheck:
    rated = labelled(examples, aspect)
    labels = [example.scores[aspect] for example in rated]
    single = [score for example in rated for score in example.annotations.get(aspect, ())]
    scale = scale or (scale_of(labels, single) if labels else None)
    known = ratings(rated, aspect)
    agreement = None
    if known is not None:
        groups = np.unique([example.group for example in rated], return_inverse=True)[1]
        agreement = krippendorff_alpha(known.table, "interval", groups).rounded()
    names = known.names if known else ()
    reasons = sum(len(named_reasons(example, aspect)) for example in rated)
    return AspectCheck(aspect, len(labels), names, scale, _distribution(labels, scale), reasons, agreement)


def _distribution(labels: Sequence[float], scale: Scale | None) -> dict[float, int]:
    """Return the number of labels by value in ascending order, with three decimals or rounded further."""
    counts = Counter(round(label, 3) for label in labels)
    if len(counts) > MOST_VALUES:
        unit = 1 if scale and scale.width > 2 else 10
        # `round` would take 3.5 and 4.5 to the same number.
        counts = Counter(math.floor(label * unit + 0.5) / unit for label in labels)
    return dict(sorted(counts.items()))
