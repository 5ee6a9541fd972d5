"""SEEval's hyperparameters, and the setting of its paper (sections 2.3 and 3.2, figure 2)."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from rubriclab.methods.holistic import OverallSettings
from rubriclab.methods.method import Presets

# One explanation, elicited at temperature 0 from G-Eval's prompt with its steps, as it comes; a form for scores only,
# filled in once at temperature 0 (with `scoring=weighted`: 20 times at temperature 1, the model having no
# log-probabilities).
PRESETS: Presets = {
    "paper": {
        "explanations": 1,
        "elicitation": "open",
        "refine": False,
        "scoring": "once",
        "form": "score only",
        "samples": 20,
        "temperature": 1.0,
        "probabilities": "sampled",
    }
}


class SEEvalSettings(OverallSettings):
    """Everything tunable in SEEval; hashed into the version it produced."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    explanations: int = Field(3, ge=1, le=20)
    """Explanations elicited: the first at temperature 0 (the paper's only one), the others sampled. The one whose
    scores track the labels best is kept; without labels only the first is elicited."""

    elicitation: Literal["guided", "open"] = "guided"
    """What is asked for: an explanation that says which simpler questions the quality falls into and what tells low
    scores from high ones; or, told the task with the evaluation steps that G-Eval's prompt has, what it means, what is
    new in it and how it relates to what is known (paper)."""

    tried: int = Field(10, ge=0, le=1000)
    """Labelled texts, in whole groups, that all explanations score; the best one there scores the others too, while
    the rest, which are outdone, cost no more calls. 0 has all of them score all texts."""

    elicit_temperature: float = Field(1.0, gt=0, le=2)
    """Sampling temperature of the explanations after the first."""

    refine: bool = True
    """Whether the best explanation is rewritten in the light of the texts on which it errs most, and the rewriting kept
    where it helps on texts that it has not seen."""

    shown: int = Field(6, ge=2, le=30)
    """Texts that a rewriting is shown."""
