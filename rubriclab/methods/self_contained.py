"""Whether a question or a hypothesis stands alone: whoever reads it alone knows what each of its words points to.

Generators refer to what they have just written: "that person" of the question before, "the new matter" of the seed. A
criterion is asked beside others, or without them, so that such words point to nothing. These rules go by words alone
and let doubtful cases pass.
"""

from __future__ import annotations

import re

# Letters by which a noun is known again: a text that quotes somebody has a quotation.
STEM = 4

# After these a "that" with a noun points to something; elsewhere it mostly joins a clause.
_BEFORE = "about|against|around|at|behind|by|for|from|in|into|of|on|over|through|to|towards?|under|what|why|with|within"
# What a clause begins with after "that", and what "that" or "those" introduce by themselves.
_NO_NOUN = (
    "a|an|the|any|each|every|no|some|all|both|either|neither|it|they|he|she|we|you|i|its|their|his|her|there|one|many"
    "|most|more|of|which|who|whom|whose|in|at|on|from|with|without|are|is|was|were|be|has|have|had|do|does|did|can"
    "|could|may|might|must|should|will|would|not|only|if|when|where|follows?|and|or|for|to|than|as|by|about|between"
    r"|\w+ed|found|given|made|said|seen|shown|told|written"
)
# What every criterion is asked of or beside, whatever it is asked with: "this dialogue" points to the one shown.
_SHOWN = "article|context|conversation|dialogue|document|response|reply|source|story|summary|talk|text|turn"
# Nouns that are definite only because something was said of them before.
_SAID_BEFORE = "anecdote|claim|event|happening|incident|matter|person|proposal|quotation|quote|remark|statement"
# A clause or a phrase after the noun says which one is meant.
_TOLD_AFTER = (
    "of|that|which|who|whom|whose|in|on|at|from|to|for|about|behind|between|under|with|where|when|why|how|being|told"
    "|given|made|named|stated|described|discussed|mentioned|reported|raised|asked|itself|themselves"
)
_COORDINATED = r"(?:(?:, [\w'-]+)* (?:or|and) [\w'-]+)?"

# What points outside in a question and in a hypothesis alike.
_BACK = (
    re.compile(rf"\b(?:{_BEFORE}) (?P<what>(?:that|those) (?:very |same )?(?!(?:{_NO_NOUN})\b)(?P<noun>[a-z][\w'-]*))"),
    re.compile(r"\b(?P<what>the (?:former|latter|above|aforesaid|aforementioned))\b"),
    re.compile(r"\b(?P<what>(?:as|see|mentioned|described|named|asked) (?:above|before|earlier))(?=[.,;?]|$)"),
    re.compile(r"\b(?P<what>the (?:previous|preceding|other|first|second) (?:question|criterion|hypothesis))\b"),
    re.compile(r"\b(?P<what>(?:question|hypothesis|criterion|text) [a-z]?\d+)\b"),
)
# What does so only in a question, which has no sentence before it.
_UNSAID = (
    re.compile(
        r"^(?:does|do|did|is|are|was|were|has|have|can|could|will|would) "
        rf"(?P<what>(?:that|those|this|these)\b)(?! (?:{_SHOWN})\b)"
    ),
    re.compile(rf"\b(?P<what>(?:this|these) (?!(?:{_NO_NOUN}|{_SHOWN})\b)(?P<noun>[a-z][\w'-]*))"),
    re.compile(rf"\b(?P<what>the (?:new )?(?P<noun>{_SAID_BEFORE})s?)\b(?!{_COORDINATED} (?:{_TOLD_AFTER})\b)(?!-)"),
)


def leaning(text: str, *, question: bool = True) -> str | None:
    """Return the words of `text` that point to something outside it, if there are any.

    A noun that stands in the text before, under another article, is what is pointed to: "a claim ... that claim". Of a
    hypothesis, which has several sentences, only what can point to nothing in it counts.
    """
    said = " ".join(text.lower().replace("’", "'").split())
    for pattern in (*_BACK, *_UNSAID) if question else _BACK:
        for found in pattern.finditer(said):
            if not _named_before(found, said):
                return found["what"]
    return None


def _named_before(found: re.Match[str], said: str) -> bool:
    noun: str | None = found.groupdict().get("noun")
    return noun is not None and bool(re.search(rf"\b{re.escape(noun[:STEM])}", said[: found.start("what")]))
