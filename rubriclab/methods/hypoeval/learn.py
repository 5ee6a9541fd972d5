"""HypoEval's learning (section 2): from labelled texts and literature to a few hypotheses about the raters.

first texts + literature -> first hypotheses, which rate the first texts
every further text       -> rated by the top k; if most of the k are wrong, the text enters a bank of wrong examples
full bank ("wrong bank") -> new hypotheses from its texts, refined by literature (in the paper by these texts and
                            literature in turn); redundant ones are dropped, and then the worst
literature alone         -> more hypotheses
union                    -> redundant ones dropped; all rate all texts; the best by Pearson correlation are kept

The ranking is that of a bandit: a hypothesis is an arm, a labelled text is a pull, and the reward is the mean utility
of its ratings so far plus an exploration bonus, as in upper confidence bounds.

If another step requests the ratings, together with those of other methods, only the first hypotheses and those from
literature are proposed here. `extend` then adds hypotheses from texts whose ratings are wrong. In the training input,
the labelled texts are then `unrated` instead of `examples`; `shown` holds either.
"""

from __future__ import annotations

import asyncio
import functools
import itertools
import math
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Annotated, Any, Self

import numpy as np
from pydantic import AfterValidator, BaseModel, Field, WithJsonSchema, create_model, model_validator

from rubriclab.errors import DataError, JudgeError, SettingsError
from rubriclab.judges.judge import Judge, ask
from rubriclab.methods import method as interface, prompting
from rubriclab.methods.hypoeval.score import PRESETS, Ask, HypoEvalSettings, Procedure, rate, score
from rubriclab.methods.method import CriterionRating
from rubriclab.methods.questions import MAX_SHOWN, find_redundant
from rubriclab.methods.sources import Finding
from rubriclab.models.base import MAX_NAME_LENGTH, MAX_WORDING_LENGTH
from rubriclab.models.characters import is_blank
from rubriclab.models.rubric import CitedReason, Criterion, DroppedCriterion, Evidence, Level, Part, in_prompt_order
from rubriclab.models.text import Assignment, Example, Scale, format_score, sort_by_content
from rubriclab.prompts.prompt import Prompt
from rubriclab.stats.correlation import FloatArray, float_table, floats, label_correlations
from rubriclab.stats.intervals import DIGITS

# The paper states theta in points of its 1 to 5 scale.
PAPER_WIDTH = 4.0
# Share of the top k that must be wrong at the end of training for a text to enter the bank of wrong examples.
FINAL_WRONG_SHARE = 0.8


@dataclass(frozen=True, slots=True)
class Arm:
    """A hypothesis in the bandit: how many texts it rated, the sum of its utilities, and its last rating's step."""

    id: str
    n_visits: int = 0
    total_utility: float = 0.0
    last_step: int = 0

    @property
    def mean_utility(self) -> float:
        return self.total_utility / self.n_visits if self.n_visits else 0.0

    def after_visit(self, utility: float | None, step: int) -> Arm:
        return self if utility is None else Arm(self.id, self.n_visits + 1, self.total_utility + utility, step)


def utility(rating: float, label: float, scale: Scale) -> float:
    """Return `1 - ((rating - label) / width)^2`, in [0, 1]: the paper's L with a = 1 and b = 1/16 on 1 to 5."""
    return 1.0 - ((rating - label) / scale.width) ** 2


def tolerance(theta: float, scale: Scale) -> float:
    """Return the largest error of a close rating, in points of `scale`."""
    return theta * scale.width / PAPER_WIDTH


def n_wrong_needed(n_top: int, step: int, n_texts: int) -> float:
    """Return w_hyp, the number of the top k that must be wrong for a text to enter the wrong bank (published code)."""
    return n_top * FINAL_WRONG_SHARE * (step - 1) / n_texts


def reward(arm: Arm, step: int, alpha: float, procedure: Procedure) -> float:
    """Return the arm's mean utility plus its exploration bonus, after `step` labelled texts.

    In the paper and its code, the bonus does not grow after the arm's last visit.
    """
    bonus_step = step if procedure == "improved" else arm.last_step
    bonus = alpha * math.sqrt(math.log(max(bonus_step, 1)) / max(arm.n_visits, 1))
    return round(arm.mean_utility, DIGITS) + round(bonus, DIGITS)


def rank_arms(arms: Iterable[Arm], step: int, alpha: float, procedure: Procedure) -> list[Arm]:
    return sorted(arms, key=lambda arm: (-reward(arm, step, alpha, procedure), arm.id))


