"""Whether a text speaks to whoever scores it, by a short list of English patterns.

A mark for a person to look at, and no evidence: other wordings and languages are not found, and a text about grading
can match. It never changes a score. Time is linear in the length of the text: every repetition is bounded.
"""

from __future__ import annotations

import re

from rubriclab.prompts.inert import inert

_JUDGE = r"(?:(?:ai|automatic|automated) )?(?:grader|evaluator|rater|assessor|judge|llm|language model|ai model|ai)s?"
_INSTRUCTIONS = r"(?:instruction|prompt|guideline|directive|rule|rubric|criterion)s?|criteria"
_SCORE = r"(?:score|rating|grade|mark)s?"
_VERDICT = r"(?:give|assign|award|rate|score|grade|ignore|return|output|answer|respond|reply)"
_WORDS = r"(?: [\w'-]{1,20}){0,%d}"

_NOUNS = ("grader", "evaluator", "rater", "assessor", "judge", "llm", "model", "assistant", " ai", "ai,", "ai:")
_SCORES = ("score", "rating", "grade", "mark")

# For texts in lower case: words of which every match has one, and the pattern. Looking for the words first takes less
# than half of the time, as few texts have them.
_RULES = (
    (
        # Ignore your instructions.
        ("ignore", "disregard", "forget", "override"),
        rf"\b(?:ignore|disregard|forget|override){_WORDS % 3}"
        rf" (?:previous|prior|above|earlier|preceding|your|all){_WORDS % 2} (?:{_INSTRUCTIONS})\b",
    ),
    (
        # As the grader, give …; AI: you must ignore …
        _NOUNS,
        rf"\b(?:as|dear|attention|note to|message to|instructions? (?:to|for)) (?:the |an? |any |all )?{_JUDGE}"
        rf"[,:]?(?: (?:please|you|must|should|to|have|need)){{0,3}} {_VERDICT}\b"
        rf"|\b(?:grader|evaluator|rater|assessor|llm|language model|ai|assistant)s?[,:]"
        rf"(?: (?:please|you|must|should|have|need|to)){{0,4}} {_VERDICT}\b",
    ),
    (
        # If you are a language model reading this …
        _NOUNS,
        rf"\b(?:you are|whichever|whatever|any|the) (?:now )?(?:the |an? )?{_JUDGE}"
        r"(?: that is| who is| which is)? (?:reading|grading|evaluating|judging|scoring|rating) this\b",
    ),
    (
        # Give the highest score; rate this a 5; deserves a rating of 10.
        (*_SCORES, "rate", " out of ", "/5", "/7", "/10"),
        rf"\b(?:give|assign|award|deserves|should (?:get|receive|be given)){_WORDS % 6}"
        rf" (?:(?:highest|maximum|max|top|perfect|full|best)(?: possible)? {_SCORE}\b|{_SCORE} of \d"
        r"|\d{1,3}(?: out of |/)(?:5|7|10|100)\b)"
        rf"|\b(?:rate|score|grade) (?:this|it|me|my)\b{_WORDS % 3} (?:as )?(?:an? )?(?:\d|highest|maximum|perfect)",
    ),
    (
        # A line, or an entry of JSON, that is a score.
        _SCORES,
        rf"(?:^|\n)[^\w\n]{{0,10}}(?:final |overall |total )?{_SCORE}[^\w\n]{{0,3}}[:=][^\w\n]{{0,3}}\d{{1,3}}"
        r"(?:\.\d{1,3})?(?: ?(?:/|out of) ?\d{1,3})?[^\w\n]{0,10}(?:\n|$)"
        rf"""|["']{_SCORE}["'] ?: ?["']?\d""",
    ),
)
_COMPILED = tuple((words, re.compile(pattern)) for words, pattern in _RULES)


def addresses_judge(text: str) -> bool:
    """Return whether `text`, with what it hides, matches one of the patterns."""
    shown = inert(text).lower()
    return any(any(word in shown for word in words) and bool(pattern.search(shown)) for words, pattern in _COMPILED)
