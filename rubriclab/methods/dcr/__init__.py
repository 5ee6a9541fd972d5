"""DCR: each sentence is compared with a reference, with a reason; reasons become marks, and marks the score.

This is its evaluator (DCE) and its converter of reasons into marks (AMC); its improver is `rubriclab.ops.improve`.
"""

from collections.abc import Iterator

from rubriclab.errors import ChecklistError
from rubriclab.methods.dcr.learn import learn, learning_calls
from rubriclab.methods.dcr.score import reference_field, score
from rubriclab.methods.dcr.settings import PRESETS, DCRSettings
from rubriclab.methods.method import Method
from rubriclab.models.rubric import Part


def part_faults(part: Part) -> Iterator[str]:
    """Yield the faults of an imported part's units."""
    try:
        reference_field(part.units)
    except ChecklistError as error:
        yield f"units: {error.message}"


DCR = Method(
    name="dcr",
    settings=DCRSettings,
    presets=PRESETS,
    prompts=("dcr/evaluate", "dcr/convert"),
    learn=learn,
    score=score,
    learning_calls=learning_calls,
    single_criterion=True,
    part_faults=part_faults,
    needs_labels=False,
    checklists="comparisons",
    needs_checklist=lambda _: True,
)

__all__ = ["DCR", "DCRSettings"]
