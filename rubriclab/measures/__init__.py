"""Surface measures of a text: the floor that learned rubrics are held against, and what the offline judge reads.

None of them understands the text; each is a count, a share or a distance that a person can check by hand.
"""

from __future__ import annotations

from rubriclab.measures.catalogue import CATALOGUE, measure
from rubriclab.measures.definition import AspectKind, Measure
from rubriclab.measures.length import WORD_COUNT
from rubriclab.measures.prior import aspect_kinds, prior_directions, usual_directions

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
