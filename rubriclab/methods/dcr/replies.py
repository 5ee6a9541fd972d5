"""The forms in which DCR's prompts are answered: an entry for each sentence or reason, which is known by its number.

A reply has one entry for each number asked, no more and no fewer. Each list has a second form, to which a reply is held
that failed twice: it keeps the entries that are sound, and what has none is missing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ValidationInfo

from rubriclab.data.aspect import Words
from rubriclab.judges.ask import ask, read
from rubriclab.judges.judge import Judge
from rubriclab.methods.replies import shifted, sound_entries
from rubriclab.methods.yes_no import YesOrNo
from rubriclab.prompts import Prompt

Sign = Literal[1, -1]

# A model may copy a number with the words and brackets it is shown in.
_AROUND = " \t\n[](){}<>*_`~\"'“”‘’.:#"
_NUMBER = re.compile(r"(?:(?:sentence|reason|report) ?)?([0-9]{1,6})")
# Minus signs as they are typeset count as such: else only the bad marks would be missing.
_SIGNS: Mapping[str, Sign] = {"1": 1, "+1": 1, **dict.fromkeys(("-1", "\u22121", "\u20131"), -1)}


def asked(fields: Mapping[str, Any]) -> list[int]:
    """Return the numbers of what a prompt's fields ask about, in their order."""
    return [item["id"] for item in fields.get("sentences", fields.get("reasons", ()))]


def _number(value: Any) -> int:
    if type(value) is int:
        return value
    found = _NUMBER.fullmatch(value.strip(_AROUND).lower()) if isinstance(value, str) else None
    if found is None:
        raise ValueError(f"the number of one that was shown was expected; got {value!r:.60}")
    return int(found[1])


def _worded(reason: str) -> str:
    if not any(character.isalnum() for character in reason):
        raise ValueError(f"a reason in words was expected; got {reason!r:.60}")
    return reason


def _sign(value: Any) -> Sign:
    # A truth value equals a whole number in Python.
    whole = int(value) if type(value) is float and value in (1, -1) else value
    sign = _SIGNS.get(str(whole).strip()) if type(whole) in (int, str) else None
    if sign is None:
        raise ValueError(f"1 or -1 was expected; got {value!r:.60}")
    return sign


Numbered = Annotated[int, BeforeValidator(_number)]


class SentenceEntry(BaseModel):
    """What a reply says of one thing. `names` is the field with its number; in `words` two entries may differ."""

    names: ClassVar[str] = "sentence"
    words: ClassVar[tuple[str, ...]] = ()

    @property
    def number(self) -> int:
        """The number of what it speaks of."""
        number: int = getattr(self, self.names)
        return number


class Reason(SentenceEntry):
    """Why a sentence is or is not consistent."""

    sentence: Numbered
    reason: Annotated[Words, AfterValidator(_worded)]


class SentenceVerdict(Reason):
    """Whether a sentence is consistent, after the reason."""

    words = ("reason",)

    consistent: YesOrNo


class Mark(SentenceEntry):
    """What a reason comes to."""

    names = "reason"
    words = ("thought",)

    reason: Numbered
    thought: str
    mark: Annotated[Sign, BeforeValidator(_sign)]


E = TypeVar("E", bound=SentenceEntry)
R = TypeVar("R", bound=BaseModel)


def _one_each(entries: list[E], info: ValidationInfo) -> list[E]:
    if info.context:
        expected, got = asked(info.context), [entry.number for entry in entries]
        if sorted(got) != sorted(expected):
            raise ValueError(f"one entry each needed for {_listed(expected)}; got {_listed(got) or 'none'}")
    return entries


def _sound(form: type[E]) -> Callable[[Any, ValidationInfo], list[E]]:
    """Return what keeps the usable entries, in the order asked; none for a number on which two entries differ."""

    def keep(items: Any, info: ValidationInfo) -> list[E]:
        expected = asked(info.context or {})
        numbers = [_number_of(item, form) for item in items] if isinstance(items, list) else []
        if shifted(numbers, expected):
            raise ValueError(f"{_listed(expected)} were shown; got {_listed(numbers)}")
        return sound_entries(items, form, expected, lambda item: _number_of(item, form), words=form.words)

    return keep


class Reasons(BaseModel):
    """A reason for each sentence."""

    sentences: Annotated[list[Reason], AfterValidator(_one_each)]


class SoundReasons(Reasons):
    """The reasons that can be used."""

    sentences: Annotated[list[Reason], BeforeValidator(_sound(Reason))]


class SentenceVerdicts(BaseModel):
    """A reason and a verdict for each sentence."""

    sentences: Annotated[list[SentenceVerdict], AfterValidator(_one_each)]


class SoundSentenceVerdicts(SentenceVerdicts):
    """The verdicts that can be used."""

    sentences: Annotated[list[SentenceVerdict], BeforeValidator(_sound(SentenceVerdict))]


class Marks(BaseModel):
    """A mark for each reason."""

    marks: Annotated[list[Mark], AfterValidator(_one_each)]


class SoundMarks(Marks):
    """The marks that can be used."""

    marks: Annotated[list[Mark], BeforeValidator(_sound(Mark))]


async def ask_each(
    judge: Judge, prompt: Prompt[R], salvage: type[R], entries: Callable[[R], Sequence[E]]
) -> dict[int, E | str]:
    """Return, by the number of each thing asked about, the usable entry, or in words why there is none."""
    numbers = asked(prompt.fields)
    answer = await ask(judge, prompt, salvage=salvage)
    if answer.value is None:
        return dict.fromkeys(numbers, answer.missing or "")
    found = {entry.number: entry for entry in entries(answer.value)}
    complaint = read(answer.reply, prompt)[1] if len(found) < len(numbers) and answer.reply else ""
    lacking = f"no usable entry, also after one repair: {complaint}"
    return {number: found.get(number, lacking) for number in numbers}


def _number_of(item: Any, form: type[E]) -> int | None:
    try:
        return _number(item.get(form.names)) if isinstance(item, dict) else None
    except ValueError:
        return None


def _listed(numbers: Sequence[int | None]) -> str:
    return ", ".join(str(number) for number in numbers)
