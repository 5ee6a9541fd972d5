"""The reply models of DCR's prompts: one entry for each sentence or report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)

from rubriclab.judges.ask import ask
from rubriclab.judges.judge import Judge
from rubriclab.methods.questions import YesOrNo
from rubriclab.methods.replies import why_missing
from rubriclab.models.text import Words, locate_sentences
from rubriclab.prompts import Prompt
from rubriclab.prompts.keyed import AskedEntry, KeyedReply, keyed_reply

Sign = Literal[1, -1]

# Typographic minus signs count too; otherwise only negative marks would be missing.
_SIGNS: Mapping[str, Sign] = {"1": 1, "+1": 1, **dict.fromkeys(("-1", "\u22121", "\u20131"), -1)}


def _require_words(reason: str) -> str:
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


class Reason(BaseModel):
    """Why a sentence is or is not consistent."""

    reason: Annotated[Words, AfterValidator(_require_words)]


class SentenceVerdict(Reason):
    """Whether a sentence is consistent, after the reason."""

    consistent: YesOrNo


class _SplitSentence(BaseModel):
    sentence: Words


# Fields of the last base come first in the schema.
class SplitReason(Reason, _SplitSentence):
    """A sentence of the text, and why it is or is not consistent."""


class SplitVerdict(SentenceVerdict, SplitReason):
    """A sentence of the text, and whether it is consistent, after the reason."""


class SplitReasons(BaseModel):
    """The text's sentences with reasons; together they hold its words in their order."""

    sentences: Sequence[SplitReason] = Field(min_length=1)

    @model_validator(mode="after")
    def _complete(self, info: ValidationInfo) -> Self:
        if info.context:
            locate_sentences(info.context["output"], [each.sentence for each in self.sentences])
        return self


class SplitVerdicts(SplitReasons):
    """The text's sentences with reasons and verdicts; together they hold its words in their order."""

    sentences: Sequence[SplitVerdict] = Field(min_length=1)


class Mark(BaseModel):
    """What a reason comes to."""

    thought: str
    mark: Annotated[Sign, BeforeValidator(_sign), WithJsonSchema({"type": "integer", "minimum": -1, "maximum": 1})]


def of_each(what: str, shown: Sequence[Mapping[str, Any]], form: type[BaseModel]) -> type[KeyedReply]:
    """Return the reply model with one entry for each sentence or report shown, called as between its markers."""
    numbers = [str(each["id"]) for each in shown]
    return keyed_reply(tuple(AskedEntry(f"{what} {each}", form, names=(each,)) for each in numbers), of_text=True)


async def ask_each(judge: Judge, prompt: Prompt[KeyedReply]) -> dict[int, Any]:
    """Return the usable entry for each number asked about, or in words why there is none."""
    answer = await ask(judge, prompt)
    entries = answer.value.entries if answer.value else {}
    asked = [each.id for each in prompt.reply.asked]
    missing = why_missing(prompt, answer, "entry") if len(entries) < len(asked) else ""
    return {int(each.split()[1]): entries.get(each, missing) for each in asked}
