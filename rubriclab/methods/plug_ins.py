"""The method of another package: its errors are reported as those of its package."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pydantic import ConfigDict, TypeAdapter

from rubriclab.judges.judge import Judge
from rubriclab.judges.plug_ins import PlugIn
from rubriclab.methods.holistic import require_scores
from rubriclab.methods.method import CriterionRating, Learned, Method, TrainingInput
from rubriclab.models.rubric import Part
from rubriclab.models.text import Assignment, Example

Scored = tuple[float | None, tuple[CriterionRating, ...]]

# Numbers of numpy become plain ones.
_SCORED: TypeAdapter[Scored] = TypeAdapter(
    tuple[float | None, tuple[CriterionRating, ...]],
    config=ConfigDict(revalidate_instances="always", allow_inf_nan=False),
)


def guarded(method: object, plug_in: PlugIn) -> Method:
    """Return the method with what it raises translated to errors that name its package.

    Raises:
        PlugInError: if `method` is no `Method` of that name.
    """
    if not isinstance(method, Method) or method.name != plug_in.name:
        raise plug_in.error(f"is {method!r:.80}, expected a Method of that name")

    async def score(example: Example, part: Part, assignment: Assignment, judge: Judge, /) -> Scored:
        with plug_in.errors_named():
            return _SCORED.validate_python(await method.score(example, part, assignment, judge))

    async def learn(training_input: TrainingInput, settings: Any, **options: Any) -> Learned:
        with plug_in.errors_named():
            learned = await method.learn(training_input, settings, **options)
        require_scores([rated for row in learned.ratings for rated in row])
        return learned

    return replace(method, learn=learn, score=score)
