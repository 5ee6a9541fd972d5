"""The bank of hypotheses, the bandit that ranks them, and the selection from it (HypoEval, section 2).

A hypothesis is an arm, a labelled text is a pull, and the reward is the mean utility of its ratings so far plus an
exploration bonus, as in upper confidence bounds.
"""

from __future__ import annotations

import asyncio
import math
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import BaseModel, ValidationInfo, model_validator

from rubriclab.errors import DataError, JudgeError, SettingsError
from rubriclab.judges.judge import Judge, ask
from rubriclab.methods.hypoeval.score import HypoEvalSettings, Procedure, RatingTable, rate
from rubriclab.methods.method import Learned, LearningCalls, Progress, TrainingInput, cross_validated, silent
from rubriclab.methods.prompting import (
    CitedNumbers,
    NothingToCite,
    Number,
    NumberedReason,
    at_most,
    by_source,
    cited_reasons,
    fields_of_reasons,
    first_usable,
    numbered_reasons,
    shown_once,
)
from rubriclab.methods.questions import MOST_SHOWN, find_redundant
from rubriclab.methods.sources import Finding
from rubriclab.models.base import LONGEST_NAME, LONGEST_WORDING
from rubriclab.models.characters import is_blank
from rubriclab.models.rubric import CitedReason, Criterion, DroppedCriterion, Evidence, Level, Part, by_id
from rubriclab.models.text import Assignment, Example, Scale, show
from rubriclab.option_names import RUN_AGAIN, option
from rubriclab.prompts.prompt import Prompt
from rubriclab.stats.correlation import FloatArray, floats, label_correlations
from rubriclab.stats.intervals import DIGITS, rounded

# The paper states theta in points of its 1 to 5 scale.
PAPER_WIDTH = 4.0

# Share of the top k that must be wrong at the end of training for a text to enter the bank of wrong examples.
FINAL_WRONG_SHARE = 0.8


@dataclass(frozen=True, slots=True)
class Arm:
    """A hypothesis in the bandit.

    Attributes:
        id: the id of the hypothesis, which breaks ties in rankings.
        visits: number of labelled texts with a rating.
        total: sum of the utilities of these ratings.
        visited: the step of the latest visit.
    """

    id: str
    visits: int = 0
    total: float = 0.0
    visited: int = 0

    @property
    def accuracy(self) -> float:
        """The mean utility over the visits, 0 without any."""
        return self.total / self.visits if self.visits else 0.0

    def seen(self, utility: float | None, step: int) -> Arm:
        """Return the arm after a visit at `step`; unchanged after a failed rating (`None`)."""
        return self if utility is None else Arm(self.id, self.visits + 1, self.total + utility, step)


def utility(rating: float, label: float, scale: Scale) -> float:
    """Return `1 - ((rating - label) / width)^2`, in [0, 1]: the paper's L with a = 1 and b = 1/16 on 1 to 5."""
    return 1.0 - ((rating - label) / scale.width) ** 2


def is_wrong(rating: float, label: float, theta: float, scale: Scale) -> bool:
    """Return whether a rating differs from the label by more than `theta` points of a 1 to 5 scale."""
    return abs(rating - label) > tolerance(theta, scale)


def tolerance(theta: float, scale: Scale) -> float:
    """Return `theta` points of a 1 to 5 scale in points of `scale`."""
    return theta * scale.width / PAPER_WIDTH


def wrong_needed(top: int, step: int, total: int) -> float:
    """Return w_hyp: the number of the `top` hypotheses that must be wrong for a text to enter the wrong bank.

    The paper leaves it open; in the published code it rises with the 0-based number of the text out of `total`.
    """
    return top * FINAL_WRONG_SHARE * (step - 1) / total


def reward(arm: Arm, step: int, alpha: float, procedure: Procedure) -> float:
    """Return the arm's mean utility plus its exploration bonus, after `step` labelled texts.

    An updated bonus makes arms comparable whenever they were last visited; by the rule of the paper and its code,
    bonuses are those of the last visit and out of date. An arm without visits has utility 0 and the largest bonus.
    """
    at = step if procedure == "improved" else arm.visited
    return round(arm.accuracy, DIGITS) + round(alpha * math.sqrt(math.log(max(at, 1)) / max(arm.visits, 1)), DIGITS)


def ranked(arms: Iterable[Arm], step: int, alpha: float, procedure: Procedure) -> list[Arm]:
    """Return the arms by decreasing reward; equal ones by id."""
    return sorted(arms, key=lambda arm: (-reward(arm, step, alpha, procedure), arm.id))


