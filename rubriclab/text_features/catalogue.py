"""All text features, and the functions that compute them."""

from __future__ import annotations

import math
from array import array
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from functools import cached_property
from hashlib import blake2b
from threading import Lock

from rubriclab.text_features.feature import TextFeature, catalogue_rows
from rubriclab.text_features.source import BESIDE_CONTEXT, BESIDE_SOURCE, Pair
from rubriclab.text_features.style import STYLE, STYLE_OF_ANY
from rubriclab.text_features.surface import SURFACE, SURFACE_OF_ANY
from rubriclab.text_features.text import Text

CATALOGUE: tuple[TextFeature, ...] = catalogue_rows()

# The texts of one training or evaluation are needed again by every criterion and baseline. Keys are digests, so that
# an entry takes less than 1 KB however long the text is.
CACHE_SIZE = 32_768
# Characters of the sources whose views are kept; a character takes some 60 bytes with its views.
SHARED_CHARACTERS = 400_000

_OF_ANY = {**SURFACE_OF_ANY, **STYLE_OF_ANY}
_OF_WORDS = {**SURFACE, **STYLE}
_PLACES = {feature.name: place for place, feature in enumerate(CATALOGUE)}
# No feature is infinite.
_NOT_COMPUTED = math.inf


class Features(Mapping[str, float]):
    """The features of a text by name, in the order of the catalogue; each is computed when it is first read."""

    def __init__(self, output: str, source: str | None, context: str | None, values: array[float]) -> None:
        self._output, self._source, self._context = output, source, context
        self._values = values

    def __getitem__(self, name: str) -> float:
        place = _PLACES[name]
        if self._values[place] == _NOT_COMPUTED:
            self._values[place] = self._computed(name)
        return self._values[place]

    def __iter__(self) -> Iterator[str]:
        return iter(_PLACES)

    def __len__(self) -> int:
        return len(_PLACES)

    @cached_property
    def _text(self) -> Text:
        return Text(self._output)

    @cached_property
    def _pair(self) -> Pair | None:
        """The text and its source; nothing where one of them has no words."""
        source = _shared_texts.get(self._source) if self._source else None
        return Pair(self._text, source) if source and source.words and self._text.words else None

    def _computed(self, name: str) -> float:
        if name in _OF_ANY:
            return _OF_ANY[name](self._text)
        if name in _OF_WORDS:
            return _OF_WORDS[name](self._text) if self._text.words else math.nan
        if name in BESIDE_SOURCE:
            return BESIDE_SOURCE[name](self._pair) if self._pair else math.nan
        return BESIDE_CONTEXT[name](self._text, _shared_texts.get(self._context)) if self._context else math.nan


def features_of(output: str, source: str | None = None, context: str | None = None) -> Features:
    """Return the features of a text, computed as they are read.

    Undefined, and nan, is what needs a source or context that is absent or empty, and shares of a text without words.
    The result depends on the three strings alone; any string is accepted.
    """
    key = _key(output, source, context)
    with _cache_lock:
        values = _cache.get(key)
        if values is None:
            values = _cache[key] = array("d", _NONE_COMPUTED)
        _cache.move_to_end(key)
        if len(_cache) > CACHE_SIZE:
            _cache.popitem(last=False)
    return Features(output, source, context, values)


def extract_features(output: str, source: str | None = None, context: str | None = None) -> dict[str, float]:
    """Return the value of every feature of the catalogue, by name and in its order; as `features_of`."""
    return dict(features_of(output, source, context))


class SharedTexts:
    """The texts asked for last, so that rival outputs share the views of their source. Safe to use from threads.

    Attributes:
        most: the characters that are kept; one text is kept however long it is.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._texts: OrderedDict[str, Text] = OrderedDict()
        self._characters = 0
        self._lock = Lock()

    def get(self, raw: str) -> Text:
        """Return the text `raw`."""
        with self._lock:
            text = self._texts.get(raw)
            if text is None:
                text = self._texts[raw] = Text(raw)
                self._characters += len(raw)
                while self._characters > self._most and len(self._texts) > 1:
                    self._characters -= len(self._texts.popitem(last=False)[0])
            else:
                self._texts.move_to_end(raw)
            return text


_NONE_COMPUTED = [_NOT_COMPUTED] * len(_PLACES)
_shared_texts = SharedTexts(SHARED_CHARACTERS)
_cache: OrderedDict[bytes, array[float]] = OrderedDict()
_cache_lock = Lock()


def _key(*parts: str | None) -> bytes:
    digest = blake2b(digest_size=16)
    for part in parts:
        encoded = b"" if part is None else part.encode("utf-8", "surrogatepass")
        digest.update(b"%d " % (-1 if part is None else len(encoded)))
        digest.update(encoded)
    return digest.digest()
