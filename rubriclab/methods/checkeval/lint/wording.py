"""Questions whose wording leaves the answer open: vague ones, and those beyond what a judge is shown.

A judge is shown a text and what it was written from; not the writer's mind, other readers, other texts or the world.
"""

from __future__ import annotations

import re

from rubriclab.methods.checkeval.lint.parsing import ParsedQuestion
from rubriclab.methods.grammar import OPEN_WORDS, PREPOSITIONS, phrases, word_set

# Praise: it says that something should be, not what it is.
_PRAISE = word_set(
    "amazing bad beautiful believable boring brilliant captivating clever compelling convincing creative decent elegant"
    " enjoyable excellent fascinating funny good great gripping helpful impressive insightful inspiring interesting"
    " meaningful memorable nice perfect persuasive poor powerful professional relatable remarkable satisfactory"
    " satisfying terrible thoughtful useful valuable wonderful"
)
_VAGUE = phrases(
    rf"(?:{'|'.join(sorted(_PRAISE))})(?:ly)?(?! (?:news|deeds?|and evil|nouns?|tense)\b)",
    "(?:in)?(?:appropriate|suitable|adequate|sufficient|reasonable|acceptable|effective|efficient)(?:ly)?",
    "proper(?:ly)?(?! nouns?| names?)|smooth(?:ly)?|unnecessar(?:y|ily)|fitting(?:ly)?|suited",
    r"right(?= for\b| ?\?)|very|really|actually|quite|fairly|somewhat|truly|overall|generally",
    r"too (?!and\b|or\b)\w+(?! [^?]*\bto\b)|enough(?! [^?]*\b(?:to|that)\b)",
    r"(?<!as )(?<!how )well(?! aware|-known)|(?:high|low|good)[- ]quality|of (?:\w+ )?(?:quality|value)",
    "(?:work|hold)s? (?:as a whole|together)|easy to (?:read|follow|understand)|a (?:pleasure|joy) to read",
    r"makes? sense(?= ?\?)|flows?(?= ?(?:\?|well|logically|naturally))|clear(?= ?(?:\?|,|and\b|to (?:the|a) reader))",
    "clearly (?:written|expressed|worded|structured)|(?:strong|weak)(?= (?:argument|point|case|ending)| ?\\?)",
    "(?:feel|sound|read)s? (?:right|natural|complete|real)|(?:reader|audience)(?:'?s'?)? (?:interest|attention)",
)

# Most aspects are named after a quality: coherence after coherent, likability after likable.
_NAME_ENDING = re.compile(
    r"(?:ility|iveness|ingness|ness|ality|ity|ency|ence|ancy|ance|acy|ement|ment|(?<=th)y|(?<=st)y|(?<=s)e)$"
)
_ENDINGS = (
    r"(?:ility|le|[aei]?l?ly|iv\w+|ing\w*|ness|al\w*|ity|[ea]nt\w*|[ea]nc[ey]|ate\w*|e[ds]?|y|(?:et)?ic\w*|i[sz]e)"
)
_THINGS = word_set("argument audience balance document evidence prose reference sentence tense")