class Bank:
    """Hypotheses by id. Ids are assigned in the order of addition and never reused."""

    def __init__(self, settings: HypoEvalSettings) -> None:
        self._settings = settings
        self._known: dict[str, Criterion] = {}
        self._arms: dict[str, Arm] = {}
        self._reasons: dict[str, str] = {}

    def add(self, proposed: Iterable[Criterion]) -> tuple[Criterion, ...]:
        """Add proposed hypotheses and return them with their ids."""
        added = []
        for criterion in proposed:
            name = f"h{len(self._known) + 1:02d}"
            self._known[name] = criterion.model_copy(update={"id": name})
            self._arms[name] = Arm(name)
            added.append(self._known[name])
        return tuple(added)

    @property
    def alive(self) -> tuple[Criterion, ...]:
        """The hypotheses that are not dropped, in the order of addition."""
        return tuple(self._known[name] for name in self._arms)

    def top(self, count: int, step: int) -> tuple[Criterion, ...]:
        """Return the `count` hypotheses of the highest reward after `step` texts, best first."""
        best = ranked(self._arms.values(), step, self._settings.alpha, self._settings.procedure)[:count]
        return tuple(self._known[arm.id] for arm in best)

    def most_accurate(self) -> tuple[Criterion, ...]:
        """Return all hypotheses that are not dropped by decreasing mean utility, without bonus; equal ones by id."""
        arms = sorted(self._arms.values(), key=lambda arm: (-arm.accuracy, arm.id))
        return tuple(self._known[arm.id] for arm in arms)

    def visit(self, name: str, utility: float | None, step: int) -> None:
        """Record the utility of a rating."""
        self._arms[name] = self._arms[name].seen(utility, step)

    def drop(self, name: str, reason: str) -> None:
        """Drop a hypothesis for `reason`; its evidence is kept."""
        del self._arms[name]
        self._reasons[name] = reason

    def keep_only(self, pool: Iterable[Criterion]) -> None:
        """Drop every hypothesis outside of `pool`."""
        names = {criterion.id for criterion in pool}
        for criterion in self.alive:
            if criterion.id not in names:
                self.drop(criterion.id, "neither among the best nor new when new hypotheses were proposed")

    def trim(self, size: int, step: int) -> None:
        """Keep the `size` hypotheses of the highest reward."""
        kept = {criterion.id for criterion in self.top(size, step)}
        for criterion in self.alive:
            if criterion.id not in kept:
                self.drop(criterion.id, f"reward below the best {size} after {step} labelled texts")

    def annotate(self, name: str, pearson: float | None, judged: int, missing: int) -> None:
        """Add the final evidence to a hypothesis."""
        criterion = self._known[name]
        update = {"pearson": pearson, "judged": judged, "missing": missing}
        self._known[name] = criterion.model_copy(update={"evidence": criterion.evidence.model_copy(update=update)})

    def get(self, name: str) -> Criterion:
        """Return a hypothesis with its evidence so far, dropped or not."""
        return self._known[name]

    def every_id(self) -> Sequence[str]:
        """Return the ids of all hypotheses, also of dropped ones."""
        return tuple(self._known)

    def dropped(self) -> tuple[DroppedCriterion, ...]:
        """Return the dropped hypotheses with the reasons, in the order of addition."""
        return tuple(
            DroppedCriterion(criterion=self._known[name], reason=self._reasons[name])
            for name in self._known
            if name in self._reasons
        )


def select(matrix: FloatArray, labels: FloatArray, settings: HypoEvalSettings) -> list[int]:
    """Return the columns of the criteria kept, best first: at most `selected`, by Pearson correlation.

    Columns with ratings of less than half of the texts are not eligible. Columns with a negative correlation are kept
    only if none is positive, unless the procedure is the paper's or its code's. Ties go to the earlier column; columns
    without a correlation come last.
    """
    r = np.nan_to_num(label_correlations(matrix, labels), nan=-2.0)
    rated = (~np.isnan(matrix)).mean(axis=0) if len(matrix) else np.zeros(matrix.shape[1])
    eligible = [column for column in range(matrix.shape[1]) if rated[column] >= 0.5]
    if settings.procedure == "improved" and any(r[column] > 0 for column in eligible):
        eligible = [column for column in eligible if r[column] > 0]
    return sorted(eligible, key=lambda column: (-r[column], column))[: settings.selected]


def hopeless(matrix: FloatArray, labels: FloatArray, rounds_left: int, settings: HypoEvalSettings) -> list[int]:
    """Return the columns to drop, `rounds_left` rounds of rating before the end.

    Successive halving (Karnin, Koren and Somekh 2013, ICML, "Almost Optimal Exploration in Multi-Armed Bandits") for
    several best arms: one and a half times as many as are selected enter the last round, and twice as many each round
    before it. Columns without a correlation are dropped first.
    """
    r = label_correlations(matrix, labels)
    ranked = sorted(range(len(r)), key=lambda column: (-np.nan_to_num(r[column], nan=-2.0), column))
    return sorted(ranked[math.ceil(0.75 * 2**rounds_left * settings.selected) :])


def predictions(matrix: FloatArray, columns: Sequence[int]) -> FloatArray:
    """Return the mean over the selected columns, NaN if none of them has a rating; shape (texts,)."""
    chosen = matrix[:, list(columns)]
    rated = ~np.isnan(chosen)
    counts = rated.sum(axis=1)
    sums = np.where(rated, chosen, 0.0).sum(axis=1)
    return np.where(counts > 0, (sums / np.maximum(counts, 1)).round(DIGITS), np.nan)


