"""Questions that cannot be answered by yes or no from what a judge is shown: the text and what it was written from."""

from __future__ import annotations

import re

from rubriclab.methods.checkeval.lint.reading import Reading
from rubriclab.methods.grammar import OPEN_WORDS, PREPOSITIONS, phrases

_WRITER = (
    "(?:author|writer|model|system|summari[sz]er|bot|chatbot|assistant|ai|annotator|poet|novelist|journalist"
    "|student|pupil|candidate|applicant|translator|reporter|blogger|developer|programmer|composer)s?"
)
_READER = (
    "(?:readers?|people|users?|audiences?|customers?|viewers?|listeners?|speakers?|partners?|person|everyone|everybody"
    "|someone|anyone|humans?|friends?|students?|children|clients?|subscribers?|fans?"
    "|recipients?|buyers?|voters?|employers?|patients?|visitors?|parents?|learners?|donors?)"
)
_EXPERT = (
    "(?:experts?|specialists?|historians?|doctors?|scientists?|scholars?|critics?|professionals?|editors?|teachers?)"
)
_JUDGED = "(?:summary|story|response|reply|text|output|answer|essay|email|message|translation)"
_OUTPUTS = (
    "(?:summaries|stories|responses|replies|outputs|candidates|versions|models|systems|submissions|essays|drafts)"
)

# What went on in a writer's head is not on the page, nor how the text came about.
_INTENTION = phrases(
    rf"{_WRITER} (?:\w+ )?(?:intend|mean|want|try|tries|tried|aim|hope|know|knew|understand|understood|believe|think"
    r"|feel|plan|care|wish|realise|realize|attempt|ha[ds]? in mind)(?:s|d|ed|t|ned)?",
    rf"{_WRITER}'s? (?:\w+ )?(?:intentions?|intent|purpose|goals?|aims?|mind|motives?|knowledge|efforts?)",
    rf"(?:intentions?|intent|purpose|aims?|motives?) of (?:the|its) {_WRITER}",
    rf"^did (?:the |its )?{_WRITER}",
    "what (?:the|its|an?) (?:publisher|editor|reader|user|customer|audience|company|writer|author|client|employer) "
    "(?:considers?|finds?|deems?|thinks?|wants?|expects?|needs?)",
    "(?:hard|easy|difficult|quick) to (?:write|produce|make)|(?:intended|meant) (?:by|as|to)",
    "(?:intended|target) (?:audience|readers?|readership|purpose|meaning|effect|message)",
    "on purpose|intentional(?:ly)?|deliberately (?:chosen|left|written|used|placed|kept)",
    rf"^(?:is|was|were|are|has|have) (?:this|the|it|these) ?(?:{_JUDGED} )?"
    "(?:written|generated|produced|created|composed|drafted) (?:by|with|using|under|at|on)",
)
# What somebody would do on reading it is not on the page either, nor what the judge itself would.
_REACTION = phrases(
    rf"(?:will|would|might)\b[^?]*\b{_READER}\b[^?]*\b(?:buy|share|click|subscribe|recommend|remember|forget|return"
    "|come back|finish|continue|keep (?:reading|talking|chatting|listening)|read on|read (?:it|this) again|reread|enjoy"
    "|like|love|prefer|hate|laugh|cry|agree|approve|want|believe|trust|vote|pay|change (?:their|his|her) minds?"
    "|be (?:moved|pleased|satisfied|impressed|bored|delighted|entertained|convinced|persuaded|happy|tempted))",
    r"(?:would|could|might) [^?]*\b(?:win (?:a|an|the|any) \w+|go viral|sell|become popular|be (?:published|shared)"
    "|(?:answer|reply to|respond to|react to) (?:this|it|such))",
    rf"{_READER} (?:\w+ )?(?:likely|tempted|going|eager|willing) to",
    rf"likely (?:that|to) [^?]*\b{_READER}",
    rf"(?:make|leave)s? (?:the |a |any |most |its |other )*{_READER} "
    "(?:want|feel|laugh|cry|happy|satisfied|curious)(?:ing)?",
    rf"(?:satisf(?:y|ies|ied)|please[ds]?|delight(?:s|ed)?) (?:the |a |most |its )?{_READER}",
    # What will be is not on the page at all.
    "^will|you|your|yourself",
)
# Rivals are not shown, nor a reference: every text is judged by itself.
_RIVALS = phrases(
    "than (?:the |any |all |most |an? )*(?:other|rival|competing|previous|earlier|average|typical|usual|alternative) "
    rf"(?:\w+ )?(?:{_JUDGED}|{_OUTPUTS})",
    r"than (?:\w+ ){1,3}of (?:the )?other \w+|than (?:(?:the|any) others|most|average|usual)",
    r"compar(?:ed|able|es?|ing|ison) (?:\w+ )?(?:to|with) (?:the |any |an? |what )*"
    "(?:others?|rivals?|competing|previous|alternatives?|average|typical|another)",
    rf"(?:other|rival|competing|alternative|both|two) {_OUTPUTS}",
    "the (?:other|rival|competing) (?:summary|story|output|system|model|candidate|version|submission|draft)",
    rf"than the rest of the (?:{_OUTPUTS}|set|batch|group|lot)",
    r"(?:best|worst|better|worse|first|second|strongest|weakest) (?:one )?(?:of|among) (?:the |all |these |its )*"
    rf"(?:\w+ )?(?:{_OUTPUTS}|rivals|group|set|batch|lot)",
    rf"(?:best|worst) (?:possible )?{_JUDGED}",
    rf"^(?:is|was) (?:this|it|the {_JUDGED}) (?:the |one of the )?(?:\w+est|(?:most|least) \w+|best|worst)\b[^?]* "
    "(?:of|among)",
    "(?:previous|older|alternative) (?:version|draft)",
    "(?:reference|gold|gold-standard|human-written|ground-truth|model) (?:summary|text|answer|response|story|standard)",
    "ground truth|ranks? (?:above|below|higher|lower|first|among)",
)
# The world is not shown: there is no search, no news of today, no guideline beyond the input.
_WORLD = phrases(
    "in reality|in truth|in real life|(?:in|of) the real world|wikipedia|google|search engines?|web search",
    "common knowledge|widely known|generally accepted|fact[- ]checked|as of today|these days|nowadays",
    "(?:scientifically|historically|medically|legally|clinically) "
    "(?:accurate|correct|true|sound|possible|safe|valid|effective|permissible|advisable|proven)",
    "(?:external|independent|outside|other|reliable|trusted|credible|online) (?:sources|evidence|references)",
    r"(?:found|confirm(?:ed)?|check(?:ed)?|look(?:ed)? up|back(?:ed)?) [^?]*\b(?:online|on the (?:internet|web))",
    r"(?:follow|meet|match|obey|comply with|conform to|adhere to|fulfil|respect)s? [^?]*\b"
    "(?:style guide|house style|guidelines?|brand voice|policy|policies)",
    "(?:previous|past) (?:sessions?|conversations|chats?)",
    "real (?:people|persons?|places?|compan(?:y|ies)|cit(?:y|ies)|events?|ones?)",
    rf"^(?:would|will|do|could) (?:an? |most |the |any )?(?:\w+ )?{_EXPERT} (?:\w+ )?"
    "(?:agree|approve|accept|confirm|endorse|praise)",
)
# Neither are sound and layout shown, nor the work that went into a text.
_BESIDE_TEXT = phrases(
    "(?:when|if|be|being) (?:it is |they are )?(?:read|spoken|said) (?:aloud|out loud)",
    r"sounds? [^?]*\b(?:aloud|out loud)",
    "pronounced|pronunciation|intonation|typeface|fonts?|listen(?:ing)? to the (?:audio|recording)",
    "(?:accompanying|attached|embedded) (?:image|picture|photo|photograph|video|chart)s?",
    "on (?:the|a) (?:screen|phone)|time it took|took (?:less|more) than",
)
# Truth is a matter of the world, unless the question says what it is measured against.
_TRUTH = phrases(
    "(?:facts?|claims?|statements?|assertions?|information|figures?|numbers?|dates?|details?|names?|events?|content"
    r"|everything|what (?:it|the \w+) (?:says|states|claims|reports))\b[^?]*\b"
    "(?:true|correct|accurate|factual|right|real)",
    "(?:true|correct|accurate|real|right) (?:facts?|claims?|statements?|information|figures?|numbers?|dates?)",
    rf"^(?:is|are) (?:the|this) {_JUDGED} (?:\w+ )?(?:true|accurate|correct|factual)",
    r"(?:actually|really) (?:true|happen\w*|exist(?:s|ed)?|said|took place|going on)",
    "factually|factual(?! (?:errors?|mistakes?|claims?|statements?))|verif(?:y|ied|iable|iably)",
    "up[ -]to[ -]date|still (?:true|valid|current)|latest (?:news|information|figures|data|research)",
)
_MEASURED_AGAINST = phrases(
    "source|article|document|prompt|dialogue|conversation|background|(?:the|as) given|context|passage|report",
    r"transcript|input|earlier|before|according to|true to|spell\w*|gramma\w*|order|format\w*|capital\w*|punctuat\w*",
)

