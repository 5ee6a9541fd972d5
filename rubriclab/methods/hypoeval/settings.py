"""HypoEval's hyperparameters, and the settings of its paper and of its published code."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from rubriclab.methods.method import Presets

# Section 2 and appendix B.1; w_hyp, the number of new hypotheses and |H_L| are not stated and are those of the code.
PAPER: Mapping[str, Any] = {
    "initial_examples": 5,
    "initial_hypotheses": 5,
    "k": 10,
    "alpha": 0.5,
    "theta": 0.5,
    "wrong_share": 0.8,
    "wrong_bank": 10,
    "new_hypotheses": 5,
    "refine_rounds": 6,
    "refine_first": "labels",
    "bank_size": 20,
    "selected": 5,
    "positive_only": False,
    "sources": "labels and literature",
    "self_contained": False,
    "ask": "separately",
    "bonus": "when_visited",
    "pool": "top and new",
    "redundancy": "every_pair",
    "literature_share": 1.0,
    "union": "random",
    "drop_hopeless": False,
}

# Where the authors' code differs from their text.
CODE: Mapping[str, Any] = {"wrong_bank": 5, "refine_first": "literature", "pool": "bank", "union": "accuracy"}

PRESETS: Presets = {"paper": PAPER, "published": {**PAPER, **CODE}}

Ask = Literal["separately", "together", "concatenated"]


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

    wrong_share: float = Field(default=0.8, ge=0, le=1)
    """Share of the top k that must be wrong at the end of training for a text to enter the bank of wrong examples. It
    rises from 0 in proportion to the texts seen, as in the published code; the paper leaves w_hyp open."""

    wrong_bank: int = Field(default=10, ge=2, le=100)
    """Wrong examples that trigger new hypotheses (w_max)."""

    new_hypotheses: int = Field(default=5, ge=1, le=50)
    """Hypotheses requested each time the bank of wrong examples is full."""

    refine_rounds: int = Field(default=6, ge=0, le=20)
    """Rounds of refinement of new hypotheses (N_refine): wrong examples and literature in turn."""

    refine_first: Literal["labels", "literature"] = "labels"
    """The material of the first round of refinement: the wrong examples (paper) or literature (published code)."""

    bank_size: int = Field(default=20, ge=1, le=200)
    """Most hypotheses kept at any time, and in the final bank (H_max)."""

    selected: int = Field(default=5, ge=1, le=100)
    """Hypotheses that the rubric keeps, by Pearson correlation on all training labels (H_ev)."""

    positive_only: bool = True
    """Whether a hypothesis must correlate positively with the labels to be kept."""

    sources: Literal["labels and literature", "labels", "literature", "prior knowledge"] = "labels and literature"
    """The material that hypotheses are proposed from. The last three are the paper's ablations (tables 3 and 7); the
    last two need no labelled texts, and without any keep the first hypotheses in the generator's order of
    importance."""

    self_contained: bool = True
    """Whether a proposed hypothesis must be understandable alone, without contradictory numbers in its levels or to
    those of an earlier one. A hypothesis that still fails after one repair is dropped. Paper and published code have no
    such rule."""

    ask: Ask = "separately"
    """One call per criterion and text; one call per text for all criteria; or, the paper's single-criterion ablation,
    one overall score by all criteria at once."""

    bonus: Literal["fresh", "when_visited"] = "fresh"
    """Whether the bonus of every reward is updated before ranking, or only that of a hypothesis that was just visited
    (paper and published code)."""

    pool: Literal["bank", "top and new"] = "bank"
    """The candidates for the bank when there are new hypotheses: the whole bank and the new ones (published code), or
    only the top k and the new ones (paper), so that all others are dropped."""

    literature_share: float = Field(default=0.5, gt=0, le=1)
    """Hypotheses requested from literature alone, as a share of the final bank: 1 requests 20 (published code; the
    paper draws at most 10 of an unstated number). With literature as the only source, the share is 1."""

    redundancy: Literal["grouped", "every_pair", "off"] = "grouped"
    """How redundant hypotheses are found: by one request about the whole bank, in groups of the same and the nested,
    whenever there are new hypotheses and for the union; or, at the end, by one about every pair inside each of the two
    banks (paper and published code)."""

    union: Literal["reward", "random", "accuracy"] = "reward"
    """How the final bank is filled from both sides: at most half from literature, in the generator's order, and the
    rest by reward; at most half from each, drawn at random (paper); or at most half from labels, those with the highest
    mean utility, and the rest from literature in the generator's order (published code)."""

    drop_hopeless: bool = True
    """Whether the hypotheses with the lowest correlation are dropped before all texts are rated: after a quarter of the
    texts all but three times, after half of them all but one and a half times as many as are selected."""

    @property
    def from_literature(self) -> int:
        """The number of hypotheses requested from literature alone."""
        share = 1.0 if self.sources == "literature" else self.literature_share
        return math.ceil(share * self.bank_size)
