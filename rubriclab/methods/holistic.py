"""One score of the whole text: a single answer, or the probability-weighted mean of the possible scores.

The weighted mean follows G-Eval (Liu et al. 2023, EMNLP, section 2): the sum of p(s) * s over the legal scores s. The
probabilities p are those that the provider reports for the tokens of a reply, or else the shares of sampled replies.

The second half of this module has the baselines and the text features. Baselines learn nothing from labels, except that
`few_shot` chooses by labels which texts to show.

- `analyze_rate` writes an analysis before the score: Chiang and Lee (2023, Findings of EMNLP).
- `direct` gives a score by the aspect's definition, with a reason: HypoEval's baseline (section 3, appendix B.2).
- `few_shot` shows labelled texts with their scores (HypoEval, section 3), spread over the labels, not drawn at random.
- `geval` shows evaluation steps that a model writes once, which are part of the version.
- `text_features` are computed without a judge. They are criteria for joint training, and give no score by themselves.
"""

from __future__ import annotations

import asyncio
import math
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, model_validator

from rubriclab.errors import DataError
from rubriclab.judges.judge import Judge, ask
from rubriclab.judges.replies import score_distribution
from rubriclab.methods import method as interface, prompting
from rubriclab.models.base import MAX_WORDING_LENGTH, FrozenModel
from rubriclab.models.characters import describe, is_blank
from rubriclab.models.rubric import Criterion, Demonstration, Evidence, Part
from rubriclab.models.text import Assignment, Example, Scale, format_score, sort_by_content
from rubriclab.models.text_features import CATALOGUE, Features, TextFeature
from rubriclab.prompts.prompt import Prompt
from rubriclab.stats.correlation import floats, pearson
from rubriclab.stats.intervals import DIGITS, round_or_none

# At each position of a reply, providers report the probabilities of at most this many tokens.
MAX_ALTERNATIVES = 20
# On scales wider than this, reported probabilities are not used, since they leave out too many of the scores.
MAX_SCALE_WIDTH = 100
# Sampling temperature of weighted scores, as in the papers of G-Eval and SEEval.
TEMPERATURE = 1.0
# Repeated requests have the `Prompt.sample` 0, 10, 20, ..., since the cache tries 11 if its reply to 10 is unusable.
SAMPLE_STEP = 10
# With a smaller share of usable samples, the text has no score.
MIN_USABLE_SHARE = 0.5


class HolisticSettings(BaseModel):
    """How one score of the whole text is requested."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    scoring: Literal["once", "weighted", "sampled"] = "once"
    """`once`: one answer at temperature 0. `weighted`: the probability-weighted mean of the legal scores, by the
    provider's log-probabilities, or by samples if it reports none. `sampled`: that mean, always by samples."""

    form: Literal["with a reason", "score only"] = "with a reason"
    """What a single answer contains: a reason and then the score; or only the score, a whole number, as in the papers
    of G-Eval and SEEval (analyze_rate keeps its analysis). Weighted scores are requested without a reason."""

    samples: prompting.WholeNumber = Field(default=20, ge=1, le=100)
    """Answers sampled for a weighted score; 20 in the papers of G-Eval and SEEval."""

    @property
    def calls(self) -> int:
        """The largest number of calls for a score; if the provider reports probabilities, one is enough."""
        return 1 if self.scoring == "once" else self.samples


def has_one_reasoned_score(settings: Mapping[str, Any]) -> bool:
    """Return whether these settings request a single answer with a reason, as a call about several criteria does."""
    validated = HolisticSettings.model_validate(settings)
    return validated.scoring == "once" and validated.form == "with a reason"


# A weighted score needs replies without a reason, else the probabilities would depend on one sampled reason.
class BareScore(BaseModel):
    """A score and nothing else."""

    score: prompting.OnScale

    @property
    def reasoning(self) -> str:
        return ""


@dataclass(frozen=True, slots=True)
class ScoreFormat:
    """How a method requests a score: its template, the fields besides text and assignment, and two reply models."""

    template: str
    fields: Callable[[Criterion], Mapping[str, Any]] = lambda _: {}
    with_reason: type[BaseModel] = prompting.Rating
    score_only: type[BaseModel] = BareScore
    max_tokens: int = 512


