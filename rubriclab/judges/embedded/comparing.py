"""Comparisons by the offline judge (DCR): a sentence counts as consistent where another text has its words.

It reads none of the checks. Reasons, its own and anybody else's, are turned into marks by the words in which they find
fault.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from rubriclab.judges.embedded.support import Support, roots, support
from rubriclab.sentences import split_sentences
from rubriclab.text_features.lexicon import FIRST_PERSON, SECOND_PERSON
from rubriclab.text_features.text import split_words, unify

# Words of a sentence that a reason lists, at most.
LISTED = 6

_QUOTED = re.compile(r'"[^"\n]*"')
_CLAUSE_END = re.compile(r"[.;:!?\n]|\b(?:but|however|although)\b")
_DENIAL = re.compile(r"\b(?:not?|nothing|never|without|free of|fails? to|lacks?|partly|partially|only)\b|n't\b")
_FAULT = re.compile(
    r"\b(?:inconsisten|contradict|incorrect|inaccura|wrong|false|unsupported|error|mistake|fabricat|invent|hallucinat"
    r"|misrepresent|differ|conflict|swap|chang|absent|missing)\w*"
)


def evaluate(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return a reason for each sentence, which says whether the reference has its words; with a verdict if asked."""
    reference = split_sentences(fields["reference"])
    entries = []
    for sentence in fields["sentences"]:
        consistent, reason = _judged(fields, sentence["text"], reference)
        verdict = {"consistent": "yes" if consistent else "no"} if fields["verdict"] else {}
        entries.append({"sentence": sentence["id"], "reason": reason, **verdict})
    return {"sentences": entries}


def _judged(fields: Mapping[str, Any], text: str, reference: Sequence[str]) -> tuple[bool, str]:
    """Return whether all sentences of `text` are supported, and why the least supported one is or is not."""
    label = fields["label"]
    claims = [sentence for sentence in split_sentences(text) if _is_claim(sentence, fields["words"]["task"])]
    if not claims:
        return True, f"This is consistent with the {label}. Measured, not read: it states no fact."
    worst = min((support(claim, reference) for claim in claims), key=lambda result: (result.holds, result.share))
    verdict = f"This is {'' if worst.holds else 'not '}consistent with the {label}."
    return worst.holds, f"{verdict} Measured, not read: {_explained(worst, label)}."


def _is_claim(sentence: str, task: str) -> bool:
    """Return whether a sentence has content words, and in a conversation neither asks nor is about the speakers."""
    if task != "dialogue" or not roots(sentence):
        return bool(roots(sentence))
    words = split_words(unify(sentence).lower())
    return not sentence.rstrip("\"'”’ ").endswith("?") and (FIRST_PERSON | SECOND_PERSON).isdisjoint(words)


def _explained(result: Support, label: str) -> str:
    if result.decisive and not result.holds:
        return f"the {label} does not have {_listed(result.decisive)} in what it says of this"
    words = f"{result.found} of {result.words} content words are in the nearest sentences of the {label}"
    return words if result.holds else f"only {words}, and not {_listed(result.absent)}"


def _listed(words: Sequence[str]) -> str:
    more = " and others" if len(words) > LISTED else ""
    return ", ".join(f'"{word}"' for word in words[:LISTED]) + more


def convert(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return a mark for each reason: -1 for one that finds fault, 1 for any other.

    A clause finds fault if it names a fault and denies nothing, or denies something and names no fault. Where a reason
    says outright whether the text is consistent, other denials do not count.
    """
    marks = []
    for reason in fields["reasons"]:
        text = _QUOTED.sub('""', unify(reason["text"]).lower())
        clauses = [clause for clause in _CLAUSE_END.split(text) if clause.strip()]
        if "consisten" in text:
            clauses = [clause for clause in clauses if "consisten" in clause or _FAULT.search(clause)]
        fault = next((clause for clause in clauses if bool(_FAULT.search(clause)) != bool(_DENIAL.search(clause))), "")
        thought = f"It finds fault: {fault.strip()}." if fault else "It finds no fault."
        marks.append({"reason": reason["id"], "thought": thought, "mark": -1 if fault else 1})
    return {"marks": marks}