def reselected(matrix: FloatArray, labels: FloatArray, groups: Sequence[str], settings: HypoEvalSettings) -> FloatArray:
    """Return cross-validated predictions: each text's by the criteria that the other groups' labels select; NaN if
    none."""

    def predict(others: np.ndarray, inside: np.ndarray) -> FloatArray:
        return predictions(matrix[inside], select(matrix[others], labels[others], settings))

    return cross_validated(groups, predict)


def final_bank(
    learned: Sequence[Criterion], literature: Sequence[Criterion], size: int, procedure: Procedure, draw: random.Random
) -> tuple[Criterion, ...]:
    """Return at most `size` hypotheses from labels and literature, each given best first.

    If there are none of one kind, the others may fill the bank.
    """
    if not (learned and literature):
        return _some([*learned, *literature], size, procedure, draw)
    half = size // 2
    if procedure == "paper":
        return (*draw.sample(learned, min(half, len(learned))), *draw.sample(literature, min(half, len(literature))))
    if procedure == "published":
        kept = tuple(learned[:half])
        return (*kept, *literature[: size - len(kept)])
    added = tuple(literature[: max(half, size - len(learned))])
    return (*learned[: size - len(added)], *added)


def _some(side: Sequence[Criterion], size: int, procedure: Procedure, draw: random.Random) -> tuple[Criterion, ...]:
    return tuple(draw.sample(side, min(size, len(side))) if procedure == "paper" else side[:size])


TOKENS_PER_HYPOTHESIS = 500


@dataclass(frozen=True, slots=True)
class Prediction:
    """The score of a text by an existing hypothesis, compared with its label."""

    id: str
    score: float
    verdict: Literal["too high", "too low", "close"]


@dataclass(frozen=True, slots=True)
class ProposalContext:
    """The material in the generator's prompt: labelled texts, findings, both or neither.

    Attributes:
        known: existing hypotheses, which new ones must not repeat.
        predictions: predictions of each text's label, if texts were selected because known hypotheses were wrong.
        tolerance: the largest error of a close prediction, in points of the scale; `None` without predictions.
    """

    examples: tuple[Example, ...] = ()
    findings: tuple[Finding, ...] = ()
    known: tuple[Criterion, ...] = ()
    predictions: Mapping[str, tuple[Prediction, ...]] = field(default_factory=dict)
    tolerance: float | None = None

    def reasons(self, aspect: str) -> tuple[NumberedReason, ...]:
        """Return the raters' reasons for the labels, numbered in the order in which a prompt shows the texts."""
        return numbered_reasons(by_source(self.examples), aspect)

    def origin(self) -> Literal["labels", "labels and literature", "literature", "prior knowledge"]:
        """Return the origin of hypotheses from this material."""
        if self.examples:
            return "labels and literature" if self.findings else "labels"
        return "literature" if self.findings else "prior knowledge"

    def evidence(self) -> Evidence:
        """Return the evidence of a hypothesis from this material."""
        return Evidence(
            origin=self.origin(),
            examples=tuple(example.id for example in self.examples),
            findings=tuple(finding.id for finding in self.findings),
        )


async def propose(
    count: int, material: ProposalContext, assignment: Assignment, generator: Judge
) -> tuple[tuple[Criterion, ...], str | None]:
    """Return up to `count` hypotheses without ids, and `None`; or none, and the reason."""
    prompt = propose_prompt(count, material, assignment)
    reasons = material.reasons(assignment.aspect.name)
    answer = await first_usable(prompt, generator, salvage=prompt.reply)
    if answer.value is None:
        return (), answer.missing
    evidence = material.evidence()
    hypotheses = answer.value.hypotheses[:count]
    return tuple(_criterion(each, _citing(evidence, cited_reasons(each.reasons, reasons))) for each in hypotheses), None


def propose_prompt(count: int, material: ProposalContext, assignment: Assignment) -> Prompt[Any]:
    """Return the prompt for `count` hypotheses from `material`."""
    fields = {**_fields(material, assignment), "count": count}
    form = _reply(material.reasons(assignment.aspect.name))
    return Prompt("hypoeval/propose", fields, form, max_tokens=_longest(count))


async def refine(
    hypotheses: tuple[Criterion, ...],
    material: ProposalContext,
    assignment: Assignment,
    generator: Judge,
) -> tuple[Criterion, ...]:
    """Return the hypotheses revised by `material`; unchanged without a usable reply."""
    payload = [_payload(hypothesis) for hypothesis in hypotheses]
    reasons = material.reasons(assignment.aspect.name)
    prompt = _refine_prompt(hypotheses, reasons, material, assignment)
    answer = await ask(generator, prompt, salvage=prompt.reply)
    if (
        answer.value is None
        or [_payload(_criterion(h, hypotheses[0].evidence)) for h in answer.value.hypotheses] == payload
    ):
        return hypotheses
    seen = hypotheses[0].evidence
    evidence = seen.model_copy(
        update={
            "refined": seen.refined + 1,
            "examples": tuple(dict.fromkeys((*seen.examples, *(example.id for example in material.examples)))),
            "findings": tuple(dict.fromkeys((*seen.findings, *(finding.id for finding in material.findings)))),
            "origin": "labels and literature" if material.findings else seen.origin,
        }
    )
    refined: Sequence[Hypothesis] = answer.value.hypotheses[: len(hypotheses)]
    return tuple(
        _criterion(each, _citing(evidence, (*earlier, *cited_reasons(each.reasons, reasons))))
        for each, earlier in zip(refined, _reasons_not_shown(hypotheses, refined, reasons), strict=True)
    )