def holistic_prompt(
    text: Example, criterion: Criterion, assignment: Assignment, score_format: ScoreFormat, settings: HolisticSettings
) -> Prompt[Any]:
    is_weighted = settings.scoring != "once"
    without_reason = is_weighted or settings.form == "score only"
    reply_model = score_format.score_only if without_reason else score_format.with_reason
    fields = with_answer_scale(assignment, settings).fields()
    if reply_model is prompting.Rating and assignment.scale.has_two_levels:  # n/a is allowed
        reply_model, fields = prompting.AssessableRating, assignment.fields_with_abstention()
    is_bare = reply_model is BareScore
    return Prompt(
        score_format.template,
        {**fields, **assignment.text_fields(text), **score_format.fields(criterion), "score_only": without_reason},
        reply_model,
        temperature=TEMPERATURE if is_weighted else 0.0,
        max_tokens=64 if is_bare else score_format.max_tokens,
        alternatives=MAX_ALTERNATIVES if is_bare and settings.scoring == "weighted" else 0,
    )


def with_answer_scale(assignment: Assignment, settings: HolisticSettings) -> Assignment:
    """Return the assignment with the scale of the judge's answers, which may allow only whole numbers.

    Only whole numbers are allowed with the form `score only`, and for weighted scores on a scale wider than 1: they are
    single tokens, and the weighted mean may still be a fraction. A scale with fractional ends stays as it is.
    """
    scale = assignment.scale
    has_whole_ends = scale.low.is_integer() and scale.high.is_integer()
    is_weighted_on_wide_scale = settings.scoring != "once" and scale.width > 1
    if not has_whole_ends or not (settings.form == "score only" or is_weighted_on_wide_scale):
        return assignment
    return replace(assignment, scale=Scale(low=scale.low, high=scale.high, whole=True))


async def holistic_rating(
    example: Example,
    criterion: Criterion,
    assignment: Assignment,
    judge: Judge,
    score_format: ScoreFormat,
    *,
    settings: HolisticSettings,
) -> interface.CriterionRating:
    """Return the rating from a single answer, from the reported probabilities of scores, or else from samples."""
    prompt = holistic_prompt(example, criterion, assignment, score_format, settings)
    first_answer = await ask(judge, prompt)
    if settings.scoring == "once":
        return prompting.rating_of_answer(criterion.id, first_answer)
    scale = prompt.fields["scale"]
    may_use_reported = prompt.alternatives and scale["whole"] and scale["high"] - scale["low"] <= MAX_SCALE_WIDTH
    if may_use_reported and first_answer.value is not None and first_answer.reply is not None:
        scores = range(int(scale["low"]), int(scale["high"]) + 1)
        if probabilities := score_distribution(first_answer.reply, scores):
            mean = sum(score * probability for score, probability in probabilities.items())
            reason = f"Probability-weighted: {_percentages(probabilities)}."
            return interface.CriterionRating(criterion.id, round(mean, DIGITS), reason)
    # Without reported probabilities, the first answer is the first of several samples.
    more_prompts = (replace(prompt, sample=SAMPLE_STEP * index, alternatives=0) for index in range(1, settings.samples))
    answers = [first_answer, *await asyncio.gather(*(ask(judge, each) for each in more_prompts))]
    sampled = [answer.value.score for answer in answers if answer.value is not None]
    if len(sampled) < MIN_USABLE_SHARE * len(answers):
        first_failure = next(answer.missing for answer in answers if answer.value is None)
        reason = f"{len(answers) - len(sampled)} of {len(answers)} samples failed; the first: {first_failure}"
        return interface.CriterionRating(criterion.id, None, reason)
    shares = {score: count / len(sampled) for score, count in Counter(sampled).items()}
    reason = f"Mean of {len(sampled)} samples: {_percentages(shares)}."
    return interface.CriterionRating(criterion.id, round(sum(sampled) / len(sampled), DIGITS), reason)


def _percentages(shares: Mapping[float, float]) -> str:
    return ", ".join(f"{format_score(score)}: {share:.0%}" for score, share in sorted(shares.items()) if share >= 0.005)


def make_score_function(score_format: ScoreFormat) -> interface.ScoreFunction:
    async def score(example: Example, part: Part, assignment: Assignment, judge: Judge) -> interface.Scored:
        settings = HolisticSettings.model_validate(part.settings)
        rating = await holistic_rating(example, part.criteria[0], assignment, judge, score_format, settings=settings)
        return rating.score, (rating,)

    return score


