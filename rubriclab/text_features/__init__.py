"""Text features: what the baselines of learned rubrics are made of, and what the offline judge reads.

None of them understands the text; each is a count, a share or a distance that a person can check by hand.
"""

from __future__ import annotations

from rubriclab.text_features.catalogue import CATALOGUE, Features, extract_features, features_of
from rubriclab.text_features.feature import AspectKind, TextFeature
from rubriclab.text_features.prior import aspect_kinds, prior_directions, usual_directions
from rubriclab.text_features.surface import WORD_COUNT

__all__ = [
    "CATALOGUE",
    "WORD_COUNT",
    "AspectKind",
    "Features",
    "TextFeature",
    "aspect_kinds",
    "extract_features",
    "features_of",
    "prior_directions",
    "usual_directions",
]