def _refine_prompt(
    hypotheses: Sequence[Criterion],
    reasons: Sequence[NumberedReason],
    material: ProposalContext,
    assignment: Assignment,
) -> Prompt[Any]:
    payload = [{**_payload(each), "reasons": _cited_numbers(each, reasons)} for each in hypotheses]
    fields = {**_fields(material, assignment), "hypotheses": payload}
    form = _reply(reasons)
    return Prompt("hypoeval/refine", fields, form, max_tokens=_longest(len(hypotheses)))


def _reply(reasons: Sequence[NumberedReason]) -> type[HypothesisProposal]:
    return CitingProposal if reasons else HypothesisProposal


def _cited_numbers(hypothesis: Criterion, reasons: Sequence[NumberedReason]) -> list[int]:
    cited = {(each.example, each.rater) for each in hypothesis.evidence.reasons}
    return [each.number for each in reasons if (each.example, each.rater) in cited]


def _reasons_not_shown(
    before: Sequence[Criterion], after: Sequence[Hypothesis], reasons: Sequence[NumberedReason]
) -> list[tuple[CitedReason, ...]]:
    """Return for each refined hypothesis the earlier reasons that the prompt did not show: a reply cannot cite them.

    A reply with fewer hypotheses may have left out any, so these are matched by trait.
    """
    shown = {(each.example, each.rater) for each in reasons}
    by_trait = {each.trait: each for each in before}
    same_order = len(before) == len(after)
    matched = [
        by_trait.get(each.trait.strip(), before[place] if same_order else None) for place, each in enumerate(after)
    ]
    return [
        tuple(each for each in found.evidence.reasons if (each.example, each.rater) not in shown) if found else ()
        for found in matched
    ]


def _citing(evidence: Evidence, reasons: tuple[CitedReason, ...]) -> Evidence:
    return evidence.model_copy(update={"reasons": reasons})


def _criterion(hypothesis: Hypothesis, evidence: Evidence) -> Criterion:
    return Criterion(
        id="",
        kind="hypothesis",
        trait=hypothesis.trait.strip(),
        statement=hypothesis.statement.strip(),
        levels=hypothesis.ordered_levels(),
        evidence=evidence,
    )


def _payload(criterion: Criterion) -> dict[str, Any]:
    levels = [{"score": level.score, "description": level.description} for level in criterion.levels]
    return {"trait": criterion.trait, "statement": criterion.statement, "levels": levels}


def _fields(material: ProposalContext, assignment: Assignment) -> dict[str, Any]:
    reasons = material.reasons(assignment.aspect.name)
    observations = [
        {
            **assignment.text_fields(example),
            "score": example.scores[assignment.aspect.name],
            "predictions": [asdict(each) for each in material.predictions.get(example.id, ())],
            "reasons": fields_of_reasons(reasons, example.id),
        }
        for example in by_source(material.examples)
    ]
    return {
        **assignment.fields(),
        "findings": [finding.claim for finding in material.findings],
        "known": [{"id": each.id, "trait": each.trait, "statement": each.statement} for each in material.known],
        "observations": shown_once(observations),
        "tolerance": material.tolerance,
        "reasons_shown": len(reasons),
    }


def _longest(count: int) -> int:
    return 1000 + TOKENS_PER_HYPOTHESIS * count


class LevelText(BaseModel):
    """One level of a proposed hypothesis."""

    score: Number
    description: Annotated[str, at_most(LONGEST_WORDING)]


class Hypothesis(BaseModel):
    """A proposed hypothesis: one trait, level by level."""

    trait: Annotated[str, at_most(LONGEST_NAME)]
    statement: Annotated[str, at_most(LONGEST_WORDING)]
    levels: list[LevelText]
    reasons: NothingToCite = []

    @model_validator(mode="after")
    def _worded(self) -> Self:
        texts = [self.trait, self.statement, *(level.description for level in self.levels)]
        if any(map(is_blank, texts)):
            raise ValueError("trait, statement and every level need words")
        return self

    @model_validator(mode="after")
    def _every_level(self, info: ValidationInfo) -> Self:
        if info.context:
            expected = list(info.context["scale"]["anchors"])
            got = sorted(level.score for level in self.levels)
            if got != expected:
                raise ValueError(f"levels needed for {_listed(expected)}, got {_listed(got)}")
        return self

    def ordered_levels(self) -> tuple[Level, ...]:
        """Return the levels of a criterion, lowest first."""
        levels = sorted(self.levels, key=lambda level: level.score)
        return tuple(Level(score=level.score, description=level.description.strip()) for level in levels)


class HypothesisProposal(BaseModel):
    """Hypotheses, each self-contained, after the reasoning that led to them."""

    reasoning: str
    hypotheses: Sequence[Hypothesis]

    @model_validator(mode="after")
    def _some(self) -> Self:
        if not self.hypotheses:
            raise ValueError("at least one hypothesis is needed")
        return self