def select_columns(matrix: FloatArray, labels: FloatArray, settings: HypoEvalSettings) -> list[int]:
    """Return the columns of the criteria to keep: at most `settings.selected`, the highest correlation first.

    Eligible are columns with ratings of at least half of the texts; in the improved procedure only those with
    positive correlations, if there are any.
    """
    # An undefined correlation counts as lower than any other.
    r = np.nan_to_num(label_correlations(matrix, labels), nan=-2.0)
    rated_share = (~np.isnan(matrix)).mean(axis=0) if len(matrix) else np.zeros(matrix.shape[1])
    eligible = [column for column in range(matrix.shape[1]) if rated_share[column] >= 0.5]
    if settings.procedure == "improved" and any(r[column] > 0 for column in eligible):
        eligible = [column for column in eligible if r[column] > 0]
    return sorted(eligible, key=lambda column: (-r[column], column))[: settings.selected]


def hopeless_columns(matrix: FloatArray, labels: FloatArray, rounds_left: int, settings: HypoEvalSettings) -> list[int]:
    """Return the columns to drop when `rounds_left` rounds of rating are left.

    Successive halving (Karnin, Koren and Somekh 2013, ICML) for several best arms: the last round has one and a half
    times as many hypotheses as are selected, and each earlier round has twice as many as the next.
    """
    r = np.nan_to_num(label_correlations(matrix, labels), nan=-2.0)
    ranked = sorted(range(len(r)), key=lambda column: (-r[column], column))
    n_kept = math.ceil(1.5 * 2 ** (rounds_left - 1) * settings.selected)
    return sorted(ranked[n_kept:])


def mean_ratings(matrix: FloatArray, columns: Sequence[int]) -> FloatArray:
    """Return each text's mean rating by some of the criteria, shape (texts,); NaN without any."""
    means = np.ma.masked_invalid(matrix[:, list(columns)]).mean(axis=1).round(DIGITS)
    return np.ma.filled(means.astype(float), np.nan)


def cross_validated_means(
    matrix: FloatArray, labels: FloatArray, groups: Sequence[str], settings: HypoEvalSettings
) -> FloatArray:
    """Return each text's mean rating by the criteria that the other groups' labels select; NaN if none is selected."""

    def predict(training: np.ndarray, held_out: np.ndarray) -> FloatArray:
        return mean_ratings(matrix[held_out], select_columns(matrix[training], labels[training], settings))

    return interface.cross_validated(groups, predict)


def final_bank(
    learned: Sequence[Criterion], literature: Sequence[Criterion], size: int, procedure: Procedure, rng: random.Random
) -> tuple[Criterion, ...]:
    """Return up to `size` hypotheses, about half from each list if neither is empty; both lists have the best first."""
    has_both = bool(learned and literature)
    half = size // 2
    if procedure == "paper":
        max_per_list = half if has_both else size
        drawn_learned = rng.sample(learned, min(max_per_list, len(learned)))
        return (*drawn_learned, *rng.sample(literature, min(max_per_list, len(literature))))
    if not has_both:
        return (*learned, *literature)[:size]
    if procedure == "published":
        best_learned = tuple(learned[:half])
        return (*best_learned, *literature[: size - len(best_learned)])
    best_of_literature = tuple(literature[: max(half, size - len(learned))])
    return (*learned[: size - len(best_of_literature)], *best_of_literature)


# Length of a proposal in tokens: its reasoning, and each hypothesis.
REASONING_TOKENS = 1000
TOKENS_PER_HYPOTHESIS = 500

# A prompt's fields: the id of a hypothesis, a text's score by it, and the verdict "too high", "too low" or "close".
Prediction = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ProposalContext:
    """The context in the generator's prompt: labelled texts, findings, both or neither.

    Attributes:
        existing: hypotheses that new ones must not repeat.
        predictions: by the text's id, if texts were selected because the existing hypotheses were wrong.
        tolerance: the largest error of a close prediction, in points of the scale.
    """

    examples: tuple[Example, ...] = ()
    findings: tuple[Finding, ...] = ()
    existing: tuple[Criterion, ...] = ()
    predictions: Mapping[str, tuple[Prediction, ...]] = field(default_factory=dict)
    tolerance: float | None = None

    def reasons(self, aspect: str) -> tuple[prompting.NumberedReason, ...]:
        return prompting.numbered_reasons(prompting.group_by_source(self.examples), aspect)

    def fields(self, assignment: Assignment) -> dict[str, Any]:
        reasons = self.reasons(assignment.aspect.name)
        observations = [
            {
                **assignment.text_fields(example),
                "score": example.scores[assignment.aspect.name],
                "predictions": list(self.predictions.get(example.id, ())),
                "reasons": prompting.fields_of_reasons(reasons, example.id),
            }
            for example in prompting.group_by_source(self.examples)
        ]
        return {
            **assignment.fields(),
            "findings": [finding.claim for finding in self.findings],
            "known": [{"id": each.id, "trait": each.trait, "statement": each.statement} for each in self.existing],
            "observations": prompting.show_once(observations),
            "tolerance": self.tolerance,
            "reasons_shown": len(reasons),
        }


