"""The inference phase: a rubric and a stream of texts to scores with reasons."""

from rubriclab.scoring.score import CriterionScore, Score, score_text
from rubriclab.scoring.stream import score_stream

__all__ = ["CriterionScore", "Score", "score_stream", "score_text"]
