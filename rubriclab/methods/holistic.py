"""One score of the whole aspect: a single answer, or the probability-weighted mean of the possible scores.

SEEval and the baselines share this. Weighting follows G-Eval (Liu et al. 2023, EMNLP, "G-Eval: NLG Evaluation using
GPT-4 with Better Human Alignment", section 2): the sum of p(s) * s over the legal scores s, from the provider's
log-probabilities, or otherwise from samples.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from rubriclab.errors import JudgeError
from rubriclab.judges.ask import JudgeAnswer, ask
from rubriclab.judges.judge import Judge
from rubriclab.judges.logprobs import score_distribution
from rubriclab.methods.method import CriterionRating, Learned, Progress, ScoreFunction, TrainingInput
from rubriclab.methods.prompting import gathered
from rubriclab.methods.replies import AssessableRating, OnScale, Rating, Whole, rating
from rubriclab.models.rubric import Criterion, Part
from rubriclab.models.text import (
    Assignment,
    Example,
    Scale,
    Units,
    show,
)
from rubriclab.option_names import option
from rubriclab.prompts import Prompt
from rubriclab.stats.correlation import FloatArray, floats, pearson
from rubriclab.stats.intervals import DIGITS, rounded

# The most that providers report at each position of a reply.
ALTERNATIVES = 20

# On scales with more whole scores, the reported alternatives are not a distribution over all of them.
MOST_SCORES = 100

# Sampling temperature of weighted scores, as in the papers of G-Eval and SEEval.
TEMPERATURE = 1.0

# Samples are numbered with gaps; the numbers between are for repeated requests after unusable replies.
STRIDE = 10

# A smaller share of usable samples gives no score.
LEAST_SAMPLES = 0.5


class HolisticSettings(BaseModel):
    """How one score of the whole aspect is requested."""

    model_config = ConfigDict(frozen=True)

    scoring: Literal["once", "weighted", "sampled"] = "once"
    """One answer at temperature 0; or the probability-weighted mean of the legal scores, by the provider's
    log-probabilities if it reports them and otherwise by samples, or always by samples."""

    form: Literal["with a reason", "score only"] = "with a reason"
    """What a single answer contains: a reason and then the score; or a whole score alone, as in the papers of G-Eval
    and SEEval (analyze_rate keeps its analysis). A weighted score is always requested alone."""

    samples: Whole = Field(default=20, ge=1, le=100)
    """Answers sampled for a weighted score; 20 in the papers of G-Eval and SEEval."""

    @property
    def calls(self) -> int:
        """The number of calls for a score; one is enough if the provider reports probabilities."""
        return 1 if self.scoring == "once" else self.samples


def reasoned_once(settings: Mapping[str, Any]) -> bool:
    """Return whether a part with these settings requests one score with a reason, which can share a call.

    Weighted scores need the probabilities of a separate reply, and every entry of a shared reply has a reason.
    """
    overall = HolisticSettings.model_validate(settings)
    return overall.scoring == "once" and overall.form == "with a reason"


# Without a reason, so that the probability of a score does not depend on one sampled reasoning.
class BareScore(BaseModel):
    """A score and nothing else."""

    score: OnScale

    @property
    def reasoning(self) -> str:
        """Empty: no reason was requested."""
        return ""


@dataclass(frozen=True, slots=True)
class ScoreFormat:
    """A method's request for a score: template, additional fields, and the replies with and without a reason."""

    template: str
    fields: Callable[[Criterion], Mapping[str, Any]]
    reasoned: type[BaseModel] = Rating
    alone: type[BaseModel] = BareScore
    max_tokens: int = 512


