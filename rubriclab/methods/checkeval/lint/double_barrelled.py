"""Questions that ask two things, so that neither "yes" nor "no" is the answer where the two differ.

A conjunction alone is no sign: "names and numbers" is one list to check. What counts is what it joins. Two predicates,
two qualities or two properties of a text are two questions; two nouns are not.
"""

from __future__ import annotations

import re

from rubriclab.methods.checkeval.lint.reading import Reading, read
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

# Qualities of a text. Joined, each has to be judged by itself. Adjectives that sort things (physical and emotional
# effects, direct and reported speech) are none of these.
_QUALITIES = word_set(
    "accurate ambiguous amusing awkward balanced believable biased boring brief calm candid captivating choppy "
    "clear coherent cohesive compelling complete comprehensive concise concrete confusing consistent convincing "
    "correct creative credible current curt descriptive detailed dignified dull easy effective elegant emotional "
    "empathetic engaging entertaining exact exciting factual fair faithful fluent formal frank friendly funny "
    "gentle grammatical gripping helpful honest idiomatic imaginative impartial important incomplete inconsistent "
    "incorrect informal informative interesting legible likable likeable lively logical memorable misleading "
    "modest moving natural neat neutral new objective on-topic organised organized original persuasive plain "
    "plausible polished polite precise predictable professional readable realistic relatable relevant repetitive "
    "respectful rich satisfying sensible serious short simple sincere smooth sober specific straightforward "
    "structured succinct surprising tactful thorough tidy timely touching true truthful unambiguous unbiased "
    "unclear understandable unexpected unique useful vague valid varied vivid warm witty wordy"
)
_LOOKS_LIKE_QUALITY = re.compile(r"^(well-\w+|\w{3,}(ful|less|ous|able|ible)|easy-\w+|error-free|up-to-date)$")

# Properties that a text has throughout: a question about two of them is two questions.
_PROPERTIES = word_set(
    "accuracy brevity capitalisation capitalization clarity coherence cohesion completeness conciseness "
    "consistency content creativity depth diction flow fluency focus formatting grammar humor humour "
    "informativeness layout length logic objectivity originality pace pacing plot precision prose punctuation "
    "readability register relevance rhythm spelling structure style syntax tone vocabulary wording"
)

# Adverbs end in -ly; these words only look it.
_NO_ADVERB = word_set(
    "ally anomaly assembly belly bully daily early elderly family fly friendly holy homily italy july likely "
    "lively lonely lovely monopoly only rally reply supply ugly unlikely weekly yearly"
)
_BETWEEN_VERBS = word_set("also then always never not clearly still thus instead even either")
# Verbs that take no object, with the word that shows them to be verbs.
_AFTER_INTRANSITIVE = word_set(
    "about apart as at away back by clear close for from in into like on out to together up with within"
)
_INTRANSITIVE = word_set(
    "adhere agree belong build close come conclude conform connect correspond deal end finish fit flow focus go "
    "hang hold keep lead link make move open progress react read refer relate remain respond sound start stay "
    "stick stop work"
)
# Ways of having something in the text, any of which will do.
_TELLING = word_set(
    "cite describe express give hint imply indicate mention name quote report say show state suggest tell"
)
# People are given things: "gives hero and villain a motive".
_NOUNS_ONLY = word_set(
    "antagonist audience author character family friend hero heroine listener man mother narrator people person "
    "plot protagonist reader setting speaker story summary time victim villain woman world writer"
)
_SEEM = word_set("appear feel look read remain seem sound stay")
_NO_VERB_ENDING = re.compile(r"(ing|ly|ed|tion|sion|ment|ness|ity|ance|ence|[^s]s|er|or|ist|ian|ism)$")
_IRREGULAR_PARTICIPLES = word_set(
    "backed bound built cut done drawn driven found given held kept known left made met put said seen set shown "
    "spelled spelt taken told understood written"
)
# What joins, parts or compares takes two, and asks one thing of both.
_TWO_SIDES = word_set(
    "apart between both combine combined compare compared connect connected connects contrast contrasts "
    "difference distinguish distinguished link linked relation separate separated"
)
_REACH = 6
_SET_PHRASES = phrases(
    "cause and effect|back and forth|now and then|again and again|more and more|over and over|pros and cons",
    "trial and error|black and white|one and the same|stop and think",
    "(?:begin|start|open)(?:s|ed)? and (?:end|close|finish)(?:s|d|ed)?",
    "and (?:nothing|no one|nobody|no other|only|still)|or not|more or less|sooner or later|yes or (?:a )?no",
)

