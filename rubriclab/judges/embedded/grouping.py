"""Groups of criteria that repeat one another, by the offline judge.

Criteria of its own are compared by the measures that they are read off. Anybody else's are compared by their content
words: the same words in the same order are the same, and a criterion with all of another one's words in their order and
a few more of its own is a part of it. A denial, or another order, makes two criteria of them.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from rubriclab.judges.embedded.backing import roots
from rubriclab.judges.embedded.proposing import same_measures
from rubriclab.judges.embedded.questions import is_own, own_reading
from rubriclab.judges.embedded.traits import readings

# Content words that the part of a criterion has beyond those of the whole, at most.
MOST_MORE = 3
# A criterion of fewer content words than this contains nothing that could be told.
FEWEST = 2

_DENIAL = re.compile(
    r"\b(?:not|no|never|none|nothing|without|lacks?|avoids?|free (?:of|from)|leaves? out)\b|n't\b", re.I
)


def group(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the groups among the entries in `fields`; each has two members."""
    groups = []
    for one, other in itertools.combinations(fields["entries"], 2):
        relation = _relation(one, other, fields)
        if relation:
            members = [one["id"], other["id"]]
            reason = "Read off much the same measures." if _own(one) else "Much the same words."
            if relation == "contained":
                members.reverse()
            told: Literal["same", "nested"] = "same" if relation == "same" else "nested"
            groups.append({"reason": reason, "relation": told, "members": members, "best": members[0]})
    return {"groups": groups}


def _relation(
    one: Mapping[str, Any], other: Mapping[str, Any], fields: Mapping[str, Any]
) -> Literal["same", "contains", "contained"] | None:
    if _own(one) or _own(other):
        return "same" if _own(one) and _own(other) and _same_own(one, other) else None
    a, b = (_words(entry["text"], fields) for entry in (one, other))
    if bool(_DENIAL.search(one["text"])) != bool(_DENIAL.search(other["text"])):
        return None
    if a == b and a:
        return "same"
    if _within(a, b):
        return "contains"
    return "contained" if _within(b, a) else None


def _own(entry: Mapping[str, Any]) -> bool:
    return bool(entry["levels"] and readings(_hypothesis(entry))) or is_own(entry["text"])


def _same_own(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    if one["levels"] and other["levels"]:
        return same_measures(_hypothesis(one), _hypothesis(other))
    return own_reading(one["text"]) == own_reading(other["text"])


def _hypothesis(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {"statement": entry["text"], "levels": entry["levels"]}


def _words(text: str, fields: Mapping[str, Any]) -> list[str]:
    """Return the content words in their order, without what every criterion of the text speaks of."""
    everywhere = roots(f"{fields['words']['output']} {fields['words']['source']}").keys()
    return [root for root in roots(text) if root not in everywhere]


def _within(whole: Sequence[str], part: Sequence[str]) -> bool:
    """Return whether all words of `whole` stand in `part` in their order, with a few more."""
    if len(whole) < FEWEST or not 0 < len(part) - len(whole) <= MOST_MORE:
        return False
    rest = iter(part)
    return all(word in rest for word in whole)
