"""The divide-conquer evaluator, DCE (DCR, equation 1), and the automatic metric converter, AMC (equation 2).

DCE gives a reason for each sentence why it is consistent or not; AMC converts reasons to marks without the texts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rubriclab.checklist import Checklist, SeedQuestion
from rubriclab.data.aspect import Assignment
from rubriclab.data.example import Example
from rubriclab.errors import ChecklistError
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
from rubriclab.rubric import Criterion, Evidence
from rubriclab.segmentation import Material, Units
from rubriclab.sentences import split_sentences

_CHECK = "- "
_EXPECTED = (
    'DCR judges each sentence beside exactly one text: "units": {"kind": "sentence", "beside": ["source"]}, or '
    '["context"] or ["reference"].'
)


def make_criterion(checklist: Checklist, material: Material, assignment: Assignment) -> Criterion:
    """Return the criterion that lists the checklist's questions, one line each."""
    output, label = assignment.words.output, assignment.words.called(material)
    heading = f"Each sentence of the {output} is held against the {label} by these checks:"
    return Criterion(
        id="score",
        kind="score",
        trait=assignment.aspect.name,
        statement="\n".join([heading, *(_CHECK + _worded(question) for question in checklist.questions)]),
        evidence=Evidence(origin="written by hand"),
    )


def listed_checks(criterion: Criterion) -> list[str]:
    """Return the checks that a criterion lists; a criterion without a list is a check itself."""
    lines = criterion.statement.splitlines()
    return [line.removeprefix(_CHECK) for line in lines if line.startswith(_CHECK)] or [criterion.statement]


def reference_field(units: Units | None) -> Material:
    """Return the field of the text that the sentences are compared with.

    Raises:
        ChecklistError: if the units are not single sentences beside exactly one text, or have weights by the judge.
    """
    if units is None:
        raise ChecklistError("The checks come without units: nothing says what sentences are held against.", _EXPECTED)
    if units.kind != "sentence" or len(units.beside) != 1 or units.weights != "equal":
        weighed = ", with weights from the judge" if units.weights != "equal" else ""
        came = f"{units.kind} beside {' and '.join(units.beside) or 'nothing'}{weighed}"
        raise ChecklistError(f"The checks are for a {came}, which DCR cannot judge.", _EXPECTED)
    return units.beside[0]


def _worded(question: SeedQuestion) -> str:
    """Return the question on one line, with the good answer where that is not yes."""
    text = " ".join(question.text.split())
    return text if question.better == "yes" else f"{text} (No is the good answer.)"


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
