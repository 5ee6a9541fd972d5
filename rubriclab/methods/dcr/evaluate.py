"""The divide-conquer evaluator, DCE (DCR, equation 1): for each sentence a reason why it is consistent or not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rubriclab.data.assignment import Assignment
from rubriclab.data.example import Example
from rubriclab.judges.judge import Judge
from rubriclab.methods.dcr.replies import (
    Reason,
    Reasons,
    SentenceVerdicts,
    ask_each,
)
from rubriclab.methods.dcr.settings import DCRScoringSettings
from rubriclab.methods.prompting import chunks
from rubriclab.prompts import Prompt
from rubriclab.segmentation import Material
from rubriclab.sentences import split_sentences

# In tokens. A reason about a whole text takes more than one about a sentence, which the first number leaves room for.
LONGEST = 512
PER_REASON = 128


@dataclass(frozen=True, slots=True)
class ReferenceComparison:
    """A text in pieces and what each is held against, with what prompts call both.

    Attributes:
        pieces: what is judged one by one: the sentences of `output`; or the whole of it, if `whole`.
        turned: whether `output` is really the reference, which is held against the text that is scored.
    """

    output: str
    called: str
    reference: str
    label: str
    pieces: tuple[str, ...]
    whole: bool
    turned: bool = False


def comparisons(
    example: Example, material: Material, assignment: Assignment, settings: DCRScoringSettings
) -> tuple[ReferenceComparison, ...] | str:
    """Return what is held against what, the text's own sentences first; or in words why nothing can be."""
    words, label = assignment.words, assignment.words.called(material)
    output, reference = example.output, getattr(example, material) or ""
    if not _holds_words(reference):
        return f"there is no {label} to hold it against (field {material!r})"
    if not _holds_words(output):
        return f"there is no sentence in the {words.output}"
    whole = settings.level == "paragraph"
    forward = ReferenceComparison(output, words.output, reference, label, _pieces(output, whole), whole)
    if settings.direction == "candidate":
        return (forward,)
    return forward, ReferenceComparison(
        reference, label, output, words.output, _pieces(reference, whole), whole, turned=True
    )


def evaluate_prompts(
    comparison: ReferenceComparison, checks: Sequence[str], assignment: Assignment, settings: DCRScoringSettings
) -> list[Prompt[Any]]:
    """Return the prompts that ask about all sentences, portion by portion; these are numbered from 1."""
    told = assignment.fields()
    fields = {
        **told,
        "words": {**told["words"], "output": comparison.called},
        "reference": comparison.reference,
        "label": comparison.label,
        "checks": list(checks),
        "paragraph": comparison.whole,
        "output": comparison.output,
        "verdict": settings.verdict == "with the reason",
    }
    sentences = [{"id": number, "text": text} for number, text in enumerate(comparison.pieces, 1)]
    return [_prompt({**fields, "sentences": list(some)}) for some in chunks(sentences, settings.portion)]


async def evaluated(prompt: Prompt[Any], judge: Judge) -> dict[int, Reason | str]:
    """Return each sentence's reason, with a verdict where the prompt asks for one; or why there is none."""
    return await ask_each(judge, prompt, lambda reply: reply.sentences)


def _holds_words(text: str) -> bool:
    return any(character.isalnum() for character in text)


def _pieces(text: str, whole: bool) -> tuple[str, ...]:
    return (text,) if whole else split_sentences(text)


def _prompt(fields: dict[str, Any]) -> Prompt[Any]:
    form = SentenceVerdicts if fields["verdict"] else Reasons
    return Prompt("dcr/evaluate", fields, form, max_tokens=LONGEST + PER_REASON * len(fields["sentences"]))
