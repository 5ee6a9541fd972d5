"""From a prompt to a parsed answer: strict reading, one repair, then missing.

A failed reply is missing with its reason, never a number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from pydantic import BaseModel, ValidationError

from rubriclab.errors import JudgeUnavailable, PromptRejected
from rubriclab.judges.json_objects import json_objects
from rubriclab.judges.judge import Judge, Reply
from rubriclab.prompts import Prompt

R = TypeVar("R", bound=BaseModel)

LONGEST_COMPLAINT = 500


@dataclass(frozen=True, slots=True)
class JudgeAnswer(Generic[R]):
    """A parsed answer, or the reason why there is none; exactly one of the two is set.

    `replied` tells a reply that could not be used from no reply at all; `reply` is the one that was read.
    """

    value: R | None
    missing: str | None = None
    replied: bool = True
    reply: Reply | None = None


async def ask(judge: Judge, prompt: Prompt[R], *, salvage: type[R] | None = None) -> JudgeAnswer[R]:
    """Return the judge's answer to `prompt`, asking once more if the first reply cannot be used.

    Where that fails too, `salvage` is a form that keeps what is sound of a reply, the later one if it can: of several
    answers in one, those that can be used.

    Raises:
        JudgeRefused, ProviderDown, BudgetReached, ReplayMiss: these end the whole command, not one answer.
    """
    try:
        reply = first = await judge.reply(prompt)
        value, complaint = read(first, prompt)
        if value is None:
            reply = await judge.reply(prompt.repaired(first.text, complaint))
            value, complaint = read(reply, prompt)
    except (JudgeUnavailable, PromptRejected) as error:
        return JudgeAnswer(None, str(error), replied=False)
    if value is None and salvage:
        reply, value = _salvaged((reply, first), replace(prompt, reply=salvage))
    if value is None:
        return JudgeAnswer(None, f"unusable reply, also after one repair: {complaint}", reply=reply)
    return JudgeAnswer(value, reply=reply)


def _salvaged(replies: Sequence[Reply], prompt: Prompt[R]) -> tuple[Reply, R | None]:
    """Return the first reply that reads as the prompt's reply model, with its value; else the first one of all."""
    for reply in replies:
        value, _ = read(reply, prompt)
        if value is not None:
            return reply, value
    return replies[0], None


def read(reply: Reply, prompt: Prompt[R]) -> tuple[R | None, str]:
    """Return the reply as the prompt's reply model, or `None` and what is wrong with it.

    Prose or a code fence around the object is tolerated where exactly one JSON object in the reply has the right form:
    several different ones would leave open which is meant.
    """
    if reply.truncated:
        return None, f"it was cut off after {prompt.max_tokens} tokens; be shorter."
    if not reply.text.strip():
        return None, "it was empty."
    found: R | None = None
    complaint = ""
    for _, candidate in json_objects(reply.text):
        try:
            value = prompt.reply.model_validate(candidate, context=prompt.fields)
        except ValidationError as error:
            complaint = complaint or _complaint(error)
            continue
        if found is not None and value != found:
            return None, "it held at least 2 different JSON objects of the right form, where one was expected."
        found = value
    if found is not None:
        return found, ""
    return None, complaint or "it held no complete JSON object."


def _complaint(error: ValidationError) -> str:
    """Return what is wrong first, in a line: a reply may put any number of names and values into it."""
    first = error.errors(include_url=False, include_context=False)[0]
    where = ".".join(str(part) for part in first["loc"]) or "the object"
    complaint = " ".join(f"{where}: {first['msg'].removeprefix('Value error, ')}.".split())
    return complaint if len(complaint) <= LONGEST_COMPLAINT else complaint[: LONGEST_COMPLAINT - 1] + "…"
