"""Text features: what the baselines of learned rubrics are made of, and what the offline judge reads.

None of them understands the text; each is a count, a share or a distance that a person can check by hand.
"""

from rubriclab.text_features.catalogue import CATALOGUE, TextFeature, prior_directions, usual_directions
from rubriclab.text_features.features import WORD_COUNT, Features

__all__ = ["CATALOGUE", "WORD_COUNT", "Features", "TextFeature", "prior_directions", "usual_directions"]
