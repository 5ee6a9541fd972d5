"""DCR's learning: the checks of a checklist become the criterion, and labelled texts, if any, tell how it does.

The paper learns nothing, and here too no label decides anything.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from rubriclab.data.example import Example
from rubriclab.errors import ChecklistError, DataError
from rubriclab.judges.judge import Judge
from rubriclab.methods.dcr.checks import compared, make_criterion
from rubriclab.methods.dcr.evaluate import comparisons
from rubriclab.methods.dcr.score import rate
from rubriclab.methods.dcr.settings import DCRSettings
from rubriclab.methods.method import Learned, Lesson, Progress, Rated, silent
from rubriclab.methods.overall import learned_single, require_some
from rubriclab.rubric import Criterion
from rubriclab.units import Material, Units


async def learn(
    lesson: Lesson, settings: DCRSettings, *, judge: Judge, say: Progress = silent, **_unused: Any
) -> Learned:
    """Return the part with the checklist's checks as its criterion, measured on the labelled texts.

    Raises:
        ChecklistError: if there is no checklist, or not one that DCR can go by.
        DataError: if there are labelled texts, and none that can be held against anything; nothing is asked then.
        JudgeError: if none of them could be scored.
    """
    criterion, material = planned(lesson, settings)
    done = 0

    async def one(example: Example) -> Rated:
        nonlocal done
        found = await rate(example, criterion, material, lesson.assignment, judge, settings=settings)
        done += 1
        say(f"{done} of {len(lesson.examples)} texts scored", done / len(lesson.examples))
        return found

    found = await asyncio.gather(*(one(example) for example in lesson.examples))
    rated = dict(zip((example.id for example in lesson.examples), found, strict=True))
    require_some([rated[example.id] for example in _comparable(lesson, material, settings)])
    units = Units(kind="sentence", beside=(material,))
    return learned_single("dcr", lesson, criterion, rated, settings=settings, units=units)


def planned(lesson: Lesson, settings: DCRSettings) -> tuple[Criterion, Material]:
    """Return what texts will be scored by, and what they will be held against.

    Raises:
        ChecklistError, DataError: as `learn` does.
    """
    checklist = lesson.checklist
    if checklist is None:
        raise ChecklistError("DCR goes by the checks of a checklist, and there is none.", "Give one: --checklist FILE.")
    material = compared(checklist.units)
    if lesson.examples and not _comparable(lesson, material, settings):
        label, first = lesson.assignment.words.called(material), lesson.examples[0]
        reason = f"{first.id}: {comparisons(first, material, lesson.assignment, settings)}"
        raise DataError(
            f"None of the {len(lesson.examples)} labelled texts can be held against its {label}; of {reason}.",
            f"Give rows with the field {material!r} (--map names another), or a checklist beside something else.",
        )
    return make_criterion(checklist, material, lesson.assignment), material


def _comparable(lesson: Lesson, material: Material, settings: DCRSettings) -> Sequence[Example]:
    given = ((text, comparisons(text, material, lesson.assignment, settings)) for text in lesson.examples)
    return [text for text, compare in given if not isinstance(compare, str)]
