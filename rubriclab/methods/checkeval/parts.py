"""Long texts in parts, since one yes or no may not do justice to a text that is strong here and weak there.

The paper names this as its third limitation and leaves it open.
"""

from __future__ import annotations

import itertools
import math
import re

from rubriclab.sentences import sentence_spans

# Chinese and Japanese put no spaces between words: each character counts as one, with the punctuation around it.
_CHARACTER = r"\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_OPENING = r"「『（〈《【〔“‘(\["
_WORD = re.compile(rf"[{_OPENING}]*[{_CHARACTER}][^\s\w{_OPENING}]*|[^\s{_CHARACTER}]+")
_BLANK_LINE = re.compile(r"\n\s*\n")

# How far a cut may lie from the point that would make all parts equal, as a share of a part's length: no farther than
# this, so that no part is less than half as long as intended.
SLACK = 0.25


def parts(text: str, length: int) -> tuple[str, ...]:
    """Return `text` in as many near-equal parts as it takes for each to have about `length` words; none is empty.

    A text of at most `length` words, or any if `length` is 0, is returned as it is. Each Chinese or Japanese character
    is a word. Otherwise the parts hold the same words in the same order. A cut lies between paragraphs where there are
    some near the point of equal parts, else between sentences, else between words.
    """
    words = list(_WORD.finditer(text))
    if not length or len(words) <= length:
        return (text,)
    number = math.ceil(len(words) / length)
    equal, good = len(words) / number, _preferences(text, words)
    cuts = [0, *(_cut(good, place * equal, SLACK * equal) for place in range(1, number)), len(words)]
    return tuple(text[words[a].start() : words[b - 1].end()] for a, b in itertools.pairwise(cuts))


def _cut(good: list[int], ideal: float, slack: float) -> int:
    """Return how many words lie before the best cut near `ideal`."""
    near = range(math.ceil(ideal - slack), math.floor(ideal + slack) + 1)
    return min(near or [math.floor(ideal)], key=lambda at: (-good[at], abs(at - ideal)))


def _preferences(text: str, words: list[re.Match[str]]) -> list[int]:
    """Return how good a place to cut it is after each number of words: 2 a paragraph's end, 1 a sentence's, else 0."""
    sentences = {end for _, end in sentence_spans(text)}
    found = [0]
    for word, following in itertools.pairwise(words):
        paragraph = _BLANK_LINE.search(text, word.end(), following.start())
        found.append(2 if paragraph else int(word.end() in sentences))
    return found
