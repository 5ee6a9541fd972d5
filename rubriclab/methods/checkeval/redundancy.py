"""Which questions ask what another one already asks (CheckEval, 3.2, "redundancy removal").

Wording alone tells most pairs apart. Only the doubtful ones are worth a call, all those of one question in one call,
and a question that is already out needs no further comparison. Whether two questions may be the same is looked for
whatever the order of their words; that they are is taken for granted only of the same words and symbols in the same
order, since "Does the cause come before the effect?" asks the contrary the other way round.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from rubriclab.data.assignment import Assignment
from rubriclab.judges.ask import ask
from rubriclab.judges.judge import Judge
from rubriclab.methods.checkeval.questions import payload
from rubriclab.methods.checkeval.settings import CheckEvalSettings
from rubriclab.methods.replies import NONE, Redundancy
from rubriclab.prompts import Prompt
from rubriclab.rubric import Criterion

_QUOTES = str.maketrans({**dict.fromkeys("“”„«»", '"'), **dict.fromkeys("‘’", "'")})
_QUOTED = re.compile(r"([\"'])(.*)\1")
# One mark only: the others may be what is asked about.
_CLOSING = re.compile(r"\s*[.?!]$")


async def redundant(
    questions: Sequence[Criterion], assignment: Assignment, generator: Judge, settings: CheckEvalSettings
) -> dict[str, str]:
    """Return the ids of the redundant questions, each with the reason.

    `questions` stand in order of preference, and of a redundant pair the later one goes. A pair about which no usable
    reply comes is kept: dropping needs a reason.
    """
    out: dict[str, str] = {}
    kept: list[Criterion] = []
    for candidate in questions:
        reason = await _same_as_any(candidate, kept, assignment, generator, settings)
        if reason:
            out[candidate.id] = reason
        else:
            kept.append(candidate)
    return out


def similarity(a: str, b: str) -> float:
    """Return how alike two questions are worded, 0 to 100, whatever the order, case and punctuation of their words."""
    from rapidfuzz import fuzz, utils

    return fuzz.token_sort_ratio(a, b, processor=utils.default_process)


def sameness(a: str, b: str) -> float:
    """Return how alike two questions are as they stand, 0 to 100: only case, spaces and what encloses them aside."""
    from rapidfuzz import fuzz

    return fuzz.ratio(a, b, processor=_plain)


def _plain(text: str) -> str:
    plain = " ".join(text.translate(_QUOTES).casefold().split())
    quoted = _QUOTED.fullmatch(plain)
    return _CLOSING.sub("", quoted[2] if quoted else plain)


def redundant_prompt(candidate: Criterion, others: Sequence[Criterion], assignment: Assignment) -> Prompt[Redundancy]:
    """Return the prompt for whether `candidate` asks what one of `others` does."""
    fields = {
        **assignment.fields(),
        "candidate": payload(candidate),
        "others": [payload(other) for other in others],
    }
    return Prompt("checkeval/redundant", fields, Redundancy, max_tokens=512)


async def _same_as_any(
    candidate: Criterion,
    kept: Sequence[Criterion],
    assignment: Assignment,
    generator: Judge,
    settings: CheckEvalSettings,
) -> str | None:
    for other in kept:
        alike = sameness(other.statement, candidate.statement)
        if alike >= settings.same_above:
            return f"worded like {other.id} ({alike:.0f} of 100 in common)"
    doubtful = [o for o in kept if similarity(o.statement, candidate.statement) >= settings.different_below]
    if not doubtful:
        return None
    answer = await ask(generator, redundant_prompt(candidate, doubtful, assignment))
    if answer.value is None or answer.value.same_as == NONE:
        return None
    return f"asks what {answer.value.same_as} asks: {answer.value.reasoning}"