async def propose(
    count: int, context: ProposalContext, assignment: Assignment, generator: Judge
) -> tuple[tuple[Criterion, ...], str | None]:
    """Return up to `count` hypotheses without ids; or none, and the reason."""
    prompt = propose_prompt(count, context, assignment)
    answer = await prompting.first_usable(prompt, generator, salvage=prompt.reply)  # keeps the valid hypotheses
    if answer.value is None:
        return (), answer.missing
    origin: Any = "labels" if context.examples else "prior knowledge"
    if context.findings:
        origin = "labels and literature" if context.examples else "literature"
    evidence = Evidence(
        origin=origin,
        examples=tuple(example.id for example in context.examples),
        findings=tuple(finding.id for finding in context.findings),
    )
    reasons = context.reasons(assignment.aspect.name)
    hypotheses = answer.value.hypotheses[:count]
    return tuple(each.criterion(evidence, prompting.cited_reasons(each.reasons, reasons)) for each in hypotheses), None


def propose_prompt(
    count: int, context: ProposalContext, assignment: Assignment, to_refine: Sequence[Mapping[str, Any]] | None = None
) -> Prompt[Any]:
    """Return the prompt for `count` new hypotheses from `context`, or for better wordings of those in `to_refine`."""
    fields = context.fields(assignment)
    form = proposal_form(assignment.scale.anchors(), citing=bool(fields["reasons_shown"]))
    max_tokens = REASONING_TOKENS + TOKENS_PER_HYPOTHESIS * count
    if to_refine is None:
        return Prompt("hypoeval/propose", {**fields, "count": count}, form, max_tokens=max_tokens)
    return Prompt("hypoeval/refine", {**fields, "hypotheses": to_refine}, form, max_tokens=max_tokens)


async def refine(
    hypotheses: tuple[Criterion, ...], context: ProposalContext, assignment: Assignment, generator: Judge
) -> tuple[Criterion, ...]:
    """Return the hypotheses revised in view of `context`; unchanged without a usable reply."""
    reasons = context.reasons(assignment.aspect.name)
    numbers = {(each.example_id, each.rater): each.number for each in reasons}
    wordings = [_wording_fields(hypothesis) for hypothesis in hypotheses]
    to_refine = []
    for hypothesis, fields in zip(hypotheses, wordings, strict=True):
        cited = {(each.example, each.rater) for each in hypothesis.evidence.reasons}
        to_refine.append({**fields, "reasons": sorted(numbers[reason] for reason in cited & numbers.keys())})
    answer = await ask(generator, propose_prompt(len(hypotheses), context, assignment, to_refine))
    if answer.value is None:
        return hypotheses
    old_evidence = hypotheses[0].evidence
    if [_wording_fields(each.criterion(old_evidence)) for each in answer.value.hypotheses] == wordings:
        return hypotheses
    evidence = old_evidence.model_copy(
        update={
            "refined": old_evidence.refined + 1,
            "examples": tuple(dict.fromkeys((*old_evidence.examples, *(example.id for example in context.examples)))),
            "findings": tuple(dict.fromkeys((*old_evidence.findings, *(finding.id for finding in context.findings)))),
            "origin": "labels and literature" if context.findings else old_evidence.origin,
        }
    )
    # New wordings are matched to earlier ones by trait. Position counts too, unless the reply has fewer hypotheses than
    # the prompt, since any of them may be missing.
    revisions = answer.value.hypotheses[: len(hypotheses)]
    by_trait = {hypothesis.trait: hypothesis for hypothesis in hypotheses}
    refined = []
    for index, revision in enumerate(revisions):
        earlier = by_trait.get(revision.trait.strip())
        if earlier is None and len(revisions) == len(hypotheses):
            earlier = hypotheses[index]
        # The reply cannot cite reasons that the prompt did not show, so such reasons of the earlier wording are kept.
        old_reasons = earlier.evidence.reasons if earlier else ()
        not_shown = [reason for reason in old_reasons if (reason.example, reason.rater) not in numbers]
        refined.append(revision.criterion(evidence, (*not_shown, *prompting.cited_reasons(revision.reasons, reasons))))
    return tuple(refined)


def _wording_fields(criterion: Criterion) -> dict[str, Any]:
    levels = {format_score(level.score): level.description for level in criterion.levels}
    return {"trait": criterion.trait, "statement": criterion.statement, "levels": levels}


LevelWordings = dict[str, Annotated[str, prompting.at_most(MAX_WORDING_LENGTH)]]


