"""Passages that two texts share, word for word, so that a page can show where a text follows its source."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

# Fewer words in a row are shared by chance.
FEWEST_WORDS = 4
# Places in the source that are tried for a passage; the first ones are as good as any for repeated phrases.
MOST_PLACES = 20
# Chinese characters and Japanese kana are words of their own, as no spaces separate words.
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W\u3040-\u30ff\u3400-\u9fff]+")


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a text; `passages` are the numbers of the shared passages that it belongs to."""

    text: str
    passages: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class _Passage:
    """Words of the output and of the source that are the same, by number of the first word."""

    output: int
    source: int
    words: int


def matching_passages(
    outputs: Sequence[str], source: str
) -> tuple[tuple[tuple[Segment, ...], ...], tuple[Segment, ...]]:
    """Return the outputs and their source in segments; four or more shared words have one number in both.

    Case and punctuation are ignored. Passages of an output do not overlap; each is as long as possible. Numbers are
    unique among all outputs.
    """
    in_source = list(_WORD.finditer(source))
    places = _places(_folded(in_source))
    segments, in_both = list[tuple[Segment, ...]](), list[tuple[int, int]]()
    for output in outputs:
        in_output = list(_WORD.finditer(output))
        found = list(_passages(_folded(in_output), _folded(in_source), places))
        ends = [(each.output, each.output + each.words) for each in found]
        segments.append(_segments(output, in_output, ends, start=len(in_both)))
        in_both += [(each.source, each.source + each.words) for each in found]
    return tuple(segments), _segments(source, in_source, in_both)


def _folded(words: Sequence[re.Match[str]]) -> list[str]:
    return [match[0].casefold() for match in words]


def _places(source: Sequence[str]) -> Mapping[tuple[str, ...], list[int]]:
    """Return where each sequence of `FEWEST_WORDS` words begins."""
    places: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for start in range(len(source) - FEWEST_WORDS + 1):
        known = places[tuple(source[start : start + FEWEST_WORDS])]
        if len(known) < MOST_PLACES:
            known.append(start)
    return places


def _passages(
    output: Sequence[str], source: Sequence[str], places: Mapping[tuple[str, ...], list[int]]
) -> Iterator[_Passage]:
    start = 0
    while start <= len(output) - FEWEST_WORDS:
        candidates = places.get(tuple(output[start : start + FEWEST_WORDS]), ())
        found = (_Passage(start, place, _shared(output, start, source, place)) for place in candidates)
        longest = max(found, key=lambda passage: passage.words, default=None)
        if longest:
            yield longest
        start += longest.words if longest else 1


def _shared(output: Sequence[str], start: int, source: Sequence[str], place: int) -> int:
    """Return how many words from `start` and `place` on are the same."""
    words = 0
    for one, other in zip(islice(output, start, None), islice(source, place, None), strict=False):
        if one != other:
            break
        words += 1
    return words


def _segments(
    text: str, words: Sequence[re.Match[str]], ends: Sequence[tuple[int, int]], *, start: int = 0
) -> tuple[Segment, ...]:
    """Return a text divided where a passage begins or ends, given first word and end of each, numbered from `start`."""
    spans = [(words[first].start(), words[end - 1].end()) for first, end in ends]
    begins: dict[int, list[int]] = defaultdict(list)
    stops: dict[int, list[int]] = defaultdict(list)
    for number, (begin, stop) in enumerate(spans, start):
        begins[begin].append(number)
        stops[stop].append(number)
    segments, active, last = list[Segment](), set[int](), 0
    for cut in sorted({*begins, *stops, len(text)}):
        if cut > last:
            segments.append(Segment(text[last:cut], tuple(sorted(active))))
        active = (active - set(stops[cut])) | set(begins[cut])
        last = cut
    return tuple(segments)
