"""Questions whose words name no sign by which one could see the answer, so that each judge fills in one of its own."""

from __future__ import annotations

import re

from rubriclab.methods.checkeval.lint.reading import Reading
from rubriclab.methods.grammar import phrases, word_set

# Praise and blame: they say that something should be, not what it is.
_PRAISE_OR_BLAME = word_set(
    "amazing amusing authentic awful bad beautiful believable bland boring brilliant captivating charming clever "
    "compelling convincing creative decent dull elegant eloquent enjoyable excellent exciting fantastic "
    "fascinating funny good great gripping helpful horrible ideal impressive insightful inspiring interesting "
    "lifelike likable likeable masterful meaningful mediocre memorable nice optimal perfect persuasive polished "
    "poor powerful professional relatable remarkable satisfactory satisfying sloppy successful superb terrible "
    "terrific thought-provoking thoughtful useful valuable witty wonderful worthwhile"
)
_VERDICT = phrases(rf"(?:{'|'.join(sorted(_PRAISE_OR_BLAME))})(?:ly)?")
# Fitness for a standard that is not named.
_STANDARD = phrases(
    "(?:in|im|un)?(?:proper|appropriate|suitable|adequate|sufficient|reasonable|acceptable)",
    "(?:in|im|un)?(?:properly|appropriately|suitably|adequately|sufficiently|reasonably|acceptably)",
    "(?:in)?(?:effective|efficient|effectively|efficiently)|smooth(?:ly)?|seamless(?:ly)?|skill?ful(?:ly)?",
    "unnecessar(?:y|ily)|needless(?:ly)?",
    "right(?= for\\b)|right (?:tone|length|amount|level|words?|balance|style|register|pace)",
    r"(?:where|when|if|as) (?:needed|necessary|possible|appropriate|required)|as \w+ as possible",
)
# Degrees without a measure.
_DEGREE = phrases(
    "significantly|substantially|considerably",
    "very|really|actually|quite|fairly|somewhat|truly|overall|generally|all in all|more or less|etc|and so on",
    r"too (?!and\b|or\b)\w+(?! [^?]*\bto\b)",
    r"enough(?! [^?]*\b(?:to|that)\b)",
    "(?<!get )(?<!feel )(?<!for )(?:better|best|worse|worst)",
)
# Whole impressions.
_IMPRESSION = phrases(
    r"(?<!as )(?<!how )well(?!-known| known)",
    "(?:high|low|top|text|writing)[- ]quality|of (?:\\w+ )?(?:quality|value)|(?:pleasure|joy|delight|chore) to read",
    "quality of (?:the |its )?(?:writing|text|summary|story|response|language|prose|content|style)",
    "(?:feel|sound|read)s? (?:right|natural|complete|alive|real|off|forced|fluid)(?:ly)?",
    "(?:work|hold)s? (?:as a whole|together)|suited to|(?:be)?fitting(?:ly)?(?! the)",
    r"(?<!still )makes? sense(?= ?(?:\?|overall|as a whole|to (?:the|a) reader))",
    r"flows?(?= ?(?:\?|logically|easily|naturally))",
    r"clear(?= ?(?:\?|,|and\b|enough|overall|throughout|to (?:the|a) reader))",
    "clearly (?:written|expressed|worded|organi[sz]ed|structured)",
    "(?:easy|easily|pleasant) to (?:read|follow|understand)",
    r"(?<!how )(?:strong|weak|solid)(?! (?:winds?|growth|demand|earthquake|storm|currents?|verbs?)\b)",
    "(?:hold|keep|capture|grab|catch|sustain|maintain)s? (?:the |a )?(?:reader|audience)(?:'?s'?)? "
    "(?:interest|attention)",
)
# Some of these words within what a text tells about.
_TOLD_ABOUT = phrases(
    "proper (?:nouns?|names?)|perfect tense|for good|good (?:and|or) evil|(?:good|bad) news|good deeds?|common good",
    "oil wells?|as well|well aware",
    "poor (?:people|family|families|country|countries|neighbou?rhood)|great[- ](?:grand\\w+|britain|uncle|aunt)",
)

# Most aspects are named after a quality: coherence after coherent, likability after likable. What is left of such a
# name, with an ending of an adjective, adverb, verb or noun, is the aspect over again.
_NAME_ENDING = re.compile(
    r"(?:ility|iveness|ingness|ness|ality|ity|ency|ence|ancy|ance|acy|ement|ment|(?<=th)y|(?<=st)y|(?<=s)e)$"
)
_ENDINGS = (
    "(?:ility|le|ly|ive|ively|iveness|ing|ingly|ingness|ness|al|ally|ality|ity|ent|ently|ency|ence|ant|antly|ancy|ance"
    "|ate|ately|acy|ement|ment|e|ely|es|ed|y|etic|etically|ic|ise|ize)"
)
# These name things to look at, whatever their endings.
_THINGS = frozenset(
    {"argument", "audience", "balance", "document", "evidence", "prose", "reference", "sentence", "tense"}
)


def names_no_sign(question: Reading) -> str | None:
    """Return the word that leaves open what would be seen, if there is one."""
    text = _TOLD_ABOUT.sub("x", question.text)
    found = (pattern.search(text) for pattern in (_VERDICT, _STANDARD, _DEGREE, _IMPRESSION))
    return next((match.group() for match in found if match), None)


def repeats_aspect(question: Reading, aspect: str) -> str | None:
    """Return the word that only says the aspect's own name again, if there is one."""
    name = re.split(r"[^a-z]+", aspect.lower().strip())[-1]
    stem = _NAME_ENDING.sub("", name)
    if stem == name or name in _THINGS or len(stem) < 3:
        return None
    # What stands before -ness and -ity may be the quality itself: natural, complex.
    ending = f"{_ENDINGS}?" if name in {f"{stem}ness", f"{stem}ity"} else _ENDINGS
    found = re.search(rf"\b(?:in|un|ir|dis)?{stem}{ending}\b", question.text)
    return found.group() if found else None