class Hypothesis(BaseModel):
    """A proposed hypothesis: one trait, level by level, and whether it compares the text with its source or context."""

    trait: Annotated[str, prompting.at_most(MAX_NAME_LENGTH)]
    statement: Annotated[str, prompting.at_most(MAX_WORDING_LENGTH)]
    levels: LevelWordings
    needs_source: bool = True
    reasons: list[int] = []

    @model_validator(mode="after")
    def _check_wording(self) -> Self:
        if any(map(is_blank, (self.trait, self.statement, *self.levels.values()))):
            raise ValueError("trait, statement and every level need words")
        return self

    def criterion(self, evidence: Evidence, reasons: tuple[CitedReason, ...] = ()) -> Criterion:
        levels = (Level(score=float(score), description=text.strip()) for score, text in self.levels.items())
        return Criterion(
            id="",
            kind="hypothesis",
            trait=self.trait.strip(),
            statement=self.statement.strip(),
            levels=tuple(sorted(levels, key=lambda level: level.score)),
            needs_source=self.needs_source,
            evidence=evidence.model_copy(update={"reasons": reasons}),
        )


class HypothesisProposal(BaseModel):
    """Hypotheses, each self-contained, after the reasoning that led to them."""

    reasoning: str
    hypotheses: Sequence[Hypothesis]


@functools.lru_cache(maxsize=64)
def proposal_form(scores: tuple[float, ...], *, citing: bool) -> type[HypothesisProposal]:
    """Return the reply model of hypotheses that describe these scores and, if `citing`, cite raters' reasons.

    The levels are an object keyed by the scores, which a schema can require; small models end a list after one level.
    """
    names = list(map(format_score, scores))

    def check(levels: dict[str, str]) -> dict[str, str]:
        if levels.keys() != set(names):
            raise ValueError(f"levels needed for {', '.join(names)}, got {', '.join(levels) or 'none'}")
        return levels

    schema = {
        "type": "object",
        "properties": {name: {"type": "string"} for name in names},
        "required": names,
        "additionalProperties": False,
    }
    levels: Any = Annotated[LevelWordings, AfterValidator(check), WithJsonSchema(schema)]
    reasons = prompting.CitedNumbers if citing else prompting.NothingToCite
    hypothesis: Any = create_model("Hypothesis", __base__=Hypothesis, levels=(levels, ...), reasons=(reasons, []))
    hypotheses: Any = Annotated[list[hypothesis], Field(min_length=1), prompting.keep_valid(())]
    return create_model("HypothesisProposal", __base__=HypothesisProposal, hypotheses=(hypotheses, ...))


# In `extend`, share of the best hypotheses that must miss a text's label for the text to count as wrong.
EXTEND_WRONG_SHARE = 0.5


def with_ids(proposed: Sequence[Criterion], n_older: int) -> tuple[Criterion, ...]:
    return tuple(each.model_copy(update={"id": f"h{number:02d}"}) for number, each in enumerate(proposed, n_older + 1))


