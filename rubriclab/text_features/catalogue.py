"""All text features, and the one function that computes them."""

from __future__ import annotations

import math
from array import array
from collections import OrderedDict
from functools import lru_cache
from hashlib import blake2b
from threading import Lock

from rubriclab.text_features.feature import TextFeature, catalogue_rows
from rubriclab.text_features.source import context_features, source_features
from rubriclab.text_features.style import style_features
from rubriclab.text_features.surface import surface_features
from rubriclab.text_features.text import Text

CATALOGUE: tuple[TextFeature, ...] = catalogue_rows()

# Rival outputs share their source, so its views are computed once for all of them.
_shared_text = lru_cache(maxsize=32)(Text)


def extract_features(output: str, source: str | None = None, context: str | None = None) -> dict[str, float]:
    """Return the value of every feature of the catalogue, by name and in its order; nan where one is undefined.

    Undefined is what needs a source or context that is absent or empty, and shares of a text without
    words. The result depends on the three strings alone; any string is accepted.
    """
    key = _key(output, source, context)
    values = _cache.get(key) or array("d", _values(output, source, context))
    with _cache_lock:
        _cache[key] = values
        _cache.move_to_end(key)
        if len(_cache) > CACHE_SIZE:
            _cache.popitem(last=False)
    return dict(zip(_NAMES, values, strict=True))


# The texts of one training or evaluation are needed again by every criterion and baseline. Keys are digests, so that
# an entry takes less than 1 KB however long the text is.
CACHE_SIZE = 32_768
_NAMES = tuple(feature.name for feature in CATALOGUE)
_cache: OrderedDict[bytes, array[float]] = OrderedDict()
_cache_lock = Lock()


def _key(*parts: str | None) -> bytes:
    digest = blake2b(digest_size=16)
    for part in parts:
        encoded = b"" if part is None else part.encode("utf-8", "surrogatepass")
        digest.update(b"%d " % (-1 if part is None else len(encoded)))
        digest.update(encoded)
    return digest.digest()


def _values(output: str, source: str | None, context: str | None) -> list[float]:
    text = Text(output)
    values = surface_features(text) | style_features(text)
    if source:
        values |= source_features(text, _shared_text(source))
    if context:
        values |= context_features(text, _shared_text(context))
    return [values.get(name, math.nan) for name in _NAMES]
