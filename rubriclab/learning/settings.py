"""Hyperparameters of joint training."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from rubriclab.aggregation import Ask, RivalLimits
from rubriclab.methods.replies import Number, Whole

# Of the intervals of single texts and of weights.
INTERVAL_CONFIDENCE = 0.9

Asking = Literal["chosen", "by method", "in one call", "with rivals"]


class JointSettings(BaseModel):
    """Hyperparameters of selection, weighting and calibration; stored in the version."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    prefer: Literal["cheapest", "accuracy"] = "cheapest"
    """Which rubric is selected: the one with the fewest calls per text whose held-out agreement is within one standard
    error of the best (of equally cheap ones, the one with the most criteria, up to eight), or the best."""

    calibration: Literal["linear", "isotonic", "none", "chosen"] = "chosen"
    """The map of the weighted sum onto the raters' scale."""

    ask: Asking = "chosen"
    """Whether scoring calls the judge for each method, or once for all criteria; with `chosen` the texts are rated both
    ways and held-out labels decide. `with rivals` is one call for all criteria of several texts of a group; `chosen`
    with less than one call per text is that, too."""

    rivals_per_call: Whole = Field(default=10, ge=2, le=100)
    """Maximum number of texts in a call about texts of one group."""

    folds: Whole = Field(default=10, ge=2, le=100)
    """Number of folds for cross-validation over groups; at most the number of groups."""

    relearned: Whole = Field(default=0, ge=0, le=100)
    """Number of folds for cross-validation of the whole training, methods included: unbiased with few groups, where the
    usual cross-validation is conservative, at the price of about as many trainings. 0 for the usual one."""

    repeats: Whole = Field(default=3, ge=1, le=50)
    """Repetitions of cross-validation with other folds; held-out scores are means over the repetitions."""

    calls_per_text: Number = Field(default=0, ge=0, le=1000)
    """Maximum number of calls to score one text; 0 for no limit."""

    no_shortcuts: bool = False
    """Whether to exclude criteria that correlate with length, copying or formatting more than the raters do."""

    @property
    def rivals(self) -> RivalLimits | None:
        """The size of calls about several texts; `None` if each text is asked about by itself."""
        if self.ask == "with rivals" or (self.ask == "chosen" and 0 < self.calls_per_text < 1):
            return RivalLimits(texts=self.rivals_per_call)
        return None

    @property
    def only(self) -> Ask | None:
        """The only way of asking that a rubric may have; `None` if it is chosen."""
        if self.ask == "chosen":
            return None
        return "by method" if self.ask == "by method" else "in one call"

    @field_validator("relearned")
    @classmethod
    def _parts(cls, relearned: int) -> int:
        if relearned == 1:
            raise ValueError("expected 0, or at least 2 parts, got 1")
        return relearned
