"""Hyperparameters of joint training."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from rubriclab.methods.replies import Number, Whole

Asking = Literal["chosen", "by method", "in one call"]


class JointSettings(BaseModel):
    """Everything tunable in choosing, weighing and calibrating; written into the version it produced."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    prefer: Literal["smallest", "accuracy"] = "smallest"
    """Which rubric is made: the smallest whose agreement with held-out labels is within one standard error of the best,
    by calls per text and then by criteria; or the best."""

    calibration: Literal["linear", "isotonic", "none", "chosen"] = "chosen"
    """How the raw value is mapped onto the raters' scale."""

    ask: Asking = "chosen"
    """Whether scoring asks once for each method, or about all criteria in one call; `chosen` has the texts rated both
    ways and lets held-out labels say."""

    folds: Whole = Field(10, ge=2, le=100)
    """Parts into which the groups are put for cross-validation; at most as many as there are groups."""

    relearned: Whole = Field(0, ge=0, le=100)
    """Parts of which each is left out of a training of its own, methods and all, to tell what the rubric is worth: true
    where few groups make the usual way too strict, at the price of about as many trainings. 0 uses the usual way."""

    repeats: Whole = Field(3, ge=1, le=50)
    """How often groups are divided into folds anew; held-out scores are means over these divisions."""

    confidence: Number = Field(0.9, gt=0.5, lt=1)
    """Of the intervals of single texts and of weights."""

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
