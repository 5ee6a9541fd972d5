"""`analyze_rate`: an analysis of the text first, then the rating that follows from it.

Chiang and Lee (2023, Findings of EMNLP), "A Closer Look into Using Large Language Models for Automatic Evaluation".
"""

from __future__ import annotations

from pydantic import BaseModel

from rubriclab.methods.baselines.baseline import by_definition
from rubriclab.methods.holistic import ScoreFormat
from rubriclab.methods.replies import OnScale


class Analysis(BaseModel):
    """An analysis, and the score that follows from it."""

    analysis: str
    score: OnScale

    @property
    def reasoning(self) -> str:
        """The analysis, as what other methods call their reasoning."""
        return self.analysis


# The score hangs on the analysis before it, so a weighted one is the mean over several analyses.
FORM = ScoreFormat("analyze_rate/rate", lambda _: {}, reasoned=Analysis, alone=Analysis, max_tokens=1024)

ANALYZE_RATE = by_definition("analyze_rate", FORM)
