"""The answer in a judge's words: yes, no, not applicable, or unreadable.

CheckEval's published code looks for "yes" and "no" anywhere, inside words too. Here an answer is the whole of what was
said, or its beginning up to a mark that sets off an explanation; whatever could mean another answer as well is none.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator

from rubriclab.methods.grammar import (
    AUXILIARIES,
    CONJUNCTIONS,
    DETERMINERS,
    PREPOSITIONS,
    PRONOUNS,
    RELATIVES,
    word_set,
)

YesNo = Literal["yes", "no", "n/a"]

_DECORATION = str.maketrans("", "", "*_`~\"'“”„‘’«»")
_ENCLOSING = "()[]{}<> \t\r\n"
# A hyphen inside a word ("no-one") and a number after a dot ("No. 5") set nothing off.
_ANSWER = re.compile(
    r"(?P<answer>yes|no|n\s?/\s?a|na|n\.a|not[ -]applicable)"
    r"(?:[,;:!(\n–—].*|\.(?!\s*\d).*|\s+[-–—(].*|-\s.*|\s*\n.*)?",
    re.DOTALL,
)
_ANSWER_OR_HEDGE = re.compile(
    r"\b(?:yes|no|n\s?/\s?a|na|n\.a|not[ -]applicable|maybe|perhaps|unsure|not sure|part(?:ly|ially)|depends)\b"
)

# A sentence of the explanation that begins with "no" before a noun, or "there is no", denies that noun, not the
# question. After these words, and adverbs, "no" would be an answer.
_NO_NOUNS = (
    AUXILIARIES
    | CONJUNCTIONS
    | DETERMINERS - {"one", "two", "three", "other", "such"}
    | PREPOSITIONS
    | PRONOUNS - {"one"}
    | RELATIVES
    | word_set("again because chance either even here how idea indeed instead just longer more not now perhaps please")
    | word_set(
        "rather since so sorry still sure thank thanks then though too wait way well what when where why yes yet you"
    )
)
_DENIAL = re.compile(
    r"[.!\n]\s*(?:there (?:is|are|was|were) )?no (?!(?:" + "|".join(sorted(_NO_NOUNS, key=len)) + r")\b)"
    r"(?!\w*ly\b)(?=[a-z]{3})"
)


def read_answer(text: str) -> YesNo | None:
    """Return what `text` answers to a yes/no question, or `None` where that cannot be told.

    Letter case, markdown, quotes, brackets around it, closing punctuation, full-width letters and characters that
    cannot be seen do not matter; "NA" and "not applicable" are "n/a". An explanation may follow after punctuation,
    unless another answer or a hedge occurs in it: then the reply speaks twice. "No errors were found." as a sentence
    of its own is no other answer. "True" and "false" are none: they may speak of the text instead of the question.
    """
    said = _plain(text).translate(_DECORATION).strip(_ENCLOSING).casefold()
    match = _ANSWER.fullmatch(said)
    if match is None or set(_ANSWER_OR_HEDGE.findall(_DENIAL.sub(". ", said))) != {match["answer"]}:
        return None
    return "yes" if match["answer"] == "yes" else "no" if match["answer"] == "no" else "n/a"


def _yes_or_no(value: Any) -> Any:
    answer = read_answer(value) if isinstance(value, str) else None
    if answer not in ("yes", "no"):
        raise ValueError(f"yes or no was expected; got {value!r:.60}")
    return answer


# The field of a reply that must be one of the two.
YesOrNo = Annotated[Literal["yes", "no"], BeforeValidator(_yes_or_no)]


def _plain(text: str) -> str:
    """Return `text` in ordinary letters, full-width ones too, and without characters that cannot be seen."""
    ordinary = unicodedata.normalize("NFKC", text.replace("№", "#"))  # which would become "No"
    return "".join(character for character in ordinary if unicodedata.category(character) != "Cf")
