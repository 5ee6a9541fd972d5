"""HypoEval's hyperparameters, and the settings of its paper and of its published code."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from rubriclab.methods.method import Presets

# Section 2 and appendix B.1; w_hyp, the number of new hypotheses and |H_L| are not stated and are those of the code.
PAPER: Mapping[str, Any] = {"procedure": "paper", "drop_hopeless": False}

PRESETS: Presets = {"paper": PAPER, "published": {**PAPER, "procedure": "published", "wrong_bank": 5}}

Ask = Literal["separately", "together", "concatenated"]
Procedure = Literal["improved", "paper", "published"]


class HypoEvalScoringSettings(BaseModel):
    """The stored settings that scoring needs; others are ignored."""

    model_config = ConfigDict(frozen=True)

    ask: Ask


class HypoEvalSettings(BaseModel):
    """Hyperparameters of HypoEval; part of the digest of a version."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    initial_examples: int = Field(default=5, ge=2, le=50)
    """Labelled texts that the first hypotheses are proposed from (|S_init|)."""

    initial_hypotheses: int = Field(default=5, ge=1, le=50)
    """Hypotheses requested at the start (|H_init|)."""

    k: int = Field(default=10, ge=1, le=100)
    """Number of hypotheses with the highest reward that rate each further labelled text."""

    alpha: float = Field(default=0.5, ge=0, le=10)
    """Weight of the exploration bonus in a reward."""

    theta: float = Field(default=0.5, gt=0, le=4)
    """Error above which a rating counts as wrong, in points of a 1 to 5 scale; other scales are mapped to it."""

    wrong_bank: int = Field(default=10, ge=2, le=100)
    """Wrong examples that trigger new hypotheses (w_max)."""

    new_hypotheses: int = Field(default=5, ge=1, le=50)
    """Hypotheses requested each time the bank of wrong examples is full."""

    refine_rounds: int = Field(default=6, ge=0, le=20)
    """Rounds of refinement of new hypotheses (N_refine): wrong examples and literature in turn."""

    bank_size: int = Field(default=20, ge=1, le=200)
    """Most hypotheses kept at any time, and in the final bank (H_max)."""

    selected: int = Field(default=5, ge=1, le=100)
    """Hypotheses that the rubric keeps, by Pearson correlation on all training labels (H_ev)."""

    sources: Literal["labels and literature", "labels", "literature", "prior knowledge"] = "labels and literature"
    """The material that hypotheses are proposed from. The last three are the paper's ablations (tables 3 and 7); the
    last two need no labelled texts, and without any keep the first hypotheses in the generator's order of
    importance."""

    ask: Ask = "separately"
    """One call per criterion and text; one call per text for all criteria; or, the paper's single-criterion ablation,
    one overall score by all criteria at once."""

    procedure: Procedure = "improved"
    """The rules of proposing, ranking, comparing and joining hypotheses: ours, those of the paper, or those of its
    published code.

    - Proposals are shown the other hypotheses of the bank, and what the best predicted for the wrong examples; or
      (paper, code) neither.
    - The bonus of every reward is updated before ranking; or (paper, code) only that of a hypothesis just visited.
    - Candidates for the bank are all hypotheses and the new ones (also in the code); or (paper) the top k and the new
      ones, so that all others are dropped.
    - One request about the whole bank finds redundant hypotheses, in groups of the same and the nested, whenever there
      are new hypotheses and for the union; or (paper, code) one about every pair inside each of the two banks, at the
      end.
    - Half as many hypotheses as the final bank holds are requested from literature alone; or (code; the paper draws at
      most 10 of an unstated number) as many as it holds. With literature as the only source it is always as many.
    - The final bank holds at most half from literature, in the generator's order, and the rest by reward; or (paper) at
      most half from each side, drawn at random; or (code) at most half from labels, those with the highest mean
      utility, and the rest from literature in the generator's order.
    - Refinement skips the rounds with the wrong examples, which the proposals come from; or (paper) begins with them;
      or (code) with literature.
    - Only hypotheses that correlate positively with the labels are kept, if there are any; or (paper, code) all may be.
    """

    drop_hopeless: bool = True
    """Whether the hypotheses with the lowest correlation are dropped before all texts are rated: after a quarter of the
    texts all but three times, after half of them all but one and a half times as many as are selected."""

    @property
    def from_literature(self) -> int:
        """The number of hypotheses requested from literature alone."""
        half = self.procedure == "improved" and self.sources != "literature"
        return math.ceil(self.bank_size / 2) if half else self.bank_size
