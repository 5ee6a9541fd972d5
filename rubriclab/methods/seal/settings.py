"""SEAL's hyperparameters, and the setting of its paper."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from rubriclab.methods.item_selection import ChoosingSettings, Weighing
from rubriclab.methods.method import Presets
from rubriclab.methods.replies import Number, Whole
from rubriclab.segmentation import UnitKind, Units

# Sections 3.3 to 3.5 and 4, table 19 and appendix D: sub-dimensions written by hand, no labels, the model splits texts
# into sentences, one call holds all verdicts. (The paper's prompts ask for no reasons; here every verdict has one.)
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

# Where no pack says what a text is taken apart into, it is judged whole, like a response.
UNPACKED = Units(kind="response", beside=("source", "context"))


class SealScoringSettings(BaseModel):
    """The settings that scoring needs of those a rubric was learned with; others may have come or gone since."""

    model_config = ConfigDict(frozen=True)

    ask: Ask = "together"
    """All questions about all units in one call (paper); one call per sub-dimension; or one per question and unit."""

    most_per_call: Whole = Field(40, ge=1, le=200)
    """Most verdicts asked for in one call; what is beyond goes to further calls."""

    whole_below_sentences: Whole = Field(3, ge=2, le=100)
    """Sentences below which a text is judged whole, where units are sentences or pairs of them. The paper tries 2 to 5
    and finds 3 best (table 19). One sentence alone is always judged whole."""

    whole_below_facts: Whole = Field(6, ge=1, le=100)
    """Facts below which a text is judged whole, where units are facts. The paper tries 5 to 8 and finds 6 best
    (table 19); 1 never judges it whole."""

    whole: Literal["rated", "verified"] = "rated"
    """How a text below these bounds is judged: rated on the scale, question by question, or by yes and no."""

    sentences: Literal["rules", "judge"] = "rules"
    """Who splits a text into sentences, where units are sentences or pairs of them: rules, at no cost, or the judge in
    a call of its own (paper). Facts are always taken out by the judge."""

    decompose: bool = True
    """Whether texts are taken apart into units; if not, each is verified as one (the paper's ablation w/o SD)."""

    verify: bool = True
    """Whether units are judged by yes and no; if not, they are rated on the scale (the paper's ablation w/o SV)."""

    weights: Literal["as packed", "judge", "equal", "labels"] = "as packed"
    """What the questions count for: what the pack says; what the judge says of each text (paper, for dialogue and
    QAGS); all the same (its ablation w/o weights); or what a regression on the training labels says."""

    most_facts: Whole = Field(6, ge=1, le=30)
    """Most facts taken from one sentence."""


class SealSettings(SealScoringSettings, ChoosingSettings):
    """Everything tunable in SEAL; hashed into the version it produced."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    units: Literal["as packed", "sentence", "sentence pair", "fact", "response", "triple"] = "as packed"
    """What a text is taken apart into: what the pack says, or something else. Without a pack it is judged whole."""

    proposed: Whole = Field(4, ge=0, le=20)
    """New sub-dimensions asked for, each with its question; 0 asks for none (paper, to which they are future work)."""

    shown: Whole = Field(6, ge=0, le=30)
    """Labelled texts of low, middle and high score that a proposal is made from; 0 shows none."""

    filter: Literal["labels", "off"] = "labels"
    """Who takes questions out: the training labels, or nobody. Without labelled texts all stay."""

    tracking: Number = Field(0.2, ge=0, le=1)
    """A proposed question stays only where chance alone would give a correlation with the labels as high in fewer cases
    than this; 1 asks no more of it than of a question that a person wrote."""

    @property
    def asks_labels(self) -> bool:
        """Whether the labels take questions out."""
        return self.filter == "labels"

    @property
    def weighing(self) -> Weighing:
        """What the questions that stay come to weigh, unless the judge weighs them."""
        return "regression" if self.weights == "labels" else "equal"

    @property
    def needs_labels(self) -> str | None:
        """What of these settings makes no sense without labelled texts; `None` if all of them do."""
        if self.weights == "labels":
            return "weights = 'labels'"
        return f"selected = {self.selected}" if self.selected else None


def units_of(packed: Units | None, kind: UnitKind | Literal["as packed"]) -> Units:
    """Return what a text is taken apart into, of the pack's units and the setting."""
    units = packed or UNPACKED
    return units if kind == "as packed" else units.model_copy(update={"kind": kind})


def judge_weighs(units: Units, settings: SealScoringSettings) -> bool:
    """Return whether the judge weighs the questions for each text anew."""
    return settings.weights == "judge" or (settings.weights == "as packed" and units.weights == "judge")
