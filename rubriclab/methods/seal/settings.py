"""SEAL's hyperparameters, and the setting of its paper."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from rubriclab.methods.item_selection import SelectionSettings, Weighing
from rubriclab.methods.method import Presets
from rubriclab.methods.replies import Number, Whole
from rubriclab.segmentation import UnitKind, Units

# Sections 3.3 to 3.5 and 4, table 19 and appendix D: sub-dimensions written by hand, no labels, the model splits texts
# into sentences, one call for all verdicts. (The paper's prompts request no reasons; here every verdict has one.)
PRESETS: Presets = {
    "paper": {
        "units": "as packed",
        "sentences": "judge",
        "proposed": 0,
        "filter": "off",
        "selected": 0,
        "ask": "together",
        "most_per_call": 200,
        "whole_below_sentences": 3,
        "whole_below_facts": 6,
        "whole": "rated",
        "decompose": True,
        "verify": True,
        "weights": "as packed",
    }
}

Ask = Literal["together", "by sub-dimension", "one by one"]

# Without a pack, a text is judged whole, like a response.
UNPACKED = Units(kind="response", beside=("source", "context"))


class SealScoringSettings(BaseModel):
    """The stored settings that scoring needs; others are ignored."""

    model_config = ConfigDict(frozen=True)

    ask: Ask = "together"
    """All questions about all units in one call (paper); one call per sub-dimension; or one per question and unit."""

    most_per_call: Whole = Field(default=40, ge=1, le=200)
    """Most verdicts in one call; more need further calls."""

    whole_below_sentences: Whole = Field(default=3, ge=2, le=100)
    """Number of sentences below which a text is judged whole, if units are sentences or pairs of them. The paper tries
    2 to 5 and finds 3 best (table 19). A single sentence is always judged whole."""

    whole_below_facts: Whole = Field(default=6, ge=1, le=100)
    """Number of facts below which a text is judged whole, if units are facts. The paper tries 5 to 8 and finds 6 best
    (table 19); with 1, texts are never judged whole."""

    whole: Literal["rated", "verified"] = "rated"
    """How a text below these bounds is judged: rated on the scale, question by question, or by yes and no."""

    sentences: Literal["rules", "judge"] = "rules"
    """What splits a text into sentences, if units are sentences or pairs of them: rules, at no cost, or the judge in a
    separate call (paper). Facts are always extracted by the judge."""

    decompose: bool = True
    """Whether texts are decomposed into units; if not, each is verified whole (the paper's ablation w/o SD)."""

    verify: bool = True
    """Whether units are judged by yes and no; if not, they are rated on the scale (the paper's ablation w/o SV)."""

    weights: Literal["as packed", "judge", "equal", "labels"] = "as packed"
    """The weights of questions: those of the pack; those that the judge gives for each text (paper, for dialogue and
    QAGS); equal weights (its ablation w/o weights); or those of a regression on the training labels."""

    most_facts: Whole = Field(default=6, ge=1, le=30)
    """Most facts extracted from one sentence."""


class SealSettings(SealScoringSettings, SelectionSettings):
    """Hyperparameters of SEAL; part of the digest of a version."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    units: Literal["as packed", "sentence", "sentence pair", "fact", "response", "triple"] = "as packed"
    """The units of a text: those of the pack, or others. Without a pack a text is judged whole."""

    proposed: Whole = Field(default=4, ge=0, le=20)
    """New sub-dimensions requested, each with its question; 0 requests none (paper)."""

    shown: Whole = Field(default=6, ge=0, le=30)
    """Labelled texts of low, middle and high score in the prompt of a proposal; 0 shows none."""

    filter: Literal["labels", "off"] = "labels"
    """What drops questions: the training labels, or nothing. Without labelled texts all are kept."""

    tracking: Number = Field(default=0.2, ge=0, le=1)
    """Significance level (one-sided) of the positive correlation with the labels that a proposed question needs to be
    kept; with 1 it needs no more than a question that a person wrote."""

    @property
    def asks_labels(self) -> bool:
        """Whether labels drop questions."""
        return self.filter == "labels"

    @property
    def weighing(self) -> Weighing:
        """How the selected questions are weighted, unless the judge weights them."""
        return "regression" if self.weights == "labels" else "equal"

    @property
    def needs_labels(self) -> str | None:
        """The setting that needs labelled texts; `None` if there is none."""
        if self.weights == "labels":
            return "weights = 'labels'"
        return f"selected = {self.selected}" if self.selected else None


def units_of(packed: Units | None, kind: UnitKind | Literal["as packed"]) -> Units:
    """Return the units by the pack and the setting."""
    units = packed or UNPACKED
    return units if kind == "as packed" else units.model_copy(update={"kind": kind})


def judge_weighs(units: Units, settings: SealScoringSettings) -> bool:
    """Return whether the judge gives weights for each text."""
    return settings.weights == "judge" or (settings.weights == "as packed" and units.weights == "judge")