def whole_aspect_criterion(
    assignment: Assignment,
    statement: str,
    evidence: Evidence | None = None,
    demonstrations: tuple[Demonstration, ...] = (),
) -> Criterion:
    """Return the criterion of a method with one score for the whole aspect, which the judge gives by `statement`."""
    return Criterion(
        id="score",
        kind="score",
        trait=assignment.aspect.name,
        statement=statement,
        evidence=evidence or Evidence(origin="definition"),
        demonstrations=demonstrations,
    )


def single_criterion_learning(
    score: interface.ScoreFunction, make_part: Callable[[interface.TrainingInput, Any, Judge, int], Awaitable[Part]]
) -> interface.LearnFunction:
    """Return a function that learns one criterion: it rates the labelled texts by the part that `make_part` returns."""

    async def learn(
        training_input: interface.TrainingInput,
        settings: Any,
        *,
        judge: Judge,
        generator: Judge,
        seed: int,
        on_progress: interface.Progress = interface.ignore_progress,
    ) -> interface.Learned:
        part = await make_part(training_input, settings, generator, seed)
        (criterion,) = part.criteria
        # A criterion cannot be tested by the labels of the texts that it was made from. `in_order`: sorted by content.
        texts = [each for each in training_input.in_order if each.id not in criterion.evidence.examples]
        scores_and_ratings = await prompting.for_each(
            texts, lambda text: score(text, part, training_input.assignment, judge), on_progress, "texts scored"
        )
        ratings = tuple(ratings for _, ratings in scores_and_ratings)
        # If no text has a score, an error quotes the first reason. A method that rates units does not ask the judge
        # about a text without units. Such texts come last, so that the error says why the judge's replies are unusable.
        units_first = sorted((rating for (rating,) in ratings), key=lambda rating: not rating.units)
        prompting.fail_if_all_missing("score", [(rating.score, rating.reason) for rating in units_first])
        scores = floats(text_score for text_score, _ in scores_and_ratings)
        labels = floats(text.scores[training_input.assignment.aspect.name] for text in texts)
        with_evidence = interface.with_agreement(criterion, scores, labels, len(texts), min_scores=2)
        notes: tuple[str, ...] = ()
        if training_input.examples and not texts:
            n_texts = len(training_input.examples)
            notes = (f"all {n_texts} labelled texts are shown to the judge: none is left to evaluate the rubric on",)
        return interface.Learned(
            part=part.model_copy(update={"criteria": (with_evidence,)}),
            examples=tuple(text.id for text in texts),
            candidates=(criterion.id,),
            ratings=ratings,
            scores=scores,
            reselected=scores,  # the same, since labels select nothing
            optimistic=False,
            notes=notes,
        )

    return learn


class BaselineSettings(HolisticSettings):
    """Hyperparameters of a baseline."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def _baseline(
    name: str,
    note: str,
    score_format: ScoreFormat,
    make_criterion: Callable[[interface.TrainingInput, Any, Judge, int], Awaitable[Criterion]] | None = None,
    settings_type: type[BaselineSettings] = BaselineSettings,
    *,
    n_texts_shown: Callable[[Any], int] = lambda _settings: 0,
    generator_calls: int = 0,
    **attributes: Any,
) -> interface.Method:
    """Return a baseline, which scores by the aspect's definition unless `make_criterion` returns another criterion."""

    async def make_part(training_input: interface.TrainingInput, settings: Any, generator: Judge, seed: int) -> Part:
        criterion = whole_aspect_criterion(training_input.assignment, training_input.assignment.aspect.definition)
        if make_criterion:
            criterion = await make_criterion(training_input, settings, generator, seed)
        return Part(method=name, settings=settings.model_dump(mode="json"), criteria=(criterion,))

    def calls(training_input: interface.TrainingInput, settings: Any) -> interface.LearningCalls:
        n_texts = max(0, len(training_input.examples) - n_texts_shown(settings))
        n_joint = 1 if training_input.jointly_rated_examples else 0
        return interface.LearningCalls(n_texts * settings.calls, generator_calls, jointly_rated_criteria=n_joint)

    score = make_score_function(score_format)
    baseline = interface.Method(
        name=name,
        note=note,
        is_baseline=True,
        settings=settings_type,
        presets={},
        prompts=(score_format.template,),
        learn=single_criterion_learning(score, make_part),
        score=score,
        learning_calls=calls,
        needs_labels=False,
        leaves_rating_to_joint_training=lambda _settings: True,
        single_criterion=True,
    )
    return replace(baseline, **attributes)


