"""A sentence's clauses, by its marks and joining words: what the offline judge takes for its facts.

A clause is a run of the sentence's own words. What English leaves out on joining ("rose and fell") stays out.
"""

from __future__ import annotations

import re
from itertools import pairwise

from rubriclab.judges.embedded.backing import roots
from rubriclab.text_features.lexicon import ARTICLES, AUXILIARIES, DEMONSTRATIVES, POSSESSIVES, THIRD_PERSON

# A shorter run tells nothing by itself, and stays with what stands before it.
FEWEST_WORDS = 3

_STARTS = "|".join(sorted(ARTICLES | AUXILIARIES | DEMONSTRATIVES | POSSESSIVES | THIRD_PERSON, key=len, reverse=True))
_BREAK = re.compile(
    r"\s*[;:](?=\s)"  # strong marks
    r"|\s+(?:-{1,2}|[–—])\s+|[–—]|\s*[()\[\]]\s*"  # insertions
    r"|\s*,\s+(?=(?:and|but|or|yet|so|which|who|whose|where|when|while|whereas|because|although|though|after|before"
    r"|since|until|if|unless|as)\s)"  # a comma before a joining word
    rf"|\s+(?=(?:and|but)\s+(?:{_STARTS})\s)"  # one that a subject or a predicate follows
    r"|\s+(?=(?:because|although|whereas)\s)",
    re.IGNORECASE,
)


def clauses(sentence: str) -> tuple[str, ...]:
    """Return the clauses of a sentence in their order, each with content words of its own; at least one."""
    cuts = [0, *(match.start() for match in _BREAK.finditer(sentence)), len(sentence)]
    found: list[str] = []
    for start, end in pairwise(cuts):
        piece = sentence[start:end]
        if found and len(roots(piece)) < FEWEST_WORDS:
            found[-1] += piece
        else:
            found.append(piece)
    return _whole(found)


def _whole(pieces: list[str]) -> tuple[str, ...]:
    """Return the pieces without what parted them; a first one that tells nothing goes with the second."""
    if len(pieces) > 1 and len(roots(pieces[0])) < FEWEST_WORDS:
        pieces = [pieces[0] + pieces[1], *pieces[2:]]
    return tuple(piece.strip(" \t\n,;:-–—()[]") or piece for piece in pieces)
