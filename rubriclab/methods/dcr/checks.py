"""The checks of a comparison: from a checklist to a criterion, and from a criterion to a prompt."""

from __future__ import annotations

from rubriclab.checklist import Checklist, SeedQuestion
from rubriclab.data.aspect import Assignment
from rubriclab.errors import ChecklistError
from rubriclab.rubric import Criterion, Evidence
from rubriclab.segmentation import Material, Units

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