_WRITER = "(?:author|writer|model|system|assistant|student|poet|journalist|translator|summari[sz]er|annotator)s?"
_PEOPLE = (
    "(?:readers?|people|users?|audiences?|customers?|viewers?|listeners?|speakers?|recipients?|person|everyone|someone"
    "|experts?|doctors?|historians?|scientists?|critics?|teachers?)"
)
_TEXTS = "(?:summaries|stories|responses|replies|outputs|candidates|versions|models|systems|essays|drafts|abstracts)"
_BEYOND = phrases(
    # What the writer had in mind, and how the text came about.
    rf"{_WRITER}(?:'s?)? (?:\w+ )?(?:inten|mean|want|tr(?:y|ied)|hope|kn[oe]w|underst|think|feel|enjoy|mind)\w*",
    "^did|on purpose|intentional(?:ly)?|(?:intended|target) (?:audience|readers?|meaning|effect)",
    r"^(?:is|was|were|are|has|have) [^?]*\b(?:written|generated|produced|composed) by|(?:hard|easy) to (?:write|make)",
    # What people do or think on reading it.
    rf"(?:would|might) (?:\w+ ){{0,3}}?{_PEOPLE}(?! (?:of|who)\b)|what {_PEOPLE} (?:want|need|expect|consider|find)s?",
    rf"makes? (?:the |a |most )?{_PEOPLE} (?:want|feel|laugh|cry)|^will|you|your|likely to",
    # Other texts, and a reference.
    rf"(?:other|rival|competing|previous|both|two|three|five) {_TEXTS}|than (?:most|average|usual|the rest)",
    rf"(?:best|worst|better|\w+est) [^?]*\b(?:of|among) (?:the |all )(?:\w+ )?{_TEXTS}",
    "(?:reference|gold|gold-standard|human-written|ground-truth) (?:summary|text|answer|response|story)|ground truth",
    # The world.
    "in reality|in truth|in real life|wikipedia|google|common knowledge|widely known|nowadays|up[ -]to[ -]date",
    "(?:scientific|historical|medical|legal)(?:ly)? (?:accura|correct|true|sound|safe|valid|research|evidence)\\w*",
    "still (?:true|valid|current)|real (?:people|persons?|places?|cit(?:y|ies)|events?|ones?)|(?:style|house) guide",
    "guidelines?|read (?:aloud|out loud)|pronounced|fonts?",
)
# Truth is a matter of the world, unless the question says what it is measured against.
_TRUTH = phrases(
    r"(?:facts?|claims?|statements?|statistics|information|figures?|numbers?|dates?|details?)\b[^?]*\b"
    "(?:true|correct|accurate|factual)",
    "factually (?:true|correct|accurate)|verifiable",
)
_MEASURED_AGAINST = phrases(
    "source|article|document|prompt|dialogue|conversation|background|given|context|passage|report|evidence|input|earlier"
)

_DEGREE = phrases("on a scale|^to (?:what|which)|^what (?:extent|degree)|^how (?:well|much|far|many|often|good)|^rate")
_CHOICE = re.compile(
    r"^(?:is|are|was|were)\b[^?]*\b(?:first or (?:the )?third|(\w{4,}) or (?:un|in|im)\1|\w+ or not)\b"
)


def names_no_sign(question: ParsedQuestion) -> str | None:
    """Return the word that leaves open what would be seen, if there is one."""
    match = _VAGUE.search(question.text)
    return match.group() if match else None


def repeats_aspect(question: ParsedQuestion, aspect: str) -> str | None:
    """Return the word that only says the aspect's own name again, if there is one."""
    name = re.split(r"[^a-z]+", aspect.lower().strip())[-1]
    stem = _NAME_ENDING.sub("", name)
    if stem == name or name in _THINGS or len(stem) < 3:
        return None
    # What stands before -ness and -ity may be the quality itself: natural, complex.
    ending = f"{_ENDINGS}?" if name in {f"{stem}ness", f"{stem}ity"} else _ENDINGS
    match = re.search(rf"\b(?:in|un|ir|dis)?{stem}{ending}\b", question.text)
    return match.group() if match else None


def is_no_question(question: ParsedQuestion) -> str | None:
    """Return what stands in a yes/no question's place, if it is none."""
    words = [word for word in question.words if word[0].isalnum()]
    if not words:
        return "it holds no words"
    if _DEGREE.search(question.text):
        return "it asks for a degree"
    if question.auxiliary is None:
        is_open = words[0] in OPEN_WORDS or (words[0] in PREPOSITIONS and not OPEN_WORDS.isdisjoint(words[1:2]))
        return "it is an open question" if is_open else "it is no question"
    return "it offers a choice" if _CHOICE.search(question.text) else None


def asks_beyond(question: ParsedQuestion) -> str | None:
    """Return the words that ask for something the judge is not shown, if there are any."""
    match = _BEYOND.search(question.text)
    if not match and not _MEASURED_AGAINST.search(question.text):
        match = _TRUTH.search(question.text)
    return match.group() if match else None
