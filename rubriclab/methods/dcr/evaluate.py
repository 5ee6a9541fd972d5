"""The divide-conquer evaluator, DCE (DCR, equation 1), and the automatic metric converter, AMC (equation 2).

DCE gives a reason for each sentence why it is consistent or not; AMC converts reasons to marks without the texts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rubriclab.data.aspect import Assignment
from rubriclab.data.example import Example
from rubriclab.judges.judge import Judge
from rubriclab.methods.dcr.replies import (
    Mark,
    Marks,
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

# In tokens. The first number leaves room for a reason about a whole text.
LONGEST = 512
PER_REASON = 128
LONGEST_MARKS = 256
PER_MARK = 64


@dataclass(frozen=True, slots=True)
class ReferenceComparison:
    """A text in pieces, the text that each is compared with, and the names of both in prompts.

    Attributes:
        pieces: the pieces that are judged: the sentences of `output`; or all of it, if `whole`.
        turned: whether `output` is the reference, compared with the text that is scored.
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
    """Return the comparisons of a text, that of its own sentences first; or why there can be none."""
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
    """Return the prompts about all sentences, chunk by chunk; sentences are numbered from 1."""
    task_fields = assignment.fields()
    fields = {
        **task_fields,
        "words": {**task_fields["words"], "output": comparison.called},
        "reference": comparison.reference,
        "label": comparison.label,
        "checks": list(checks),
        "paragraph": comparison.whole,
        "output": comparison.output,
        "verdict": settings.verdict == "with the reason",
        "turned": comparison.turned,
    }
    sentences = [{"id": number, "text": text} for number, text in enumerate(comparison.pieces, 1)]
    return [_prompt({**fields, "sentences": list(some)}) for some in chunks(sentences, settings.most_per_call)]


async def judge_sentences(prompt: Prompt[Any], judge: Judge) -> dict[int, Reason | str]:
    """Return each sentence's reason, with a verdict if the prompt requests one; or why there is none."""
    return await ask_each(judge, prompt, lambda reply: reply.sentences)


def _holds_words(text: str) -> bool:
    return any(character.isalnum() for character in text)


def _pieces(text: str, whole: bool) -> tuple[str, ...]:
    return (text,) if whole else split_sentences(text)


def _prompt(fields: dict[str, Any]) -> Prompt[Any]:
    form = SentenceVerdicts if fields["verdict"] else Reasons
    return Prompt("dcr/evaluate", fields, form, max_tokens=LONGEST + PER_REASON * len(fields["sentences"]))


def convert_prompt(reasons: Mapping[int, str]) -> Prompt[Marks]:
    """Return the prompt for the marks of `reasons`, by the numbers of their sentences."""
    fields = {"reasons": [{"id": number, "text": text} for number, text in reasons.items()]}
    return Prompt("dcr/convert", fields, Marks, max_tokens=LONGEST_MARKS + PER_MARK * len(reasons))


async def convert_reasons(reasons: Mapping[int, str], judge: Judge) -> dict[int, Mark | str]:
    """Return each reason's mark, or why there is none; without reasons no call is made."""
    if not reasons:
        return {}
    return await ask_each(judge, convert_prompt(reasons), lambda reply: reply.marks)