class Analysis(BaseModel):
    """An analysis, and the score that follows from it."""

    analysis: str
    score: prompting.OnScale

    @property
    def reasoning(self) -> str:
        return self.analysis


ANALYZE_RATE = _baseline(
    "analyze_rate",
    "one score, after an analysis of the text",
    # A weighted score is the mean over several analyses, since a score depends on the analysis before it.
    ScoreFormat("analyze_rate/rate", with_reason=Analysis, score_only=Analysis, max_tokens=1024),
)

DIRECT = _baseline(
    "direct",
    "one score, by the definition of the aspect",
    ScoreFormat("direct/rate"),
    shares_call=has_one_reasoned_score,
)


class FewShotSettings(BaselineSettings):
    """Hyperparameters of few-shot scoring."""

    k: int = Field(default=3, ge=1, le=20)
    """Labelled texts in the prompt; 3 in HypoEval's baseline."""


async def _criterion_with_demonstrations(
    training_input: interface.TrainingInput, settings: FewShotSettings, _generator: Judge, seed: int
) -> Criterion:
    if not training_input.examples:
        raise DataError("few_shot learns from labelled texts, and there are none.")
    aspect = training_input.assignment.aspect
    chosen = pick_demonstrations(training_input.examples, aspect.name, settings.k, seed)
    evidence = Evidence(origin="labels", examples=tuple(demonstration.example for demonstration in chosen))
    return whole_aspect_criterion(training_input.assignment, aspect.definition, evidence, chosen)


def pick_demonstrations(examples: Sequence[Example], aspect: str, count: int, seed: int) -> tuple[Demonstration, ...]:
    """Return up to `count` labelled texts, lowest score first, with scores spread evenly over all scores.

    The texts are of different groups as far as possible. The seed decides between texts that fit equally well.
    """
    shuffled = list(sort_by_content(examples))
    random.Random(f"demonstrations {seed}").shuffle(shuffled)
    labels = [example.scores[aspect] for example in examples]
    chosen: list[Example] = []
    for index in range(min(count, len(shuffled))):
        target_score = float(np.quantile(labels, (index + 0.5) / count))
        chosen_groups = {example.group for example in chosen}
        remaining = [example for example in shuffled if example not in chosen]
        of_new_groups = [example for example in remaining if example.group not in chosen_groups]
        nearest = min(of_new_groups or remaining, key=lambda example: abs(example.scores[aspect] - target_score))
        chosen.append(nearest)
    return tuple(
        Demonstration(
            example=text.id, output=text.output, source=text.source, context=text.context, score=text.scores[aspect]
        )
        for text in sorted(chosen, key=lambda example: example.scores[aspect])
    )


FEW_SHOT = _baseline(
    "few_shot",
    "one score, with labelled texts as examples",
    ScoreFormat(
        "few_shot/rate",
        lambda item: {"demonstrations": [each.model_dump(exclude={"example"}) for each in item.demonstrations]},
    ),
    _criterion_with_demonstrations,
    FewShotSettings,
    n_texts_shown=lambda settings: int(settings.k),
    needs_labels=True,
    leaves_rating_to_joint_training=lambda _settings: False,
)


class GEvalSettings(BaselineSettings):
    """Hyperparameters of G-Eval; the published values are the defaults."""

    scoring: Literal["once", "weighted", "sampled"] = "weighted"
    """The probability-weighted mean of the legal scores; `once` and `sampled` are as for other methods."""


class Steps(BaseModel):
    """The steps by which a rater gets to a score."""

    steps: list[str] = Field(min_length=1)

    @model_validator(mode="after")
    def _check_words(self) -> Self:
        if any(map(is_blank, self.steps)):
            raise ValueError("every step needs words")
        length = len(self.numbered_text())
        if length > MAX_WORDING_LENGTH:
            raise ValueError(f"at most {MAX_WORDING_LENGTH:,} characters were expected in all steps; got {length:,}")
        return self

    def numbered_text(self) -> str:
        return "\n".join(f"{number}. {step.strip()}" for number, step in enumerate(self.steps, 1))


async def _criterion_with_steps(
    training_input: interface.TrainingInput, settings: GEvalSettings, generator: Judge, _seed: int
) -> Criterion:
    steps = await write_steps(training_input.assignment, settings, generator)
    return whole_aspect_criterion(training_input.assignment, steps, Evidence(origin="prior knowledge"))


