"""CheckEval's hyperparameters, and the setting of its paper."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from rubriclab.methods.item_selection import ChoosingSettings, Weighing
from rubriclab.methods.method import Presets
from rubriclab.methods.replies import Number, Whole

# Sections 3.2, 3.3 and 4.4, tables 12 and 13, figures 5 to 9: 3 to 5 seeds, one or two in each sub-dimension, become
# lists of 20 to 35 questions, on average 2 other sides and 4 finer questions for each seed. The model alone filters.
# Answers are yes or no without a reason. No question asks for a defect; none has to be self-contained, or to state what
# it presupposes. No label is used.
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

# Every part is asked about as if it were a text.
FEWEST_PART_WORDS = 50

Ask = Literal["by sub-dimension", "one by one", "together"]
Combine = Literal["share", "all", "any"]
AnswerForm = Literal["with reasons", "yes or no"]


class CheckEvalScoringSettings(BaseModel):
    """The settings that scoring needs of those a rubric was learned with; others may have come or gone since."""

    model_config = ConfigDict(frozen=True)

    ask: Ask = "by sub-dimension"
    """One call per text and sub-dimension; one per question; or one per text (section 3.3: the paper groups by
    sub-dimension, having found no noticeable difference to single questions)."""

    answers: AnswerForm = "with reasons"
    """What an answer holds: a reason and then yes, no or n/a; or yes or no alone (paper)."""

    weights: Weighing = "equal"
    """What a text's score is: the share of good answers among all questions (paper); the mean of these shares by
    sub-dimension, however many questions each has; or a share weighted by regression on the labels (appendix C.2)."""

    part_words: Whole = Field(0, ge=0, le=100_000)
    """Length in words beyond which a text is judged in parts of about this length, each at a text's price: at least 50,
    or 0, which never divides. A Chinese or Japanese character is a word."""

    combine: Combine = "share"
    """What a question's answers about the parts of one text come to: the share of good ones, or a good one only if
    `all` parts, or if `any` part, has it."""


class CheckEvalSettings(CheckEvalScoringSettings, ChoosingSettings):
    """Everything tunable in CheckEval; hashed into the version it produced."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    seeds: Literal["checklist", "prior knowledge"] = "checklist"
    """Where sub-dimensions and seed questions come from: a checklist that people wrote (paper), or the generator, from
    the aspect's definition alone (HypoEval's section 3, which has no such checklist)."""

    seeds_per_sub_dimension: Whole = Field(0, ge=0, le=20)
    """Most seeds of a checklist that are taken of each sub-dimension, the first ones; 0 takes all. The paper's lists
    have 3 to 5 seeds in 2 to 5 sub-dimensions. With `polarity=yes`, seeds about a fault come last."""

    diversified: Whole = Field(3, ge=0, le=20)
    """New questions asked for per sub-dimension, on sides that its seeds leave out; 0 asks for none. The paper's lists
    hold 5 to 12 per dimension of 3 to 5 sub-dimensions (tables 12 and 13)."""

    elaborated_fewest: Whole = Field(3, ge=1, le=30)
    """Fewest finer questions per seed."""

    elaborated_most: Whole = Field(10, ge=0, le=30)
    """Most finer questions per seed; 0 asks for none."""

    self_contained: bool = True
    """Whether generated questions must be understood without the others, must not be earned by a text that is empty or
    makes no sense, and state the answer for such a text and for one that lacks what they ask about. One that fails this
    after one repair leaves. The paper has no such rule."""

    filter: Literal["model and labels", "model", "labels", "off"] = "model and labels"
    """Who takes questions out: the model that wrote them (paper), the training labels, both in turn, or nobody. Without
    labelled texts the model alone does."""

    polarity: Literal["either", "yes"] = "either"
    """Whether the model's filter keeps a question whose "no" is the good answer, and counts it that way round, or takes
    it out (paper)."""

    ends: Number = Field(0.4, ge=0, le=0.5)
    """Share of the labelled texts at the lower and at the upper end on which generated questions are tried: one that
    the worst texts earn as often as the best leaves. 0 tries none. On recorded judgments of 14 sound questions that
    cost 0.00 to 0.01 of Spearman correlation on other texts."""

    most_questions: Whole = Field(35, ge=1, le=200)
    """Most questions that are put to texts; the paper's final lists have 20 to 35."""

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
        """Whether the model takes questions out."""
        return "model" in self.filter

    @property
    def asks_labels(self) -> bool:
        """Whether the labels take questions out."""
        return "labels" in self.filter

    @property
    def weighing(self) -> Weighing:
        """What the questions that stay come to weigh."""
        return self.weights

    @property
    def needs_labels(self) -> str | None:
        """What of these settings makes no sense without labelled texts; `None` if all of them do."""
        if self.filter == "labels":
            return "filter = 'labels'"
        if self.weights == "regression":
            return "weights = 'regression'"
        return f"selected = {self.selected}" if self.selected else None
