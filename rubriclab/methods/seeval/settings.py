"""SEEval's hyperparameters, with the paper's values where it gives them (sections 2.3 and 3.2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ConfigDict, Field

from rubriclab.methods.overall import OverallSettings

# The paper's way: one explanation, elicited at temperature 0, as it comes.
PUBLISHED: Mapping[str, Any] = {"explanations": 1, "refine": False}


class SEEvalSettings(OverallSettings):
    """Everything tunable in SEEval; hashed into the version it produced."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    explanations: int = Field(3, ge=1, le=20)
    """Explanations elicited: the first at temperature 0 (the paper's only one), the others sampled. The one whose
    scores track the labels best is kept; without labels only the first is elicited."""

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
