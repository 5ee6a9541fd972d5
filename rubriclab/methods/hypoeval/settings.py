"""HypoEval's hyperparameters, with the paper's defaults (section 2 and appendix B.1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

# What the published code does where it differs from the paper's text or from what measured better here.
PUBLISHED: Mapping[str, Any] = {
    "bonus": "when_visited",
    "redundancy": "every_pair",
    "union": "random",
    "drop_hopeless": False,
    "positive_only": False,
    "wrong_bank": 5,
    "refine_first": "literature",
}


Ask = Literal["separately", "together", "concatenated"]


class ScoringSettings(BaseModel):
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

    ask: Ask = "separately"
    """One call per criterion and text; one call per text for all criteria; or, the paper's single-criterion ablation,
    one overall score by all criteria at once."""

    bonus: Literal["fresh", "when_visited"] = "fresh"
    """Whether every reward's bonus is recomputed before ranking, or only a visited hypothesis' (published code)."""

    redundancy: Literal["grouped", "every_pair", "off"] = "grouped"
    """How the judge is asked which hypotheses repeat one another: once about the whole union, in groups of the same and
    the nested; or about every pair inside the two banks (published code)."""

    union: Literal["reward", "random"] = "reward"
    """How the final bank is filled from both sides: at most half from literature, in the generator's order, and the
    rest by reward; or half from each by lot (paper)."""

    drop_hopeless: bool = True
    """Whether the hypotheses that track the labels least leave while the bank is being rated: after a quarter of the
    texts all but three times, after half of them all but one and a half times as many as are selected."""
