"""Words among scores that may be levels of a scale or missing values."""

from __future__ import annotations

from collections.abc import Iterable

from rubriclab.comma_list import comma_list
from rubriclab.data.cells import MOST_WORDS
from rubriclab.option_names import option

MISSING_WORDS = frozenset({"n/a", "na", "none", "null", "missing", "unknown", "nan", "k.a", "k. a"}) | {
    # What a workbook shows for a formula without a result.
    *("#div/0!", "#n/a", "#name?", "#null!", "#num!", "#ref!", "#value!")
}
# Words for levels, the worst first, in English and German.
_LEVEL_WORDS = (
    "strongly disagree|very bad|very poor|terrible|sehr schlecht|stimme überhaupt nicht zu|trifft gar nicht zu"
    "|never|none",
    "disagree|bad|poor|low|weak|no|false|fail|schlecht|nein|stimme nicht zu|trifft nicht zu|rarely",
    "somewhat disagree|slightly disagree|stimme eher nicht zu|trifft eher nicht zu",
    "neutral|neither agree nor disagree|undecided|ok|okay|fair|medium|average|moderate|acceptable|partly|sometimes"
    "|mittel|teilweise|teils/teils|weder noch|unentschieden",
    "somewhat agree|slightly agree|stimme eher zu|trifft eher zu",
    "agree|good|high|strong|yes|true|pass|gut|ja|stimme zu|trifft zu|often",
    "strongly agree|very good|sehr gut|stimme voll zu|stimme voll und ganz zu|trifft voll zu|trifft voll und ganz zu"
    "|always",
    "excellent|perfect|outstanding",
)
_RANK = {word: rank for rank, words in enumerate(_LEVEL_WORDS, start=1) for word in words.split("|")}


def proposed_level_scores(given: Iterable[str]) -> str | None:
    """Return options for words among scores: scores for levels, the worst first, and missing values."""
    words = list(dict.fromkeys(word.strip().casefold() for word in given))
    if not words or len(words) > MOST_WORDS:
        return None
    missing = [word for word in words if word.strip(".-/ ") in MISSING_WORDS]
    levels = sorted((word for word in words if word not in missing), key=_quality)
    ranks = {_RANK[word] for word in levels if word in _RANK}
    known = len(levels) > 1 and len(ranks) == len(levels)
    pairs = comma_list(f"{word}={number if known else 'N'}" for number, word in enumerate(levels, start=1))
    proposals = [option("level_scores", pairs)] if levels else []
    proposals += [option("missing", comma_list(missing))] if missing else []
    return " ".join(proposals)


def is_level_word(word: str) -> bool:
    """Return whether a word is a usual one for a level."""
    return word.casefold() in _RANK


def _quality(word: str) -> tuple[int, str]:
    return _RANK.get(word, 0), word