async def extend(
    part: Part,
    ratings: Mapping[str, Mapping[str, float]],
    training_input: interface.TrainingInput,
    settings: HypoEvalSettings,
    *,
    judge: Judge,
    generator: Judge,
) -> tuple[Part, tuple[str, ...]]:
    """Return a part with new hypotheses from the texts that the hypotheses of `part` miss most, and notes for the user.

    The texts are from at most half of the groups, since their labels cannot test what is proposed from them.
    """
    assignment, examples = training_input.assignment, sort_by_content(training_input.shown)
    scale, aspect, theta = assignment.scale, assignment.aspect.name, settings.theta
    labels = {example.id: example.scores[aspect] for example in examples}
    utilities: dict[str, list[float]] = {criterion.id: [] for criterion in part.criteria}
    for text_id, scores in sorted(ratings.items()):
        for criterion_id in utilities.keys() & scores.keys():
            utilities[criterion_id].append(utility(scores[criterion_id], labels[text_id], scale))
    mean_utility = {criterion_id: fmean(values) if values else 0.0 for criterion_id, values in utilities.items()}
    best = sorted(part.criteria, key=lambda criterion: (-mean_utility[criterion.id], criterion.id))[: settings.k]
    predictions = {id_: predictions_of_text(best, ratings.get(id_, {}), labels[id_], theta, scale) for id_ in labels}
    n_misses = {id_: sum(each["verdict"] != "close" for each in predictions[id_]) for id_ in labels}
    wrong = [text for text in examples if n_misses[text.id] >= max(1, EXTEND_WRONG_SHARE * len(predictions[text.id]))]
    max_groups = max(1, len({example.group for example in examples}) // 2)
    groups = [group for group, _ in Counter(text.group for text in wrong).most_common(max_groups)]
    most_missed = sorted((text for text in wrong if text.group in groups), key=lambda text: -n_misses[text.id])
    wrong_predictions = {text.id: predictions[text.id] for text in most_missed[: settings.wrong_bank]}
    if "labels" not in settings.sources or not wrong_predictions:
        return part.model_copy(update={"criteria": (), "dropped": ()}), ()
    texts = tuple(each for each in examples if each.id in wrong_predictions)
    context = ProposalContext(texts, (), part.criteria, wrong_predictions, tolerance(theta, scale))
    proposed, failure = await propose(settings.new_hypotheses, context, assignment, generator)
    new = with_ids(proposed, len(part.criteria) + len(part.dropped))
    # Hypotheses with ratings are preferred to new ones.
    tiers = [*([each] for each in part.criteria), new]
    redundant, notes = await find_redundant(tiers, "hypothesis", assignment, judge)
    distinct = tuple(each for each in new if each.id not in redundant)
    dropped = tuple(DroppedCriterion(criterion=each, reason=redundant[each.id]) for each in new if each.id in redundant)
    return part.model_copy(update={"criteria": distinct, "dropped": dropped}), (*filter(None, [failure]), *notes)


def predictions_of_text(
    criteria: Sequence[Criterion], scores: Mapping[str, float | None], label: float, theta: float, scale: Scale
) -> tuple[Prediction, ...]:
    """Return each score of a text with a verdict: "close" for errors up to `tolerance`, "too high" or "too low"."""
    predictions = []
    for criterion in in_prompt_order(criteria):
        score = scores.get(criterion.id)
        if score is not None:
            verdict = "too high" if score > label else "too low"
            if abs(score - label) <= tolerance(theta, scale):
                verdict = "close"
            predictions.append({"id": criterion.id, "score": score, "verdict": verdict})
    return tuple(predictions)


# Shares of the texts that are rated by the end of each round; after each but the last, hopeless hypotheses are dropped.
ROUNDS = (0.25, 0.5, 1.0)


async def learn(
    training_input: interface.TrainingInput, settings: HypoEvalSettings, **options: Any
) -> interface.Learned:
    if "labels" in settings.sources and not training_input.shown:
        raise DataError(
            "hypoeval learns from labelled texts, and there are none.",
            "Give labelled texts, or set `hypoeval.sources` to 'literature' or 'prior knowledge'.",
        )
    if settings.sources == "literature" and not training_input.findings:
        raise SettingsError(
            "Hypotheses from literature alone need findings, and there are none for "
            f"{training_input.assignment.words.task!r}.",
            "Give your own with `literature=PATH`.",
        )
    run = _HypoEvalRun(training_input, settings, **options)
    await run.propose_all()
    await run.reduce_bank()
    await run.rate_bank()
    return await run.conclude()


@dataclass
class _HypoEvalRun:
    training_input: interface.TrainingInput
    settings: HypoEvalSettings
    judge: Judge
    generator: Judge
    seed: int
    on_progress: interface.Progress = interface.ignore_progress

    def __post_init__(self) -> None:
        training_input, settings = self.training_input, self.settings
        self.assignment, self.groups = training_input.assignment, training_input.groups
        self.is_improved, aspect = settings.procedure == "improved", self.assignment.aspect.name
        examples = list(sort_by_content(training_input.shown))
        if self.is_improved:
            # The proposals should not depend on a random draw: the texts are spread over the labels.
            ranked = sorted(examples, key=lambda example: example.scores[aspect])
            spread = interface.pick_evenly(ranked, settings.initial_examples)
            examples.sort(key=lambda example: example not in spread)
        else:
            random.Random(self.seed).shuffle(examples)
        self.first_texts = tuple(examples[: settings.initial_examples])
        # The texts that are rated here, in the order of the bandit; none if another step rates them.
        self.texts = examples if training_input.examples else []
        self.labels = {text.id: text.scores[aspect] for text in self.texts}
        self.findings = training_input.findings if "literature" in settings.sources else ()
        # All hypotheses by id in the order of addition; the arms of those that remain; why the others were dropped.
        self.criteria: dict[str, Criterion] = {}
        self.arms: dict[str, Arm] = {}
        self.drop_reasons: dict[str, str] = {}
        # By hypothesis, then by text; only ratings that were requested.
        self.ratings: dict[str, dict[str, CriterionRating]] = defaultdict(dict)
        self.predictions: dict[str, tuple[Prediction, ...]] = {}
        self.failures: list[str] = []
        self.notes: list[str] = []

    @property
    def remaining(self) -> tuple[Criterion, ...]:
        return tuple(self.criteria[id_] for id_ in self.arms)

    def _keep_only(self, ids: Iterable[str], reason: str) -> None:
        for id_ in self.arms.keys() - {*ids}:
            del self.arms[id_]
            self.drop_reasons[id_] = reason

    def _ranked(self, step: int) -> list[Criterion]:
        ranked = rank_arms(self.arms.values(), step, self.settings.alpha, self.settings.procedure)
        return [self.criteria[arm.id] for arm in ranked]

    async def _propose_and_add(self, count: int, context: ProposalContext) -> tuple[Criterion, ...]:
        proposed, failure = await propose(count, context, self.assignment, self.generator)
        self.failures += filter(None, [failure])
        return self._add(proposed)

    def _add(self, proposed: Sequence[Criterion]) -> tuple[Criterion, ...]:
        new_criteria = with_ids(proposed, len(self.criteria))
        self.criteria |= {each.id: each for each in new_criteria}
        self.arms |= {each.id: Arm(each.id) for each in new_criteria}
        return new_criteria

    async def _rate(self, criteria: Sequence[Criterion], examples: Iterable[Example]) -> None:
        """Request the ratings that were not requested before; failed ratings are not requested again."""
        # One overall rating does not distinguish hypotheses, so learning requests a rating by each.
        ask_how: Ask = "separately" if self.settings.ask == "concatenated" else self.settings.ask

        async def rate_one(example: Example) -> None:
            new = [criterion for criterion in criteria if example.id not in self.ratings[criterion.id]]
            for rating in await rate(example, new, self.assignment, self.judge, ask_how):
                self.ratings[rating.id][example.id] = rating

        await asyncio.gather(*map(rate_one, examples))

    def _scores(self, ids: Iterable[str]) -> FloatArray:
        columns = [self.ratings[id_] for id_ in ids]
        rows = ([column[text.id].score if text.id in column else None for column in columns] for text in self.texts)
        return float_table(rows, len(columns))

    async def propose_all(self) -> None:
        settings = self.settings
        if settings.sources == "prior knowledge":
            await self._propose_and_add(settings.selected, ProposalContext())
        if "labels" in settings.sources:
            await self._run_bandit()
        if self.findings:
            existing = self.remaining if self.is_improved else ()
            await self._propose_and_add(settings.n_from_literature, ProposalContext((), self.findings, existing))
        if not self.arms:
            raise JudgeError(f"No hypothesis could be obtained: {self.failures[-1]}")

    async def _run_bandit(self) -> None:
        settings, n_texts, first = self.settings, len(self.texts), self.first_texts
        added = await self._propose_and_add(settings.initial_hypotheses, ProposalContext(first, self.findings))
        await self._visit(added, first if n_texts else (), len(first))
        wrong_bank: list[Example] = []
        for step, text in enumerate(self.texts[len(first) :], len(first) + 1):
            top = self._ranked(step - 1)[: settings.k]
            await self._visit(top, [text], step)
            scores = {each.id: self.ratings[each.id][text.id].score for each in top}
            label, scale = self.labels[text.id], self.assignment.scale
            predictions = predictions_of_text(top, scores, label, settings.theta, scale)
            self.predictions[text.id] = predictions
            n_misses = sum(each["verdict"] != "close" for each in predictions)
            if n_misses >= max(1, n_wrong_needed(len(top), step, n_texts)):
                wrong_bank.append(text)
            if len(wrong_bank) >= settings.wrong_bank:
                await self._propose_from_wrong(tuple(wrong_bank), top, step)
                wrong_bank = []
            progress = f"{step} of {n_texts} labelled texts seen, {len(self.arms)} hypotheses"
            self.on_progress(progress, 0.5 * step / n_texts)

    async def _propose_from_wrong(self, texts: tuple[Example, ...], top: Sequence[Criterion], step: int) -> None:
        settings, existing = self.settings, self.remaining if self.is_improved else ()
        context = refinement = ProposalContext(texts)
        if self.is_improved:
            predictions = {text.id: self.predictions[text.id] for text in texts}
            max_error = tolerance(settings.theta, self.assignment.scale)
            context = ProposalContext(texts, (), existing, predictions, max_error)
            # The generator has just seen these texts, so their turn gets no context and is skipped.
            refinement = ProposalContext()
        hypotheses, failure = await propose(settings.new_hypotheses, context, self.assignment, self.generator)
        if failure:
            self.failures.append(failure)
            return
        turns = [refinement, ProposalContext(findings=self.findings, existing=existing)]
        if settings.procedure == "published":
            turns.reverse()
        n_unchanged = 0
        for number in range(settings.refine_rounds):
            turn = turns[number % len(turns)]
            before = hypotheses
            if turn.examples or turn.findings:
                hypotheses = await refine(before, turn, self.assignment, self.generator)
            n_unchanged = n_unchanged + 1 if hypotheses is before else 0
            if n_unchanged == len(turns):  # every further round would repeat a request
                break
        preferred = [[earlier] for earlier in itertools.chain.from_iterable(self._by_preference())]
        new_criteria = self._add(hypotheses)
        if self.is_improved:
            await self._drop_redundant([*preferred, new_criteria])
            new_criteria = tuple(criterion for criterion in new_criteria if criterion.id in self.arms)
        if settings.procedure == "paper":
            ids = [each.id for each in (*top, *new_criteria)]
            self._keep_only(ids, "neither among the best nor new when new hypotheses were proposed")
        await self._visit(new_criteria, texts, step)

    async def _visit(self, criteria: Sequence[Criterion], examples: Sequence[Example], step: int) -> None:
        """Rate the texts, record the utilities, and keep as many of the best hypotheses as the bank holds."""
        await self._rate(criteria, examples)
        for example in examples:
            for criterion in criteria:
                score = self.ratings[criterion.id][example.id].score
                text_utility = None if score is None else utility(score, self.labels[example.id], self.assignment.scale)
                self.arms[criterion.id] = self.arms[criterion.id].after_visit(text_utility, step)
        size = self.settings.bank_size
        best = (each.id for each in self._ranked(step)[:size])
        self._keep_only(best, f"reward below the best {size} after {step} labelled texts")

    def _by_preference(self) -> tuple[list[Criterion], list[Criterion]]:
        """Return rated hypotheses, highest reward or mean utility first, and those from literature as proposed."""
        learned = self._ranked(len(self.texts))
        if self.settings.procedure == "published":
            best = sorted(self.arms.values(), key=lambda arm: (-arm.mean_utility, arm.id))
            learned = [self.criteria[arm.id] for arm in best]
        literature = [each for each in self.remaining if each.evidence.origin == "literature"]
        return [each for each in learned if each not in literature], literature

    async def reduce_bank(self) -> None:
        # Hypotheses from prior knowledge are in one reply to a prompt that forbids repetitions.
        if self.settings.sources != "prior knowledge":
            # Rated hypotheses are ranked by rewards, those from literature only by their wording.
            learned, literature = self._by_preference()
            rated = [[each] for each in learned]
            if self.is_improved:
                await self._drop_redundant([*rated, literature])
            else:
                await self._drop_redundant(rated, max_shown=2)
                await self._drop_redundant([[each] for each in literature], max_shown=2)
        size, rng = self.settings.bank_size, random.Random(f"union {self.seed}")
        bank = final_bank(*self._by_preference(), size, self.settings.procedure, rng)
        self._keep_only((each.id for each in bank), f"no place in the final bank of {size}")
        self.on_progress(f"{len(self.arms)} hypotheses without redundant ones", 0.5)

    async def _drop_redundant(self, tiers: Sequence[Sequence[Criterion]], max_shown: int = MAX_SHOWN) -> None:
        redundant, notes = await find_redundant(tiers, "hypothesis", self.assignment, self.judge, max_shown=max_shown)
        self.notes += notes
        self.drop_reasons |= redundant
        for id_ in redundant:
            del self.arms[id_]

    async def rate_bank(self) -> None:
        """Rate all texts by the whole bank, in rounds after which hopeless hypotheses are dropped."""
        if not self.texts:
            return
        labels = np.array(list(self.labels.values()))
        for rounds_left, share in zip(reversed(range(len(ROUNDS))), ROUNDS, strict=True):
            end = round(share * len(self.texts))
            await self._rate(self.remaining, self.texts[:end])
            if self.settings.drop_hopeless and rounds_left:
                # All ratings count: hypotheses from the bandit have some ratings of later texts too.
                ids = list(self.arms)
                hopeless = hopeless_columns(self._scores(ids), labels, rounds_left, self.settings)
                remaining_ids = (id_ for column, id_ in enumerate(ids) if column not in hopeless)
                self._keep_only(remaining_ids, f"tracked the labels too little when {end} texts were rated by the bank")
            progress = f"{end} of {len(self.texts)} texts rated by {len(self.arms)} hypotheses"
            self.on_progress(progress, 0.5 + 0.5 * share)

    async def conclude(self) -> interface.Learned:
        settings, text_ids, labels = self.settings, tuple(self.labels), np.array(list(self.labels.values()))
        candidates = tuple(self.arms)
        matrix = self._scores(candidates)
        # Without labels, the generator's order of importance decides.
        selected_ids, selection = candidates[: settings.selected], f"first {settings.selected}"
        if self.texts:
            if np.isnan(matrix).all():
                raise JudgeError("The judge gave no usable rating for any training text.", "Try another `judge`.")
            selected_ids = tuple(candidates[column] for column in select_columns(matrix, labels, settings))
            selection = f"{settings.selected} that track the labels best"
            if not selected_ids:
                raise JudgeError(
                    f"No hypothesis was rated on at least half of the {len(self.texts)} texts.",
                    "If replies of the judge failed, learn again with `retry_failed`; else try another `judge`.",
                )
        self._keep_only(selected_ids, f"not among the {selection}")
        for id_, column in zip(tuple(self.criteria), self._scores(self.criteria).T, strict=True):
            n_requested = len(self.ratings[id_])
            self.criteria[id_] = interface.with_agreement(self.criteria[id_], column, labels, n_requested)
        criteria = tuple(self.criteria[id_] for id_ in selected_ids)
        if settings.ask == "concatenated":
            requests = (rate(text, criteria, self.assignment, self.judge, "concatenated") for text in self.texts)
            scores = floats(overall.score for (overall,) in await asyncio.gather(*requests))
        else:
            scores = mean_ratings(matrix, [candidates.index(id_) for id_ in selected_ids])
        dropped = [each for each in self.criteria.values() if each.id in self.drop_reasons]
        return interface.Learned(
            part=Part(
                method="hypoeval",
                settings=settings.model_dump(mode="json"),
                criteria=criteria,
                dropped=tuple(DroppedCriterion(criterion=each, reason=self.drop_reasons[each.id]) for each in dropped),
            ),
            examples=text_ids,
            candidates=candidates,
            ratings=tuple(tuple(self.ratings[id_][text_id] for id_ in candidates) for text_id in text_ids),
            scores=scores,
            reselected=cross_validated_means(matrix, labels, self.groups, settings),
            notes=tuple(self.notes),
        )


def learning_calls(training_input: interface.TrainingInput, settings: HypoEvalSettings) -> interface.LearningCalls:
    n_texts, from_labels = len(training_input.examples), "labels" in settings.sources
    is_rated_later, is_improved = bool(training_input.unrated), settings.procedure == "improved"
    has_literature = bool(training_input.findings) and "literature" in settings.sources
    # How often hypotheses are proposed from wrong examples. If a later step rates the texts: once, by `extend`.
    n_refills = 0
    if from_labels:
        n_refills = max(0, n_texts - settings.initial_examples) // settings.wrong_bank + int(is_rated_later)
    n_initial = settings.initial_hypotheses if from_labels else 0
    if settings.sources == "prior knowledge":
        n_initial = settings.selected
    n_from_literature = settings.n_from_literature if has_literature else 0
    n_hypotheses = n_initial + n_refills * settings.new_hypotheses + n_from_literature
    judge_calls = 0
    if settings.sources != "prior knowledge":  # calls that look for redundant hypotheses, in the papers for each pair
        judge_calls = 1 + n_refills if is_improved else n_hypotheses * (n_hypotheses - 1) // 2
    if not is_rated_later and settings.ask == "together":
        # All texts are rated in the bandit and by the final bank, and the wrong ones by new hypotheses.
        judge_calls += 2 * n_texts + n_refills * settings.wrong_bank
    elif not is_rated_later:
        judge_calls += n_hypotheses * n_texts
        judge_calls += n_texts if settings.ask == "concatenated" else 0
    n_refinements = settings.refine_rounds
    if is_improved:  # every second round is about wrong examples, and is skipped
        n_refinements = n_refinements // 2 if has_literature else 0
    calls_per_refill = 1 if is_rated_later else 1 + n_refinements
    return interface.LearningCalls(
        judge=judge_calls,
        generator=int(n_initial > 0) + int(has_literature) + n_refills * calls_per_refill,
        shown=settings.initial_examples if from_labels else 0,
        unrated=n_hypotheses if is_rated_later else 0,
    )


# In recorded judgments of a strong model, one call about all hypotheses agreed with people as well as one for each, at
# a fraction of the price. No hypothesis is dropped before it rates all texts, since a candidate needs all its ratings.
JOINT_SETTINGS = {"ask": "together", "drop_hopeless": False, "bank_size": 10, "new_hypotheses": 4, "refine_rounds": 2}

HYPOEVAL = interface.Method(
    name="hypoeval",
    note="criteria with a description of every score, from labels and findings",
    settings=HypoEvalSettings,
    presets=PRESETS,
    prompts=("hypoeval/propose", "hypoeval/refine", "deduplication/group", "hypoeval/rate", "hypoeval/rate_together"),
    learn=learn,
    score=score,
    learning_calls=learning_calls,
    criterion_kind="hypothesis",
    shares_call=lambda settings: HypoEvalSettings.model_validate(settings).ask != "concatenated",
    shows_reasons=lambda settings: "labels" in settings.sources,
    # The published procedures propose in view of ratings, round by round.
    rated_by_later_step=lambda settings: settings.procedure == "improved",
    extend=extend,
    joint_settings=JOINT_SETTINGS,
)
