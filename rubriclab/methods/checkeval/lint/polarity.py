"""Questions whose better answer is not the one that is counted as such.

A question of defect ("Does it repeat itself?") that counts "yes" as better turns a score upside down, and nothing later
shows it. A defect is looked for where it is what the question asks: in its main verb, in what that verb takes, or in
the predicate after "is". A defect that the text tells about ("who made the mistake") is none of its own.
"""

from __future__ import annotations

import re
from typing import Literal

from rubriclab.methods.checkeval.lint.reading import Reading, read
from rubriclab.methods.grammar import (
    CONJUNCTIONS,
    OPEN_WORDS,
    PREPOSITIONS,
    RELATIVES,
    phrases,
    word_set,
)

_DEFECTS = word_set(
    "ambiguity bias cliche cliché contradiction defect deviation digression discrepancy distortion error "
    "exaggeration fabrication falsehood fault filler flaw fluff fragment gap gibberish glitch hallucination hole "
    "inaccuracy incoherence inconsistency irrelevance jargon misprint misspelling misstatement mistake nonsense "
    "omission padding platitude redundancy repetition run-on stereotype tangent tautology typo vagueness "
    "verbosity"
)
_DEFECTIVE = word_set(
    "abrupt absent aggressive ambiguous arrogant awkward biased boring broken choppy clumsy condescending "
    "confused confusing contradictory contrived cut dangling disconnected disjointed distorted dull exaggerated "
    "fabricated false faulty flawed forced fragmented garbled generic hallucinated hostile illegible illogical "
    "implausible impolite imprecise inaccurate inappropriate incoherent incomplete incomprehensible inconsistent "
    "incorrect insensitive insincere insulting invented irrelevant lacking made-up mechanical misleading "
    "misplaced misquoted misrepresented missing misspelled misspelt monotonous muddled nonsensical obscure "
    "off-topic offensive omitted one-sided overlong patronising patronizing pointless preachy predictable "
    "redundant repeated repetitive robotic rude sarcastic stilted superfluous tedious unbelievable unclear "
    "unconvincing unexplained unfinished ungrammatical unintelligible uninteresting unnatural unnecessary "
    "unneeded unreadable unrelated unsupported untrue vague verbose wordy wrong"
)
# A text may tell of these without being so: a missing child, a false clue, a flawed hero.
_ALSO_TOLD = word_set(
    "abrupt absent aggressive arrogant broken condescending cut dangling false flawed forced hostile impolite "
    "insincere invented mechanical missing obscure offensive robotic rude unexplained unfinished"
)
_TOLD_OF = word_set("alarm clue hint lead trail turn")
_DO_HARM = word_set(
    "abuse blur bore clutter conflate confuse contradict detract deviate digress dilute disagree disregard "
    "distort drag drift duplicate exaggerate fabricate fail falsify garble gloss hallucinate insult jumble lack "
    "meander misinterpret mislead misquote misread misrepresent misspell misstate misunderstand misuse muddle "
    "neglect obscure offend overload overlook oversimplify overstate overuse plagiarise plagiarize ramble repeat "
    "rush spoil stagnate stray stumble suffer undermine understate violate wander weaken"
)
_HARMFUL_PHRASE = phrases(
    r"(?:break|cut|trail)s? off",
    r"jumps? (?:from|between|to|around|back|abruptly)",
    r"mix(?:es)? up",
    r"forgets? to",
    r"leaves? [^?]*\b(?:unexplained|unclear|unanswered|unresolved)",
    r"leaves? (?:the |a )?readers? (?:\w+ )?(?:confused|bored|lost|unsure|puzzled|guessing)",
    r"loses? (?:its|the) (?:thread|focus|way)",
    r"go(?:es)? off[- ]topic",
    r"(?:hard|difficult|impossible) to (?:follow|read|understand|tell|believe)",
    r"out of (?:order|context)",
    r"(?:sound|read|look|feel)s? like (?:a|an) (?:machine|robot|bot|computer|template|list|advert\w*|form letter)",
    r"^(?:has|have) [^?]*\b(?:lost|omitted|missed|contradicted|distorted|misread|misunderstood|forgotten)",
    r"be (?:mistaken|confused|misread|misunderstood|misinterpreted|taken for)",
    r"(?:in|at|with|to|by|of|on) (?:the|a) wrong \w+",
    r"needs? (?:to be )?(?:correct|edit|revis|rewrit|improv|shorten|proofread|fix)\w*",
    r"(?:could|can|should) (?:any|a|some|one) (?:\w+ )?(?:sentence|word|part|phrase|paragraph|detail)s? be "
    r"(?:removed|cut|left out|deleted|dropped|omitted|rewritten|corrected)",
    r"(?:at odds|in conflict) with",
    r"(?:invented|made-up|fabricated) (?:facts?|names?|numbers?|quot\w+|details?|information|claims?|events?)",
    r"not (?:(?:present|found|stated|mentioned|supported|contained|given|included|backed) )?(?:in|by|anywhere in) the "
    r"(?:source|article|document|text|original|facts)",
    r"(?:absent|missing) from the (?:source|article|document|text|facts)",
)
# To leave out does harm to what matters; to asides it does good.
_LEAVE_OUT = word_set("avoid drop exclude forget ignore leave miss omit refrain skip")
_MATTERS = phrases(
    "(?:main|key|important|central|crucial|essential|necessary|major|critical|vital|relevant|needed|core|anything|something"
    "|everything)"
)
_MINOR = phrases(
    r"advertis\w+|anecdotes?|asides?|boilerplate|captions?|trivia",
    "less|least|minor|trivial|side|irrelevant|unimportant|unnecessary|incidental|peripheral",
)
_HAVE = word_set(
    "add bring commit contain display exhibit feature have include introduce make mention present show use"
)
_SEEM = word_set("appear become come feel look read remain seem sound")
_LEFT_IN = word_set("found introduced left made noticeable present visible")
# What people in a text do is no doing of the text.
_PEOPLE = phrases(
    "characters?",
    "hero(?:ine)?s?|heroes|protagonists?|antagonists?|villains?|narrator|detective",
    "persons?|people|man|men|woman|women|child|children|boy|girl|mother|father|husband|wife|friends?|king|queen",
)
# Between a verb and what it takes stand a few determiners and adjectives; a clause that belongs to it is this near.
_PHRASE = 5
_PHRASE_ENDS = (PREPOSITIONS - {"than"}) | RELATIVES | OPEN_WORDS | CONJUNCTIONS | {",", "?"}
_CLAUSE = 7

