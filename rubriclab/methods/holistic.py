"""One score of the whole text: a single answer, or the probability-weighted mean of the possible scores.

Weighting follows G-Eval (Liu et al. 2023, EMNLP, section 2): the sum of p(s) * s over the legal scores s, from the
provider's log-probabilities, or otherwise from samples. Baselines learn nothing from labels, or only which texts to
show:

- `direct` gives a score by the aspect's definition, with a reason: HypoEval's baseline (section 3, appendix B.2).
- `analyze_rate` writes an analysis before the score: Chiang and Lee (2023, Findings of EMNLP).
- `few_shot` shows labelled texts with their scores (HypoEval, section 3), spread over the labels, not drawn at random.
- `geval` goes by evaluation steps that the model writes once, which are part of the version.
- `text_features` are computed without a judge. Only labels show which are informative, so they give no score alone.
"""

from __future__ import annotations

import asyncio
import math
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, model_validator

from rubriclab.errors import DataError
from rubriclab.judges.judge import Judge, JudgeAnswer, ask
from rubriclab.judges.responses import score_distribution
from rubriclab.methods import method as interface, prompting
from rubriclab.models.base import MAX_WORDING_LENGTH, FrozenModel
from rubriclab.models.characters import describe, is_blank
from rubriclab.models.rubric import Criterion, Demonstration, Evidence, Part
from rubriclab.models.text import Assignment, Example, Scale, content_order, format_score
from rubriclab.models.text_features import CATALOGUE, Features, TextFeature
from rubriclab.prompts.prompt import Prompt
from rubriclab.stats.correlation import floats, pearson
from rubriclab.stats.intervals import DIGITS, rounded

# The most alternatives that providers report at each position of a reply.
ALTERNATIVES = 20
# On scales with more whole scores, the reported alternatives are not a distribution over all of them.
MAX_SCORES = 100
# Sampling temperature of weighted scores, as in the papers of G-Eval and SEEval.
TEMPERATURE = 1.0
# Samples are numbered in steps of this; the numbers between are for repeated requests after unusable replies.
STRIDE = 10
# With a smaller share of usable samples there is no score.
MIN_USABLE_SHARE = 0.5


