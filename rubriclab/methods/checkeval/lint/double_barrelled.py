"""Questions that ask two things, so that neither "yes" nor "no" is the answer where the two differ.

A conjunction alone is no sign: "names and numbers" is one list to check. What counts is what it joins. Two predicates,
two qualities or two properties of a text are two questions; two nouns are not.
"""

from __future__ import annotations

import re

from rubriclab.methods.checkeval.lint.parsing import ParsedQuestion, parse_question
from rubriclab.methods.grammar import (
    AUXILIARIES,
    CONJUNCTIONS,
    DETERMINERS,
    ONLY_VERBS,
    OPEN_WORDS,
    PREPOSITIONS,
    PRONOUNS,
    RELATIVES,
    VERBS,
    phrases,
    word_set,
)

# Qualities of a text; many more are recognised by their endings.
_QUALITIES = word_set(
    "accurate balanced brief calm clear coherent complete concise concrete consistent convincing correct detailed easy"
    " elegant engaging entertaining exact fair fluent formal funny gentle honest idiomatic interesting legible lively"
    " logical natural neat neutral original plain polite precise relevant rich sensible serious short simple sincere"
    " smooth sober specific structured thorough tidy varied vivid warm witty"
)
_LOOKS_LIKE_QUALITY = re.compile(r"^(?:well-\w+|\w{3,}(?:ful|less|ous|able|ible|ive|ical)|easy-\w+|\w+-free|free)$")
# Properties that a text has throughout: a question about two of them is two questions.
_PROPERTIES = word_set(
    "accuracy clarity coherence completeness conciseness consistency content diction flow fluency formatting grammar"
    " humour length layout logic pacing plot precision punctuation readability relevance spelling structure style"
    " syntax tone vocabulary wording"
)
_NO_ADVERB = word_set("daily early family friendly july likely lively lonely only reply supply unlikely weekly yearly")
# Joined by "or", any of these ways of having something in the text will do.
_TELLING = word_set("cite describe give hint imply indicate mention name quote report say show state suggest tell")
_NOUNS_ONLY = word_set("author characters hero narrator people reader setting speaker story summary time victim woman")
# What joins or compares takes two, and asks one thing of both.
_TWO_SIDES = word_set("apart between both compare contrast difference distinguish distinguished separate")
_REACH = 6
_SET_PHRASES = phrases(
    "now and then|again and again|more and more|pros and cons|and (?:nothing|nobody|only|still)",
    "(?:begin|start|open)(?:s|ed)? and (?:end|close|finish)(?:s|d|ed)?|or not|more or less|yes or no",
)
_JOINED = phrases(
    "as well as|not only|but also|in addition|and/or|(?:and|or|but) at least|and (?:also|whether|if)",
    r"while (?:also|still|keeping|avoiding|being|remaining)|(?:and|but|yet),? (?:free (?:of|from)|without|never)",
)
_TWO_OPEN = phrases(
    r"(?:who|whom|what|where|when|why|how|which)\b[^?]*?\band,? (?:to |for |by )?"
    "(?:who|whom|what|where|when|why|how|which|whether)"
)


def asks_two_things(question: ParsedQuestion) -> str | None:
    """Return how the question is two, if it is."""
    if question.text.count("?") > 1:
        return "it has two question marks"
    joined = _joined(question)
    return f"{joined!r} joins two questions" if joined else None


def _joined(question: ParsedQuestion) -> str | None:
    if match := _JOINED.search(question.text):
        return match.group()
    plain = parse_question(_SET_PHRASES.sub("x", question.text))
    if (match := _TWO_OPEN.search(plain.text)) and not _TWO_SIDES & set(plain.text[: match.start()].split()):
        return match.group()
    places = (i for i, word in enumerate(plain.words) if word in CONJUNCTIONS and 0 < i < len(plain.words) - 1)
    return next((joint for i in places if (joint := _joint(plain, i))), None)


def _joint(question: ParsedQuestion, i: int) -> str | None:
    """Return the words around the conjunction at `i` if it joins two questions."""
    words = question.words
    if words[i] != "but" and _TWO_SIDES & set(words[max(0, i - _REACH) : i]):
        return None
    left = words[i - 2] if words[i - 1] == "," and i > 1 else words[i - 1]
    right = i + 1
    while right < len(words) - 1 and (words[right] in {",", "also", "then", "never"} or _is_adverb(words[right])):
        right += 1
    joins = (
        _joins_clauses(question, i)
        or _joins_verbs(question, i, right)
        or _joins_qualities(question, i, left, right)
        or (_is_adverb(left) and _is_adverb(words[i + 1]))
        or _joins_properties(words, left, i + 1)
    )
    return " ".join((left, *words[i : right + 1])) if joins else None


def _joins_clauses(question: ParsedQuestion, i: int) -> bool:
    """... and does it ..., ... or is the ..."""
    words = question.words
    if words[i + 1] not in AUXILIARIES or i + 2 >= len(words):
        return False
    subject_follows = words[i + 2] in PRONOUNS | DETERMINERS and words[i + 1] not in {"has", "have", "had"}
    return subject_follows or not RELATIVES & set(words[1:i])


def _joins_verbs(question: ParsedQuestion, i: int, right: int) -> bool:
    """Does it ... and avoid ..., where a second verb in its base form follows; is it ... and backed by ..."""
    words = question.words
    verb, after = words[right], words[right + 1] if right + 1 < len(words) else "?"
    if words[i] in {"or", "/"} and ({words[i - 1], verb} <= _TELLING or not {words[i - 1], verb} <= VERBS | {verb}):
        return False
    if not question.takes_base_form:
        has_object = after in DETERMINERS | PREPOSITIONS - {"of"}
        return words[i] == "and" and verb.endswith("ed") and len(verb) > 4 and (has_object or after == "?")
    if verb in _NOUNS_ONLY | DETERMINERS | PRONOUNS | PREPOSITIONS | OPEN_WORDS:
        return False
    if verb in ONLY_VERBS:
        return words[i] not in {"or", "/"} or words[i - 1] in VERBS or verb not in _TELLING
    return verb in VERBS and after in DETERMINERS | PRONOUNS | OPEN_WORDS | {"about", "off", "on", "to", "by"}


def _joins_qualities(question: ParsedQuestion, i: int, left: str, right: int) -> bool:
    """... clear and concise ..., or a quality after another predicate: told in order and easy to follow."""
    word, words = question.words[right], question.words
    if _is_quality(left) and _is_quality(word):
        return True
    after = words[right + 1] if right + 1 < len(words) else "?"
    is_predicate = question.asks_what_is and after in {"?", "to", "enough"} and words[i] != "or"
    return is_predicate and _is_quality(word)


def _joins_properties(words: tuple[str, ...], left: str, right: int) -> bool:
    """... grammar and (the) spelling ..."""
    if words[right] in {"the", "its", "their"} and right + 1 < len(words):
        right += 1
    return left in _PROPERTIES and words[right] in _PROPERTIES


def _is_adverb(word: str) -> bool:
    return word.endswith("ly") and len(word) > 4 and word not in _NO_ADVERB


def _is_quality(word: str) -> bool:
    return word in _QUALITIES or bool(_LOOKS_LIKE_QUALITY.search(word))
