"""The judge protocol. Caches, limits, budgets and recordings are judges that wrap another judge."""

from __future__ import annotations

import functools
import json
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, fields
from typing import Any, Generic, Protocol, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from rubriclab.base_options import faults
from rubriclab.errors import JudgeUnavailable, PromptRejected
from rubriclab.models.base import cached_by_size, digest
from rubriclab.models.version import Effort
from rubriclab.prompts import render
from rubriclab.prompts.prompt import REASONS, KeyedReply, Prompt, known_keys
from rubriclab.prompts.render import Message, Turn, render_turns


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens and cost of a reply, as the provider counts them.

    Attributes:
        cost_usd: US dollars; `None` if the price is unknown.
        cached_tokens: the prompt tokens that the provider read from its prompt cache.
        saved_usd: US dollars that this cache saved; negative if writing to it cost more.
    """

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = 0.0
    cached_tokens: int = 0
    saved_usd: float = 0.0

    def __add__(self, other: Usage) -> Usage:
        known = self.cost_usd is not None and other.cost_usd is not None
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            (self.cost_usd or 0.0) + (other.cost_usd or 0.0) if known else None,
            self.cached_tokens + other.cached_tokens,
            self.saved_usd + other.saved_usd,
        )


@dataclass(frozen=True, slots=True)
class Token:
    """One token of a reply.

    Attributes:
        text: its part of the reply's text; empty if it is only part of a character.
        alternatives: the most likely tokens at this position, the chosen one included, with log-probabilities (natural
            logarithm).
    """

    text: str
    alternatives: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class Reply:
    """A judge's raw reply.

    Attributes:
        model: the model version that the provider reports; the judge's name if it reports none.
        truncated: whether the provider cut it off at the token limit.
        filtered: whether the provider's content filter withheld it.
        fault: why the text is empty, if the response says so.
        cached: whether it is a cached answer, which cost nothing now.
        tokens: the tokens of `text`, if the prompt asked for alternatives and the provider reported them.
    """

    text: str
    model: str
    usage: Usage = Usage()
    truncated: bool = False
    cached: bool = False
    tokens: tuple[Token, ...] = ()
    filtered: bool = False
    fault: str = ""


# What can become of a text, for `Ledger.texts`.
SCORED, FAULTY_ROW, RATINGS_MISSING = "scored", "faulty_row", "ratings_missing"


@dataclass(slots=True)
class Ledger:
    """Running totals; several judges may share one.

    Attributes:
        calls: replies received from the provider.
        cached: cached replies, and replies shared with an identical request in flight.
        failed: prompts without a usable reply.
        repaired: prompts that were repeated because the first reply was unusable.
        by_name_or_order: replies of which entries were recognised by names or by their order instead of their ids.
        stages, stage_tokens: number of replies and of their tokens, cached ones included, by prompt template.
        texts: number of texts by what became of them: `scored`, or why they have no score.
        usage: of the replies from the provider; the cost is `None` once any price is unknown.
        damaged: digests of requests that were repeated because their cached answer is damaged.
    """

    calls: int = 0
    cached: int = 0
    failed: int = 0
    repaired: int = 0
    by_name_or_order: int = 0
    stages: Counter[str] = field(default_factory=Counter)
    stage_tokens: Counter[str] = field(default_factory=Counter)
    texts: Counter[str] = field(default_factory=Counter)
    usage: Usage = field(default_factory=Usage)
    model_versions: set[str] = field(default_factory=set)
    damaged: set[str] = field(default_factory=set)

    @property
    def lacks_replies(self) -> bool:
        """Whether there were requests, and none of them had a reply."""
        return self.failed > 0 and not (self.calls or self.cached)

    def add(self, other: Ledger) -> None:
        """Add the totals of another ledger, such as that of another process."""
        for each in fields(self):
            own, more = getattr(self, each.name), getattr(other, each.name)
            if isinstance(own, set):
                own |= more
            else:
                setattr(self, each.name, own + more)

    def take(self) -> Ledger:
        """Return the totals so far, and begin again from zero; judges keep this ledger and its sets."""
        totals = Ledger()
        totals.add(self)
        for name, zero in ((each.name, getattr(Ledger(), each.name)) for each in fields(self)):
            if isinstance(zero, set):
                getattr(self, name).clear()
            else:
                setattr(self, name, zero)
        return totals

    def effort(self, seconds: float) -> Effort:
        """Return the totals, with the wall-clock time of the command in seconds."""
        return Effort(
            calls=self.calls,
            cached=self.cached,
            failed=self.failed,
            repaired=self.repaired,
            by_name_or_order=self.by_name_or_order,
            prompt_tokens=self.usage.prompt_tokens,
            completion_tokens=self.usage.completion_tokens,
            cost_usd=self.usage.cost_usd,
            cached_prompt_tokens=self.usage.cached_tokens,
            saved_usd=self.usage.saved_usd,
            stages=dict(sorted(self.stages.items())),
            stage_tokens=dict(sorted(self.stage_tokens.items())),
            seconds=seconds,
        )


class Judge(Protocol):
    """Answers prompts."""

    @property
    def name(self) -> str:
        """The name that a user writes: a litellm model string, `embedded`, `recorded:PATH` or a plug-in's."""
        ...

    @property
    def identity(self) -> Mapping[str, Any]:
        """Everything besides the prompt that the reply depends on (model, address, parameters), in JSON types."""
        ...

    async def reply(self, prompt: Prompt[Any]) -> Reply:
        """Return the raw reply to `prompt`.

        Raises `JudgeUnavailable` if a retry can help, `PromptRejected` if this prompt is never answered, `JudgeRefused`
        if none is.
        """
        ...