_NOT = phrases(
    "not|no|never|none|nothing|nobody|nowhere|neither|nor|without|hardly",
    "avoid(?:s|ed|ing)?|free (?:of|from)|refrain(?:s|ing)? from|absence of|devoid of|fail(?:s|ed|ing)? to",
)
# Negations that turn nothing round.
_NOT_NEGATING = phrases(
    "no (?:more|less|fewer|longer|later|earlier|other)(?: than)?|no matter|no doubt|no one else",
    "not only|nothing (?:else|but|more)|(?:or|if|but|rather than) not|a no|yes or no",
    "who (?:do|does|did|is|are|was|were|has|have|had|can|could) (?:not|never)",
)
_SET_AGAINST = phrases("rather than|instead of")
_ASKED_NEGATIVELY = re.compile(r"^[a-z]+ (?:(?!that\b|which\b|who\b|what\b|there\b)\w+ ){0,4}?not\b")

# Merits, for questions that count "no" as better.
_PRAISE = word_set(
    "accurate backed clear coherent complete concise consistent correct credible credited easy faithful finished "
    "fluent grammatical informative logical natural polite precise readable relevant specific supported "
    "understandable"
)
_ABSENCE = phrases("free (?:of|from)|^(?:do|does|can|could) (?:the |its |every |each )?(?:\\w+ ){1,3}avoid")
_SERVE = word_set("answer clarify explain resolve support")
_TELL = word_set("contain cover give include mention name present report state")
_READER_CAN = re.compile(
    r"^(?:can|could) (?:(?:the|a|any|every|its) )?(?:readers?|it|one|someone)\b[^?]*\b(?:tell|told|follow|followed|"
    r"understand|understood|see|seen|name|retell|identify)\b"
    r"|^(?:can|could) [^?]*\bbe (?:told|followed|understood|read|identified|recogni[sz]ed|found|traced|named)\b"
)
_UNIVERSAL = re.compile(r"^(?:is|are|does|do|has|have|can|could) (?:every|each|all|everything|both)\b(?!.*\bsame\b)")

_Defect = tuple[int, str]


def counted_wrongly(question: Reading, better: Literal["yes", "no"]) -> str | None:
    """Return what is wrong with `better` as the answer that speaks for quality, if anything is."""
    if entangled := _negated_twice(question):
        return entangled
    if defect := _defect(question):
        absent = _negates(" ".join(question.words[: defect[0]]))
        if better == "yes":
            return None if absent else f"{defect[1]!r} is a defect"
        return f"it asks whether {defect[1]!r} is absent, which is a merit" if absent else None
    return _merit(question) if better == "no" else None


def _negates(text: str) -> bool:
    return bool(_NOT.search(_NOT_NEGATING.sub("x", text)) or _SET_AGAINST.search(text))


def _negated_twice(question: Reading) -> str | None:
    plain = _NOT_NEGATING.sub("x", question.text)
    if question.auxiliary == 0 and _ASKED_NEGATIVELY.search(plain):
        return "it is asked negatively, so that either answer may mean it"
    twice = any(len(_NOT.findall(part)) > 1 for part in re.split(r",|\b(?:and|or|but)\b", plain))
    return "it is negated twice" if twice else None


def _defect(question: Reading) -> _Defect | None:
    """Return the defect that the question asks for and where it stands, if it asks for one."""
    start = question.auxiliary
    if start is None:
        return None
    verb = question.main_verb(_DO_HARM | _LEAVE_OUT | _HAVE | _SEEM)
    if _PEOPLE.search(" ".join(question.words[start : verb or start + _CLAUSE])):
        return None
    return (_by_verb(question, verb) if verb else None) or _by_being(question, start) or _by_phrase(question)


