"""From a prompt to a parsed answer: strict parsing, one repair, and otherwise a missing answer with its reason."""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from rubriclab.errors import JudgeUnavailable, PromptRejected
from rubriclab.judges.json_objects import FoundObject, json_objects, without_reasoning
from rubriclab.judges.judge import Judge, JudgeWrapper, Reply
from rubriclab.prompts.prompt import REASONS, KeyedReply, Prompt, known_keys
from rubriclab.pydantic_errors import faults

R = TypeVar("R", bound=BaseModel)

LONGEST_COMPLAINT = 500
FILTERED = "the provider's content filter withheld the reply."
# A key of an object that may be damaged: in quotes of any kind, escaped or not, or in none right after a brace.
_KEY = re.compile(
    r"""(?:[{,(\[\uff5b]\s*+\\?["'`\u00ab\u2018-\u201f]++|[{\uff5b](?:\s++|/\*.{0,200}?\*/|//[^\n]{0,200}\n){0,9}+)"""
    r"""(?P<key>[^\\"'`\u00ab\u00bb\u2018-\u201f{},:=\uff1a\n]{1,200})[\\"'`\u00bb\u2018-\u201f]*+\s*+(?:[:=\uff1a]|(?=["']))"""
)
# A brace that may open another verdict, rather than one around a word.
_OPENING = re.compile(r"[{\uff5b](?!\s{0,20}[^\W\d]\w{0,100}\s{0,20}\})")
# A number in braces, such as the box of a result.
_NUMBER_ALONE = re.compile(r"\{\W{0,20}\d")
# A verdict outside of objects: a key, a mark between it and its value, and the value.
_STATED = re.compile(
    r"(?<!\w)(?P<key>\w{1,100})(?=[^\w{}]{0,11}?[:=|>\uff1a\"])[^\w{}]{1,12}?"
    r"(?P<value>-?\d{1,9}(?:\.\d{1,9})?|(?:yes|no|true|false)\b)",
    re.IGNORECASE,
)


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