def holistic_prompt(
    example: Example, criterion: Criterion, assignment: Assignment, form: ScoreFormat, settings: HolisticSettings
) -> Prompt[Any]:
    """Return the prompt for one score of `example`, or for the first sample of a weighted score."""
    weighted = settings.scoring != "once"
    score_only = weighted or settings.form == "score only"
    assessable = not score_only and form.reasoned is Rating and assignment.scale.names is not None
    fields = {
        **(assignment.assessable_fields() if assessable else with_answer_scale(assignment, settings).fields()),
        **assignment.text_fields(example),
        **form.fields(criterion),
        "score_only": score_only,
    }
    reply = form.alone if score_only else AssessableRating if assessable else form.reasoned
    bare = reply is BareScore
    reported = settings.scoring == "weighted" and bare
    return Prompt(
        form.template,
        fields,
        reply,
        temperature=TEMPERATURE if weighted else 0.0,
        max_tokens=64 if bare else form.max_tokens,
        alternatives=ALTERNATIVES if reported else 0,
    )


def with_answer_scale(assignment: Assignment, settings: HolisticSettings) -> Assignment:
    """Return the assignment with the scale of single answers.

    Weighted scores and scores without a reason are requested in whole steps if the ends of the scale are whole: a
    weighted mean gives values in between, and whole scores are single tokens. A scale from 0 to 1, with only two whole
    scores, is reduced only for the papers' form.
    """
    scale, alone = assignment.scale, settings.form == "score only"
    whole = scale.low.is_integer() and scale.high.is_integer() and (scale.width > 1 or alone)
    if not (whole and (alone or settings.scoring != "once")):
        return assignment
    return replace(assignment, scale=Scale(low=scale.low, high=scale.high, whole=True))


async def holistic_rating(
    example: Example,
    criterion: Criterion,
    assignment: Assignment,
    judge: Judge,
    *,
    form: ScoreFormat,
    settings: HolisticSettings,
) -> CriterionRating:
    """Return the text's score by one criterion of the whole aspect, rounded, with the reason."""
    prompt = holistic_prompt(example, criterion, assignment, form, settings)
    first = await ask(judge, prompt)
    if settings.scoring == "once":
        return _rated(criterion.id, first)
    probabilities = distribution(first, prompt)
    if probabilities:
        expected = sum(score * share for score, share in probabilities.items())
        return CriterionRating(
            criterion.id, round(expected, DIGITS), f"Probability-weighted: {_shares(probabilities)}."
        )
    numbers = range(1, settings.samples)
    later = (replace(prompt, sample=STRIDE * number, alternatives=0) for number in numbers)
    return _mean(criterion.id, [first, *await asyncio.gather(*(ask(judge, each) for each in later))])


def distribution(answer: JudgeAnswer[Any], prompt: Prompt[Any]) -> Mapping[float, float] | None:
    """Return the reported probability of each legal score; `None` without a usable reply or reported probabilities."""
    scale = prompt.fields["scale"]
    if answer.value is None or answer.reply is None or not prompt.alternatives or not scale["whole"]:
        return None
    if scale["high"] - scale["low"] > MOST_SCORES:
        return None
    legal = [float(score) for score in range(int(scale["low"]), int(scale["high"]) + 1)]
    return score_distribution(answer.reply, legal)


async def score_all(
    training_input: TrainingInput, criterion: Criterion, judge: Judge, form: ScoreFormat, settings: HolisticSettings
) -> dict[str, CriterionRating]:
    """Return each example's score by `criterion`, by id."""
    scored = (
        holistic_rating(example, criterion, training_input.assignment, judge, form=form, settings=settings)
        for example in training_input.examples
    )
    return dict(zip((example.id for example in training_input.examples), await asyncio.gather(*scored), strict=True))


def require_scores(rated: Sequence[CriterionRating]) -> None:
    """Check that a text has a score, if there are any texts.

    Raises:
        JudgeError: if none of the texts has a score.
    """
    if rated and all(rating.score is None for rating in rated):
        reason = rated[0].reason
        raise JudgeError(
            f"The judge gave no usable score for any training text: {reason}", f"Try another {option('judge')}."
        )


