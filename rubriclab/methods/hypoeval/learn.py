"""HypoEval's learning (section 2): from labelled texts and literature to a few hypotheses about the raters.

first texts + literature -> first hypotheses, which rate the first texts
every further text       -> rated by the top k; if most of them are wrong, it enters the wrong bank
full wrong bank          -> new hypotheses from it, refined by literature (in the paper by the wrong bank and
                            literature in turn); redundant ones are dropped, and then the worst
literature alone         -> more hypotheses
union                    -> redundant ones dropped; all rate all texts; the best by Pearson correlation are kept

The ranking is that of a bandit: a hypothesis is an arm, a labelled text is a pull, and the reward is the mean utility
of its ratings so far plus an exploration bonus, as in upper confidence bounds.

Where another step has the texts rated, together with the criteria of other methods, only the first hypotheses and those
from literature are proposed here; `extend` adds those from texts whose ratings are wrong.
"""

from __future__ import annotations

import asyncio
import functools
import math
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Self

import numpy as np
from pydantic import AfterValidator, BaseModel, Field, WithJsonSchema, create_model, model_validator

from rubriclab.errors import DataError, JudgeError, SettingsError
from rubriclab.judges.judge import Judge, ask
from rubriclab.methods import method as interface, prompting
from rubriclab.methods.hypoeval.score import HypoEvalSettings, Procedure, RatingTable, rate
from rubriclab.methods.questions import MAX_SHOWN, find_redundant
from rubriclab.methods.sources import Finding
from rubriclab.models.base import MAX_NAME_LENGTH, MAX_WORDING_LENGTH
from rubriclab.models.characters import is_blank
from rubriclab.models.rubric import CitedReason, Criterion, DroppedCriterion, Evidence, Level, Part, by_id
from rubriclab.models.text import Assignment, Example, Scale, content_order, format_score
from rubriclab.prompts.prompt import Prompt
from rubriclab.stats.correlation import FloatArray, floats, label_correlations
from rubriclab.stats.intervals import DIGITS, rounded

# The paper states theta in points of its 1 to 5 scale.
PAPER_WIDTH = 4.0

# Share of the top k that must be wrong at the end of training for a text to enter the bank of wrong examples.
FINAL_WRONG_SHARE = 0.8


@dataclass(frozen=True, slots=True)
class Arm:
    """A hypothesis in the bandit: how many texts it rated, the sum of their utilities, and the step of the latest."""

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


def tolerance(theta: float, scale: Scale) -> float:
    """Return `theta` points of a 1 to 5 scale in points of `scale`."""
    return theta * scale.width / PAPER_WIDTH


def wrong_needed(top: int, step: int, total: int) -> float:
    """Return w_hyp: the number of the `top` hypotheses that must be wrong for a text to enter the wrong bank.

    In the published code it rises with the 0-based number of the text out of `total`; the paper leaves it open.
    """
    return top * FINAL_WRONG_SHARE * (step - 1) / total


def reward(arm: Arm, step: int, alpha: float, procedure: Procedure) -> float:
    """Return the arm's mean utility plus its exploration bonus, after `step` labelled texts.

    An updated bonus makes arms comparable whenever they were last visited; by the rule of the paper and its code,
    bonuses are those of the last visit and out of date. An arm without visits has utility 0 and the largest bonus.
    """
    at = step if procedure == "improved" else arm.visited
    return round(arm.accuracy, DIGITS) + round(alpha * math.sqrt(math.log(max(at, 1)) / max(arm.visits, 1)), DIGITS)


def rank_arms(arms: Iterable[Arm], step: int, alpha: float, procedure: Procedure) -> list[Arm]:
    """Return the arms by decreasing reward; equal ones by id."""
    return sorted(arms, key=lambda arm: (-reward(arm, step, alpha, procedure), arm.id))


