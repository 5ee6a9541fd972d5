"""All measures of a text, by family, and the one function that computes them."""

from __future__ import annotations

import math
from array import array
from collections import OrderedDict
from collections.abc import Mapping
from functools import lru_cache
from hashlib import blake2b
from threading import Lock

from rubriclab.text_features import (
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
from rubriclab.text_features.definition import Measure
from rubriclab.text_features.text import Text

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
    key = _key(output, source, context)
    values = _kept.get(key) or array("d", _measured(output, source, context).values())
    with _keeping:
        _kept[key] = values
        _kept.move_to_end(key)
        if len(_kept) > MOST_KEPT:
            _kept.popitem(last=False)
    return dict(zip(_NAMES, values, strict=True))


# The texts of one training or evaluation are measured again by every criterion, floor and baseline. Keys are
# digests, so that an entry takes 1 KB however long the text is.
MOST_KEPT = 32_768
_NAMES = tuple(entry.name for entry in CATALOGUE)
_kept: OrderedDict[bytes, array[float]] = OrderedDict()
_keeping = Lock()


def _key(*parts: str | None) -> bytes:
    digest = blake2b(digest_size=16)
    for part in parts:
        told = b"" if part is None else part.encode("utf-8", "surrogatepass")
        digest.update(b"%d " % (-1 if part is None else len(told)))
        digest.update(told)
    return digest.digest()


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