def values(rated: Mapping[str, CriterionRating], ids: Sequence[str]) -> FloatArray:
    """Return the scores of the texts with these ids, NaN if missing or not requested."""
    return floats(rated[name].score if name in rated else None for name in ids)


def with_evidence(criterion: Criterion, scores: FloatArray, labels: FloatArray) -> Criterion:
    """Return the criterion with its correlation with the labels as evidence."""
    judged = ~np.isnan(scores)
    evidence = criterion.evidence.model_copy(
        update={
            "pearson": rounded(pearson(scores[judged], labels[judged])) if judged.sum() > 1 else None,
            "judged": int(judged.sum()),
            "missing": int((~judged).sum()),
        }
    )
    return criterion.model_copy(update={"evidence": evidence})


async def learn_single(
    method: str,
    training_input: TrainingInput,
    criterion: Criterion,
    judge: Judge,
    *,
    form: ScoreFormat,
    settings: HolisticSettings,
    on_progress: Progress,
) -> Learned:
    """Return the part of a method with a fixed criterion, evaluated on the labelled texts.

    Raises:
        JudgeError: if there are labelled texts, and none of them could be scored.
    """
    on_progress(f"{len(training_input.examples)} texts to score", 0.1)
    rated = await score_all(training_input, criterion, judge, form, settings)
    require_scores(tuple(rated.values()))
    return learned_single(method, training_input, criterion, rated, settings=settings)


def learned_single(
    method: str,
    training_input: TrainingInput,
    criterion: Criterion,
    rated: Mapping[str, CriterionRating],
    *,
    settings: BaseModel,
    units: Units | None = None,
) -> Learned:
    """Return the part of one criterion with the evidence of `rated`, the labelled texts' ratings by id."""
    ids, labels = tuple(sorted(rated)), training_input.labels
    scores = values(rated, ids)
    kept = with_evidence(criterion, scores, np.array([labels[name] for name in ids], dtype=float))
    part = Part(method=method, settings=settings.model_dump(mode="json"), criteria=(kept,), units=units)
    ratings = tuple((rated[name],) for name in ids)
    return Learned(part, ids, (criterion.id,), ratings, scores, scores, optimistic=False)


def scorer(form: ScoreFormat) -> ScoreFunction:
    """Return the scoring function of a method with requests in `form`."""

    async def score(
        example: Example, part: Part, assignment: Assignment, judge: Judge
    ) -> tuple[float | None, tuple[CriterionRating, ...]]:
        """Return the mean of the text's scores, and each rating with its reason."""
        settings = HolisticSettings.model_validate(part.settings)
        requests = (
            holistic_rating(example, criterion, assignment, judge, form=form, settings=settings)
            for criterion in part.criteria
        )
        ratings = tuple(await gathered(requests))
        present = [rated.score for rated in ratings if rated.score is not None]
        return sum(present) / len(present) if present else None, ratings

    return score


def _rated(name: str, answer: JudgeAnswer[Any]) -> CriterionRating:
    if answer.value is None:
        return CriterionRating(name, None, answer.missing)
    return rating(name, answer.value.score, answer.value.reasoning)


def _mean(name: str, answers: Sequence[JudgeAnswer[Any]]) -> CriterionRating:
    scores = [answer.value.score for answer in answers if answer.value is not None]
    if len(scores) < LEAST_SAMPLES * len(answers):
        reason = next(answer.missing for answer in answers if answer.value is None)
        return CriterionRating(
            name, None, f"{len(answers) - len(scores)} of {len(answers)} samples failed; the first: {reason}"
        )
    shares = {score: count / len(scores) for score, count in sorted(Counter(scores).items())}
    return CriterionRating(
        name, round(sum(scores) / len(scores), DIGITS), f"Mean of {len(scores)} samples: {_shares(shares)}."
    )


def _shares(shares: Mapping[float, float]) -> str:
    return ", ".join(f"{show(score)}: {share:.0%}" for score, share in sorted(shares.items()) if share >= 0.005)