class Bank:
    """Hypotheses by id, also dropped ones; the arms of the others; and the reasons of the dropped.

    Ids are assigned in the order of addition and never reused.
    """

    def __init__(self, settings: HypoEvalSettings) -> None:
        self._settings = settings
        self.criteria: dict[str, Criterion] = {}
        self.arms: dict[str, Arm] = {}
        self.reasons: dict[str, str] = {}

    def add(self, proposed: Iterable[Criterion]) -> tuple[Criterion, ...]:
        """Add proposed hypotheses and return them with their ids."""
        first = len(self.criteria) + 1
        added = [each.model_copy(update={"id": f"h{number:02d}"}) for number, each in enumerate(proposed, first)]
        self.criteria |= {each.id: each for each in added}
        self.arms |= {each.id: Arm(each.id) for each in added}
        return tuple(added)

    @property
    def alive(self) -> tuple[Criterion, ...]:
        """The hypotheses that are not dropped, in the order of addition."""
        return tuple(self.criteria[name] for name in self.arms)

    def top(self, count: int, step: int) -> tuple[Criterion, ...]:
        """Return the `count` hypotheses of the highest reward after `step` texts, best first."""
        best = rank_arms(self.arms.values(), step, self._settings.alpha, self._settings.procedure)[:count]
        return tuple(self.criteria[arm.id] for arm in best)

    def visit(self, name: str, utility: float | None, step: int) -> None:
        """Record the utility of a rating."""
        self.arms[name] = self.arms[name].seen(utility, step)

    def drop(self, name: str, reason: str) -> None:
        """Drop a hypothesis for `reason`; its evidence is kept."""
        del self.arms[name]
        self.reasons[name] = reason

    def keep_only(self, criteria: Iterable[Criterion], reason: str) -> None:
        """Drop all hypotheses but these for `reason`."""
        for name in self.arms.keys() - {criterion.id for criterion in criteria}:
            self.drop(name, reason)

    def trim(self, step: int) -> None:
        """Keep the hypotheses of the highest reward, as many as the bank holds."""
        size = self._settings.bank_size
        self.keep_only(self.top(size, step), f"reward below the best {size} after {step} labelled texts")

    def dropped(self) -> tuple[DroppedCriterion, ...]:
        """Return the dropped hypotheses with the reasons, in the order of addition."""
        names = (name for name in self.criteria if name in self.reasons)
        return tuple(DroppedCriterion(criterion=self.criteria[name], reason=self.reasons[name]) for name in names)


def select(matrix: FloatArray, labels: FloatArray, settings: HypoEvalSettings) -> list[int]:
    """Return the columns of the criteria kept: the best `selected` by Pearson correlation, of those eligible.

    Columns are eligible with ratings of at least half of the texts; those with a negative correlation only if none is
    positive, unless the procedure is the paper's or its code's. Those without a correlation come last.
    """
    r = np.nan_to_num(label_correlations(matrix, labels), nan=-2.0)
    rated = (~np.isnan(matrix)).mean(axis=0) if len(matrix) else np.zeros(matrix.shape[1])
    eligible = [column for column in range(matrix.shape[1]) if rated[column] >= 0.5]
    if settings.procedure == "improved" and any(r[column] > 0 for column in eligible):
        eligible = [column for column in eligible if r[column] > 0]
    return sorted(eligible, key=lambda column: (-r[column], column))[: settings.selected]


def hopeless_columns(matrix: FloatArray, labels: FloatArray, rounds_left: int, settings: HypoEvalSettings) -> list[int]:
    """Return the columns to drop, `rounds_left` rounds of rating before the end.

    Successive halving (Karnin, Koren and Somekh 2013, ICML, "Almost Optimal Exploration in Multi-Armed Bandits") for
    several best arms: one and a half times as many as are selected enter the last round, and twice as many each round
    before it. Columns without a correlation are dropped first.
    """
    r = label_correlations(matrix, labels)
    rank_arms = sorted(range(len(r)), key=lambda column: (-np.nan_to_num(r[column], nan=-2.0), column))
    return sorted(rank_arms[math.ceil(0.75 * 2**rounds_left * settings.selected) :])


def predictions(matrix: FloatArray, columns: Sequence[int]) -> FloatArray:
    """Return the mean over the selected columns, NaN if none of them has a rating; shape (texts,)."""
    means = np.ma.masked_invalid(matrix[:, list(columns)]).mean(axis=1).round(DIGITS)
    return np.ma.filled(means.astype(float), np.nan)


