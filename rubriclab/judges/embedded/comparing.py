"""Comparisons by the offline judge (DCR): a sentence counts as consistent where another text has its words.

It reads none of the checks. Reasons, its own and anybody else's, are turned into marks by the words in which they find
fault.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from rubriclab.judges.embedded.backing import Backing, backing, roots
from rubriclab.sentences import split_sentences
from rubriclab.text_features.lexicon import FIRST_PERSON, SECOND_PERSON
from rubriclab.text_features.text import split_words, unify

# Words of a sentence that a reason lists, at most.
LISTED = 6


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
    """Return whether all sentences of `text` are borne out, and what was found of the one that is least."""
    label = fields["label"]
    claims = [sentence for sentence in split_sentences(text) if not _claims_nothing(sentence, fields["words"]["task"])]
    if not claims:
        return True, f"This is consistent with the {label}. Measured, not read: it states no fact."
    worst = min((backing(claim, reference) for claim in claims), key=lambda found: (found.holds, found.share))
    told = f"Measured, not read: {_told(worst, label)}."
    return worst.holds, f"This is {'' if worst.holds else 'not '}consistent with the {label}. {told}"


def _claims_nothing(sentence: str, task: str) -> bool:
    """Return whether a sentence has no content words, or in a conversation asks, or speaks of the speakers."""
    words = split_words(unify(sentence).lower())
    if task != "dialogue" or not roots(sentence):
        return not roots(sentence)
    return sentence.rstrip("\"'”’ ").endswith("?") or not (FIRST_PERSON | SECOND_PERSON).isdisjoint(words)


def _told(found: Backing, label: str) -> str:
    if found.decisive and not found.holds:
        return f"the {label} does not have {_listed(found.decisive)} in what it says of this"
    words = f"{found.found} of {found.words} content words stand in the nearest sentences of the {label}"
    return words if found.holds else f"only {words}, and not {_listed(found.absent)}"


def _listed(words: Sequence[str]) -> str:
    more = " and others" if len(words) > LISTED else ""
    return ", ".join(f'"{word}"' for word in words[:LISTED]) + more


def convert(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return a mark for each reason: -1 for one that finds fault, 1 for any other."""
    marks = []
    for reason in fields["reasons"]:
        fault = _fault(reason["text"])
        thought = f"It finds fault: {fault}." if fault else "It finds no fault."
        marks.append({"reason": reason["id"], "thought": thought, "mark": -1 if fault else 1})
    return {"marks": marks}


Family = Literal["verdict", "good", "bad"]

# What is said of a sentence: outright whether it is consistent; that it is right; that it is wrong.
_CUES: Mapping[Family, str] = {
    "verdict": r"consisten(?:t|tly|cy)",
    "good": (
        r"support(?:s|ed|ing)?|mention(?:s|ed|ing)?|stat(?:e|es|ed|ing)|sa(?:y|ys|id)|specif(?:y|ies|ied)|match(?:es|ed)?"
        r"|agree(?:s|d)?|correct(?:ly)?|accurate(?:ly)?|accuracy|confirm(?:s|ed)?|align(?:s|ed)?|entail(?:s|ed)?"
        r"|infer(?:s|red)?|impl(?:y|ies|ied)|found|present(?:ed)?|appears?|true(?! answer)|faithful(?:ly)?|same"
        r"|reflect(?:s|ed)?|identical|equivalent|contain(?:s|ed)?|includ(?:e|es|ed)|provid(?:e|es|ed)|borne out|have"
        r"|report(?:s|ed)?|discuss(?:es|ed)?|describ(?:e|es|ed)|verif(?:y|ies|ied)|indicat(?:e|es|ed)|grounded"
        r"|evidence|basis"
    ),
    "bad": (
        r"inconsisten(?:t|tly|cy|cies)|contradict(?:s|ed|ing|ion|ions|ory)?|incorrect(?:ly)?|inaccura(?:te|tely|cy|cies)"
        r"|wrong(?:ly)?|false(?:ly)?|untrue|errors?|mistakes?|mistaken(?:ly)?|unsupported|unverified|unfounded|ungrounded"
        r"|unmentioned|hallucinat\w*|fabricat\w*|invent(?:s|ed|ion)?|made up|makes up|misrepresent\w*|misstat\w*"
        r"|misattribut\w*|mislead\w*|distort\w*|differ(?:s|ed|ent|ence|ences)?|deviat\w*|conflict\w*|mismatch\w*|refut\w*"
        r"|confus(?:e|es|ed)|revers(?:e|es|ed)|swap(?:s|ped)?|chang(?:e|es|ed)|alter(?:s|ed)?|exaggerat\w*|overstat\w*"
        r"|adds? (?:a |an |some )?(?:new|extra|detail|information)\w*|unrelated|irrelevant|off[- ]topic|absent|missing"
        r"|discrepan\w*|instead of|rather than|whereas"
    ),
}
# Faults that no word of praise before them makes good.
_GRAVE = re.compile(
    r"contradict|incorrect|inaccura|wrong|false|untrue|hallucinat|fabricat|invent|made up|makes up|misre|misst|misattr"
)
_CUE = re.compile(r"\b(?:" + "|".join(f"(?P<{family}>{words})" for family, words in _CUES.items()) + r")\b")
_NEGATION = re.compile(
    r"\b(?:not|no|never|none|nothing|nobody|nowhere|neither|nor|without|hardly|barely|fails? to|failed to|lacks?"
    r"|lacking|cannot|unable|partly|partially|mostly|would be)\b|n't\b|\bfree (?:of|from)\b"
)
# A negation reaches to the next mark or turn of the sentence.
_CLAUSE_END = re.compile(r"[.;:!?,\n]|\b(?:but|however|because|although|though|while|yet)\b")
_QUOTED = re.compile(r'"[^"\n]{0,200}"')


def _fault(reason: str) -> str | None:
    """Return the words by which a reason finds fault, if it does.

    What it says outright of consistency counts, and so does every grave fault; where it says nothing outright, any
    fault does, and a denial of whatever it may be.
    """
    said = _QUOTED.sub('""', unify(reason).lower())
    cues = list(_read(said))
    outright = [cue for cue in cues if "consisten" in cue[1]]
    counted = [cue for cue in cues if cue in outright or _GRAVE.match(cue[1])] if outright else cues
    faulty = next((words for good, words in counted if not good), None)
    if faulty or outright or cues:
        return faulty
    denial = _NEGATION.search(said)
    return denial.group() if denial else None


def _read(said: str) -> Iterator[tuple[bool, str]]:
    """Return what is said in the order in which it is said: whether it is good, and the words.

    A negation turns the first thing said after it, within its clause.
    """
    end = 0
    for cue in _CUE.finditer(said):
        negation = _NEGATION.search(_CLAUSE_END.split(said[end : cue.start()])[-1])
        good = (cue.lastgroup != "bad") != bool(negation)
        yield good, f"{negation.group()} ... {cue.group()}" if negation else cue.group()
        end = cue.end()
