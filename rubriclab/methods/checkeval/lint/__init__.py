"""What is wrong with the questions of a checklist, found by rules before a call is paid for.

CheckEval's own filter asks a language model, once the questions have been multiplied (section 3.2); a weak seed has by
then made ten weak questions. These rules go by words alone, so they miss some faults, and may now and then object to a
sound question: they advise, they remove nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from rubriclab.checklist import Checklist, SeedQuestion, SubDimension
from rubriclab.methods.checkeval.lint.double_barrelled import asks_two_things
from rubriclab.methods.checkeval.lint.duplicate import Gist, gist, same
from rubriclab.methods.checkeval.lint.parsing import parse_question
from rubriclab.methods.checkeval.lint.polarity import counted_wrongly
from rubriclab.methods.checkeval.lint.wording import asks_beyond, is_no_question, names_no_sign, repeats_aspect
from rubriclab.methods.grammar import phrases

Kind = Literal["double-barrelled", "vague", "unanswerable", "wrong-polarity", "duplicate", "style"]

# In words. Beyond this, conditions pile up, and two judges read two questions.
LONGEST = 35

_REQUEST = re.compile(r"^(?:please|kindly)\b[,:]?\s*", re.IGNORECASE)
_EXAGGERATED = phrases(
    "absolutely|utterly|incredibl[ey]|extremely|impeccabl[ey]|perfectly|extraordinar(?:y|ily)",
    "(?:breathtaking|flawless|stunning|outstanding|magnificent|phenomenal)(?:ly)?",
    "mind-blowing|every single|world-class",
)
_TAG = re.compile(
    r", (?:is|are|does|do|has|have|was|were|can)(?:n't| not)? (?:it|they|he|she|there)(?: not)? ?\?$|\bor not ?\?$"
)


@dataclass(frozen=True)
class LintFinding:
    """One thing that is wrong with a question.

    Attributes:
        sub_dimension: the name of the question's sub-dimension.
        question: the question's id; `None` where the fault is the sub-dimension's.
        kind: what sort of fault it is.
        message: what is wrong, and how to mend it.
    """

    sub_dimension: str
    question: str | None
    kind: Kind
    message: str


def lint(checklist: Checklist) -> tuple[LintFinding, ...]:
    """Return the faults of all questions, in the order of the checklist."""
    faults: list[LintFinding] = []
    asked: dict[str, Gist] = {}
    for sub in checklist.sub_dimensions:
        faults += _of_sub_dimension(sub, checklist)
        for question in sub.questions:
            told = [*_faults(question, checklist.aspect), *_repeated(question, asked)]
            faults += [LintFinding(sub.name, question.id, kind, message) for kind, message in told]
    return tuple(faults)


def _of_sub_dimension(sub: SubDimension, checklist: Checklist) -> Iterator[LintFinding]:
    earlier = checklist.sub_dimensions[: checklist.sub_dimensions.index(sub)]
    twin = next((other for other in earlier if other.definition.lower() == sub.definition.lower()), None)
    if twin:
        message = f"it is defined as {twin.name!r} is: say how they differ, or make them one"
        yield LintFinding(sub.name, None, "duplicate", message)


def _faults(question: SeedQuestion, aspect: str) -> Iterator[tuple[Kind, str]]:
    yield from _style(question.text)
    parsed = parse_question(_REQUEST.sub("", question.text))
    if found := is_no_question(parsed):
        yield "unanswerable", f"{found}: ask what can be answered by yes or no, beginning with Does, Is, Are or Can"
    elif not question.text.endswith("?"):
        yield "style", "it does not end in a question mark: add one"
    if found := asks_beyond(parsed):
        yield "unanswerable", f"{found!r} asks for what the judge is not shown: ask for a sign of it in the text"
    if found := asks_two_things(parsed):
        yield "double-barrelled", f"{found}: make a question of each"
    if found := names_no_sign(parsed):
        yield "vague", f"{found!r} leaves open what would be seen: name the sign that shows it"
    if found := repeats_aspect(parsed, aspect):
        yield "vague", f"{found!r} repeats the aspect {aspect!r}: ask for a sign by which it shows"
    if found := counted_wrongly(parsed, question.better):
        other = "no" if question.better == "yes" else "yes"
        mend = f'ask the other way round, or set "better": "{other}"'
        yield "wrong-polarity", f'{found}, yet "{question.better}" counts as better: {mend}'


def _style(text: str) -> Iterator[tuple[Kind, str]]:
    if _REQUEST.search(text):
        yield "style", "a question needs no request: begin with Does, Is, Are or Can"
    if found := _EXAGGERATED.search(text.lower()):
        yield "style", f"{found.group()!r} exaggerates, so that the answer is seldom yes: leave it out"
    if found := _TAG.search(text.lower()):
        yield "style", f"{found.group().strip(', ')!r} suggests the answer: leave it out"
    if (words := len(text.split())) > LONGEST:
        yield "style", f"it has {words} words: ask in {LONGEST} at most"


def _repeated(question: SeedQuestion, asked: dict[str, Gist]) -> Iterator[tuple[Kind, str]]:
    """Compare `question` with those `asked` before, and add it to them."""
    own = gist(parse_question(question.text))
    found = next(((name, how) for name, other in asked.items() if (how := same(own, other))), None)
    asked[question.id] = own
    if found:
        yield "duplicate", f"it {found[1]} {found[0]!r}: keep one of them"