def reselected(matrix: FloatArray, labels: FloatArray, groups: Sequence[str], settings: HypoEvalSettings) -> FloatArray:
    """Return cross-validated predictions by the criteria that the other groups' labels select; NaN if none."""

    def predict(others: np.ndarray, inside: np.ndarray) -> FloatArray:
        return predictions(matrix[inside], select(matrix[others], labels[others], settings))

    return interface.cross_validated(groups, predict)


def final_bank(
    learned: Sequence[Criterion], literature: Sequence[Criterion], size: int, procedure: Procedure, draw: random.Random
) -> tuple[Criterion, ...]:
    """Return at most `size` hypotheses from labels and literature, each best first, or from the only kind given."""
    half = size // 2
    if not (learned and literature):
        all_of_one = [*learned, *literature]
        return tuple(draw.sample(all_of_one, min(size, len(all_of_one))) if procedure == "paper" else all_of_one[:size])
    if procedure == "paper":
        return (*draw.sample(learned, min(half, len(learned))), *draw.sample(literature, min(half, len(literature))))
    if procedure == "published":
        kept = tuple(learned[:half])
        return (*kept, *literature[: size - len(kept)])
    added = tuple(literature[: max(half, size - len(learned))])
    return (*learned[: size - len(added)], *added)


# Length of a proposal in tokens.
TOKENS_AROUND = 1000
TOKENS_PER_HYPOTHESIS = 500


# The id of a hypothesis, a text's score by it, and the verdict "too high", "too low" or "close" beside its label.
Prediction = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ProposalContext:
    """The material in the generator's prompt: labelled texts, findings, both or neither.

    Attributes:
        known: existing hypotheses, which new ones must not repeat.
        predictions: by text, if texts were selected because known hypotheses were wrong.
        tolerance: the largest error of a close prediction, in points of the scale; `None` without predictions.
    """

    examples: tuple[Example, ...] = ()
    findings: tuple[Finding, ...] = ()
    known: tuple[Criterion, ...] = ()
    predictions: Mapping[str, tuple[Prediction, ...]] = field(default_factory=dict)
    tolerance: float | None = None

    def reasons(self, aspect: str) -> tuple[prompting.NumberedReason, ...]:
        """Return the raters' reasons for the labels, numbered in the order in which a prompt shows the texts."""
        return prompting.numbered_reasons(prompting.by_source(self.examples), aspect)

    def evidence(self) -> Evidence:
        """Return the evidence of a hypothesis from this material."""
        sources = ("labels" if self.examples else "", "literature" if self.findings else "")
        return Evidence.model_validate(
            {
                "origin": " and ".join(filter(None, sources)) or "prior knowledge",
                "examples": tuple(example.id for example in self.examples),
                "findings": tuple(finding.id for finding in self.findings),
            }
        )

    def fields(self, assignment: Assignment) -> dict[str, Any]:
        """Return what a prompt shows of the material."""
        reasons = self.reasons(assignment.aspect.name)
        observations = [
            {
                **assignment.text_fields(example),
                "score": example.scores[assignment.aspect.name],
                "predictions": list(self.predictions.get(example.id, ())),
                "reasons": prompting.fields_of_reasons(reasons, example.id),
            }
            for example in prompting.by_source(self.examples)
        ]
        return {
            **assignment.fields(),
            "findings": [finding.claim for finding in self.findings],
            "known": [{"id": each.id, "trait": each.trait, "statement": each.statement} for each in self.known],
            "observations": prompting.show_once(observations),
            "tolerance": self.tolerance,
            "reasons_shown": len(reasons),
        }


async def propose(
    count: int, material: ProposalContext, assignment: Assignment, generator: Judge
) -> tuple[tuple[Criterion, ...], str | None]:
    """Return up to `count` hypotheses without ids, and `None`; or none, and the reason."""
    prompt = propose_prompt(count, material, assignment)
    answer = await prompting.first_usable(prompt, generator, salvage=prompt.reply)
    if answer.value is None:
        return (), answer.missing
    reasons, evidence = material.reasons(assignment.aspect.name), material.evidence()
    return tuple(
        each.criterion(evidence, prompting.cited_reasons(each.reasons, reasons))
        for each in answer.value.hypotheses[:count]
    ), None


