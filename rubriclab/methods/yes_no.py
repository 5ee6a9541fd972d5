"""Parsing of a judge's answer: yes, no, not applicable, or unreadable.

CheckEval's published code looks for "yes" and "no" anywhere, inside words too. Here an answer is the whole
text, or its beginning up to a mark before an explanation; an ambiguous text is unreadable.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator

from rubriclab.size_cache import cached_by_size
from rubriclab.text_features.lexicon import word_set

YesNo = Literal["yes", "no", "n/a"]

_DECORATION = str.maketrans("", "", "*_`~\"'“”„‘’«»")
_ENCLOSING = "()[]{}<> \t\r\n"
# A hyphen inside a word ("no-one") and a number after a dot ("No. 5") do not end an answer.
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
_NO_NOUNS = word_set(
    "a about across after again against all along among an and another any anything are around as at because before "
    "between both but by can chance could did do does down during each either even every everything few for from had "
    "has have he her here him his how i idea in indeed instead into is it its itself just like longer many may might "
    "more most must near no not nothing now of off on onto or our out over per perhaps please rather several shall "
    "she should since so some something sorry still sure than thank thanks that the their them themselves then these "
    "they this those though through throughout to too toward towards under up upon us wait was way we well were what "
    "when where which who whom whose why will with within without would yes yet you"
)
_DENIAL = re.compile(
    r"[.!\n]\s*(?:there (?:is|are|was|were) )?no (?!(?:" + "|".join(sorted(_NO_NOUNS, key=len)) + r")\b)"
    r"(?!\w*ly\b)(?=[a-z]{3})"
)


# Most answers are one of a few words.
@cached_by_size(2**18)
def read_answer(text: str) -> YesNo | None:
    """Return the answer of `text` to a yes/no question, or `None` if it is unreadable or ambiguous.

    Letter case, markdown, quotes, enclosing brackets, closing punctuation, full-width letters and invisible characters
    are ignored; "NA" and "not applicable" are "n/a". An explanation may follow after punctuation, unless it contains
    another answer or a hedge. "No errors were found." as a sentence of the explanation is not another answer. "True"
    and "false" are unreadable, since they may be about the text instead of the question.
    """
    plain = _plain(text).translate(_DECORATION).strip(_ENCLOSING).casefold()
    match = _ANSWER.fullmatch(plain)
    if match is None or set(_ANSWER_OR_HEDGE.findall(_DENIAL.sub(". ", plain))) != {match["answer"]}:
        return None
    return "yes" if match["answer"] == "yes" else "no" if match["answer"] == "no" else "n/a"


def _yes_or_no(value: Any) -> Any:
    answer = read_answer(value) if isinstance(value, str) else None
    if answer not in ("yes", "no"):
        raise ValueError(f"yes or no was expected; got {value!r:.60}")
    return answer


# A field of a reply that must be yes or no.
YesOrNo = Annotated[Literal["yes", "no"], BeforeValidator(_yes_or_no)]


def _plain(text: str) -> str:
    """Return `text` with full-width letters normalised and without invisible characters."""
    ordinary = unicodedata.normalize("NFKC", text.replace("№", "#"))  # NFKC would turn it into "No"
    return "".join(character for character in ordinary if unicodedata.category(character) != "Cf")