class JudgeWrapper:
    """Base of judges that add something to another one: they share its name, identity and ledger, if it has one."""

    def __init__(self, judge: Judge) -> None:
        self.judge = judge
        self.ledger: Ledger | None = judge.ledger if isinstance(judge, JudgeWrapper) else None

    @property
    def name(self) -> str:
        return self.judge.name

    @property
    def identity(self) -> Mapping[str, Any]:
        return self.judge.identity


Script = Callable[[Prompt[Any]], "str | Mapping[str, Any] | Reply"]


class FakeJudge:
    """Replies to every prompt with `script(prompt)`: a text, a mapping (as JSON) or a `Reply`; errors are raised.

    Prompts are rendered as for a real model, so that tests find faulty templates, and collected in `prompts`.
    """

    name = "fake"
    identity: Mapping[str, Any] = {"model": "fake"}

    def __init__(self, script: Script) -> None:
        self._script = script
        self.prompts: list[Prompt[Any]] = []

    async def reply(self, prompt: Prompt[Any]) -> Reply:
        messages = render(prompt)
        self.prompts.append(prompt)
        answer = self._script(prompt)
        if isinstance(answer, Reply):
            return answer
        text = answer if isinstance(answer, str) else json.dumps(answer)
        return Reply(text, self.name, Usage(sum(len(m["content"]) for m in messages) // 4, len(text) // 4))


# Characters of rendered prompts: enough for those in flight, of up to four bytes each. A longer one is rendered again.
RENDERED = 2**23


def _characters(_arguments: tuple[Any, ...], turns: tuple[Turn, ...]) -> int:
    return sum(len(part) for turn in turns for part in turn.parts)


@cached_by_size(RENDERED, _characters)
def turns_of(prompt: Prompt[Any]) -> tuple[Turn, ...]:
    """Return the rendered prompt, divided into what many texts share and the rest; short ones are rendered once."""
    return tuple(render_turns(prompt))


def messages_of(prompt: Prompt[Any]) -> tuple[Message, ...]:
    """Return the rendered prompt."""
    return tuple(turn.message for turn in turns_of(prompt))


def request_digest(identity: Mapping[str, Any], prompt: Prompt[Any]) -> str:
    """Return the digest of all that the reply depends on: the judge's identity and the canonical request."""
    reply: type[BaseModel] = prompt.reply
    return digest(
        {
            "identity": identity,
            "messages": messages_of(prompt),
            "schema": _schema_digest(reply),
            "temperature": prompt.temperature,
            "max_tokens": prompt.max_tokens,
            "sample": prompt.sample,
            "alternatives": prompt.alternatives,
        }
    )


def dump_reply(reply: Reply) -> dict[str, Any]:
    """Return `reply` in JSON types, without defaults and `cached`."""
    fields: dict[str, Any] = _reply().dump_python(reply, mode="json", exclude={"cached"}, exclude_defaults=True)
    return fields


def load_reply(answer: Any) -> Reply:
    """Return the reply that `dump_reply` made, marked as cached; anything else is a `ValueError`."""
    return _reply().validate_python({**answer, "cached": True} if isinstance(answer, Mapping) else answer)


@functools.lru_cache(maxsize=128)
def _schema_digest(reply: type[BaseModel]) -> str:
    return digest(reply.model_json_schema())


@functools.cache
def _reply() -> TypeAdapter[Reply]:
    return TypeAdapter(Reply)


R = TypeVar("R", bound=BaseModel)

MAX_COMPLAINT = 500
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
    `KeyedReply` is its own. Errors that concern all prompts are raised.
    """

    async def answer(asked: Prompt[R]) -> tuple[Reply, R | None, str]:
        reply = await judge.reply(asked)
        value, complaint = read(reply, asked)
        if value is None and (collected := _COLLECTED.get()) is not None:
            collected.append(UnusableReply(prompt.name, reply.text, complaint))
        return reply, value, complaint

    try:
        first, value, complaint = await answer(prompt)
        reply = first
        if first.filtered:
            return JudgeAnswer(None, FILTERED, replied=False)
        if value is None and repair:
            reply, value, complaint = await answer(prompt.repaired(first.text, complaint))
    except (JudgeUnavailable, PromptRejected) as error:
        return JudgeAnswer(None, str(error), replied=False)
    if salvage is None and issubclass(prompt.reply, KeyedReply):
        salvage = prompt.reply
    if value is None and salvage:
        readings = [(each, read(each, prompt.salvaging(salvage))[0]) for each in (reply, first)]
        reply, value = next((found for found in readings if found[1] is not None), readings[0])
    if value is None:
        repaired = ", also after one repair" if repair else ""
        return JudgeAnswer(None, f"unusable reply{repaired}: {complaint}", reply=reply)
    if isinstance(value, KeyedReply) and value.read_by != "id" and isinstance(judge, JudgeWrapper) and judge.ledger:
        judge.ledger.by_name_or_order += 1
    return JudgeAnswer(value, reply=reply)


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
    bounds = [0, *(bound for found in objects for bound in (found.begin, found.end)), len(text)]
    rest = "\0".join(text[begin:end] for begin, end in zip(bounds[::2], bounds[1::2], strict=True))
    complaint, is_ambiguous = "", any(_plain(match["key"]) in keys for match in _KEY.finditer(rest))
    for found in objects:
        fault = f"the JSON object {found.fault}" if found.fault else ""
        try:
            if not fault:
                answers.append((found, prompt.reply.model_validate(found.value, context=prompt.fields)))
        except ValidationError as error:
            fault = f"{faults(error)}."
            fault = fault if len(fault) <= MAX_COMPLAINT else fault[: MAX_COMPLAINT - 1] + "…"
        if fault:
            complaint = complaint or fault
            is_ambiguous |= bool(keys & set(_keys_in(found.value)))
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
    for part in _parts(value):
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
    """A raw reply that could not be used, also one whose repair could; `prompt` is the name of the prompt."""

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


# Objects nested deeper are refused, with all that follows. So is what follows so many damaged ones, each of which takes
# time in proportion to the text.
MAX_DEPTH, MAX_DAMAGED = 100, 1000

# JSON allows four kinds of white space; models also write others of Unicode.
_SPACE = r"[\s\u200b\u2060\ufeff]"
_GAP = rf"{_SPACE}*+"
_STRING = r'"(?:[^"\\]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+"'
# A brace and what must follow it, which skips most braces that open no object.
_OBJECT_START = re.compile(rf"\{{(?={_GAP}(?:\}}|{_STRING}{_GAP}:))")
_MEMBER = re.compile(rf"{_GAP},?{_GAP}(?P<key>{_STRING}){_GAP}:{_GAP}")
_UNUSUAL_SPACE = re.compile(r"(?![ \t\r\n])" + _SPACE)
_STRING_OR_SPACE = re.compile(rf"(?P<string>{_STRING})|{_SPACE}")
# Not strict: a model that writes paragraphs may leave the line breaks in its strings as they are.
_SCANNER = json.JSONDecoder(parse_int=float, strict=False)


@dataclass(frozen=True, slots=True)
class FoundObject:
    """An outermost JSON object in a text. `fault` says why it cannot be used, to complete "the object ...".

    Half of a character cut in two (`\\ud83d` alone) is a question mark: no file could hold it.
    """

    begin: int
    end: int
    value: dict[str, Any]
    fault: str = ""


def json_objects(text: str) -> Iterator[FoundObject]:
    """Yield the complete outermost objects in `text`, left to right.

    What begins within a damaged object, before the damage, is skipped. Nothing follows an object that is nested more
    than `MAX_DEPTH` levels deep.
    """
    plain, at, damaged = _UNUSUAL_SPACE.sub(" ", text), 0, 0
    while damaged < MAX_DAMAGED and (opening := _OBJECT_START.search(plain, at)):
        begin = opening.start()
        try:
            value, at = _SCANNER.raw_decode(plain, begin)
        except json.JSONDecodeError as error:
            at, damaged = max(error.pos, begin + 1), damaged + 1
            continue
        except RecursionError:
            return
        level, depth = [value], 0
        while level := [part for each in level for part in _parts(each)]:
            depth += 1
        if depth > MAX_DEPTH:
            return
        yield _decoded(text, begin, at)


def _parts(value: Any) -> Collection[Any]:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def place_of_value(text: str, found: FoundObject, key: str) -> tuple[int, int] | None:
    """Return where the last value of `key` in an object of `text` begins and ends."""
    plain, place, at = _UNUSUAL_SPACE.sub(" ", text), None, found.begin + 1
    while member := _MEMBER.match(plain, at):
        _, at = _SCANNER.raw_decode(plain, member.end())
        if json.loads(member["key"], strict=False) == key:
            place = member.end(), at
    return place


def _decoded(text: str, begin: int, end: int) -> FoundObject:
    faults: list[str] = []

    def number(written: str) -> float:
        value = float(written)
        if not math.isfinite(value):
            faults.append(f"has the number {written[:20]}, which is not finite.")
        return value

    def whole_number(written: str) -> int | float:
        try:
            return int(written)
        except ValueError:  # thousands of digits
            return number(written)

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        values = dict(pairs)
        if len(values) < len(pairs):
            faults.extend(f"has several values for {key!r:.60}." for key, value in pairs if values[key] != value)
            twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
            faults.append(f"has the key {twice!r:.60} more than once.")
        return values

    decoder = json.JSONDecoder(
        parse_float=number, parse_int=whole_number, parse_constant=number, object_pairs_hook=members, strict=False
    )
    value = decoder.decode(_STRING_OR_SPACE.sub(lambda match: match["string"] or " ", text[begin:end]))
    if "\\ud" in text[begin:end].lower():
        value = json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    return FoundObject(begin, end, value, faults[0] if faults else "")


_WORD = r"[\w:.-]{0,30}?(?:think|thought|reason|reflect|analysis|scratch|monologue|deliberat)\w{0,10}"
_NAME = rf"{_WORD}(?:\s[^<>|\[\]]{{0,100}})?"
# Tags of any such name, as DeepSeek, Qwen and others have them; Mistral's; Kimi's; Cohere's; Gemma's; the channels of
# gpt-oss, also where a server has removed its special tokens.
_TAG = re.compile(
    rf"</{_NAME}>|<\|(?:/|end_){_NAME}\|>|\[(?:/|END ){_NAME}\]|\u25c1/{_NAME}\u25b7|<unused95>|<channel\|>"
    r"|<\|channel\|>\s*final(?:<\|message\|>)?|assistantfinal"
    rf"|(?P<open><{_NAME}>|<\|{_NAME}\|>|\[(?:BEGIN )?(?:THINK|REASON)(?:ING)?\]|\u25c1{_NAME}\u25b7"
    r"|<unused94>(?:thought\b)?|<\|channel>thought\b|<\|channel\|>\s*(?:analysis|commentary)\b"
    r"|(?-i:\Aanalysis(?=[A-Z{])))"
    r"|(?P<end><\|end\|>)"
    rf"|(?P<fence>^`{{3,10}} ?{_WORD}\s*?$)|(?P<fence_end>^`{{3,10}}\s*?$)",
    re.IGNORECASE | re.MULTILINE,
)


def without_reasoning(text: str) -> str:
    """Return `text` without what stands between tags of reasoning, before a closing one alone or after an opening one.

    A fence with such a name is one too, and ends with the next fence. Tags in the strings of a complete JSON object are
    part of it. So is a closing one alone while a brace is open: it may be quoted in a damaged verdict, which must not
    disappear.
    """
    if not _TAG.search(text):
        return text
    spans = [(found.begin, found.end) for found in json_objects(text)]
    kept, since, is_reasoning, is_fenced = "", 0, False, False
    for tag in _TAG.finditer(text):
        if any(begin < tag.start() < end for begin, end in spans) or (tag["end"] and not is_reasoning):
            continue
        if is_fenced != (tag["fence_end"] is not None):  # only the end of a fence closes it
            continue
        opens = tag["open"] or tag["fence"]
        if not opens and not is_reasoning and text.count("{", since, tag.start()) > text.count("}", since, tag.start()):
            continue
        if opens:
            if not is_reasoning:
                kept += text[since : tag.start()]
            is_reasoning, is_fenced = True, tag["fence"] is not None
        else:
            kept = kept if is_reasoning else ""
            is_reasoning = is_fenced = False
        since = tag.end()
    return kept if is_reasoning else kept + text[since:]
