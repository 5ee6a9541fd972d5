"""Hyperparameters of joint training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from rubriclab.errors import SettingsError
from rubriclab.methods.replies import Whole
from rubriclab.models.aggregation import RivalLimits
from rubriclab.option_names import option

# Of the intervals of single texts and of weights.
INTERVAL_CONFIDENCE = 0.9

Asking = Literal["in one call", "with rivals", "by method"]


@dataclass(frozen=True)
class Recall:
    """The level of verdicts, 0 or 1, whose recall a threshold keeps, and the least share of its texts to be found."""

    level: int
    least: float


class JointSettings(BaseModel):
    """Hyperparameters of selection, weighting and calibration; stored in the version."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    criteria: Whole = Field(default=8, ge=1, le=30)
    """Maximum number of criteria beside the scores of the whole aspect."""

    calibration: Literal["linear", "isotonic", "none"] = "linear"
    """The map of the weighted sum onto the raters' scale."""

    ask: Asking = "in one call"
    """Whether scoring calls the judge once for all criteria of a text, once for those of several texts of a group, or
    for each method. If a method cannot share a call, each has its own."""

    rivals_per_call: Whole = Field(default=10, ge=2, le=100)
    """Maximum number of texts in a call about texts of one group."""

    prefer_recall_of: str = Field(default="", pattern=r"^$|^.+=(0?\.\d+|1(\.0*)?)$")
    """For labels of two levels: the level and the share of its texts that the threshold must find, `fail=0.95`.
    Default: the threshold of the best balanced accuracy."""

    folds: Whole = Field(default=10, ge=2, le=100)
    """Number of folds for cross-validation over groups; at most the number of groups."""

    repeats: Whole = Field(default=3, ge=1, le=50)
    """Repetitions of cross-validation with other folds; held-out scores are means over the repetitions."""

    def recall(self, names: tuple[str, str]) -> Recall | None:
        """Return the recall that a threshold must keep; `names` are those of the levels.

        Raises:
            SettingsError: if there is no such level.
        """
        name, _, share = self.prefer_recall_of.rpartition("=")
        if not name:
            return None
        if name.strip().casefold() not in names:
            raise SettingsError(
                f"{option('prefer_recall_of', self.prefer_recall_of)}: the labels have no level {name.strip()!r}.",
                f"The levels are {names[0]!r} and {names[1]!r}.",
            )
        return Recall(names.index(name.strip().casefold()), float(share))

    @property
    def rivals(self) -> RivalLimits | None:
        """The size of calls about several texts; `None` if each text is asked about by itself."""
        return RivalLimits(texts=self.rivals_per_call) if self.ask == "with rivals" else None
