"""HypoEval's hyperparameters, and the settings of its paper and of its published code."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from rubriclab.methods.method import Presets

# Section 2 and appendix B.1; w_hyp, the number of new hypotheses and |H_L| are not stated, and are those of the code.
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

# What the authors' code does otherwise than their text says.
CODE: Mapping[str, Any] = {"wrong_bank": 5, "refine_first": "literature", "pool": "bank", "union": "accuracy"}

PRESETS: Presets = {"paper": PAPER, "published": {**PAPER, **CODE}}

Ask = Literal["separately", "together", "concatenated"]


class HypoEvalScoringSettings(BaseModel):
    """The settings that scoring needs of those a rubric was learned with; others may have come or gone since."""

    model_config = ConfigDict(frozen=True)

    ask: Ask


class HypoEvalSettings(BaseModel):
    """Everything tunable in HypoEval; hashed into the version it produced."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    initial_examples: int = Field(5, ge=2, le=50)
    """Labelled texts that the first hypotheses are proposed from (|S_init|)."""

    initial_hypotheses: int = Field(5, ge=1, le=50)
    """Hypotheses asked for at the start (|H_init|)."""

    k: int = Field(10, ge=1, le=100)
    """Hypotheses of the highest reward that each further labelled text is rated by."""

    alpha: float = Field(0.5, ge=0, le=10)
    """Weight of the exploration bonus in a reward."""

    theta: float = Field(0.5, gt=0, le=4)
    """Error beyond which a rating counts as wrong, in points of a 1 to 5 scale; other scales are mapped to it."""

    wrong_share: float = Field(0.8, ge=0, le=1)
    """Share of the top k that must be wrong, late in training, for a text to enter the bank of wrong examples. It rises
    from 0 in proportion to the texts seen, as in the published code; the paper leaves w_hyp open."""

    wrong_bank: int = Field(10, ge=2, le=100)
    """Wrong examples that trigger new hypotheses (w_max)."""

    new_hypotheses: int = Field(5, ge=1, le=50)
    """Hypotheses asked for each time the bank of wrong examples is full."""

    refine_rounds: int = Field(6, ge=0, le=20)
    """Rounds of refinement of new hypotheses (N_refine): wrong examples and literature in turn."""

    refine_first: Literal["labels", "literature"] = "labels"
    """What the first round of refinement looks at: the wrong examples (paper) or literature (published code)."""

    bank_size: int = Field(20, ge=1, le=200)
    """Most hypotheses kept at any time, and in the final bank (H_max)."""

    selected: int = Field(5, ge=1, le=100)
    """Hypotheses that the rubric keeps, by Pearson correlation on all training labels (H_ev)."""

    positive_only: bool = True
    """Whether a hypothesis must correlate positively with the labels to be kept."""

    sources: Literal["labels and literature", "labels", "literature", "prior knowledge"] = "labels and literature"
    """What hypotheses are proposed from. The last three are the paper's ablations (tables 3 and 7); the last two of
    them do without labelled texts, and then keep the first ones in the generator's order of importance."""

    self_contained: bool = True
    """Whether a proposed hypothesis must be understood without the others, and contradict neither itself nor an earlier
    one in what it counts. One that fails this after one repair leaves. Paper and published code have no such rule."""

    ask: Ask = "separately"
    """One call per criterion and text; one call per text for all criteria; or, the paper's single-criterion ablation,
    one overall score by all criteria at once."""

    bonus: Literal["fresh", "when_visited"] = "fresh"
    """Whether the bonus of every reward is computed anew before ranking, or only that of a hypothesis that was just
    visited (paper and published code)."""

    pool: Literal["bank", "top and new"] = "bank"
    """What competes for the places when new hypotheses arrive: the whole bank with them (published code), or only the
    top k with them (paper), so that every other hypothesis leaves."""

    literature_share: float = Field(0.5, gt=0, le=1)
    """Hypotheses asked for from literature alone, as a share of the final bank: 1 asks for 20 (published code; the
    paper draws at most 10 of an unstated number). Where literature is the only source, the whole bank is asked for."""

    redundancy: Literal["grouped", "every_pair", "off"] = "grouped"
    """How the judge is asked which hypotheses repeat one another: about the whole bank, in groups of the same and the
    nested, once whenever wrong examples lead to new ones and once about the union; or, at the end, about every pair
    inside each of the two banks (paper and published code)."""

    union: Literal["reward", "random", "accuracy"] = "reward"
    """How the final bank is filled from both sides: at most half from literature, in the generator's order, and the
    rest by reward; at most half from each, drawn at random (paper); or at most half from labels, those with the highest
    mean utility, and the rest from literature in the generator's order (published code)."""

    drop_hopeless: bool = True
    """Whether the hypotheses that track the labels least leave while the bank is being rated: after a quarter of the
    texts all but three times, after half of them all but one and a half times as many as are selected."""

    @property
    def from_literature(self) -> int:
        """How many hypotheses are asked for from literature alone."""
        share = 1.0 if self.sources == "literature" else self.literature_share
        return math.ceil(share * self.bank_size)
