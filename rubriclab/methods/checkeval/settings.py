"""CheckEval's hyperparameters, and the setting of its paper."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from rubriclab.methods.item_selection import SelectionSettings, Weighing
from rubriclab.methods.method import Presets
from rubriclab.methods.replies import Number, Whole

# Sections 3.2, 3.3 and 4.4, tables 12 and 13, figures 5 to 9: 3 to 5 seeds, one or two in each sub-dimension, become
# lists of 20 to 35 questions, on average 2 diversified and 4 elaborated ones for each seed. Only the model filters.
# Answers are yes or no without a reason. No question asks for a defect, and questions need not be self-contained or
# state what they presuppose. No labels are used.
PRESETS: Presets = {
    "paper": {
        "seeds": "checklist",
        "seeds_per_sub_dimension": 1,
        "diversified": 2,
        "elaborated_fewest": 3,
        "elaborated_most": 10,
        "filter": "model",
        "self_contained": False,
        "polarity": "yes",
        "ends": 0,
        "most_questions": 35,
        "selected": 0,
        "ask": "by sub-dimension",
        "answers": "yes or no",
        "weights": "equal",
        "part_words": 0,
    }
}

# Parts are judged like whole texts.
FEWEST_PART_WORDS = 50

Ask = Literal["by sub-dimension", "one by one", "together"]
Combine = Literal["share", "all", "any"]
AnswerForm = Literal["with reasons", "yes or no"]


class CheckEvalScoringSettings(BaseModel):
    """The stored settings that scoring needs; others are ignored."""

    model_config = ConfigDict(frozen=True)

    ask: Ask = "by sub-dimension"
    """One call per text and sub-dimension; one per question; or one per text (section 3.3: the paper groups by
    sub-dimension, having found no noticeable difference to single questions)."""

    answers: AnswerForm = "with reasons"
    """What an answer contains: a reason and then yes, no or n/a; or only yes or no (paper)."""

    weights: Weighing = "equal"
    """The score of a text: the share of good answers among all questions (paper); the mean of the shares of all
    sub-dimensions, whatever their numbers of questions; or a share weighted by regression on the labels (appendix
    C.2)."""

    part_words: Whole = Field(default=0, ge=0, le=100_000)
    """Length in words from which a text is judged in parts of about this length, each at the price of a text: at least
    50, or 0, which never divides. A Chinese or Japanese character is a word."""

    combine: Combine = "share"
    """How the answers about the parts of one text are combined: the share of good answers, or a good answer only if
    `all` parts, or `any` part, has it."""


class CheckEvalSettings(CheckEvalScoringSettings, SelectionSettings):
    """Hyperparameters of CheckEval; part of the digest of a version."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    seeds: Literal["checklist", "prior knowledge"] = "checklist"
    """The source of sub-dimensions and seed questions: a checklist written by people (paper), or the generator, from
    the aspect's definition alone (HypoEval, section 3)."""

    seeds_per_sub_dimension: Whole = Field(default=0, ge=0, le=20)
    """Most seeds of each sub-dimension that are used, the first ones; 0 uses all. The paper's lists have 3 to 5 seeds
    in 2 to 5 sub-dimensions. With `polarity=yes`, seeds about a fault come last."""

    diversified: Whole = Field(default=3, ge=0, le=20)
    """New questions requested per sub-dimension about sides that its seeds do not cover; 0 requests none. The paper's
    lists have 5 to 12 per dimension of 3 to 5 sub-dimensions (tables 12 and 13)."""

    elaborated_fewest: Whole = Field(default=3, ge=1, le=30)
    """Fewest finer questions per seed."""

    elaborated_most: Whole = Field(default=10, ge=0, le=30)
    """Most finer questions per seed; 0 requests none."""

    self_contained: bool = True
    """Whether generated questions must be understandable alone, must not be passed by a text that is empty or makes no
    sense, and state the answers for such a text and for one that lacks their subject. A question that still fails after
    one repair is dropped. The paper has no such rule."""

    filter: Literal["model and labels", "model", "labels", "off"] = "model and labels"
    """What drops questions: the model that wrote them (paper), the training labels, both in turn, or nothing. Without
    labelled texts only the model does."""

    polarity: Literal["either", "yes"] = "either"
    """Whether the model's filter keeps a question whose good answer is "no", or drops it (paper)."""

    ends: Number = Field(default=0.4, ge=0, le=0.5)
    """Share of the labelled texts with the lowest and with the highest labels on which generated questions are tried: a
    question that the worst texts pass as often as the best is dropped. 0 tries none. On recorded judgments of 14 good
    questions it cost 0.00 to 0.01 of Spearman correlation on other texts."""

    most_questions: Whole = Field(default=35, ge=1, le=200)
    """Most questions that are asked about texts; the paper's final lists have 20 to 35."""

    @field_validator("part_words")
    @classmethod
    def _worth_a_call(cls, words: int) -> int:
        if 0 < words < FEWEST_PART_WORDS:
            raise ValueError(f"expected 0 or at least {FEWEST_PART_WORDS}, got {words}")
        return words

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if 0 < self.elaborated_most < self.elaborated_fewest:
            raise ValueError(
                f"elaborated_fewest is {self.elaborated_fewest}, above elaborated_most, {self.elaborated_most}"
            )
        return self

    @property
    def asks_model(self) -> bool:
        """Whether the model drops questions."""
        return "model" in self.filter

    @property
    def asks_labels(self) -> bool:
        """Whether labels drop questions."""
        return "labels" in self.filter

    @property
    def weighing(self) -> Weighing:
        """How the selected questions are weighted."""
        return self.weights

    @property
    def needs_labels(self) -> str | None:
        """The setting that needs labelled texts; `None` if there is none."""
        if self.filter == "labels":
            return "filter = 'labels'"
        if self.weights == "regression":
            return "weights = 'regression'"
        return f"selected = {self.selected}" if self.selected else None
