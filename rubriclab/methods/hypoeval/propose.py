"""New hypotheses from labelled texts and literature, and their refinement (HypoEval, section 2 and appendix A)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ValidationInfo, model_validator

from rubriclab.judges.ask import ask
from rubriclab.judges.judge import Judge
from rubriclab.methods.deduplication import find_redundant
from rubriclab.methods.hypoeval.bank import is_wrong, tolerance, utility
from rubriclab.methods.hypoeval.settings import HypoEvalSettings
from rubriclab.methods.literature import Finding
from rubriclab.methods.method import TrainingInput
from rubriclab.methods.prompting import by_source, first_usable, shown_once
from rubriclab.methods.reasons import (
    CitedNumbers,
    NothingToCite,
    NumberedReason,
    cited_reasons,
    fields_of_reasons,
    numbered_reasons,
)
from rubriclab.methods.replies import Number, at_most
from rubriclab.models.base import LONGEST_NAME, LONGEST_WORDING
from rubriclab.models.characters import is_blank
from rubriclab.models.rubric import (
    CitedReason,
    Criterion,
    DroppedCriterion,
    Evidence,
    Level,
    Part,
    by_id,
)
from rubriclab.models.text import (
    Assignment,
    Example,
    Scale,
    show,
)
from rubriclab.prompts import Prompt

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
