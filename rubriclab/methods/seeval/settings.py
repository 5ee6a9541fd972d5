"""SEEval's hyperparameters, and the setting of its paper (sections 2.3 and 3.2, figure 2)."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from rubriclab.methods.holistic import HolisticSettings
from rubriclab.methods.method import Presets

# One explanation, elicited at temperature 0 from G-Eval's prompt with its steps, unchanged; a reply with the score
# only, once at temperature 0 (with `scoring=sampled`: 20 times at temperature 1, since the model has no
# log-probabilities).
PRESETS: Presets = {"paper": {"explanations": 1, "elicitation": "open", "refine": False, "form": "score only"}}


class SEEvalSettings(HolisticSettings):
    """Hyperparameters of SEEval; part of the digest of a version."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    explanations: int = Field(default=3, ge=1, le=20)
    """Explanations elicited: the first at temperature 0 (the paper's only one), the others sampled. The one whose
    scores correlate best with the labels is kept; without labels only the first is elicited."""

    elicitation: Literal["guided", "open"] = "guided"
    """What is requested: an explanation that divides the quality into simpler questions and says what distinguishes low
    from high scores; or, with G-Eval's evaluation steps in the prompt, what the task means, what is new in it and how
    it relates to what is known (paper)."""

    refine: bool = True
    """Whether the best explanation is rewritten by the texts with its largest errors, and the rewriting kept if it
    helps on held-out texts."""
