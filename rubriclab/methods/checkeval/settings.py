"""CheckEval's hyperparameters, and the setting of its paper."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from rubriclab.methods.method import Presets
from rubriclab.methods.replies import Whole

# Sections 3.2, 3.3 and 4.4, tables 12 and 13, figures 5 to 9: 3 to 5 seeds, one or two in each sub-dimension, become
# lists of 20 to 35 questions, on average 2 diversified and 4 elaborated ones for each seed. Only the model filters.
# Answers are yes or no without a reason. No labels or raters' reasons are used, and no number of questions is cut.
PRESETS: Presets = {
    "paper": {
        "seeds_per_sub_dimension": 1,
        "diversified": 2,
        "filter": "model",
        "procedure": "paper",
        "most": 100,
        "answers": "yes or no",
    }
}

Ask = Literal["by sub-dimension", "one by one", "together"]
AnswerForm = Literal["with reasons", "yes or no"]


class CheckEvalScoringSettings(BaseModel):
    """The stored settings that scoring needs; others are ignored."""

    model_config = ConfigDict(frozen=True)

    ask: Ask = "by sub-dimension"
    """One call per text and sub-dimension; one per question; or one per text (section 3.3: the paper groups by
    sub-dimension, having found no noticeable difference to single questions)."""

    answers: AnswerForm = "with reasons"
    """What an answer contains: a reason and then yes, no or n/a; or only yes or no (paper)."""


class CheckEvalSettings(CheckEvalScoringSettings):
    """Hyperparameters of CheckEval; part of the digest of a version."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    seeds: Literal["checklist", "prior knowledge"] = "checklist"
    """The source of sub-dimensions and seed questions: a checklist written by people (paper), or the generator, from
    the aspect's definition alone (HypoEval, section 3)."""

    seeds_per_sub_dimension: Whole = Field(default=0, ge=0, le=20)
    """Most seeds of each sub-dimension that are used, the first ones; 0 uses all. The paper's lists have 3 to 5 seeds
    in 2 to 5 sub-dimensions. With `procedure=paper`, seeds about a fault come last."""

    diversified: Whole = Field(default=3, ge=0, le=20)
    """New questions requested per sub-dimension about sides that its seeds do not cover; 0 requests none. The paper's
    lists have 5 to 12 per dimension of 3 to 5 sub-dimensions (tables 12 and 13)."""

    elaborated_most: Whole = Field(default=10, ge=0, le=30)
    """Most finer questions per seed; 0 requests none."""

    procedure: Literal["improved", "paper"] = "improved"
    """The rules of diversification, elaboration and the model's filter: ours or those of the paper.

    - One call diversifies, and one or several filter, each sub-dimension; or (paper) one call the whole aspect.
    - Generators are asked for questions that can be understood alone, must not be passed by a text that is empty or
      makes no sense, and state the answers for such a text and for one that lacks their subject. A question that such a
      text still passes after one repair is dropped. The paper has no such rule.
    - Diversification is shown raters' reasons, if there are any; or (paper) not.
    - A question whose good answer is "no" is kept; or (paper) dropped.
    - Questions that ask several things, or that are nested in others, are dropped; or (paper) only those of which yes
      is no good answer, which are about another aspect, repeat another question, exaggerate or are trifling.
    """

    filter: Literal["model and labels", "model", "off"] = "model and labels"
    """What drops questions: the model that wrote them (paper) and then the training labels, the model alone, or nothing
    (the paper's ablation). Without labelled texts only the model does."""

    most: Whole = Field(default=35, ge=1, le=100)
    """Most questions that are asked about texts, as evenly from all seeds as possible; the paper's final lists have 20
    to 35."""
