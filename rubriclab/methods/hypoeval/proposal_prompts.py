"""HypoEval's hypotheses: what the generator is shown to propose and reword them, and what it replies.

A hypothesis is a criterion that consists of a trait of texts, a statement about the trait, and a description of each
level of the scale. The generator proposes hypotheses from labelled texts, from findings (what publications say that
raters reward), from both, or from neither. The labelled texts may come with predictions: their scores by the
hypotheses that exist, each with a verdict, "close" to the label, "too high" or "too low".
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, Field, WithJsonSchema, create_model, model_validator

from rubriclab.judges.judge import Judge, ask
from rubriclab.methods import prompting
from rubriclab.methods.sources import Finding
from rubriclab.models.base import MAX_NAME_LENGTH, MAX_WORDING_LENGTH
from rubriclab.models.characters import is_blank
from rubriclab.models.rubric import CitedReason, Criterion, Evidence, Level, in_prompt_order
from rubriclab.models.text import Assignment, Example, Scale, format_score
from rubriclab.prompts.prompt import Prompt

# The width of the paper's scale, 1 to 5. The setting `theta`, the tolerance of errors, is in points of this scale.
PAPER_WIDTH = 4.0
# Limits of a reply with proposals, in tokens: its reasoning, and each hypothesis.
REASONING_TOKENS = 1000
TOKENS_PER_HYPOTHESIS = 500

# The fields of a prediction in a prompt: the id of the hypothesis, the text's score by it, and the verdict.
Prediction = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ProposalContext:
    """What the generator is shown, besides the task.

    Attributes:
        existing: hypotheses that new ones must not repeat.
        predictions: the predictions of each text's score, by text id; only for texts that were predicted wrong.
        tolerance: the largest error of a prediction that counts as close, in points of the scale.
    """

    examples: tuple[Example, ...] = ()
    findings: tuple[Finding, ...] = ()
    existing: tuple[Criterion, ...] = ()
    predictions: Mapping[str, tuple[Prediction, ...]] = field(default_factory=dict)
    tolerance: float | None = None

    @property
    def examples_in_prompt(self) -> list[Example]:
        """The labelled texts, ordered so that texts of the same source are side by side."""
        sources = [example.source for example in self.examples]
        return sorted(self.examples, key=lambda example: sources.index(example.source))

    def raters_reasons(self, aspect: str) -> tuple[prompting.NumberedReason, ...]:
        return prompting.numbered_reasons(self.examples_in_prompt, aspect)

    def fields(self, assignment: Assignment) -> dict[str, Any]:
        reasons = self.raters_reasons(assignment.aspect.name)
        observations = [
            {
                **assignment.text_fields(example),
                "score": example.scores[assignment.aspect.name],
                "predictions": list(self.predictions.get(example.id, ())),
                "reasons": prompting.fields_of_reasons(reasons, example.id),
            }
            for example in self.examples_in_prompt
        ]
        return {
            **assignment.fields(),
            "findings": [finding.claim for finding in self.findings],
            "known": [{"id": each.id, "trait": each.trait, "statement": each.statement} for each in self.existing],
            "observations": prompting.mark_shared_sources(observations),
            "tolerance": self.tolerance,
            "reasons_shown": len(reasons),
        }


def tolerance(theta: float, scale: Scale) -> float:
    """Return the largest error of a prediction that counts as close, in points of `scale`."""
    return theta * scale.width / PAPER_WIDTH


def predictions_of_text(
    criteria: Sequence[Criterion], scores: Mapping[str, float | None], label: float, theta: float, scale: Scale
) -> tuple[Prediction, ...]:
    """Return the predictions of one text; `scores` are its scores by the ids of the criteria, and may be missing."""
    predictions = []
    for criterion in in_prompt_order(criteria):
        score = scores.get(criterion.id)
        if score is not None:
            verdict = "too high" if score > label else "too low"
            if abs(score - label) <= tolerance(theta, scale):
                verdict = "close"
            predictions.append({"id": criterion.id, "score": score, "verdict": verdict})
    return tuple(predictions)


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
def proposal_reply(anchors: tuple[float, ...], *, citing: bool) -> type[HypothesisProposal]:
    """Return the reply model of hypotheses that describe each of the `anchors` and, if `citing`, cite raters' reasons.

    The levels are an object with a key required for each score; of a list, small models write only one level.
    """
    names = list(map(format_score, anchors))

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
    reasons = prompting.CitedNumbers if citing else prompting.NoCitedNumbers
    hypothesis: Any = create_model("Hypothesis", __base__=Hypothesis, levels=(levels, ...), reasons=(reasons, []))
    hypotheses: Any = Annotated[list[hypothesis], Field(min_length=1), prompting.keep_valid(optional_fields=())]
    return create_model("HypothesisProposal", __base__=HypothesisProposal, hypotheses=(hypotheses, ...))


def propose_prompt(
    count: int, context: ProposalContext, assignment: Assignment, to_refine: Sequence[Mapping[str, Any]] | None = None
) -> Prompt[Any]:
    """Return the prompt for `count` new hypotheses from `context`, or for better wordings of those in `to_refine`."""
    fields = context.fields(assignment)
    reply_model = proposal_reply(assignment.scale.anchors(), citing=bool(fields["reasons_shown"]))
    max_tokens = REASONING_TOKENS + TOKENS_PER_HYPOTHESIS * count
    if to_refine is None:
        return Prompt("hypoeval/propose", {**fields, "count": count}, reply_model, max_tokens=max_tokens)
    return Prompt("hypoeval/refine", {**fields, "hypotheses": to_refine}, reply_model, max_tokens=max_tokens)


async def propose(
    count: int, context: ProposalContext, assignment: Assignment, generator: Judge
) -> tuple[tuple[Criterion, ...], str | None]:
    """Return up to `count` hypotheses, which have no ids yet; or none, and why the generator gave none."""
    prompt = propose_prompt(count, context, assignment)
    # With a `salvage_model`, faulty hypotheses are left out of a reply instead of making it unusable.
    answer = await prompting.first_usable(prompt, generator, salvage_model=prompt.reply)
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
    reasons = context.raters_reasons(assignment.aspect.name)
    hypotheses = answer.value.hypotheses[:count]
    return tuple(each.criterion(evidence, prompting.cited_reasons(each.reasons, reasons)) for each in hypotheses), None


async def refine(
    hypotheses: tuple[Criterion, ...], context: ProposalContext, assignment: Assignment, generator: Judge
) -> tuple[Criterion, ...]:
    """Return the hypotheses as the generator rewords them in view of `context`.

    Without a usable reply, or if it changes no wording, the same tuple is returned.
    """
    # The prompt shows the wording of each hypothesis, and which of the reasons in this prompt the hypothesis cites.
    reasons = context.raters_reasons(assignment.aspect.name)
    numbers = {(reason.example_id, reason.rater): reason.number for reason in reasons}
    wordings = [_wording_fields(hypothesis) for hypothesis in hypotheses]
    to_refine = []
    for hypothesis, wording in zip(hypotheses, wordings, strict=True):
        cited = {(reason.example, reason.rater) for reason in hypothesis.evidence.reasons}
        to_refine.append({**wording, "reasons": sorted(numbers[reason] for reason in cited & numbers.keys())})
    answer = await ask(generator, propose_prompt(len(hypotheses), context, assignment, to_refine))
    if answer.value is None:
        return hypotheses
    old_evidence = hypotheses[0].evidence
    if [_wording_fields(revision.criterion(old_evidence)) for revision in answer.value.hypotheses] == wordings:
        return hypotheses
    evidence = old_evidence.model_copy(
        update={
            "refined": old_evidence.refined + 1,
            "examples": tuple(dict.fromkeys((*old_evidence.examples, *(example.id for example in context.examples)))),
            "findings": tuple(dict.fromkeys((*old_evidence.findings, *(finding.id for finding in context.findings)))),
            "origin": "labels and literature" if context.findings else old_evidence.origin,
        }
    )
    # A revision belongs to the hypothesis with the same trait. Otherwise it belongs to the one at the same position,
    # unless the reply has fewer hypotheses than the prompt: then nothing tells which one is missing.
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
