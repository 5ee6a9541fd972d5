"""All measures of a text, by family, and the one function that computes them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache

from rubriclab.measures import (
    cohesion,
    dialogue,
    entities,
    form,
    fragments,
    length,
    overlap,
    repetition,
    story,
    vocabulary,
)
from rubriclab.measures.definition import Measure
from rubriclab.measures.text import Text

CATALOGUE: tuple[Measure, ...] = (
    *length.MEASURES,
    *form.MEASURES,
    *overlap.MEASURES,
    *fragments.MEASURES,
    *entities.MEASURES,
    *repetition.MEASURES,
    *vocabulary.MEASURES,
    *cohesion.MEASURES,
    *story.MEASURES,
    *dialogue.MEASURES,
)

# Rival outputs share their source, so its views are computed once for all of them.
_read_shared = lru_cache(maxsize=32)(Text)


def measure(output: str, source: str | None = None, context: str | None = None) -> dict[str, float]:
    """The value of every measure of the catalogue, by name and in its order; nan where a measure is undefined.

    Undefined is what needs a source or context that is absent or empty, and shares of a text without
    words. The result depends on the three strings alone; any string is measured, whatever it holds.
    """
    return dict(_measured(output, source, context))


# The texts of one training or evaluation are measured again by every criterion, floor and baseline.
@lru_cache(maxsize=512)
def _measured(output: str, source: str | None, context: str | None) -> Mapping[str, float]:
    text = Text(output)
    original = _read_shared(source) if source else None
    facts = _read_shared(context) if context else None
    return {
        **length.measure_length(text),
        **form.measure_form(text),
        **(overlap.measure_overlap(text, original) if original else _undefined(overlap.MEASURES)),
        **(fragments.measure_fragments(text, original) if original else _undefined(fragments.MEASURES)),
        **entities.measure_entities(text, original),
        **repetition.measure_repetition(text),
        **vocabulary.measure_vocabulary(text),
        **cohesion.measure_cohesion(text),
        **story.measure_story(text),
        **dialogue.measure_dialogue(text, original, facts),
    }


def _undefined(entries: tuple[Measure, ...]) -> dict[str, float]:
    return {entry.name: math.nan for entry in entries}
