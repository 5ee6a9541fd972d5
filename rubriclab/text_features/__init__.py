"""Surface measures of a text: the floor that learned rubrics are held against, and what the offline judge reads.

None of them understands the text; each is a count, a share or a distance that a person can check by hand.
"""

from __future__ import annotations

from rubriclab.text_features.catalogue import CATALOGUE, measure
from rubriclab.text_features.definition import AspectKind, Measure
from rubriclab.text_features.length import WORD_COUNT
from rubriclab.text_features.prior import aspect_kinds, prior_directions, usual_directions

__all__ = [
    "CATALOGUE",
    "WORD_COUNT",
    "AspectKind",
    "Measure",
    "aspect_kinds",
    "measure",
    "prior_directions",
    "usual_directions",
]