class HolisticSettings(BaseModel):
    """How one score of the whole text is requested."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    scoring: Literal["once", "weighted", "sampled"] = "once"
    """One answer at temperature 0; or the probability-weighted mean of the legal scores, by the provider's
    log-probabilities if it reports them and otherwise by samples, or always by samples."""

    form: Literal["with a reason", "score only"] = "with a reason"
    """What a single answer contains: a reason and then the score; or a whole score alone, as in the papers of G-Eval
    and SEEval (analyze_rate keeps its analysis). A weighted score is always requested alone."""

    samples: prompting.Whole = Field(default=20, ge=1, le=100)
    """Answers sampled for a weighted score; 20 in the papers of G-Eval and SEEval."""

    @property
    def calls(self) -> int:
        """The number of calls for a score; one is enough if the provider reports probabilities."""
        return 1 if self.scoring == "once" else self.samples


def has_one_reasoned_score(settings: Mapping[str, Any]) -> bool:
    """Return whether one score with a reason is requested, as in a shared call."""
    overall = HolisticSettings.model_validate(settings)
    return overall.scoring == "once" and overall.form == "with a reason"


# Without a reason, so that the probability of a score does not depend on one sampled reasoning.
class BareScore(BaseModel):
    """A score and nothing else."""

    score: prompting.OnScale

    @property
    def reasoning(self) -> str:
        return ""


@dataclass(frozen=True, slots=True)
class ScoreFormat:
    """How a method requests a score: the template, its additional fields, and the replies with and without a reason."""

    template: str
    fields: Callable[[Criterion], Mapping[str, Any]] = lambda _: {}
    with_reason: type[BaseModel] = prompting.Rating
    score_only: type[BaseModel] = BareScore
    max_tokens: int = 512


def holistic_prompt(
    example: Example, criterion: Criterion, assignment: Assignment, form: ScoreFormat, settings: HolisticSettings
) -> Prompt[Any]:
    is_weighted = settings.scoring != "once"
    score_only = is_weighted or settings.form == "score only"
    reply = form.score_only if score_only else form.with_reason
    fields = with_answer_scale(assignment, settings).fields()
    if reply is prompting.Rating and assignment.scale.names:
        reply, fields = prompting.AssessableRating, assignment.assessable_fields()
    is_bare = reply is BareScore
    return Prompt(
        form.template,
        {**fields, **assignment.text_fields(example), **form.fields(criterion), "score_only": score_only},
        reply,
        temperature=TEMPERATURE if is_weighted else 0.0,
        max_tokens=64 if is_bare else form.max_tokens,
        alternatives=ALTERNATIVES if is_bare and settings.scoring == "weighted" else 0,
    )


def with_answer_scale(assignment: Assignment, settings: HolisticSettings) -> Assignment:
    """Return the assignment with the scale of single answers.

    Weighted scores, and scores without a reason, are whole numbers if the ends of the scale are, so that each is a
    single token. A weighted mean has values in between. A scale from 0 to 1 is reduced to its ends with `score only`.
    """
    scale, score_only = assignment.scale, settings.form == "score only"
    has_whole_ends = scale.low.is_integer() and scale.high.is_integer()
    is_single_token = score_only or (settings.scoring != "once" and scale.width > 1)
    if not (has_whole_ends and is_single_token):
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
) -> interface.CriterionRating:
    prompt = holistic_prompt(example, criterion, assignment, form, settings)
    first = await ask(judge, prompt)
    if settings.scoring == "once":
        return prompting.answer_rating(criterion.id, first)
    if probabilities := distribution(first, prompt):
        expected = sum(score * share for score, share in probabilities.items())
        reason = f"Probability-weighted: {_shares(probabilities)}."
        return interface.CriterionRating(criterion.id, round(expected, DIGITS), reason)
    numbers = range(1, settings.samples)
    further_prompts = (replace(prompt, sample=STRIDE * number, alternatives=0) for number in numbers)
    answers = [first, *await asyncio.gather(*(ask(judge, each) for each in further_prompts))]
    scores = [answer.value.score for answer in answers if answer.value is not None]
    if len(scores) < MIN_USABLE_SHARE * len(answers):
        missing = next(answer.missing for answer in answers if answer.value is None)
        reason = f"{len(answers) - len(scores)} of {len(answers)} samples failed; the first: {missing}"
        return interface.CriterionRating(criterion.id, None, reason)
    shares = {score: count / len(scores) for score, count in Counter(scores).items()}
    reason = f"Mean of {len(scores)} samples: {_shares(shares)}."
    return interface.CriterionRating(criterion.id, round(sum(scores) / len(scores), DIGITS), reason)


def distribution(answer: JudgeAnswer[Any], prompt: Prompt[Any]) -> Mapping[float, float] | None:
    """Return the reported probability of each legal score; `None` without a usable reply or probabilities."""
    if answer.value is None or answer.reply is None or not prompt.alternatives:
        return None
    scale = prompt.fields["scale"]
    if not scale["whole"] or scale["high"] - scale["low"] > MAX_SCORES:
        return None
    return score_distribution(answer.reply, range(int(scale["low"]), int(scale["high"]) + 1))


def require_scores(ratings: Iterable[interface.CriterionRating]) -> None:
    prompting.require_any("score", [(rating.score, rating.reason) for rating in ratings])


def single_criterion_learning(
    score: interface.ScoreFunction, make: Callable[[interface.TrainingInput, Any, Judge, int], Awaitable[Part]]
) -> interface.LearnFunction:
    """Return the learning function of a method with one criterion, whose part `make` returns."""

    async def learn(
        training_input: interface.TrainingInput,
        settings: Any,
        *,
        judge: Judge,
        generator: Judge,
        seed: int,
        on_progress: interface.Progress = interface.ignore_progress,
    ) -> interface.Learned:
        """Return the part, evaluated on the labelled texts that its criterion does not show."""
        part = await make(training_input, settings, generator, seed)
        (criterion,) = part.criteria
        texts = [each for each in training_input.in_order if each.id not in criterion.evidence.examples]
        scored = await prompting.for_each(
            texts, lambda text: score(text, part, training_input.assignment, judge), on_progress, "texts scored"
        )
        # The error quotes the first reason. Texts with units come first: a text without units has nothing to be
        # compared with, which is not the judge's fault.
        require_scores(sorted((rating for _, (rating,) in scored), key=lambda rating: not rating.units))
        scores, labels = floats(each for each, _ in scored), training_input.labels
        own_labels = np.array([labels[text.id] for text in texts], dtype=float)
        measured = interface.with_agreement(criterion, scores, own_labels, len(texts), min_scores=2)
        notes: tuple[str, ...] = ()
        if training_input.examples and not texts:
            count = len(training_input.examples)
            notes = (f"all {count} labelled texts are shown, so that none is left to evaluate it on",)
        return interface.Learned(
            part=part.model_copy(update={"criteria": (measured,)}),
            examples=tuple(text.id for text in texts),
            candidates=(criterion.id,),
            ratings=tuple(ratings for _, ratings in scored),
            scores=scores,
            reselected=scores,
            optimistic=False,
            notes=notes,
        )

    return learn


def scorer(form: ScoreFormat) -> interface.ScoreFunction:

    async def score(example: Example, part: Part, assignment: Assignment, judge: Judge) -> interface.Scored:
        settings = HolisticSettings.model_validate(part.settings)
        rated = await holistic_rating(example, part.criteria[0], assignment, judge, form=form, settings=settings)
        return rated.score, (rated,)

    return score


def _shares(shares: Mapping[float, float]) -> str:
    return ", ".join(f"{format_score(score)}: {share:.0%}" for score, share in sorted(shares.items()) if share >= 0.005)


class BaselineSettings(HolisticSettings):
    """Hyperparameters of a baseline."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def _baseline(
    name: str,
    note: str,
    form: ScoreFormat,
    make_criterion: Callable[[interface.TrainingInput, Any, Judge, int], Awaitable[Criterion]],
    settings: type[BaselineSettings] = BaselineSettings,
    *,
    texts_shown: Callable[[Any], int] = lambda _settings: 0,
    generator_calls: int = 0,
    **more: Any,
) -> interface.Method:
    """Return a baseline; `texts_shown` returns, for its settings, the number of labelled texts in its prompt."""

    async def make(training_input: interface.TrainingInput, settings: Any, generator: Judge, seed: int) -> Part:
        criterion = await make_criterion(training_input, settings, generator, seed)
        return Part(method=name, settings=settings.model_dump(mode="json"), criteria=(criterion,))

    def calls(training_input: interface.TrainingInput, settings: Any) -> interface.LearningCalls:
        texts = max(0, len(training_input.examples) - texts_shown(settings))
        unrated = int(bool(training_input.unrated))
        return interface.LearningCalls(texts * settings.calls, generator_calls, unrated=unrated)

    score = scorer(form)
    defaults = {
        "needs_labels": False,
        "presets": {},
        "prompts": (form.template,),
        "rated_later": lambda _settings: True,
    }
    return interface.Method(
        name=name,
        note=note,
        is_baseline=True,
        settings=settings,
        learn=single_criterion_learning(score, make),
        score=score,
        learning_calls=calls,
        single_criterion=True,
        **{**defaults, **more},
    )


