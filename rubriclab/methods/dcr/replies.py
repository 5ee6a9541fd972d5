"""The reply models of DCR's prompts: one entry for each sentence or reason, which is identified by its number."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ValidationInfo

from rubriclab.data.aspect import Words
from rubriclab.judges.ask import ask
from rubriclab.judges.judge import Judge
from rubriclab.methods.questions import YesOrNo
from rubriclab.methods.replies import is_salvage, keep_usable, why_missing
from rubriclab.prompts import Prompt

Sign = Literal[1, -1]

# A model may copy a number with its label and brackets.
_AROUND = " \t\n[](){}<>*_`~\"'“”‘’.:#"
_NUMBER = re.compile(r"(?:(?:sentence|reason|report) ?)?([0-9]{1,6})")
# Typographic minus signs count too; otherwise only negative marks would be missing.
_SIGNS: Mapping[str, Sign] = {"1": 1, "+1": 1, **dict.fromkeys(("-1", "\u22121", "\u20131"), -1)}


def shown_numbers(fields: Mapping[str, Any]) -> list[int]:
    """Return the numbers of the sentences or reasons that a prompt's fields show, in order."""
    return [item["id"] for item in fields.get("sentences", fields.get("reasons", ()))]


def _number(value: Any) -> int:
    if type(value) is int:
        return value
    match = _NUMBER.fullmatch(value.strip(_AROUND).lower()) if isinstance(value, str) else None
    if match is None:
        raise ValueError(f"the number of one that was shown was expected; got {value!r:.60}")
    return int(match[1])


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
    """An entry of a reply; `names` is the field that holds its number."""

    names: ClassVar[str] = "sentence"

    @property
    def number(self) -> int:
        """The number of the sentence or reason that the entry is about."""
        number: int = getattr(self, self.names)
        return number


class Reason(SentenceEntry):
    """Why a sentence is or is not consistent."""

    sentence: Numbered
    reason: Annotated[Words, AfterValidator(_worded)]


class SentenceVerdict(Reason):
    """Whether a sentence is consistent, after the reason."""

    consistent: YesOrNo


class Mark(SentenceEntry):
    """What a reason comes to."""

    names = "reason"

    reason: Numbered
    thought: str
    mark: Annotated[Sign, BeforeValidator(_sign)]


E = TypeVar("E", bound=SentenceEntry)
R = TypeVar("R", bound=BaseModel)


def _one_each(entries: list[E], info: ValidationInfo) -> list[E]:
    if info.context and not is_salvage(info):
        expected, got = shown_numbers(info.context), [entry.number for entry in entries]
        if sorted(got) != sorted(expected):
            raise ValueError(f"one entry each needed for {_listed(expected)}; got {_listed(got) or 'none'}")
    return entries


def _usable(names: str, *reasons: str) -> Any:
    """Return the validator that keeps usable entries, whose numbers are in the field `names`."""

    def number_of(item: Mapping[str, Any], _info: ValidationInfo) -> int | None:
        try:
            return _number(item.get(names))
        except ValueError:
            return None

    return keep_usable(shown_numbers, number_of, reasons=reasons, position=lambda number: number)


class Reasons(BaseModel):
    """A reason for each sentence."""

    sentences: Annotated[list[Reason], AfterValidator(_one_each), _usable("sentence")]


class SentenceVerdicts(BaseModel):
    """A reason and a verdict for each sentence."""

    sentences: Annotated[list[SentenceVerdict], AfterValidator(_one_each), _usable("sentence", "reason")]


class Marks(BaseModel):
    """A mark for each reason."""

    marks: Annotated[list[Mark], AfterValidator(_one_each), _usable("reason", "thought")]


async def ask_each(judge: Judge, prompt: Prompt[R], entries: Callable[[R], Sequence[E]]) -> dict[int, E | str]:
    """Return the usable entry for each number asked about, or in words why there is none."""
    answer = await ask(judge, prompt, salvage=prompt.reply)
    usable = {entry.number: entry for entry in entries(answer.value)} if answer.value else {}
    numbers = shown_numbers(prompt.fields)
    missing = why_missing(prompt, answer, "entry") if len(usable) < len(numbers) else ""
    return {number: usable.get(number, missing) for number in numbers}


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(str(number) for number in numbers)
