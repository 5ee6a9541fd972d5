"""From a prompt to a parsed answer: strict parsing, one repair, and otherwise a missing answer with its reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from pydantic import BaseModel, ValidationError

from rubriclab.errors import JudgeUnavailable, PromptRejected
from rubriclab.judges.json_objects import json_objects
from rubriclab.judges.judge import Judge, Reply
from rubriclab.prompts import Prompt
from rubriclab.pydantic_errors import first_fault

R = TypeVar("R", bound=BaseModel)

LONGEST_COMPLAINT = 500
FILTERED = "the provider's content filter withheld the reply."


@dataclass(frozen=True, slots=True)
class JudgeAnswer(Generic[R]):
    """A parsed answer, or the reason why it is missing.

    Attributes:
        value: the parsed answer; `None` if it is missing.
        missing: why it is missing; empty if it is not.
        replied: whether there was a reply, even if unusable; one that was withheld is none.
        reply: the reply that was parsed.
    """

    value: R | None
    missing: str = ""
    replied: bool = True
    reply: Reply | None = None


async def ask(judge: Judge, prompt: Prompt[R], *, salvage: type[R] | None = None) -> JudgeAnswer[R]:
    """Return the judge's answer to `prompt`, with one repair if the first reply is unusable.

    If the repair is unusable too, the usable entries of a reply with several are kept; the later reply is preferred.
    `salvage` is the reply model for that, usually the prompt's own: it finds `SALVAGE` in the validation context.

    Raises:
        JudgeRefused, ProviderDown, BudgetReached, ReplayMiss: these concern all prompts and end the command.
    """
    try:
        reply = first = await judge.reply(prompt)
        if first.filtered:
            return JudgeAnswer(None, FILTERED, replied=False)
        value, complaint = read(first, prompt)
        if value is None:
            reply = await judge.reply(prompt.repaired(first.text, complaint))
            value, complaint = read(reply, prompt)
    except (JudgeUnavailable, PromptRejected) as error:
        return JudgeAnswer(None, str(error), replied=False)
    if value is None and salvage:
        reply, value = _salvaged((reply, first), prompt.salvaging(salvage))
    if value is None:
        return JudgeAnswer(None, f"unusable reply, also after one repair: {complaint}", reply=reply)
    return JudgeAnswer(value, reply=reply)


def _salvaged(replies: Sequence[Reply], prompt: Prompt[R]) -> tuple[Reply, R | None]:
    """Return the first reply that fits the prompt's reply model, with its value, or else the first reply."""
    for reply in replies:
        value, _ = read(reply, prompt)
        if value is not None:
            return reply, value
    return replies[0], None


def read(reply: Reply, prompt: Prompt[R]) -> tuple[R | None, str]:
    """Return the reply as the prompt's reply model, or `None` and the fault.

    Prose or a code fence around the JSON object is tolerated if exactly one object in the reply fits the model: with
    several different ones the answer would be ambiguous.
    """
    if reply.filtered:
        return None, FILTERED
    if reply.truncated:
        return None, f"it was cut off after {prompt.max_tokens} tokens; be shorter."
    if not reply.text.strip():
        return None, "it was empty."
    answer: R | None = None
    complaint = ""
    for _, candidate in json_objects(reply.text):
        try:
            value = prompt.reply.model_validate(candidate, context=prompt.fields)
        except ValidationError as error:
            complaint = complaint or _complaint(error)
            continue
        if answer is not None and value != answer:
            return None, "it held at least 2 different JSON objects of the right form, where one was expected."
        answer = value
    if answer is not None:
        return answer, ""
    return None, complaint or "it held no complete JSON object."


def _complaint(error: ValidationError) -> str:
    complaint = f"{first_fault(error)}."
    return complaint if len(complaint) <= LONGEST_COMPLAINT else complaint[: LONGEST_COMPLAINT - 1] + "…"
