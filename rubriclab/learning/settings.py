"""What the training phase as a whole hangs on."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from rubriclab.combination import Ask
from rubriclab.methods.replies import Number, Whole

RecipeName = Literal["equal", "correlation", "squared correlation", "pls", "nnls", "ridge"]


class JointSettings(BaseModel):
    """Everything tunable in choosing, weighing and calibrating; written into the version it produced."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    recipe: Literal["chosen", "equal", "correlation", "squared correlation", "pls", "nnls", "ridge"] = "chosen"
    """How weights are found; `chosen` takes squared correlations for few labels and ridge for many, unless
    cross-validation finds another recipe better by two standard errors."""

    calibration: Literal["linear", "isotonic", "none", "chosen"] = "chosen"
    """How the raw value is mapped onto the raters' scale."""

    ask: Ask = "by method"
    """Whether scoring asks once for each method, or about all criteria in one call."""

    folds: Whole = Field(10, ge=2, le=100)
    """Parts into which the groups are put for cross-validation; at most as many as there are groups."""

    relearned: Whole = Field(0, ge=0, le=100)
    """Parts of which each is left out of a training of its own, methods and all, to tell what the rubric is worth: true
    where few groups make the usual way too strict, at the price of about as many trainings. 0 uses the usual way."""

    resamples: Whole = Field(200, ge=100, le=10_000)
    """Bootstrap resamples of the groups, by which it is told how often each criterion is chosen."""

    confidence: Number = Field(0.9, gt=0.5, lt=1)
    """Of the intervals of single texts and of weights."""

    keep_uncertain: bool = False
    """Whether criteria stay whose weight cannot be told from zero."""

    repeated: Number = Field(0.95, gt=0, le=1)
    """Correlation of two candidates from which on the one that tracks the labels less adds nothing."""

    calls_per_text: Number = Field(0, ge=0, le=1000)
    """The most calls that scoring one text may take; 0 sets no bound."""

    no_shortcuts: bool = False
    """Whether criteria leave that follow length, copying or formatting more than the raters do."""

    @field_validator("relearned")
    @classmethod
    def _parts(cls, relearned: int) -> int:
        if relearned == 1:
            raise ValueError("expected 0, or at least 2 parts, got 1")
        return relearned