class CitingHypothesis(Hypothesis):
    """A proposed hypothesis, with the numbers of the raters' reasons that it came from."""

    reasons: CitedNumbers = []


class CitingProposal(HypothesisProposal):
    """Hypotheses that cite raters' reasons, each self-contained, after the reasoning that led to them."""

    hypotheses: Sequence[CitingHypothesis]


def _listed(scores: list[float]) -> str:
    return ", ".join(show(score) for score in scores) or "none"


# Share of the best hypotheses that must miss a text's label for it to count as wrong.
WRONG_SHARE = 0.5


async def extend(
    part: Part,
    ratings: Mapping[str, Mapping[str, float]],
    training_input: TrainingInput,
    settings: HypoEvalSettings,
    *,
    judge: Judge,
    generator: Judge,
) -> tuple[Part, tuple[str, ...]]:
    """Return a part with hypotheses from the texts whose labels those of `part` miss most, and notes for the user.

    Args:
        ratings: by text, the scores by the hypotheses.
    """
    assignment = training_input.assignment
    wrong = _wrong(part.criteria, ratings, training_input, settings)
    if "labels" not in settings.sources or not wrong:
        return part.model_copy(update={"criteria": (), "dropped": ()}), ()
    texts = tuple(sorted((each for each in training_input.shown if each.id in wrong), key=lambda each: each.id))
    close = tolerance(settings.theta, assignment.scale)
    proposed, failure = await propose(
        settings.new_hypotheses,
        ProposalContext(texts, (), part.criteria, wrong, close),
        assignment,
        generator,
    )
    taken = len(part.criteria) + len(part.dropped)
    new = tuple(each.model_copy(update={"id": f"h{taken + n:02d}"}) for n, each in enumerate(proposed, 1))
    # Hypotheses with ratings are preferred to new ones.
    tiers = [*([each] for each in part.criteria), new]
    redundant, notes = await find_redundant(tiers, "hypothesis", assignment, judge)
    kept = tuple(each for each in new if each.id not in redundant)
    dropped = tuple(DroppedCriterion(criterion=each, reason=redundant[each.id]) for each in new if each.id in redundant)
    failures = (failure,) if failure else ()
    return part.model_copy(update={"criteria": kept, "dropped": dropped}), (*failures, *notes)


def predicted(
    criteria: Sequence[Criterion], scores: Mapping[str, float | None], label: float, theta: float, scale: Scale
) -> tuple[Prediction, ...]:
    """Return the predictions of a text's label by those of the hypotheses that have a score of the text."""
    predictions = []
    for criterion in by_id(criteria):
        if (score := scores.get(criterion.id)) is not None:
            off: Literal["too high", "too low"] = "too high" if score > label else "too low"
            predictions.append(
                Prediction(criterion.id, score, off if is_wrong(score, label, theta, scale) else "close")
            )
    return tuple(predictions)


