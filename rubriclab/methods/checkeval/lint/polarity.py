"""Questions whose better answer is not the one that is counted as such.

A question of defect ("Does it repeat itself?") that counts "yes" as better turns a score upside down, and nothing later
shows it. A defect counts where the question asks for it: in its main verb, in that verb's object, or in the predicate
after "is". A defect that the text tells of ("who made the mistake") does not count.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Literal

from rubriclab.methods.checkeval.lint.parsing import ParsedQuestion
from rubriclab.methods.grammar import CONJUNCTIONS, OPEN_WORDS, PREPOSITIONS, RELATIVES, phrases, word_set
from rubriclab.text_features.lexicon import FAULT_ADJECTIVES, FAULT_NOUNS, FAULT_VERBS

_HAVE = word_set("add bring contain have include introduce present show use")
_SEEM = word_set("appear become come end feel look read seem sound")
_HARM = phrases(
    "(?:break|cut|trail)s? off|mix(?:es)? up|fails? to|leaves? out|(?:in|at|with) the wrong|at odds"
    r"|sounds? like (?:a|an) (?:machine|robot)|be (?:mistaken|misread|misunderstood)|ignores?"
    r"|(?:that|which) (?:is|are) not (?:\w+ )?(?:in|by) the",
)
# What people in a text do is no doing of the text.
_PEOPLE = phrases("characters?|hero(?:ine)?s?|protagonists?|villains?|narrator|detective|speaker|child|m[ae]n|wom[ae]n")
# What a text had better leave out.
_MINOR = phrases(r"advertis\w+|asides?|trivia|captions?|less|least|minor|irrelevant|unnecessary")
# Between a verb and the defect that it takes stand a few determiners and adjectives.
_PHRASE = 5
_PHRASE_ENDS = (PREPOSITIONS - {"than"}) | RELATIVES | OPEN_WORDS | CONJUNCTIONS | {",", "?"}

_NOT = phrases(
    "not|no|never|none|nothing|nobody|neither|nor|without|hardly|rather than|instead of",
    "avoid(?:s|ed|ing)?|free (?:of|from)|fail(?:s|ed|ing)? to",
)
_NOT_NEGATING = phrases(
    "no (?:more|less|fewer|longer|later|earlier|other)|not only|nothing (?:else|but|more)|(?:or|if|but) not",
    r"(?:who|that|which|whom) (?:\w+ ){0,3}(?:not|never|no|nobody)",
)
_ASKED_NEGATIVELY = re.compile(r"^[a-z]+ (?:(?!that\b|which\b|who\b|what\b|there\b)\w+ ){0,4}?not\b")
_MERIT = re.compile(
    r"\bfree (?:of|from)\b|^(?:do|does) (?:\w+ ){1,3}avoid\b|^(?:is|are|do|does) (?:every|each|all)\b(?!.*\bsame\b)"
    r"|^can (?:the |a |any )?(?:readers?|steps?)\b|\b(?:supported|backed) by\b|\b(?:main|key) (?:\w+ )?\?$|\bcorrect\b"
)


def counted_wrongly(question: ParsedQuestion, better: Literal["yes", "no"]) -> str | None:
    """Return what is wrong with `better` as the answer that speaks for quality, if anything is."""
    plain = _NOT_NEGATING.sub("x", question.text)
    if question.auxiliary == 0 and _ASKED_NEGATIVELY.search(plain):
        return "it is asked negatively, so that either answer may mean it"
    if any(len(_NOT.findall(part)) > 1 for part in re.split(r",|\b(?:and|or|but)\b", plain)):
        return "it is negated twice"
    defect, negated = _defect(question), bool(_NOT.search(plain.replace("fail to", "x").replace("fails to", "x")))
    if better == "yes":
        return f"{defect!r} is a defect" if defect and not negated else None
    if defect and negated:
        return f"it asks whether {defect!r} is absent, which is a merit"
    merit = None if defect or "only" in question.words else _MERIT.search(question.text)
    return f"{merit.group()!r} asks for a merit" if merit else None


def _defect(question: ParsedQuestion) -> str | None:
    """Return the defect that the question asks for, if it asks for one."""
    words, start = question.words, question.auxiliary
    if start is None or _PEOPLE.search(" ".join(words[start : start + 4])):
        return None
    match = _HARM.search(question.text)
    if match and not _MINOR.search(question.text):
        return match.group()
    verb = question.main_verb(FAULT_VERBS | _HAVE | _SEEM)
    if verb is None:
        return _by_being(question, start) if question.asks_what_is else None
    if words[verb] in FAULT_VERBS:
        return None if _MINOR.search(question.text) else words[verb]
    if words[verb] in _HAVE:
        return _in_phrase(words, verb + 1)
    return next((word for word in words[verb + 1 : verb + 4] if word.removesuffix("ly") in FAULT_ADJECTIVES), None)


def _by_being(question: ParsedQuestion, start: int) -> str | None:
    """Is it misleading, are any errors left, is there a contradiction?"""
    words = question.words
    if words[start + 1] == "there":
        return _in_phrase(words, start + 2) or _in_clause(words, start + 2)
    for i in range(start + 1, len(words)):
        if words[i] in OPEN_WORDS | RELATIVES:
            return None
        after = words[i + 1] if i + 1 < len(words) else "?"
        if (words[i] in FAULT_ADJECTIVES or (_is_noun(words[i]) and words[i - 1] in {"a", "an"})) and (
            after in {"?", ",", "to"} | PREPOSITIONS | CONJUNCTIONS | OPEN_WORDS
        ):
            return words[i]
    return None


def _in_phrase(words: tuple[str, ...], start: int) -> str | None:
    """Return the defect among the determiners, adjectives and noun that begin at `start`."""
    for word in words[start : start + _PHRASE]:
        if word in _PHRASE_ENDS or word.endswith("'s"):
            return None
        if _is_noun(word) or word in FAULT_ADJECTIVES:
            return word
    return None


def _in_clause(words: tuple[str, ...], start: int) -> str | None:
    """Return the defect in "a sentence that contradicts ..."."""
    clause = words[start : start + 7]
    after = [word for relative, word in pairwise(clause) if relative in {"that", "which"}]
    return next((word for word in after if word.removesuffix("s") in FAULT_VERBS), None)


def _is_noun(word: str) -> bool:
    return not FAULT_NOUNS.isdisjoint({word, word.removesuffix("s"), word.removesuffix("es"), f"{word[:-3]}y"})