async def ask(
    judge: Judge, prompt: Prompt[R], *, salvage: type[R] | None = None, repair: bool = True
) -> JudgeAnswer[R]:
    """Return the judge's answer to `prompt`, with one repair if the first reply is unusable.

    If the repair is unusable too, or `repair` is false, the usable entries of a reply with several are kept; the later
    reply is preferred. `salvage` is the reply model for that; it finds `SALVAGE` in the validation context. A
    `KeyedReply` is its own.

    Raises:
        JudgeRefused, ProviderDown, BudgetReached, ReplayMiss: these concern all prompts and end the command.
    """
    try:
        reply = first = await judge.reply(prompt)
        value, complaint = read(first, prompt)
        if value is None:
            collect_unusable(prompt.name, first.text, complaint)
        if first.filtered:
            return JudgeAnswer(None, FILTERED, replied=False)
        if value is None and repair:
            reply = await judge.reply(prompt.repaired(first.text, complaint))
            value, complaint = read(reply, prompt)
            if value is None:
                collect_unusable(prompt.name, reply.text, complaint)
    except (JudgeUnavailable, PromptRejected) as error:
        return JudgeAnswer(None, str(error), replied=False)
    if salvage is None and issubclass(prompt.reply, KeyedReply):
        salvage = prompt.reply
    if value is None and salvage:
        reply, value = _salvaged((reply, first), prompt.salvaging(salvage))
    if value is None:
        repaired = ", also after one repair" if repair else ""
        return JudgeAnswer(None, f"unusable reply{repaired}: {complaint}", reply=reply)
    if isinstance(value, KeyedReply) and value.read_by != "id" and isinstance(judge, JudgeWrapper):
        judge.count_reading()
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

    Prose or a code fence around the JSON object is tolerated if it is clear which one is the answer. It is not if
    another one fits with other values, anything else looks like an answer, since it has one of the model's keys, but is
    damaged or does not fit, the prose states another value, or something opens after it: the judge may have quoted a
    verdict in the text beside its own. Hidden reasoning is no part of the reply.
    """
    if reply.filtered:
        return None, FILTERED
    text = without_reasoning(reply.text)
    if not text.strip():
        return None, reply.fault or ("it had hidden reasoning only." if reply.text.strip() else "it was empty.")
    objects = list(json_objects(text))
    keys = _keys_of(prompt.reply)
    answers: list[tuple[FoundObject, R]] = []
    rest = _without(objects, text)
    complaint, is_ambiguous = "", any(_plain(match["key"]) in keys for match in _KEY.finditer(rest))
    for found in objects:
        value, fault = _value(found, prompt)
        if value is None:
            complaint = complaint or fault
            is_ambiguous |= bool(keys & set(_keys_in(found.value)))
        else:
            answers.append((found, value))
    if answers and not is_ambiguous and all(value == answers[0][1] for _, value in answers):
        last = answers[-1][0]
        if not (_opens_another(text[last.end :], keys) or _states_other(rest, last.value)):
            return answers[0][1], ""
        complaint = ""
    if reply.truncated:
        complaint = f"it was cut off after {prompt.max_tokens} tokens; be shorter."
    elif answers:
        complaint = "it held more than one JSON object that looks like the answer, or a damaged one beside it."
    return None, complaint or "it held no complete JSON object."


def _value(found: FoundObject, prompt: Prompt[R]) -> tuple[R | None, str]:
    if found.fault:
        return None, f"the JSON object {found.fault}"
    try:
        return prompt.reply.model_validate(found.value, context=prompt.fields), ""
    except ValidationError as error:
        complaint = f"{faults(error)}."
        return None, complaint if len(complaint) <= LONGEST_COMPLAINT else complaint[: LONGEST_COMPLAINT - 1] + "…"


def _without(objects: Sequence[FoundObject], text: str) -> str:
    ends = [0, *(found.end for found in objects)]
    begins = [*(found.begin for found in objects), len(text)]
    return "\0".join(text[end:begin] for end, begin in zip(ends, begins, strict=True))


def _opens_another(rest: str, keys: Collection[str]) -> bool:
    """Return whether braces in `rest` are not closed, or hold one of the `keys` or a number alone."""
    opening = _OPENING.search(rest)
    if opening is None:
        return False
    opened = unicodedata.normalize("NFKC", rest[opening.start() :]).casefold()
    braces = opened[: opened.rfind("}") + 1]
    is_closed = opened.count("{") == opened.count("}")
    return not is_closed or any(key in braces for key in keys) or _NUMBER_ALONE.search(braces) is not None


def _keys_in(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from map(_plain, value)
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _keys_in(part)


def _plain(key: str) -> str:
    return key.strip().casefold()


@functools.lru_cache(maxsize=512)
def _keys_of(reply: type[BaseModel]) -> frozenset[str]:
    return frozenset(map(_plain, known_keys(reply)))


def _states_other(prose: str, verdict: Mapping[str, Any]) -> bool:
    """Return whether `prose` gives a number, a yes or a no for a key of the verdict, other than the verdict does."""
    stated = list(_STATED.finditer(prose))
    given: dict[str, set[float | str]] = {}
    for key, value in _verdicts(verdict) if stated else ():
        given.setdefault(_plain(key), set()).add(value)
    return any(
        (values := given.get(_plain(match["key"]))) is not None and _plain_value(match["value"]) not in values
        for match in stated
    )


def _verdicts(value: Any, owner: str = "") -> Iterator[tuple[str, float | str]]:
    """Yield each number, yes and no in an object, with its key, and again with the key or id of its entry."""
    for part in value if isinstance(value, list) else ():
        yield from _verdicts(part)
    if not isinstance(value, dict):
        return
    owner = owner or str(value.get("id", ""))
    for key, part in value.items():
        plain = None if key in REASONS else _plain_value(part)
        if plain is not None:
            yield key, plain
            yield owner or key, plain
        yield from _verdicts(part, key)


def _plain_value(value: Any) -> float | str | None:
    """Return a number, also one in a text, or a yes or no; `None` for anything else."""
    text = str(value).strip().casefold()
    try:
        return float(text)
    except ValueError:
        return text if text in ("yes", "no", "true", "false") else None


_COLLECTED: ContextVar[list[UnusableReply] | None] = ContextVar("collected", default=None)


@dataclass(frozen=True, slots=True)
class UnusableReply:
    """A raw reply that could not be used, also one whose repair could.

    Attributes:
        prompt: the name of the prompt.
        text: the raw reply.
        fault: why it could not be used.
    """

    prompt: str
    text: str
    fault: str


@contextmanager
def unusable_replies() -> Iterator[list[UnusableReply]]:
    """Yield a list of the replies that cannot be used in this context and in the tasks that it creates."""
    replies = list[UnusableReply]()
    outer = _COLLECTED.set(replies)
    try:
        yield replies
    finally:
        _COLLECTED.reset(outer)


def collect_unusable(prompt: str, text: str, fault: str) -> None:
    """Add a reply to the list of this context, if there is one."""
    if (replies := _COLLECTED.get()) is not None:
        replies.append(UnusableReply(prompt, text, fault))