def propose_prompt(count: int, material: ProposalContext, assignment: Assignment) -> Prompt[Any]:
    """Return the prompt for `count` hypotheses from `material`."""
    fields = {**material.fields(assignment), "count": count}
    form = proposal_form(assignment.scale.anchors(), citing=bool(fields["reasons_shown"]))
    return Prompt("hypoeval/propose", fields, form, max_tokens=TOKENS_AROUND + TOKENS_PER_HYPOTHESIS * count)


async def refine(
    hypotheses: tuple[Criterion, ...], material: ProposalContext, assignment: Assignment, generator: Judge
) -> tuple[Criterion, ...]:
    """Return the hypotheses revised by `material`; unchanged without a usable reply."""
    reasons = material.reasons(assignment.aspect.name)
    numbers = {(each.example, each.rater): each.number for each in reasons}
    payload = [_payload(hypothesis) for hypothesis in hypotheses]
    cited = [
        sorted(numbers[key] for each in hypothesis.evidence.reasons if (key := (each.example, each.rater)) in numbers)
        for hypothesis in hypotheses
    ]
    shown = [{**each, "reasons": own} for each, own in zip(payload, cited, strict=True)]
    form = proposal_form(assignment.scale.anchors(), citing=bool(reasons))
    longest = TOKENS_AROUND + TOKENS_PER_HYPOTHESIS * len(hypotheses)
    fields = {**material.fields(assignment), "hypotheses": shown}
    prompt: Prompt[Any] = Prompt("hypoeval/refine", fields, form, max_tokens=longest)
    answer = await ask(generator, prompt)
    before = hypotheses[0].evidence
    if answer.value is None or [_payload(each.criterion(before)) for each in answer.value.hypotheses] == payload:
        return hypotheses
    evidence = before.model_copy(
        update={
            "refined": before.refined + 1,
            "examples": tuple(dict.fromkeys((*before.examples, *(example.id for example in material.examples)))),
            "findings": tuple(dict.fromkeys((*before.findings, *(finding.id for finding in material.findings)))),
            "origin": "labels and literature" if material.findings else before.origin,
        }
    )
    # The reply cannot cite reasons that the prompt did not show: those of an earlier wording are kept. A reply with
    # fewer hypotheses may have left out any, so these are matched by trait.
    by_trait = {each.trait: each for each in hypotheses}
    same_order = len(hypotheses) == len(answer.value.hypotheses[: len(hypotheses)])
    refined = []
    for place, each in enumerate(answer.value.hypotheses[: len(hypotheses)]):
        earlier = by_trait.get(each.trait.strip(), hypotheses[place] if same_order else None)
        kept = [old for old in (earlier.evidence.reasons if earlier else ()) if (old.example, old.rater) not in numbers]
        refined.append(each.criterion(evidence, (*kept, *prompting.cited_reasons(each.reasons, reasons))))
    return tuple(refined)


