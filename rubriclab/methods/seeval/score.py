"""Scoring with the explanation told again as the earlier turn of the conversation (SEEval, figure 2)."""

from __future__ import annotations

from rubriclab.methods.holistic import ScoreFormat, part_at_most, scorer

FORM = ScoreFormat("seeval/rate", lambda criterion: {"explanation": criterion.statement, "steps": criterion.steps})

score = scorer(FORM)
scoring_at_most = part_at_most(FORM)