async def _by_definition(training_input: interface.TrainingInput, *_unused: Any) -> Criterion:
    return whole_aspect(training_input.assignment, training_input.assignment.aspect.definition)


def whole_aspect(
    assignment: Assignment,
    statement: str,
    evidence: Evidence | None = None,
    demonstrations: tuple[Demonstration, ...] = (),
) -> Criterion:
    return Criterion(
        id="score",
        kind="score",
        trait=assignment.aspect.name,
        statement=statement,
        evidence=evidence or Evidence(origin="definition"),
        demonstrations=demonstrations,
    )


class Analysis(BaseModel):
    """An analysis, and the score that follows from it."""

    analysis: str
    score: prompting.OnScale

    @property
    def reasoning(self) -> str:
        return self.analysis


# The score depends on the analysis before it, so a weighted score is the mean over several analyses.
ANALYSIS_FORM = ScoreFormat("analyze_rate/rate", with_reason=Analysis, score_only=Analysis, max_tokens=1024)

ANALYZE_RATE = _baseline("analyze_rate", "one score, after an analysis of the text", ANALYSIS_FORM, _by_definition)

DIRECT = _baseline(
    "direct",
    "one score, by the definition of the aspect",
    ScoreFormat("direct/rate"),
    _by_definition,
    shares_call=has_one_reasoned_score,
)


