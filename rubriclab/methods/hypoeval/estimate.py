"""Upper bounds on HypoEval's calls."""

from __future__ import annotations

from collections.abc import Sequence

from rubriclab.data.aspect import Assignment
from rubriclab.data.example import Example
from rubriclab.judges.price import estimated_tokens
from rubriclab.methods.deduplication import MOST_SHOWN, blocks, group_prompt
from rubriclab.methods.estimate import TOKEN, CallEstimate, estimate_prompt, estimate_prompts
from rubriclab.methods.hypoeval.propose import TOKENS_PER_HYPOTHESIS, ProposalContext, propose_prompt
from rubriclab.methods.hypoeval.score import rate_prompt, rate_together_prompt
from rubriclab.methods.hypoeval.settings import HypoEvalScoringSettings, HypoEvalSettings
from rubriclab.methods.method import TrainingInput
from rubriclab.methods.reasons import most_reason_tokens
from rubriclab.prompts import render
from rubriclab.rubric import Criterion, Evidence, Level, Part

# A typical wording of a hypothesis by a model.
WORDS_PER_LEVEL = 30


def learning_at_most(training_input: TrainingInput, settings: HypoEvalSettings) -> tuple[CallEstimate, CallEstimate]:
    """Return upper bounds for the judge and the generator."""
    examples, assignment, findings = training_input.examples, training_input.assignment, training_input.findings
    n, used = len(examples), findings if settings.sources in ("labels and literature", "literature") else ()
    refills = max(0, n - settings.initial_examples) // settings.wrong_bank if "labels" in settings.sources else 0
    from_literature = settings.from_literature
    first = {"prior knowledge": settings.selected, "literature": 0}.get(settings.sources, settings.initial_hypotheses)
    hypotheses = first + refills * settings.new_hypotheses + (from_literature if used else 0)
    average = _average(examples, assignment, settings.ask, settings.bank_size)
    judge = average * _ratings(n, refills, hypotheses, settings) + _redundancy(hypotheses, assignment, settings)
    judge += _on_arrival(refills, assignment, settings)
    if settings.ask == "concatenated":
        judge += _concatenated(examples, assignment, settings.selected)
    lengths = [estimated_tokens(render(rate_prompt(e, [_typical(assignment)], assignment))) for e in examples]
    shown = sum(lengths) // max(n, 1) + most_reason_tokens(examples, assignment.aspect.name)
    generator, known = CallEstimate(), (_typical(assignment),) * settings.bank_size
    for count, texts, times in (
        (first, settings.initial_examples, 1 if first else 0),
        (settings.new_hypotheses, settings.wrong_bank, refills * (1 + settings.refine_rounds)),
        (from_literature, 0, 1 if used else 0),
    ):
        base = estimated_tokens(
            render(propose_prompt(count, ProposalContext(findings=tuple(used), known=known), assignment))
        )
        written = TOKENS_PER_HYPOTHESIS * count
        generator += CallEstimate(1, base + texts * shown + written, 1000 + written) * times
    return judge, generator


def scoring_at_most(example: Example, part: Part, assignment: Assignment) -> CallEstimate:
    """Return an upper bound for scoring one text."""
    criteria, ask = part.criteria, HypoEvalScoringSettings.model_validate(part.settings).ask
    if ask == "together" and len(criteria) > 1:
        return estimate_prompt(rate_together_prompt(example, criteria, assignment))
    if ask == "concatenated":
        return estimate_prompt(rate_prompt(example, criteria, assignment))
    return estimate_prompts(rate_prompt(example, [criterion], assignment) for criterion in criteria)


def _ratings(n: int, refills: int, hypotheses: int, settings: HypoEvalSettings) -> int:
    if settings.ask == "together":
        return 2 * n + refills * settings.wrong_bank
    return hypotheses * n


def _concatenated(examples: Sequence[Example], assignment: Assignment, selected: int) -> CallEstimate:
    """Return an upper bound for one overall rating of each text."""
    criteria = [_typical(assignment)] * selected
    return estimate_prompts(rate_prompt(example, criteria, assignment) for example in examples)


def _on_arrival(refills: int, assignment: Assignment, settings: HypoEvalSettings) -> CallEstimate:
    """Return an upper bound for comparing new hypotheses with the bank."""
    if settings.redundancy != "grouped":
        return CallEstimate()
    return _redundancy(settings.bank_size + settings.new_hypotheses, assignment, settings) * refills


def _redundancy(hypotheses: int, assignment: Assignment, settings: HypoEvalSettings) -> CallEstimate:
    """Return an upper bound for one comparison of the whole bank, or of each pair."""
    if settings.redundancy == "off" or settings.sources == "prior knowledge":
        return CallEstimate()
    bank = [_typical(assignment).model_copy(update={"id": f"h{place:02d}"}) for place in range(hypotheses)]
    if settings.redundancy == "every_pair":
        pairs = hypotheses * (hypotheses - 1) // 2
        return estimate_prompt(group_prompt(bank[:2], "hypothesis", assignment)) * pairs
    return estimate_prompts(group_prompt(block, "hypothesis", assignment) for block in blocks(bank, MOST_SHOWN))


def _average(examples: Sequence[Example], assignment: Assignment, ask: str, most: int) -> CallEstimate:
    typical = _typical(assignment)
    if ask == "together":
        bank = [typical.model_copy(update={"id": f"h{place:02d}"}) for place in range(most)]
        total = estimate_prompts(rate_together_prompt(example, bank, assignment) for example in examples)
    else:
        total = estimate_prompts(rate_prompt(example, [typical], assignment) for example in examples)
    n = max(len(examples), 1)
    return CallEstimate(1, -(-total.prompt_tokens // n), -(-total.completion_tokens // n))


def _typical(assignment: Assignment) -> Criterion:
    words = TOKEN * WORDS_PER_LEVEL
    levels = tuple(Level(score=anchor, description=words) for anchor in assignment.scale.anchors())
    return Criterion(
        id="h00", kind="hypothesis", trait="trait", statement=words, levels=levels, evidence=Evidence(origin="labels")
    )