_DEGREE = phrases(
    "on a scale|scale (?:of|from)|^(?:to )?what (?:extent|degree)|^to what|^how (?:well|much|far|many|often|good)",
    r"(?:deserves?|scores?|rated?|rating|worth|earns?|merits?) [^?]*\b(?:\d+|stars|points|marks)",
)
_NEGATED = "(?:un|in|im|il|ir|dis|non-?)"
_OPPOSITES = "positive negative|short long|first third|past present|active passive|serious humorous|happy sad|good bad"
_EITHER = (rf"{a} or (?:the )?{b}|{b} or (?:the )?{a}" for a, b in map(str.split, _OPPOSITES.split("|")))
_CHOICE = re.compile(
    rf"^(?:is|are|was|were)\b[^?]*\b(?:(\w{{4,}}) or {_NEGATED}\1|{_NEGATED}(\w{{4,}}) or \2|{'|'.join(_EITHER)}"
    r"|simple or complex|true or false|fact or opinion|too \w+ or too \w+)(?: (?:tense|person|voice|tone))? ?\?$"
)


def is_no_question(question: Reading) -> str | None:
    """Return what stands in a yes/no question's place, if it is none."""
    words = [word for word in question.words if word[0].isalnum()]
    if not words:
        return "it holds no words"
    if _DEGREE.search(question.text):
        return "it asks for a degree"
    if question.auxiliary is None:
        asks_openly = words[0] in OPEN_WORDS or (words[0] in PREPOSITIONS and words[1:2] and words[1] in OPEN_WORDS)
        return "it is an open question" if asks_openly else "it is no question"
    return "it offers a choice" if _CHOICE.search(question.text) else None


def asks_beyond(question: Reading) -> str | None:
    """Return the words that ask for something the judge is not shown, if there are any."""
    for pattern in (_INTENTION, _REACTION, _RIVALS, _WORLD, _BESIDE_TEXT):
        if found := pattern.search(question.text):
            return found.group()
    found = _TRUTH.search(question.text)
    return found.group() if found and not _MEASURED_AGAINST.search(question.text) else None