def _payload(criterion: Criterion) -> dict[str, Any]:
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
        """Return the criterion without an id, its levels lowest first, with `evidence` that cites `reasons`."""
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
    """Return the reply model of hypotheses that describe these scores and, if `citing`, name raters' reasons by number.

    The levels are an object keyed by the scores, which a schema can require: lists of small models end after one level.
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
    one: Any = create_model("Hypothesis", __base__=Hypothesis, levels=(levels, ...), reasons=(reasons, []))
    several: Any = Annotated[list[one], Field(min_length=1), prompting.keep_valid(())]
    return create_model("HypothesisProposal", __base__=HypothesisProposal, hypotheses=(several, ...))


# Share of the best hypotheses that must miss a text's label for it to count as wrong.
WRONG_SHARE = 0.5


async def extend(
    part: Part,
    ratings: Mapping[str, Mapping[str, float]],
    training_input: interface.TrainingInput,
    settings: HypoEvalSettings,
    *,
    judge: Judge,
    generator: Judge,
) -> tuple[Part, tuple[str, ...]]:
    """Return a part with hypotheses from the texts whose labels those of `part` miss most, and notes for the user."""
    assignment = training_input.assignment
    wrong = _wrong_texts(part.criteria, ratings, training_input, settings)
    if "labels" not in settings.sources or not wrong:
        return part.model_copy(update={"criteria": (), "dropped": ()}), ()
    texts = content_order(each for each in training_input.shown if each.id in wrong)
    material = ProposalContext(texts, (), part.criteria, wrong, tolerance(settings.theta, assignment.scale))
    proposed, failure = await propose(settings.new_hypotheses, material, assignment, generator)
    first = len(part.criteria) + len(part.dropped) + 1
    new = tuple(each.model_copy(update={"id": f"h{number:02d}"}) for number, each in enumerate(proposed, first))
    # Hypotheses with ratings are preferred to new ones.
    tiers = [*([each] for each in part.criteria), new]
    redundant, notes = await find_redundant(tiers, "hypothesis", assignment, judge)
    kept = tuple(each for each in new if each.id not in redundant)
    dropped = tuple(DroppedCriterion(criterion=each, reason=redundant[each.id]) for each in new if each.id in redundant)
    return part.model_copy(update={"criteria": kept, "dropped": dropped}), (*filter(None, [failure]), *notes)


def predict_label(
    criteria: Sequence[Criterion], scores: Mapping[str, float | None], label: float, theta: float, scale: Scale
) -> tuple[Prediction, ...]:
    """Return the predictions of a text's label by those of the hypotheses that have a score of the text.

    Those that differ by more than `theta` points of a 1 to 5 scale are too high or too low.
    """
    predictions = []
    for criterion in by_id(criteria):
        if (score := scores.get(criterion.id)) is not None:
            off = "too high" if score > label else "too low"
            is_wrong = abs(score - label) > tolerance(theta, scale)
            predictions.append({"id": criterion.id, "score": score, "verdict": off if is_wrong else "close"})
    return tuple(predictions)


def _wrong_texts(
    criteria: Sequence[Criterion],
    ratings: Mapping[str, Mapping[str, float]],
    training_input: interface.TrainingInput,
    settings: HypoEvalSettings,
) -> dict[str, tuple[Prediction, ...]]:
    """Return the predictions for the texts whose labels most of the `k` best hypotheses miss, at most `wrong_bank`.

    The texts are of at most half of the groups, whose labels cannot test what is proposed from them.
    """
    scale, aspect = training_input.assignment.scale, training_input.assignment.aspect.name
    shown = content_order(training_input.shown)
    labels = {example.id: example.scores[aspect] for example in shown}
    gains: dict[str, list[float]] = {criterion.id: [] for criterion in criteria}
    for name, scores in sorted(ratings.items()):
        for criterion in gains.keys() & scores.keys():
            gains[criterion].append(utility(scores[criterion], labels[name], scale))
    accuracy = {name: sum(own) / len(own) if own else 0.0 for name, own in gains.items()}
    best = sorted(criteria, key=lambda each: (-accuracy[each.id], each.id))[: settings.k]
    found = {name: predict_label(best, ratings.get(name, {}), labels[name], settings.theta, scale) for name in labels}
    missed = {name: sum(each["verdict"] != "close" for each in predictions) for name, predictions in found.items()}
    wrong = [example for example in shown if missed[example.id] >= max(1, WRONG_SHARE * len(found[example.id]))]
    half = max(1, len({example.group for example in shown}) // 2)
    groups = [group for group, _ in Counter(example.group for example in wrong).most_common(half)]
    inside = sorted((each.id for each in wrong if each.group in groups), key=lambda name: -missed[name])
    return {name: found[name] for name in inside[: settings.wrong_bank]}


# Shares of the texts that are rated in each round; after each but the last, hopeless hypotheses are dropped.
ROUNDS = (0.25, 0.5, 1.0)


async def learn(
    training_input: interface.TrainingInput,
    settings: HypoEvalSettings,
    *,
    judge: Judge,
    generator: Judge,
    seed: int,
    on_progress: interface.Progress = interface.ignore_progress,
) -> interface.Learned:
    """Return the part with the hypotheses that HypoEval keeps, and the dropped ones.

    Without examples to rate, the first hypotheses in the generator's order are kept.

    Raises:
        DataError: if hypotheses come from labels, and there are none.
        SettingsError: if they come from literature alone, and there are no findings.
        JudgeError: if no hypothesis, or none with ratings of half of the texts, could be obtained.
    """
    if "labels" in settings.sources and not training_input.shown:
        raise DataError(
            "hypoeval learns from labelled texts, and there are none.",
            "Without any, set its sources to 'literature' or 'prior knowledge'.",
        )
    if settings.sources == "literature" and not training_input.findings:
        raise SettingsError(
            "Hypotheses from literature alone need findings, and there are none for "
            f"{training_input.assignment.words.task!r}.",
            "Give your own with `literature=PATH`.",
        )
    run = _HypoEvalRun(training_input, settings, judge, generator, seed, on_progress)
    await run.propose_all()
    await run.remove_redundant()
    await run.rate_bank()
    return await run.conclude()


@dataclass
class _HypoEvalRun:
    """One run of learning: the bank, the ratings, and the steps in order."""

    training_input: interface.TrainingInput
    settings: HypoEvalSettings
    judge: Judge
    generator: Judge
    seed: int
    on_progress: interface.Progress

    def __post_init__(self) -> None:
        given, count = self.training_input, self.settings.initial_examples
        self.assignment, shown = given.assignment, list(content_order(given.shown))
        if self.settings.procedure == "improved":
            # The proposals should not depend on a random draw: the texts are spread over the labels.
            spread = interface.pick_evenly(
                sorted(shown, key=lambda each: each.scores[self.assignment.aspect.name]), count
            )
            shown.sort(key=lambda example: example not in spread)
        else:
            random.Random(self.seed).shuffle(shown)
        self.first, self.order = tuple(shown[:count]), shown if given.examples else []
        self.findings = given.findings if "literature" in self.settings.sources else ()
        self.bank = Bank(self.settings)
        self.ratings = RatingTable(self.assignment, self.judge, self.settings.ask)
        self.labels = {example.id: example.scores[self.assignment.aspect.name] for example in self.order}
        self.improved = self.settings.procedure == "improved"
        self.failures: list[str] = []
        self.notes: list[str] = []

    async def propose_all(self) -> None:
        """Fill the bank from the sources that the settings name."""
        settings = self.settings
        if settings.sources == "prior knowledge":
            self.bank.add(await self._proposals(settings.selected, ProposalContext()))
        if "labels" in settings.sources:
            await self._run_bandit()
        if self.findings:
            material = ProposalContext(findings=self.findings, known=self._known)
            self.bank.add(await self._proposals(settings.from_literature, material))
        if not self.bank.alive:
            raise JudgeError(f"No hypothesis could be obtained: {self.failures[-1]}")

    async def _run_bandit(self) -> None:
        settings, total, first = self.settings, len(self.order), self.first
        material = ProposalContext(first, self.findings)
        added = self.bank.add(await self._proposals(settings.initial_hypotheses, material))
        await self._visit(added, first if total else (), len(first))
        self.bank.trim(len(first))
        wrong: dict[str, tuple[Example, tuple[Prediction, ...]]] = {}
        for step in range(len(first) + 1, total + 1):
            example = self.order[step - 1]
            top = self.bank.top(settings.k, step - 1)
            await self._visit(top, [example], step)
            scores = {each.id: self.ratings.get(each.id, example.id).score for each in top}
            label, scale = self.labels[example.id], self.assignment.scale
            predictions = predict_label(top, scores, label, settings.theta, scale)
            missed = sum(each["verdict"] != "close" for each in predictions)
            if missed >= max(1, wrong_needed(len(top), step, total)):
                wrong[example.id] = (example, predictions)
            if len(wrong) >= settings.wrong_bank:
                await self._propose_from_wrong(wrong, top, step)
                wrong = {}
            self.on_progress(
                f"{step} of {total} labelled texts seen, {len(self.bank.alive)} hypotheses", 0.5 * step / total
            )

    async def _propose_from_wrong(
        self, wrong: Mapping[str, tuple[Example, tuple[Prediction, ...]]], top: Sequence[Criterion], step: int
    ) -> None:
        settings = self.settings
        texts = tuple(text for text, _ in wrong.values())
        material = ProposalContext(texts)
        if self.improved:
            predictions = {name: missed for name, (_, missed) in wrong.items()}
            close = tolerance(settings.theta, self.assignment.scale)
            material = ProposalContext(texts, (), self._known, predictions, close)
        new = await self._proposals(settings.new_hypotheses, material)
        if not new:
            return
        # The generator has just seen these texts: a turn without material is skipped.
        again = ProposalContext() if self.improved else material
        turns = [again, ProposalContext(findings=self.findings, known=self._known)]
        if settings.procedure == "published":
            turns.reverse()
        unchanged = 0
        for number in range(settings.refine_rounds):
            turn, before = turns[number % len(turns)], new
            if turn.examples or turn.findings:
                new = await refine(before, turn, self.assignment, self.generator)
            unchanged = unchanged + 1 if new is before else 0
            if unchanged == len(turns):  # every further round would repeat a request
                break
        added = self.bank.add(new)
        if self.improved:
            # Earlier hypotheses have ratings and are preferred to new ones.
            names = {criterion.id for criterion in added}
            known = [[each] for some in self._by_preference() for each in some if each.id not in names]
            await self._drop_redundant([*known, added])
            added = tuple(criterion for criterion in added if criterion.id in self.bank.arms)
        await self._visit(added, texts, step)
        if settings.procedure == "paper":
            reason = "neither among the best nor new when new hypotheses were proposed"
            self.bank.keep_only((*top, *added), reason)
        self.bank.trim(step)

    async def _proposals(self, count: int, material: ProposalContext) -> tuple[Criterion, ...]:
        new, failure = await propose(count, material, self.assignment, self.generator)
        if failure:
            self.failures.append(failure)
        return new

    @property
    def _known(self) -> tuple[Criterion, ...]:
        return self.bank.alive if self.improved else ()

    async def _visit(self, criteria: Sequence[Criterion], examples: Sequence[Example], step: int) -> None:
        await self.ratings.fill(criteria, examples)
        for example in examples:
            for criterion in criteria:
                rating = self.ratings.get(criterion.id, example.id).score
                gain = None if rating is None else utility(rating, self.labels[example.id], self.assignment.scale)
                self.bank.visit(criterion.id, gain, step)

    def _by_preference(self) -> tuple[list[Criterion], list[Criterion]]:
        """Return the rated hypotheses by reward or accuracy, and those from literature in the generator's order."""
        arms = self.bank.arms.values()
        best = rank_arms(arms, len(self.order), self.settings.alpha, self.settings.procedure)
        if self.settings.procedure == "published":
            best = sorted(arms, key=lambda arm: (-arm.accuracy, arm.id))
        learned = [self.bank.criteria[arm.id] for arm in best]
        literature = [each for each in self.bank.alive if each.evidence.origin == "literature"]
        return [each for each in learned if each not in literature], literature

    async def remove_redundant(self) -> None:
        """Drop redundant hypotheses, and reduce the bank to its size."""
        # Hypotheses from prior knowledge are in one reply to a prompt that forbids repetitions.
        if self.settings.sources != "prior knowledge":
            # Hypotheses that were rated are ranked by rewards; those from literature only by their wording.
            learned, literature = self._by_preference()
            rated = [[each] for each in learned]
            if self.improved:
                await self._drop_redundant([*rated, literature])
            else:
                await self._drop_redundant(rated, most_shown=2)
                await self._drop_redundant([[each] for each in literature], most_shown=2)
        size, draw = self.settings.bank_size, random.Random(f"union {self.seed}")
        kept = final_bank(*self._by_preference(), size, self.settings.procedure, draw)
        self.bank.keep_only(kept, f"no place in the final bank of {size}")
        self.on_progress(f"{len(self.bank.alive)} hypotheses without redundant ones", 0.5)

    async def _drop_redundant(self, tiers: Sequence[Sequence[Criterion]], most_shown: int = MAX_SHOWN) -> None:
        redundant, notes = await find_redundant(tiers, "hypothesis", self.assignment, self.judge, most_shown=most_shown)
        self.notes += notes
        for name, reason in redundant.items():
            self.bank.drop(name, reason)

    async def rate_bank(self) -> None:
        """Rate all texts by the whole bank, in rounds after which hopeless hypotheses are dropped."""
        if not self.order:
            return
        ids, labels = [example.id for example in self.order], np.array(list(self.labels.values()))
        for rounds_left, share in zip(reversed(range(len(ROUNDS))), ROUNDS, strict=True):
            end = round(share * len(self.order))
            await self.ratings.fill(self.bank.alive, self.order[:end])
            if self.settings.drop_hopeless and rounds_left:
                # All ratings count: hypotheses from the bandit have some of later texts too.
                names = [criterion.id for criterion in self.bank.alive]
                for column in hopeless_columns(self.ratings.matrix(names, ids), labels, rounds_left, self.settings):
                    reason = f"tracked the labels too little when {end} texts were rated by the bank"
                    self.bank.drop(names[column], reason)
            doing = f"{end} of {len(self.order)} texts rated by {len(self.bank.alive)} hypotheses"
            self.on_progress(doing, 0.5 + 0.5 * share)

    async def conclude(self) -> interface.Learned:
        """Return the selected hypotheses with their evidence."""
        settings, ids = self.settings, tuple(self.labels)
        candidates = tuple(criterion.id for criterion in self.bank.alive)
        matrix = self.ratings.matrix(candidates, ids)
        labels = np.array(list(self.labels.values()))
        # Without labels, the generator's order of importance decides.
        selected = candidates[: settings.selected]
        if ids:
            if np.isnan(matrix).all():
                raise JudgeError("The judge gave no usable rating for any training text.", "Try another `judge`.")
            selected = tuple(candidates[column] for column in select(matrix, labels, settings))
        if ids and not selected:
            raise JudgeError(
                f"No hypothesis was rated on at least half of the {len(ids)} texts.",
                "Run it again, with `retry_failed`.",
            )
        for name, criterion in self.bank.criteria.items():
            # Most hypotheses were dropped early and have few ratings.
            ratings = self.ratings.of(name)
            rated = [each for each in ids if each in ratings and ratings[each].score is not None]
            given = np.array([[ratings[each].score] for each in rated], dtype=float).reshape(len(rated), 1)
            r = label_correlations(given, np.array([self.labels[each] for each in rated], dtype=float))
            update = {"pearson": rounded(float(r[0])), "judged": len(rated), "missing": len(ratings) - len(rated)}
            evidence = criterion.evidence.model_copy(update=update)
            self.bank.criteria[name] = criterion.model_copy(update={"evidence": evidence})
        kept = tuple(self.bank.criteria[name] for name in selected)
        best = f"{settings.selected} that track the labels best" if ids else f"first {settings.selected}"
        self.bank.keep_only(kept, f"not among the {best}")
        if settings.ask == "concatenated":
            requests = (rate(example, kept, self.assignment, self.judge, "concatenated") for example in self.order)
            scores = floats(overall.score for (overall,) in await asyncio.gather(*requests))
        else:
            scores = predictions(matrix, [candidates.index(name) for name in selected])
        return interface.Learned(
            part=Part(
                method="hypoeval", settings=settings.model_dump(mode="json"), criteria=kept, dropped=self.bank.dropped()
            ),
            examples=ids,
            candidates=candidates,
            ratings=self.ratings.rows(candidates, ids),
            scores=scores,
            reselected=reselected(matrix, labels, self.training_input.groups, settings),
            notes=tuple(self.notes),
        )


def learning_calls(training_input: interface.TrainingInput, settings: HypoEvalSettings) -> interface.LearningCalls:
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
    return interface.LearningCalls(
        (0 if later else ratings + overall) + redundancy,
        proposals,
        settings.initial_examples if from_labels else 0,
        hypotheses if later else 0,
    )