_JOINED = phrases(
    "as well as|not only|but also|in addition|and/or|(?:and|or|but) at (?:least|most)",
    "and (?:also|additionally|furthermore|moreover|at the same time|whether|if)",
    "while (?:also|still|remaining|maintaining|keeping|staying|avoiding|being|preserving|providing|adding|retaining)",
    "while (?:holding|leaving|making|covering|including|using|giving)",
)
# Predicates without a verb of their own.
_STATE = phrases(
    "(?:and|but|yet),? (?:free (?:of|from)|to the point|on topic|in (?:the )?(?:right |same )?order|in line with)",
    "(?<!with )(?<!within )(?:and|but|yet) without",
)
_TWO_OPEN = phrases(
    r"(?:who|whom|what|where|when|why|how|which)\b[^?]*?\band,? (?:to |for |by |with )?"
    "(?:who|whom|what|where|when|why|how|which|whether)"
)


def asks_two_things(question: Reading) -> str | None:
    """Return how the question is two, if it is."""
    if question.text.count("?") > 1:
        return "it has two question marks"
    found = _joined(question)
    return f"{found!r} joins two questions" if found else None


def _joined(question: Reading) -> str | None:
    if joined := _JOINED.search(question.text):
        return joined.group()
    plain = read(_SET_PHRASES.sub("x", question.text))
    if state := _STATE.search(plain.text):
        return state.group()
    if (opened := _TWO_OPEN.search(plain.text)) and not _TWO_SIDES & set(plain.text[: opened.start()].split()):
        return opened.group()
    joints = (i for i, word in enumerate(plain.words) if word in CONJUNCTIONS and 0 < i < len(plain.words) - 1)
    return next((found for i in joints if (found := _joint(plain, i))), None)


def _joint(question: Reading, i: int) -> str | None:
    """Return the words around the conjunction at `i` if it joins two questions."""
    words = question.words
    if words[i] != "but" and _TWO_SIDES & set(words[max(0, i - _REACH) : i]):
        return None
    left = words[i - 2] if words[i - 1] == "," and i > 1 else words[i - 1]
    right = i + 1
    while right < len(words) - 1 and (
        words[right] == "," or words[right] in _BETWEEN_VERBS or _is_adverb(words[right])
    ):
        right += 1
    joins = (
        _joins_clauses(question, i)
        or _joins_verbs(question, i, right)
        or _joins_qualities(question, left, right)
        or _joins_predicates(question, i, left, right)
        or (_is_adverb(left) and _is_adverb(words[i + 1]))
        or _joins_properties(words, left, i + 1)
        or _joins_participles(question, i, left, right)
        or _joins_short_clauses(words, i, left)
    )
    return " ".join((left, *words[i : right + 1])) if joins else None


def _joins_clauses(question: Reading, i: int) -> bool:
    """... and does it ..., ... or is the ..."""
    words = question.words
    if words[i + 1] not in AUXILIARIES or i + 2 >= len(words):
        return False
    in_relative_clause = RELATIVES & set(words[1:i])
    subject_follows = words[i + 2] in PRONOUNS | DETERMINERS and words[i + 1] not in {"has", "have", "had"}
    return subject_follows if in_relative_clause else True


def _joins_verbs(question: Reading, i: int, right: int) -> bool:
    """Does it ... and avoid ..., where a second verb in its base form follows."""
    words = question.words
    if not question.takes_base_form or _is_one_choice(words[i - 1], words[i], words[right]):
        return False
    verb, after = words[right], words[right + 1] if right + 1 < len(words) else "?"
    if verb in _NOUNS_ONLY or verb in DETERMINERS | PRONOUNS | PREPOSITIONS | OPEN_WORDS | AUXILIARIES | _QUALITIES:
        return False
    if verb in ONLY_VERBS or (verb in _INTRANSITIVE and after in _AFTER_INTRANSITIVE):
        return True
    takes_object = after in DETERMINERS | PRONOUNS | OPEN_WORDS
    looks_verbal = verb in VERBS or not _NO_VERB_ENDING.search(verb)
    return takes_object and looks_verbal and not _is_clause(words[right + 1 : right + 4])


