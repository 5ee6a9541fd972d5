"""A question as the rules of the linter read it: its words in small letters, its auxiliary and its main verb.

This is just as much grammar as the rules need. No parser is asked: the ones to be had bring models to download, and a
yes/no question has a stiff form (auxiliary, subject, predicate) from which a list of verbs finds the predicate.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

from rubriclab.methods import grammar
from rubriclab.methods.grammar import word_set

# After these, and after determiners, a verb that is just as often a noun is part of the subject.
_BEFORE_NOUNS = word_set("main first last final opening closing central key next second whole single same of in")
_QUOTED = re.compile(r"[\"“”„][^\"“”„]*[\"“”„]")
# Illustrations ask nothing of their own.
_ILLUSTRATION = re.compile(
    r"\([^)]*\)|,? (?:such as|for example|for instance|e\.g\.) .*?(?=,? (?:and|or) (?:is|are|does|do|can)\b|\?|$)"
)
# "Does B follow A?" speaks of A; as an article it would neither stand in capitals nor before the verb.
_LETTER = re.compile(r"(?<=[\w,] )A\b(?! [A-Z])")
_TOKEN = re.compile(r"[^\W_][\w'-]*|[/&?,;:]")


@dataclass(frozen=True)
class ParsedQuestion:
    """A question in small letters, without what it quotes and the examples it gives; and as words."""

    text: str
    words: tuple[str, ...]

    @functools.cached_property
    def auxiliary(self) -> int | None:
        """Where the auxiliary stands that makes this a yes/no question, after an introduction at most."""
        words = self.words[:-1]  # something has to follow it
        if not words or words[0] in grammar.AUXILIARIES:
            return 0 if words else None
        after_comma = [i + 1 for i, word in enumerate(words[:-1]) if word in {",", ":"}]
        in_a_phrase = len(words) > 1 and words[0] in grammar.PREPOSITIONS and words[1] not in grammar.OPEN_WORDS
        places = after_comma or (range(2, len(words)) if in_a_phrase else ())
        return next((i for i in places if words[i] in grammar.AUXILIARIES), None)

    @functools.cached_property
    def takes_base_form(self) -> bool:
        """Whether the main verb, and so any verb beside it, stands in its base form."""
        return self.auxiliary is not None and self.words[self.auxiliary] in grammar.BASE_FORM_FOLLOWS

    @functools.cached_property
    def asks_what_is(self) -> bool:
        """Whether the question is put with a form of "be", which is followed by adjectives and participles."""
        return self.auxiliary is not None and self.words[self.auxiliary] in {"is", "are", "was", "were"}

    def main_verb(self, verbs: frozenset[str] = frozenset()) -> int | None:
        """Return where the first of the common verbs or of `verbs` stands, if the question takes a main verb."""
        if self.auxiliary is None or not self.takes_base_form:
            return None
        for i in range(self.auxiliary + 2, len(self.words)):
            if self.words[i] in grammar.RELATIVES | grammar.OPEN_WORDS:
                return None
            if self.words[i] in grammar.VERBS | verbs and not self._is_noun(i):
                return i
        return None

    def _is_noun(self, i: int) -> bool:
        return self.words[i - 1] in grammar.DETERMINERS | _BEFORE_NOUNS or self.words[i - 1].endswith("'s")


def parse_question(text: str) -> ParsedQuestion:
    """Return `text` as the rules read it."""
    plain = " ".join(_LETTER.sub("a'", " ".join(text.replace("’", "'").split())).lower().split())
    plain = plain.replace("can't", "can not").replace("won't", "will not").replace("cannot", "can not")
    plain = plain.replace("n't ", " not ")
    plain = _ILLUSTRATION.sub("", _QUOTED.sub("x", plain))
    return ParsedQuestion(plain, tuple(_TOKEN.findall(plain)))
