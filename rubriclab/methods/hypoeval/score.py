"""HypoEval's hyperparameters, their values in the paper and its code, and ratings of texts by hypotheses."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import Field

from rubriclab.judges.judge import Judge, ask
from rubriclab.methods.method import CriterionRating, Presets, Scored
from rubriclab.methods.prompting import Rating, ask_entries, gather, rating_of_answer, score_entry
from rubriclab.models.base import MethodSettings
from rubriclab.models.rubric import Criterion, Part, criterion_prompt_fields, in_prompt_order
from rubriclab.models.text import Assignment, Example
from rubriclab.prompts.prompt import ExpectedEntry, Prompt, keyed_reply
from rubriclab.stats.intervals import DIGITS

# Settings that `PAPER` does not name have the paper's values as defaults (section 2, B.1). The default of
# `new_hypotheses`, and the formulas in `n_from_literature` and `n_wrong_needed` (in `learn`), are from its code.
PAPER: Mapping[str, Any] = {"procedure": "paper", "drop_hopeless": False}
PRESETS: Presets = {"paper": PAPER, "published": {**PAPER, "procedure": "published", "wrong_bank": 5}}

HowAsked = Literal["separately", "together", "concatenated"]
Procedure = Literal["improved", "paper", "published"]  # `published`: as in the code that its authors published

# The id of the rating, if a text gets a single one by all hypotheses.
OVERALL = "overall"
# A text has no score if the hypotheses that have rated it have less than this share of all hypotheses' weights.
MIN_RATED_WEIGHT = 0.5


class HypoEvalSettings(MethodSettings):
    """Hyperparameters of HypoEval; part of the digest of a version."""

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

    wrong_bank: int = Field(default=10, ge=2, le=100)
    """Number of wrongly rated texts that trigger new hypotheses (w_max)."""

    new_hypotheses: int = Field(default=5, ge=1, le=50)
    """Hypotheses requested each time there are `wrong_bank` wrongly rated texts."""

    refine_rounds: int = Field(default=6, ge=0, le=20)
    """Rounds of refinement of new hypotheses (N_refine), in view of wrongly rated texts and of literature in turn."""

    bank_size: int = Field(default=20, ge=1, le=200)
    """At most this many hypotheses are kept at any time, and in the final bank (H_max)."""

    selected: int = Field(default=5, ge=1, le=100)
    """Hypotheses that the rubric keeps, by Pearson correlation on all training labels (H_ev)."""

    sources: Literal["labels and literature", "labels", "literature", "prior knowledge"] = "labels and literature"
    """The material that hypotheses are proposed from. The last three are the paper's ablations (tables 3 and 7); the
    last two need no labelled texts. Without labelled texts, the first hypotheses in the generator's order of
    importance are kept."""

    ask: HowAsked = "separately"
    """One call per criterion and text; one call per text for all criteria; or, the paper's single-criterion ablation,
    one overall score by all criteria at once."""

    procedure: Procedure = "improved"
    """The rules of proposing, ranking, comparing and joining hypotheses: ours, those of the paper, or those of its
    published code; `docs/methods.md` compares them."""

    drop_hopeless: bool = True
    """Whether the hypotheses with the lowest correlation are dropped before all texts are rated. After a quarter of the
    texts, three times `selected` hypotheses stay; after half of the texts, one and a half times `selected`."""

    @property
    def n_from_literature(self) -> int:
        is_half = self.procedure == "improved" and self.sources != "literature"
        return math.ceil(self.bank_size / 2) if is_half else self.bank_size


async def rate(
    example: Example, criteria: Sequence[Criterion], assignment: Assignment, judge: Judge, ask_how: HowAsked
) -> tuple[CriterionRating, ...]:
    """Return a rating for each criterion, in order; a single one with the id `overall` if they are `concatenated`."""
    if ask_how == "together" and len(criteria) > 1:
        prompt = rate_prompt(example, criteria, assignment, for_each=True)
        entries, missing_reason = await ask_entries(judge, prompt, "rating")
        ratings = {each.id: CriterionRating(each.id, None, missing_reason) for each in criteria}
        ratings |= {id_: CriterionRating(id_, entry.score, entry.reason) for id_, entry in entries.items()}
        return tuple(ratings.values())
    criteria_by_rating_id = {OVERALL: criteria} if ask_how == "concatenated" else {each.id: [each] for each in criteria}
    prompts = [rate_prompt(example, call_criteria, assignment) for call_criteria in criteria_by_rating_id.values()]
    answers = await gather(ask(judge, prompt) for prompt in prompts)
    return tuple(map(rating_of_answer, criteria_by_rating_id, answers))


def rate_prompt(
    example: Example, criteria: Sequence[Criterion], assignment: Assignment, *, for_each: bool = False
) -> Prompt[Any]:
    """Return the prompt for one rating by all criteria or, with `for_each`, for a rating by each criterion."""
    shown = in_prompt_order(criteria) if for_each else criteria
    fields = {
        **assignment.fields(),
        **assignment.text_fields(example, with_source=any(each.needs_source for each in criteria)),
        "criteria": [criterion_prompt_fields(criterion) for criterion in shown],
    }
    if not for_each:
        return Prompt("hypoeval/rate", fields, Rating, max_tokens=512)
    entry_type = score_entry(fields)
    reply_model = keyed_reply(tuple(ExpectedEntry(each.id, entry_type, names=(each.trait,)) for each in shown))
    return Prompt("hypoeval/rate_together", fields, reply_model, max_tokens=256 + 128 * len(criteria))


async def score(example: Example, part: Part, assignment: Assignment, judge: Judge) -> Scored:
    """Return the weighted mean of the text's ratings by the part's hypotheses, and the ratings with their reasons."""
    settings = HypoEvalSettings.model_validate(part.settings)
    ratings = await rate(example, part.criteria, assignment, judge, settings.ask)
    weights = {criterion.id: criterion.weight for criterion in part.criteria} | {OVERALL: 1.0}
    weighted_scores = [(weights[rating.id], rating.score) for rating in ratings if rating.score is not None]
    rated_weight = sum(weight for weight, _ in weighted_scores)
    if not weighted_scores or rated_weight < MIN_RATED_WEIGHT * sum(weights[rating.id] for rating in ratings):
        return None, ratings
    return round(sum(weight * score for weight, score in weighted_scores) / rated_weight, DIGITS), ratings