def _is_one_choice(left: str, conjunction: str, right: str) -> bool:
    """Return whether `or` joins nouns, or verbs of which either will do: state or imply, agree or disagree."""
    if conjunction not in {"or", "/"}:
        return False
    two_verbs = right in ONLY_VERBS or {left, right} <= VERBS
    return not two_verbs or {left, right} <= _TELLING or right.endswith(left) or left.endswith(right)


def _is_clause(words: tuple[str, ...]) -> bool:
    """Return whether these are `the prompt sets`, a clause about the noun before, rather than an object."""
    return len(words) == 3 and words[2].endswith("s") and words[2][:-1] in VERBS and not words[1].endswith("'s")


def _joins_qualities(question: Reading, left: str, right: int) -> bool:
    """... clear and concise ..., or a quality after another predicate: told in order and easy to follow."""
    words = question.words
    if left in _QUALITIES and words[right] in _QUALITIES:
        return True
    if not (question.asks_what_is and _is_quality(words[right]) and _ends_predicate(words, right)):
        return False
    return _is_quality(left) or words[right] in _QUALITIES


def _joins_predicates(question: Reading, i: int, left: str, right: int) -> bool:
    """Is the apology sincere and short?, where what is joined is all that is said of the subject."""
    words, start = question.words, question.auxiliary
    if start is None or right + 1 < len(words) - 1 or words[start + 1] == "there" or words[i] in {"or", "/"}:
        return False
    before = words[i - 2] if words[i - 1] == left else words[i - 3]
    follows_noun = before not in PREPOSITIONS | DETERMINERS | CONJUNCTIONS | {","} and not before.endswith("'s")
    subject = words[start + 1] in PRONOUNS or i - start > 3
    in_a_phrase = words[i] == "and" and (PREPOSITIONS - {"of", "in"}) & set(words[start:i])
    return (question.asks_what_is and follows_noun and subject and not in_a_phrase) or before in _SEEM


def _joins_properties(words: tuple[str, ...], left: str, right: int) -> bool:
    """... grammar and (the) spelling ..."""
    if words[right] in {"the", "its", "their"} and right + 1 < len(words):
        right += 1
    return left in _PROPERTIES and words[right] in _PROPERTIES


def _joins_participles(question: Reading, i: int, left: str, right: int) -> bool:
    """Is it ... and backed by ..., is it ... and giving the ..., has it ... and left the ..."""
    words, word = question.words, question.words[right]
    if words[i] in {"or", "/"} or question.auxiliary is None:
        return False
    has_object = right + 1 < len(words) and words[right + 1] in DETERMINERS
    if question.asks_what_is and word.endswith("ing") and {word[:-3], word[:-3] + "e"} & VERBS and has_object:
        return True
    takes_participle = question.asks_what_is or (words[question.auxiliary] in {"has", "have", "had"} and has_object)
    if not (takes_participle and _is_participle(word)):
        return False
    return has_object or (_ends_predicate(question.words, right) and not (word.endswith(left) or left.endswith(word)))


def _joins_short_clauses(words: tuple[str, ...], i: int, left: str) -> bool:
    """... named and their motives explained, where the second clause leaves out its auxiliary."""
    if not (_is_participle(left) or left in _QUALITIES) or words[i] in {"or", "/"}:
        return False
    ends = range(i + 2, min(i + 5, len(words)))
    return any((_is_participle(words[k]) or words[k] in _QUALITIES) and _ends_predicate(words, k) for k in ends)


def _ends_predicate(words: tuple[str, ...], i: int) -> bool:
    after = words[i + 1] if i + 1 < len(words) else "?"
    return after in {"?", ",", ";", "enough", "overall", "to", "that", "when", "if"} | PREPOSITIONS | CONJUNCTIONS


def _is_adverb(word: str) -> bool:
    return word.endswith("ly") and len(word) > 4 and word not in _NO_ADVERB


def _is_quality(word: str) -> bool:
    return word in _QUALITIES or bool(_LOOKS_LIKE_QUALITY.search(word))


def _is_participle(word: str) -> bool:
    return word in _IRREGULAR_PARTICIPLES or (word.endswith("ed") and len(word) > 4)