class FewShotSettings(BaselineSettings):
    """Hyperparameters of few-shot scoring."""

    k: int = Field(default=3, ge=1, le=20)
    """Labelled texts in the prompt; 3 in HypoEval's baseline."""


def _shown_demonstrations(criterion: Criterion) -> dict[str, Any]:
    return {"demonstrations": [each.model_dump(exclude={"example"}) for each in criterion.demonstrations]}


async def _with_demonstrations(
    training_input: interface.TrainingInput, settings: FewShotSettings, _generator: Judge, seed: int
) -> Criterion:
    if not training_input.examples:
        raise DataError("few_shot learns from labelled texts, and there are none.")
    aspect = training_input.assignment.aspect
    shown_examples = demonstrations(training_input.examples, aspect.name, settings.k, seed)
    evidence = Evidence(origin="labels", examples=tuple(each.example for each in shown_examples))
    return whole_aspect(training_input.assignment, aspect.definition, evidence, shown_examples)


def demonstrations(examples: Sequence[Example], aspect: str, count: int, seed: int) -> tuple[Demonstration, ...]:
    """Return `count` labelled texts with scores at the quantiles of the labels, lowest first, of different groups.

    The seed decides between equally good texts.
    """
    shuffled = list(content_order(examples))
    random.Random(f"demonstrations {seed}").shuffle(shuffled)
    labels = [example.scores[aspect] for example in examples]
    shown_examples: list[Example] = []
    for index in range(min(count, len(shuffled))):
        target_label = float(np.quantile(labels, (index + 0.5) / count))
        shown_groups = {example.group for example in shown_examples}
        remaining = [example for example in shuffled if example not in shown_examples]
        of_new_groups = [example for example in remaining if example.group not in shown_groups]
        nearest = min(of_new_groups or remaining, key=lambda example: abs(example.scores[aspect] - target_label))
        shown_examples.append(nearest)
    return tuple(
        Demonstration(example=e.id, output=e.output, source=e.source, context=e.context, score=e.scores[aspect])
        for e in sorted(shown_examples, key=lambda example: example.scores[aspect])
    )


FEW_SHOT = _baseline(
    "few_shot",
    "one score, beside labelled texts",
    ScoreFormat("few_shot/rate", _shown_demonstrations),
    _with_demonstrations,
    FewShotSettings,
    texts_shown=lambda settings: int(settings.k),
    needs_labels=True,
    rated_later=lambda _settings: False,
)


class GEvalSettings(BaselineSettings):
    """Hyperparameters of G-Eval; the published values are the defaults."""

    scoring: Literal["once", "weighted", "sampled"] = "weighted"
    """The probability-weighted mean of the legal scores; `once` and `sampled` are as for other methods."""


class Steps(BaseModel):
    """The steps by which a rater gets to a score."""

    steps: list[str] = Field(min_length=1)

    @model_validator(mode="after")
    def _check(self) -> Self:
        if any(map(is_blank, self.steps)):
            raise ValueError("every step needs words")
        length = len(self.numbered())
        if length > MAX_WORDING_LENGTH:
            raise ValueError(f"at most {MAX_WORDING_LENGTH:,} characters were expected in all steps; got {length:,}")
        return self

    def numbered(self) -> str:
        return "\n".join(f"{number}. {step.strip()}" for number, step in enumerate(self.steps, 1))


async def _by_steps(
    training_input: interface.TrainingInput, settings: GEvalSettings, generator: Judge, _seed: int
) -> Criterion:
    steps = await write_steps(training_input.assignment, settings, generator)
    return whole_aspect(training_input.assignment, steps, Evidence(origin="prior knowledge"))