def _wrong(
    criteria: Sequence[Criterion],
    ratings: Mapping[str, Mapping[str, float]],
    training_input: TrainingInput,
    settings: HypoEvalSettings,
) -> dict[str, tuple[Prediction, ...]]:
    """Return the predictions for the texts whose labels most of the `k` best hypotheses miss, at most `wrong_bank`.

    The texts are of at most half of the groups, since the labels of these groups cannot test what is proposed from
    them.
    """
    scale, aspect = training_input.assignment.scale, training_input.assignment.aspect.name
    labels = {example.id: example.scores[aspect] for example in training_input.shown}

    def accuracy(criterion: Criterion) -> float:
        gains = [
            utility(scores[criterion.id], labels[name], scale)
            for name, scores in sorted(ratings.items())
            if criterion.id in scores
        ]
        return sum(gains) / len(gains) if gains else 0.0

    best = sorted(criteria, key=lambda each: (-accuracy(each), each.id))[: settings.k]
    found = {name: predicted(best, ratings.get(name, {}), labels[name], settings.theta, scale) for name in labels}
    missed = {name: sum(each.verdict != "close" for each in predictions) for name, predictions in found.items()}
    wrong = [
        example
        for example in training_input.shown
        if missed[example.id] >= max(1, WRONG_SHARE * len(found[example.id]))
    ]
    sizes = Counter(example.group for example in wrong)
    half = max(1, len({example.group for example in training_input.shown}) // 2)
    groups = sorted(sizes, key=lambda group: (-sizes[group], group))[:half]
    inside: list[Example] = sorted(
        (example for example in wrong if example.group in groups), key=lambda each: (-missed[each.id], each.id)
    )
    return {example.id: found[example.id] for example in inside[: settings.wrong_bank]}


# Shares of the texts that are rated in each round; after each but the last, hopeless hypotheses are dropped.
ROUNDS = (0.25, 0.5, 1.0)


async def learn(
    training_input: TrainingInput,
    settings: HypoEvalSettings,
    *,
    judge: Judge,
    generator: Judge,
    seed: int,
    on_progress: Progress = silent,
) -> Learned:
    """Return the part with the hypotheses that HypoEval keeps, and the dropped ones.

    The result does not depend on the order of the examples. Without examples to rate, the first hypotheses in the
    generator's order are kept.

    Raises:
        DataError: if hypotheses come from labels, and there are none.
        SettingsError: if they come from literature alone, and there are no findings.
        JudgeError: if no hypothesis, or none with ratings of half of the texts, could be obtained.
    """
    assignment, findings = training_input.assignment, training_input.findings
    _check(training_input, settings)
    order, shown = list(training_input.in_order), sorted(training_input.shown, key=lambda example: example.id)
    for texts in (order, shown):
        random.Random(seed).shuffle(texts)
    used = tuple(findings) if settings.sources in ("labels and literature", "literature") else ()
    study = _HypoEvalRun(
        tuple(order),
        tuple(shown[: settings.initial_examples]),
        assignment,
        judge,
        generator,
        used,
        settings,
        random.Random(f"union {seed}"),
        on_progress,
    )
    await study.propose_all()
    await study.remove_redundant()
    if study.order:
        await study.rate_bank()
    return await study.conclude()


def _check(training_input: TrainingInput, settings: HypoEvalSettings) -> None:
    if "labels" in settings.sources and not training_input.shown:
        raise DataError(
            "hypoeval learns from labelled texts, and there are none.",
            "Without any, set its sources to 'literature' or 'prior knowledge'.",
        )
    if settings.sources == "literature" and not training_input.findings:
        raise SettingsError(
            "Hypotheses from literature alone need findings, and there are none for "
            f"{training_input.assignment.words.task!r}.",
            f"Give your own with {option('literature', 'PATH')}.",
        )


@dataclass
class _HypoEvalRun:
    """One run of learning: the bank, the ratings, and the steps in order."""

    order: tuple[Example, ...]
    first: tuple[Example, ...]
    assignment: Assignment
    judge: Judge
    generator: Judge
    findings: tuple[Finding, ...]
    settings: HypoEvalSettings
    random: random.Random
    on_progress: Progress

    def __post_init__(self) -> None:
        self.bank = Bank(self.settings)
        self.ratings = RatingTable(self.assignment, self.judge, self.settings.ask)
        self.labels = {example.id: example.scores[self.assignment.aspect.name] for example in self.order}
        self._improved = self.settings.procedure == "improved"
        self.failures: list[str] = []
        self.notes: list[str] = []

    async def propose_all(self) -> None:
        """Fill the bank from the sources that the settings name."""
        settings = self.settings
        if settings.sources == "prior knowledge":
            await self._propose(settings.selected, ProposalContext())
        if "labels" in settings.sources:
            await self._run_bandit()
        if self.findings:
            await self._add_from_literature()
        if not self.bank.alive:
            raise JudgeError(f"No hypothesis could be obtained: {self.failures[-1]}")

    async def remove_redundant(self) -> None:
        """Drop redundant hypotheses, and reduce the bank to its size."""
        # Hypotheses from prior knowledge are in one reply to a prompt that forbids repetitions.
        if self.settings.sources != "prior knowledge":
            for bank in self._banks():
                await self._drop_redundant(bank, MOST_SHOWN if self._improved else 2)
        self._cut_union()
        self.on_progress(f"{len(self.bank.alive)} hypotheses without redundant ones", 0.5)

    async def _drop_redundant(self, tiers: Sequence[Sequence[Criterion]], most_shown: int = MOST_SHOWN) -> None:
        redundant, notes = await find_redundant(tiers, "hypothesis", self.assignment, self.judge, most_shown=most_shown)
        self.notes += notes
        for name, reason in redundant.items():
            self.bank.drop(name, reason)

    def _banks(self) -> list[list[list[Criterion]]]:
        """Return the banks in which hypotheses are compared, each as tiers in order of preference.

        Hypotheses that were rated are ranked by rewards; those from literature only by their wording.
        """
        preferred = self._by_preference(self.bank.alive)
        tried = [[each] for each in preferred if not self._is_literature(each)]
        untried = [each for each in preferred if self._is_literature(each)]
        if self._improved:
            return [[*tried, untried]]
        return [tried, [[each] for each in untried]]

    async def rate_bank(self) -> None:
        """Rate all texts by the whole bank, in rounds after which hopeless hypotheses are dropped."""
        for rounds_left, share in zip(reversed(range(len(ROUNDS))), ROUNDS, strict=True):
            end = round(share * len(self.order))
            await self.ratings.fill(self.bank.alive, self.order[:end])
            if self.settings.drop_hopeless and rounds_left:
                self._drop_hopeless(end, rounds_left)
            doing = f"{end} of {len(self.order)} texts rated by {len(self.bank.alive)} hypotheses"
            self.on_progress(doing, 0.5 + 0.5 * share)

    async def conclude(self) -> Learned:
        """Return the selected hypotheses with their evidence."""
        candidates = tuple(criterion.id for criterion in self.bank.alive)
        ids = tuple(example.id for example in self.order)
        matrix = self.ratings.matrix(candidates, ids)
        labels = np.array([self.labels[name] for name in ids])
        selected = self._chosen(candidates, matrix, labels)
        self._annotate(ids)
        kept = tuple(self.bank.get(name) for name in selected)
        best = f"{self.settings.selected} that track the labels best" if ids else f"first {self.settings.selected}"
        for name in candidates:
            if name not in selected:
                self.bank.drop(name, f"not among the {best}")
        part = Part(
            method="hypoeval",
            settings=self.settings.model_dump(mode="json"),
            criteria=kept,
            dropped=self.bank.dropped(),
        )
        scores = await self._scores(kept, matrix, candidates)
        groups = [example.group for example in self.order]
        ratings = self.ratings.rows(candidates, ids)
        reselected_scores = reselected(matrix, labels, groups, self.settings)
        return Learned(part, ids, candidates, ratings, scores, reselected_scores, notes=tuple(self.notes))

    def _chosen(self, candidates: tuple[str, ...], matrix: FloatArray, labels: FloatArray) -> tuple[str, ...]:
        """Return the selected candidates; without labels the first in the generator's order of importance."""
        if not self.order:
            return candidates[: self.settings.selected]
        if np.isnan(matrix).all():
            raise JudgeError(
                "The judge gave no usable rating for any training text.", f"Try another {option('judge')}."
            )
        chosen = tuple(candidates[column] for column in select(matrix, labels, self.settings))
        if not chosen:
            raise JudgeError(
                f"No hypothesis was rated on at least half of the {len(self.order)} texts.",
                f"{RUN_AGAIN}, with {option('retry_failed')}.",
            )
        return chosen

    async def _scores(self, kept: Sequence[Criterion], matrix: FloatArray, candidates: Sequence[str]) -> FloatArray:
        if self.settings.ask != "concatenated":
            return predictions(matrix, [candidates.index(criterion.id) for criterion in kept])
        requests = (rate(example, kept, self.assignment, self.judge, "concatenated") for example in self.order)
        return floats(overall.score for (overall,) in await asyncio.gather(*requests))

    async def _run_bandit(self) -> None:
        settings, total, first = self.settings, len(self.order), self.first
        await self._propose(
            settings.initial_hypotheses, ProposalContext(first, self.findings), visit=first if total else ()
        )
        self.bank.trim(settings.bank_size, len(first))
        wrong: dict[str, tuple[Example, tuple[Prediction, ...]]] = {}
        for step in range(len(first) + 1, total + 1):
            example = self.order[step - 1]
            top = self.bank.top(settings.k, step - 1)
            await self._visit(top, [example], step)
            predicted = self._predicted(example, top)
            missed = sum(each.verdict != "close" for each in predicted)
            if missed >= max(1, wrong_needed(len(top), step, total)):
                wrong[example.id] = (example, predicted)
            if len(wrong) >= settings.wrong_bank:
                await self._propose_from_wrong(wrong, top, step)
                wrong = {}
            self.on_progress(
                f"{step} of {total} labelled texts seen, {len(self.bank.alive)} hypotheses", 0.5 * step / total
            )

    async def _propose(self, count: int, material: ProposalContext, visit: Sequence[Example] = ()) -> None:
        await self._visit(self.bank.add(await self._proposed(count, material)), visit, len(visit))

    async def _proposed(self, count: int, material: ProposalContext) -> tuple[Criterion, ...]:
        new, failure = await propose(count, material, self.assignment, self.generator)
        if failure:
            self.failures.append(failure)
        return new

    async def _propose_from_wrong(
        self, wrong: Mapping[str, tuple[Example, tuple[Prediction, ...]]], top: Sequence[Criterion], step: int
    ) -> None:
        settings = self.settings
        texts = tuple(text for text, _ in wrong.values())
        material = ProposalContext(texts)
        if self._improved:
            predictions = {name: predicted for name, (_, predicted) in wrong.items()}
            close = tolerance(settings.theta, self.assignment.scale)
            material = ProposalContext(texts, (), self._known, predictions, close)
        new = await self._proposed(settings.new_hypotheses, material)
        if not new:
            return
        # The generator has just seen these texts: a turn without material is skipped.
        again = ProposalContext() if self._improved else material
        turns = (again, ProposalContext(findings=self.findings, known=self._known))
        new = await self._refined(new, turns[::-1] if settings.procedure == "published" else turns)
        added = await self._without_repetitions(self.bank.add(new))
        await self._visit(added, texts, step)
        if settings.procedure == "paper":
            self.bank.keep_only((*top, *added))
        self.bank.trim(settings.bank_size, step)

    async def _without_repetitions(self, added: Sequence[Criterion]) -> tuple[Criterion, ...]:
        """Return the added hypotheses that are not redundant; the others are dropped.

        Earlier hypotheses have ratings and are preferred to new ones.
        """
        if self._improved:
            names = {criterion.id for criterion in added}
            known = [[each] for each in self._by_preference(self.bank.alive) if each.id not in names]
            await self._drop_redundant([*known, added])
        left = {criterion.id for criterion in self.bank.alive}
        return tuple(criterion for criterion in added if criterion.id in left)

    async def _refined(self, new: tuple[Criterion, ...], materials: Sequence[ProposalContext]) -> tuple[Criterion, ...]:
        unchanged = 0
        for number in range(self.settings.refine_rounds):
            material, before = materials[number % len(materials)], new
            if material.examples or material.findings:
                new = await refine(before, material, self.assignment, self.generator)
            unchanged = unchanged + 1 if new is before else 0
            if unchanged == len(materials):  # every further round would repeat a request
                break
        return new

    async def _add_from_literature(self) -> None:
        await self._propose(self.settings.from_literature, ProposalContext(findings=self.findings, known=self._known))

    @property
    def _known(self) -> tuple[Criterion, ...]:
        """The hypotheses that a proposal must not repeat: the bank, which the paper and its code do not show."""
        return self.bank.alive if self._improved else ()

    async def _visit(self, criteria: Sequence[Criterion], examples: Sequence[Example], step: int) -> None:
        await self.ratings.fill(criteria, examples)
        for example in examples:
            for criterion in criteria:
                rating = self.ratings.get(criterion.id, example.id).score
                gain = None if rating is None else utility(rating, self.labels[example.id], self.assignment.scale)
                self.bank.visit(criterion.id, gain, step)

    def _predicted(self, example: Example, top: Sequence[Criterion]) -> tuple[Prediction, ...]:
        scores = {each.id: self.ratings.get(each.id, example.id).score for each in top}
        return predicted(top, scores, self.labels[example.id], self.settings.theta, self.assignment.scale)

    def _is_literature(self, criterion: Criterion) -> bool:
        return criterion.evidence.origin == "literature"

    def _by_preference(self, criteria: Sequence[Criterion]) -> list[Criterion]:
        """Return the rated hypotheses by reward or accuracy, then those from literature in the generator's order."""
        by_accuracy = self.settings.procedure == "published"
        ranked = self.bank.most_accurate() if by_accuracy else self.bank.top(len(criteria), len(self.order))
        rank = {c.id: place for place, c in enumerate(ranked)}
        return sorted(criteria, key=lambda c: (0, rank[c.id]) if not self._is_literature(c) else (1, 0))

    def _cut_union(self) -> None:
        size, preferred = self.settings.bank_size, self._by_preference(self.bank.alive)
        literature = [c for c in preferred if self._is_literature(c)]
        learned = [c for c in preferred if not self._is_literature(c)]
        kept = {c.id for c in final_bank(learned, literature, size, self.settings.procedure, self.random)}
        for criterion in preferred:
            if criterion.id not in kept:
                self.bank.drop(criterion.id, f"no place in the final bank of {size}")

    def _drop_hopeless(self, rated: int, rounds_left: int) -> None:
        # All ratings count: hypotheses from the bandit have some of later texts too.
        names = [criterion.id for criterion in self.bank.alive]
        matrix = self.ratings.matrix(names, [example.id for example in self.order])
        labels = np.array([self.labels[example.id] for example in self.order])
        for column in hopeless(matrix, labels, rounds_left, self.settings):
            self.bank.drop(names[column], f"tracked the labels too little when {rated} texts were rated by the bank")

    def _annotate(self, ids: Sequence[str]) -> None:
        place = {name: number for number, name in enumerate(ids)}
        for criterion in self.bank.every_id():
            # Most hypotheses were dropped early and have few ratings.
            ratings = self.ratings.of(criterion)
            rated = [name for name in sorted(ratings, key=lambda name: place[name]) if ratings[name].score is not None]
            scores = np.array([[ratings[name].score] for name in rated], dtype=float).reshape(len(rated), 1)
            r = label_correlations(scores, np.array([self.labels[name] for name in rated], dtype=float))
            self.bank.annotate(criterion, rounded(float(r[0])), len(rated), len(ratings) - len(rated))


def learning_calls(training_input: TrainingInput, settings: HypoEvalSettings) -> LearningCalls:
    """Return the calls for ratings, redundancy and proposals, with new hypotheses as often as the texts allow."""
    n, from_labels = len(training_input.examples), "labels" in settings.sources
    later = bool(training_input.unrated)
    refills = max(0, n - settings.initial_examples) // settings.wrong_bank if from_labels else 0
    # What another step has rated is extended once.
    refills += later and from_labels
    first = {"prior knowledge": settings.selected, "literature": 0}.get(settings.sources, settings.initial_hypotheses)
    with_literature = bool(training_input.findings) and "literature" in settings.sources
    hypotheses = first + refills * settings.new_hypotheses + with_literature * settings.from_literature
    ratings = 2 * n + refills * settings.wrong_bank if settings.ask == "together" else hypotheses * n
    overall = n if settings.ask == "concatenated" else 0
    comparisons = 1 + refills if settings.procedure == "improved" else hypotheses * (hypotheses - 1) // 2
    redundancy = 0 if settings.sources == "prior knowledge" else comparisons
    rounds = settings.refine_rounds
    if settings.procedure == "improved":
        rounds = with_literature * rounds // 2
    proposals = bool(first) + with_literature + refills * (1 if later else 1 + rounds)
    return LearningCalls(
        (0 if later else ratings + overall) + redundancy,
        proposals,
        settings.initial_examples if from_labels else 0,
        hypotheses if later else 0,
    )
