"""The answer in a judge's words: yes, no, not applicable, or unreadable.

The paper's published code looks for "yes" and "no" anywhere, inside words too. Here an answer is the whole of what was
said, or its beginning up to a mark that sets off an explanation; whatever could mean another answer as well is none.
"""

from __future__ import annotations

import re
from typing import Literal

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


def read_answer(text: str) -> YesNo | None:
    """Return what `text` answers to a yes/no question, or `None` where that cannot be told.

    Letter case, markdown, quotes, brackets around it and closing punctuation do not matter; "NA" and "not applicable"
    are "n/a". An explanation may follow after punctuation, unless another answer or a hedge occurs in it: then the
    reply speaks twice. "True" and "false" are none: they may speak of the text instead of the question.
    """
    said = text.translate(_DECORATION).strip(_ENCLOSING).casefold()
    match = _ANSWER.fullmatch(said)
    if match is None or set(_ANSWER_OR_HEDGE.findall(said)) != {match["answer"]}:
        return None
    return "yes" if match["answer"] == "yes" else "no" if match["answer"] == "no" else "n/a"