async def write_steps(assignment: Assignment, settings: HolisticSettings, generator: Judge) -> str:
    """Return the evaluation steps that `generator` writes, one numbered line each."""
    fields = with_answer_scale(assignment, settings).fields()
    answer = await ask(generator, Prompt("geval/steps", fields, Steps, max_tokens=1024))
    (steps,) = prompting.require_reply([answer], "evaluation steps", "generator")
    return steps.numbered()


GEVAL = _baseline(
    "geval",
    "one score, by steps that the judge writes",
    ScoreFormat("geval/rate", lambda criterion: {"steps": criterion.statement}),
    _by_steps,
    GEvalSettings,
    generator_calls=1,
    # Sections 2 and 4.1 of the paper: scores only; 20 samples at temperature 1 for models without log-probabilities.
    presets={"paper": {"form": "score only"}},
    prompts=("geval/steps", "geval/rate"),
    states="steps",
    shares_call=has_one_reasoned_score,
)


_FEATURES: Mapping[str, TextFeature] = {entry.name: entry for entry in CATALOGUE}


class TextFeatureSettings(FrozenModel):
    """No hyperparameters: all text features are candidates."""


async def _learn_features(
    training_input: interface.TrainingInput,
    settings: TextFeatureSettings,
    *,
    on_progress: interface.Progress = interface.ignore_progress,
    **_unused: Any,
) -> interface.Learned:
    """Return the text features that are defined for all labelled texts and vary; texts have no scores."""
    texts, labels = training_input.in_order, training_input.label_array
    rows = [Features(text.output, text.source, text.context) for text in texts]
    rated, evidence = dict[str, list[interface.CriterionRating]](), dict[str, Evidence]()
    for entry in CATALOGUE:
        column = [_measure(entry, row, text) for row, text in zip(rows, texts, strict=True)]
        values = floats(each.score for each in column)
        if len(set(values.tolist())) > 1 and not np.isnan(values).any():
            rated[entry.name] = column
            correlation = rounded(pearson(values, labels))
            evidence[entry.name] = Evidence(origin="definition", pearson=correlation, judged=len(texts))
    if not rated:
        raise DataError(f"No text feature varies over the {len(texts)} labelled texts.", "Give more texts.")
    on_progress(f"{len(rated)} text features", 1.0)
    no_scores = np.full(len(texts), np.nan)
    return interface.Learned(
        part=Part(
            method="text_features",
            settings=settings.model_dump(mode="json"),
            criteria=tuple(feature_criterion(name, each) for name, each in evidence.items()),
        ),
        examples=tuple(text.id for text in texts),
        candidates=tuple(rated),
        ratings=tuple(zip(*rated.values(), strict=True)),
        scores=no_scores,
        reselected=no_scores,
        optimistic=False,
    )


async def _score_features(example: Example, part: Part, _assignment: Assignment, _judge: Judge) -> interface.Scored:
    if fault := next(_unknown_features(part), None):
        raise DataError(f"The rubric uses a text feature of another rubriclab: {fault}.")
    features = Features(example.output, example.source, example.context)
    return None, tuple(_measure(_FEATURES[criterion.id], features, example) for criterion in part.criteria)


def _measure(entry: TextFeature, features: Mapping[str, float], example: Example) -> interface.CriterionRating:
    value = features[entry.name]
    if math.isnan(value):
        why, lacking = "it is undefined here", [need for need in sorted(entry.needs) if not getattr(example, need)]
        if lacking:
            why = f"it needs a {' and a '.join(lacking)}, and there is none"
        return interface.CriterionRating(entry.name, None, f"Cannot be measured: {why}.", applies=False)
    return interface.CriterionRating(entry.name, round(float(value), DIGITS), f"Measured: {value:.4g} ({entry.unit}).")


def feature_criterion(name: str, evidence: Evidence | None = None) -> Criterion:
    entry = _FEATURES[name]
    return Criterion(
        id=name,
        kind="feature",
        trait=entry.title,
        statement=f"Counted, not judged: {entry.title} ({entry.unit}).",
        evidence=evidence or Evidence(origin="definition"),
    )


def _unknown_features(part: Part) -> Iterator[str]:
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
    part_faults=_unknown_features,
)