async def write_steps(assignment: Assignment, settings: HolisticSettings, generator: Judge) -> str:
    fields = with_answer_scale(assignment, settings).fields()
    answer = await ask(generator, Prompt("geval/steps", fields, Steps, max_tokens=1024))
    (steps,) = prompting.require_reply([answer], "evaluation steps", "generator")
    return steps.numbered_text()


GEVAL = _baseline(
    "geval",
    "one score, by steps that the generator writes",
    ScoreFormat("geval/rate", lambda criterion: {"steps": criterion.statement}),
    _criterion_with_steps,
    GEvalSettings,
    generator_calls=1,
    # Sections 2 and 4.1 of the paper. Models without reported probabilities get 20 samples at temperature 1.
    presets={"paper": {"form": "score only"}},
    prompts=("geval/steps", "geval/rate"),
    statement_kind="steps",
    shares_call=has_one_reasoned_score,
)


_FEATURES: Mapping[str, TextFeature] = {feature.name: feature for feature in CATALOGUE}


class TextFeatureSettings(FrozenModel):
    """No hyperparameters: all text features are candidates."""


async def _learn_features(
    training_input: interface.TrainingInput,
    settings: TextFeatureSettings,
    *,
    on_progress: interface.Progress = interface.ignore_progress,
    **_unused: Any,
) -> interface.Learned:
    """Return the features that all labelled texts have and that vary over them; the texts get no scores."""
    texts, labels = training_input.in_order, training_input.label_array  # `in_order`: sorted by content
    features_of_texts = [Features(text.output, text.source, text.context) for text in texts]
    columns: dict[str, list[interface.CriterionRating]] = {}
    criteria: list[Criterion] = []
    for feature in CATALOGUE:
        column = [_measure(feature, features, text) for features, text in zip(features_of_texts, texts, strict=True)]
        scores = floats(rating.score for rating in column)
        if len(set(scores.tolist())) > 1 and not np.isnan(scores).any():
            columns[feature.name] = column
            statement = f"Counted, not judged: {feature.title} ({feature.unit})."
            evidence = Evidence(origin="definition", pearson=round_or_none(pearson(scores, labels)), judged=len(texts))
            criteria.append(
                Criterion(id=feature.name, kind="feature", trait=feature.title, statement=statement, evidence=evidence)
            )
    if not columns:
        raise DataError(f"No text feature varies over the {len(texts)} labelled texts.", "Give more texts.")
    on_progress(f"{len(columns)} text features", 1.0)
    no_scores = np.full(len(texts), np.nan)
    return interface.Learned(
        part=Part(method="text_features", settings=settings.model_dump(mode="json"), criteria=tuple(criteria)),
        examples=tuple(text.id for text in texts),
        candidates=tuple(columns),
        ratings=tuple(zip(*columns.values(), strict=True)),
        scores=no_scores,
        reselected=no_scores,
        optimistic=False,
    )


async def _score_features(example: Example, part: Part, _assignment: Assignment, _judge: Judge) -> interface.Scored:
    if fault := next(_feature_faults(part), None):
        raise DataError(f"The rubric uses a text feature of another version of rubriclab: {fault}.")
    features = Features(example.output, example.source, example.context)
    return None, tuple(_measure(_FEATURES[criterion.id], features, example) for criterion in part.criteria)


def _measure(feature: TextFeature, features: Mapping[str, float], example: Example) -> interface.CriterionRating:
    value = features[feature.name]
    if not math.isnan(value):
        reason = f"Measured: {value:.4g} ({feature.unit})."
        return interface.CriterionRating(feature.name, round(float(value), DIGITS), reason)
    why = "it is undefined here"
    if lacking := [need for need in sorted(feature.needs) if not getattr(example, need)]:
        why = f"it needs a {' and a '.join(lacking)}, and there is none"
    return interface.CriterionRating(feature.name, None, f"Cannot be measured: {why}.", applies=False)


def _feature_faults(part: Part) -> Iterator[str]:
    for number, criterion in enumerate(part.criteria):
        if criterion.id not in _FEATURES:
            yield f"criteria[{number}].id: expected a text feature that rubriclab knows, got {describe(criterion.id)}"


TEXT_FEATURES = interface.Method(
    name="text_features",
    note="measured, not judged",
    settings=TextFeatureSettings,
    presets={},
    prompts=(),
    learn=_learn_features,
    score=_score_features,
    learning_calls=lambda _input, _settings: interface.LearningCalls(0),
    criterion_kind="feature",
    part_faults=_feature_faults,
)
