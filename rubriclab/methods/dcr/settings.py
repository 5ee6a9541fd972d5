"""DCR's hyperparameters, and the setting of its paper."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from rubriclab.methods.method import Presets
from rubriclab.methods.replies import Whole

# Section 3, appendices C.1 and E.2: one call splits the text and gives a reason for each sentence; a second one
# converts the reasons to marks.
# (`improve --take every` is the paper's improver.)
PRESETS: Presets = {"paper": {"sentences": "judge", "verdict": "converted", "most_per_call": 200}}


class DCRScoringSettings(BaseModel):
    """The stored settings that scoring needs; others are ignored."""

    model_config = ConfigDict(frozen=True)

    level: Literal["sentence", "paragraph"] = "sentence"
    """What is compared with the reference: each sentence (paper), or the whole text at once (the paper's comparison in
    appendix C.3, which misses more inconsistent texts)."""

    sentences: Literal["rules", "judge"] = "rules"
    """What splits the text into sentences: rules, or the judge in the call that compares them (paper), which has all
    sentences of the text then. A reply whose sentences are not the text, word for word, is not usable."""

    verdict: Literal["converted", "with the reason"] = "with the reason"
    """The source of a mark: a second call that reads only the reasons (the paper's AMC), or a verdict in the same reply
    as the reason, for half of the calls. Of 90 sentences of 30 QAGS texts that a language model judged both ways, one
    got a different mark, and agreement with people was the same (Spearman 0.81 converted, 0.84 not)."""

    most_per_call: Whole = Field(default=40, ge=1, le=200)
    """Most sentences, or reasons, in one call; longer texts need several calls. The paper has all in one."""


class DCRSettings(DCRScoringSettings):
    """Hyperparameters of DCR; part of the digest of a version."""

    model_config = ConfigDict(frozen=True, extra="forbid")