def _by_verb(question: Reading, i: int) -> _Defect | None:
    """Does it contradict ..., does it leave out ..., does it contain errors, does it sound forced?"""
    words, verb = question.words, question.words[i]
    if verb in _DO_HARM:
        return i, verb
    if verb in _LEAVE_OUT:
        return _by_leaving_out(i, verb, " ".join(words[i + 1 : i + 1 + _CLAUSE]))
    if verb in _HAVE:
        return _in_phrase(words, i + 1) or _in_clause(words, i + 1)
    # It sounds forced; it ends abruptly.
    near = range(i + 1, min(i + 4, len(words)))
    seen = _DEFECTIVE if verb in _SEEM else {f"{word}ly" for word in _DEFECTIVE}
    return next(((k, words[k]) for k in near if words[k] in seen), None)


def _by_leaving_out(i: int, verb: str, what: str) -> _Defect | None:
    if _spares(what) or (verb == "leave" and not what.startswith("out")):
        return None
    if verb in {"miss", "omit"}:
        return i, verb
    found = _MATTERS.search(what)
    return (i, f"{verb} ... {found.group()}") if found else None


def _spares(what: str) -> bool:
    """Return whether it is well to leave out `what`: asides, defects, doing something, nothing."""
    of_no_worth = _MINOR.search(what) or re.match(r"(?:from )?\w+ing\b", what)
    return bool(of_no_worth) or _negates(what) or any(_is_defect(word) for word in what.split())


def _by_being(question: Reading, start: int) -> _Defect | None:
    """Is it misleading, are any errors left, is there a contradiction?"""
    words = question.words
    if not question.asks_what_is:
        return None
    if words[start + 1] == "there":
        return _in_phrase(words, start + 2) or _in_clause(words, start + 2)
    for i in range(start + 1, len(words)):
        if words[i] in OPEN_WORDS | RELATIVES:
            return None
        if words[i] in _DEFECTIVE and _ends_predicate(words, i):
            return i, words[i]
        is_one = words[i - 1] in {"a", "an"} and _ends_predicate(words, i)
        if _is_defect(words[i]) and (is_one or _LEFT_IN & set(words[i + 1 : i + 3])):
            return i, words[i]
    return None


def _by_phrase(question: Reading) -> _Defect | None:
    found = _HARMFUL_PHRASE.search(question.text)
    # "Would it be hard to follow if ...?" asks what would be, not what is.
    if not found or " if " in question.text[found.end() :]:
        return None
    return len(read(question.text[: found.start()]).words), found.group()


def _in_phrase(words: tuple[str, ...], start: int) -> _Defect | None:
    """Return the defect among the determiners, adjectives and noun that begin at `start`."""
    for i in range(start, min(start + _PHRASE, len(words))):
        after = words[i + 1] if i + 1 < len(words) else "?"
        if words[i] in _PHRASE_ENDS or words[i].endswith("'s"):
            return None
        if _is_defect(words[i]) or (words[i] in _DEFECTIVE - _ALSO_TOLD and after not in _TOLD_OF):
            return i, words[i]
    return None


def _in_clause(words: tuple[str, ...], start: int) -> _Defect | None:
    """Return the defect in `a sentence that contradicts ...` or `a word that is missing`."""
    for i in range(start, min(start + _CLAUSE, len(words) - 2)):
        if words[i] in {"that", "which"}:
            being = words[i + 1] in {"is", "are"}
            said = words[i + 2] if being or words[i + 1] in {"only", "just"} else words[i + 1]
            return (i + 1, said) if (said in _DEFECTIVE if being else said.removesuffix("s") in _DO_HARM) else None
    return None


def _merit(question: Reading) -> str | None:
    """Return the merit that the question asks for, if it plainly asks for one."""
    words, start, verb = question.words, question.auxiliary, question.main_verb()
    if start is None or "only" in words:
        return None
    if absent := _ABSENCE.search(question.text):
        return f"{absent.group()!r} asks for a merit"
    if _negates(question.text):
        return None
    if found := (_UNIVERSAL.search(question.text) or _READER_CAN.search(question.text)):
        return f"{found.group()!r} asks for a merit"
    if verb and (words[verb] in _SERVE or (words[verb] in _TELL and _MATTERS.search(" ".join(words[verb:][:_PHRASE])))):
        return f"{' '.join(words[verb:][:_PHRASE])!r} is a merit"
    praised = (i for i in range(start + 1, len(words)) if words[i] in _PRAISE and _ends_predicate(words, i))
    return next((f"{words[i]!r} is a merit" for i in praised if question.asks_what_is), None)


def _is_defect(word: str) -> bool:
    return bool({word, word.removesuffix("s"), word.removesuffix("es"), word.removesuffix("ies") + "y"} & _DEFECTS)


def _ends_predicate(words: tuple[str, ...], i: int) -> bool:
    after = words[i + 1] if i + 1 < len(words) else "?"
    return after in {"?", ",", ";", "to", "off", "anywhere", "that", "when"} | PREPOSITIONS | CONJUNCTIONS
