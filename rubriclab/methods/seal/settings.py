"""SEAL's hyperparameters, and the setting of its paper."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from rubriclab.methods.method import Presets
from rubriclab.methods.replies import Whole
from rubriclab.models.text import Units

# Sections 3.3 to 3.5 and 4, table 19 and appendix D: sub-dimensions written by hand, no labels, the model splits texts
# into sentences, one call for all verdicts, and one for the facts of all texts. No prompt asks for reasons.
PRESETS: Presets = {
    "paper": {
        "sentences": "judge",
        "facts": "one call",
        "answers": "bare",
        "proposed": 0,
        "filter": "off",
        "most_per_call": 200,
    }
}

# Without a pack, a text is judged whole, like a response.
UNPACKED = Units(kind="response", beside=("source", "context"))


class SealScoringSettings(BaseModel):
    """The stored settings that scoring needs; others are ignored."""

    model_config = ConfigDict(frozen=True)

    most_per_call: Whole = Field(default=40, ge=1, le=200)
    """Most verdicts in one call; more need further calls. The paper has all in one."""

    whole_below_sentences: Whole = Field(default=3, ge=2, le=100)
    """Number of sentences below which a text is rated whole on the scale, if units are sentences or pairs of them. The
    paper tries 2 to 5 and finds 3 best (table 19). A single sentence is always rated whole."""

    whole_below_facts: Whole = Field(default=6, ge=1, le=100)
    """Number of facts below which a text is rated whole on the scale, if units are facts. The paper tries 5 to 8 and
    finds 6 best (table 19); with 1, texts are never rated whole."""

    sentences: Literal["rules", "judge"] = "rules"
    """What splits a text into sentences, if units are sentences or pairs of them: rules, at no cost, or the judge in a
    separate call (paper). Facts are always extracted by the judge."""

    facts: Literal["by text", "one call"] = "by text"
    """How facts are extracted, if units are facts: text by text, in portions, so that those of a source are extracted
    once for all its outputs; or those of the output and of all that it is compared with in one call (paper)."""

    answers: Literal["with reasons", "bare"] = "with reasons"
    """What a verdict contains: a reason and then the answer, the supporting facts or the score; or these alone
    (paper)."""

    decompose: bool = True
    """Whether texts are decomposed into units; if not, each is verified whole (the paper's ablation w/o SD)."""

    verify: bool = True
    """Whether units are judged by yes and no; if not, they are rated on the scale (the paper's ablation w/o SV)."""

    weights: Literal["as packed", "judge", "equal"] = "as packed"
    """The weights of questions: those of the pack; those that the judge gives for each text (paper, for dialogue and
    QAGS); or equal weights (its ablation w/o weights)."""


class SealSettings(SealScoringSettings):
    """Hyperparameters of SEAL; part of the digest of a version."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    proposed: Whole = Field(default=4, ge=0, le=20)
    """New sub-dimensions requested, each with its question; 0 requests none (paper)."""

    filter: Literal["labels", "off"] = "labels"
    """What drops questions: the training labels, or nothing (paper). Without labelled texts all are kept."""


def judge_weighs(units: Units, settings: SealScoringSettings) -> bool:
    """Return whether the judge gives weights for each text."""
    return settings.weights == "judge" or (settings.weights == "as packed" and units.weights == "judge")
