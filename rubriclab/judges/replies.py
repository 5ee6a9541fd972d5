"""A judge's raw reply (`Reply`), and the answer in it.

`parse_reply` removes hidden reasoning (`without_reasoning`), finds the JSON objects in the rest (`json_objects`), and
validates them by the prompt's reply model. The object that fits is the answer; a text that may hold two is not used.
`score_distribution` returns the probability of each legal score at the place of the reply's score.
"""

from __future__ import annotations

import functools
import json
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from rubriclab.base_options import faults
from rubriclab.models.base import load_patterns, nesting_depth
from rubriclab.prompts.prompt import REASON_FIELDS, Prompt, known_keys


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens and cost of a reply, as the provider counts them.

    Attributes:
        cost_usd: US dollars; `None` if the price is unknown.
        cached_tokens: the prompt tokens that the provider read from its prompt cache.
        saved_usd: US dollars saved by the prompt cache: its discount for reading, less its surcharge for writing.
    """

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = 0.0
    cached_tokens: int = 0
    saved_usd: float = 0.0

    def __add__(self, other: Usage) -> Usage:
        has_cost = self.cost_usd is not None and other.cost_usd is not None
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            (self.cost_usd or 0.0) + (other.cost_usd or 0.0) if has_cost else None,
            self.cached_tokens + other.cached_tokens,
            self.saved_usd + other.saved_usd,
        )


@dataclass(frozen=True, slots=True)
class Token:
    """One token of a reply.

    Attributes:
        text: what the token adds to the reply's text; empty if the token ends within a character.
        alternatives: the most likely tokens at this position and the chosen one, with natural log-probabilities.
    """

    text: str
    alternatives: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class Reply:
    """A judge's raw reply.

    Attributes:
        model: the model version that the provider reports; the judge's name if it reports none.
        truncated: whether the provider cut the reply off at the token limit.
        filtered: whether the provider's content filter withheld the reply.
        fault: why the text is empty, if the response says so.
        cached: whether the reply comes from a cache or a recording, and so costs nothing now.
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


# To save time, the search ends at an object with more than `MAX_DEPTH` levels, or after `MAX_DAMAGED` damaged ones.
MAX_DEPTH, MAX_DAMAGED = 100, 1000

# JSON allows four kinds of white space; models also write other white space of Unicode.
_SPACE = r"[\s\u200b\u2060\ufeff]"
_GAP = rf"{_SPACE}*+"
_STRING = r'"(?:[^"\\]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+"'
# An opening brace that a key or a closing brace follows. Most braces in prose and formulas do not match.
_OBJECT_START = re.compile(rf"\{{(?={_GAP}(?:\}}|{_STRING}{_GAP}:))")
_MEMBER = re.compile(rf"{_GAP},?{_GAP}(?P<key>{_STRING}){_GAP}:{_GAP}")
_UNUSUAL_SPACE = re.compile(r"(?![ \t\r\n])" + _SPACE)
_STRING_OR_SPACE = re.compile(rf"(?P<string>{_STRING})|{_SPACE}")
# Finds where objects end. Not strict, for line breaks in strings; `float`, since `int` fails on thousands of digits.
_SCANNER = json.JSONDecoder(parse_int=float, strict=False)


@dataclass(frozen=True, slots=True)
class FoundObject:
    """A JSON object in a text, and where it begins and ends there. `fault` says why it cannot be used."""

    begin: int
    end: int
    value: dict[str, Any]
    fault: str = ""


def json_objects(text: str) -> Iterator[FoundObject]:
    """Yield the complete outermost objects in `text`, from left to right; damaged ones are left out."""
    with_plain_spaces = _UNUSUAL_SPACE.sub(" ", text)  # of the same length, so offsets fit `text` too
    offset = damaged_count = 0
    while damaged_count < MAX_DAMAGED:
        opening = _OBJECT_START.search(with_plain_spaces, offset)
        if opening is None:
            return
        begin = opening.start()
        try:
            value, offset = _SCANNER.raw_decode(with_plain_spaces, begin)
        except json.JSONDecodeError as error:
            offset = max(error.pos, begin + 1)  # objects before the damage are skipped, those after it are not
            damaged_count += 1
            continue
        except RecursionError:
            return
        if nesting_depth(value) > MAX_DEPTH:
            return
        yield _decode(text, begin, offset)


def _decode(text: str, begin: int, end: int) -> FoundObject:
    object_faults: list[str] = []

    def as_number(written: str) -> int | float:
        try:
            return int(written)
        except ValueError:  # a fraction, NaN, or thousands of digits
            value = float(written)
        if not math.isfinite(value):
            object_faults.append(f"has the number {written[:20]}, which is not finite.")
        return value

    def as_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        values = dict(pairs)
        if len(values) < len(pairs):
            object_faults.extend(f"has several values for {key!r:.60}." for key, value in pairs if values[key] != value)
            repeated = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
            object_faults.append(f"has the key {repeated!r:.60} more than once.")
        return values

    decoder = json.JSONDecoder(
        parse_float=as_number, parse_int=as_number, parse_constant=as_number, object_pairs_hook=as_object, strict=False
    )
    value = decoder.decode(_STRING_OR_SPACE.sub(lambda match: match["string"] or " ", text[begin:end]))
    if "\\ud" in text[begin:end].lower():  # escaped surrogates, which are replaced if unpaired
        value = json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    return FoundObject(begin, end, value, object_faults[0] if object_faults else "")


def span_of_value(text: str, json_object: FoundObject, key: str) -> tuple[int, int] | None:
    """Return where the last value of `key` begins and ends in `text`; `None` if `json_object` lacks this key."""
    with_plain_spaces = _UNUSUAL_SPACE.sub(" ", text)
    span, offset = None, json_object.begin + 1
    while member := _MEMBER.match(with_plain_spaces, offset):
        _, offset = _SCANNER.raw_decode(with_plain_spaces, member.end())
        if json.loads(member["key"], strict=False) == key:
            span = member.end(), offset
    return span


_TAG = load_patterns(Path(__file__).with_name("reasoning_tags.toml"))["tag"]
# Every tag holds one of these texts. Most replies hold none; this test takes a hundredth of the time of `_TAG`.
_TAG_SIGNS = ("<", "[", "`", "\u25c1", "assistantfinal", "analysis")


def without_reasoning(text: str) -> str:
    """Return `text` without hidden reasoning.

    Reasoning stands between an opening and a closing tag, before a closing tag alone, or after an opening tag alone. A
    code fence with the name of a tag is a tag too. Tags in complete JSON objects are parts of strings, so they are
    ignored. Closing tags after an open brace are ignored too, because a damaged answer may quote them.
    """
    lowered = text.lower()
    if not any(sign in lowered for sign in _TAG_SIGNS) or not _TAG.search(text):
        return text
    object_spans = [(candidate.begin, candidate.end) for candidate in json_objects(text)]
    result, start = "", 0  # `start`: where the text after the last tag begins
    is_reasoning = is_fenced = False
    for tag in _TAG.finditer(text):
        if any(begin < tag.start() < end for begin, end in object_spans):
            continue
        if tag["end"] and not is_reasoning:  # <|end|>, with which gpt-oss also ends its answer
            continue
        if is_fenced != (tag["fence_end"] is not None):  # a closing fence ends a code fence, and nothing else does
            continue
        opens = tag["open"] or tag["fence"]
        before = text[start : tag.start()]
        if not opens and not is_reasoning and before.count("{") > before.count("}"):
            continue
        if opens:
            if not is_reasoning:
                result += before
            is_reasoning, is_fenced = True, tag["fence"] is not None
        else:
            result = result if is_reasoning else ""
            is_reasoning = is_fenced = False
        start = tag.end()
    return result if is_reasoning else result + text[start:]


R = TypeVar("R", bound=BaseModel)

MAX_COMPLAINT_CHARACTERS = 500
FILTERED_MESSAGE = "the provider's content filter withheld the reply."
_ANSWER_TRACES = load_patterns(Path(__file__).with_name("answer_traces.toml"))


def parse_reply(reply: Reply, prompt: Prompt[R]) -> tuple[R | None, str]:
    """Return the answer in a reply as the prompt's reply model, or `None` and a complaint that says what is wrong.

    A judge may quote an answer from the judged text beside its own. Therefore all objects that fit the model have to be
    equal, and the text around them may hold no other answer.
    """
    if reply.filtered:
        return None, FILTERED_MESSAGE
    text = without_reasoning(reply.text)
    if not text.strip():
        why_empty = "it had hidden reasoning only." if reply.text.strip() else "it was empty."
        return None, reply.fault or why_empty
    # Which objects fit the model, and what is wrong with the others?
    valid_objects: list[FoundObject] = []
    answers: list[R] = []
    complaints: list[str] = []
    for candidate in json_objects(text):
        if candidate.fault:
            complaints.append(f"the JSON object {candidate.fault}")
            continue
        try:
            answers.append(prompt.reply.model_validate(candidate.value, context=prompt.fields))
            valid_objects.append(candidate)
        except ValidationError as error:
            complaint = f"{faults(error)}."
            if len(complaint) > MAX_COMPLAINT_CHARACTERS:
                complaint = complaint[: MAX_COMPLAINT_CHARACTERS - 1] + "…"
            complaints.append(complaint)
    # Is there one answer, and no other around it?
    if answers and all(answer == answers[0] for answer in answers):
        surroundings, offset = [], 0
        for valid_object in valid_objects:
            surroundings.append(text[offset : valid_object.begin])
            offset = valid_object.end
        surroundings.append(text[offset:])
        if not _holds_another_answer(surroundings, valid_objects[-1].value, _normalized_keys(prompt.reply)):
            return answers[0], ""
    if reply.truncated:
        return None, f"it was cut off after {prompt.max_tokens} tokens; be shorter."
    if answers:
        return None, "it held more than one JSON object that looks like the answer, or a damaged one beside it."
    return None, complaints[0] if complaints else "it held no complete JSON object."


@functools.lru_cache(maxsize=512)
def _normalized_keys(reply: type[BaseModel]) -> frozenset[str]:
    return frozenset(filter(None, map(_normalize, known_keys(reply))))


def _normalize(key: str) -> str:
    return key.strip().casefold()


def _holds_another_answer(surroundings: Sequence[str], answer: Mapping[str, Any], keys: Collection[str]) -> bool:
    """Return whether the texts before, between and after the objects with the answer may hold another answer.

    `answer` is the object, and `keys` are the keys that the reply model knows.
    """
    text = "\0".join(surroundings)  # keeps the words before and after an answer apart
    if not text.strip("\0 \n"):
        return False
    # Does an object, perhaps a damaged one, have a key that contains one of `keys`?
    keys_in_text = [_normalize(match["key"]) for match in _ANSWER_TRACES["key"].finditer(text)]
    if any(key in key_in_text for key_in_text in keys_in_text for key in keys):
        return True
    # Does prose state another value for a key or an id of the answer?
    values_by_key: dict[str, set[float | str]] = {}
    for key, value in _named_values(answer):
        values_by_key.setdefault(_normalize(key), set()).add(value)
    for match in _ANSWER_TRACES["stated"].finditer(text):
        values = values_by_key.get(_normalize(match["key"]))
        if values is not None and _comparable_value(match["value"]) not in values:
            return True
    # Does a brace after the last answer stay open, or does a number follow the brace, as in LaTeX's \boxed{4}?
    _, brace, rest = unicodedata.normalize("NFKC", surroundings[-1]).partition("{")
    from_brace = brace + rest
    stays_open = from_brace.count("{") > from_brace.count("}")
    return stays_open or _ANSWER_TRACES["braced_number"].search(from_brace) is not None


def _named_values(value: Any, object_name: str = "") -> Iterator[tuple[str, float | str]]:
    """Yield each number and each yes or no twice: with its own key, and with the name of the object that holds it."""
    if isinstance(value, list):
        for item in value:
            yield from _named_values(item)
    if not isinstance(value, dict):
        return
    object_name = object_name or str(value.get("id", ""))  # an object without a key, as in a list, may have an id
    for key, item in value.items():
        comparable = None if key in REASON_FIELDS else _comparable_value(item)
        if comparable is not None:
            yield key, comparable
            yield object_name or key, comparable
        yield from _named_values(item, key)


def _comparable_value(value: Any) -> float | str | None:
    text = str(value).strip().casefold()
    try:
        return float(text)
    except ValueError:
        return text if text in ("yes", "no", "true", "false") else None


# If all legal scores together are less probable, the judge meant something else, or too few alternatives were reported.
MIN_LEGAL_PROBABILITY = 0.5
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?")
_AROUND_NUMBER = " \t\n\r\"':,{}[]`"


def score_distribution(reply: Reply, legal: Sequence[float], field: str = "score") -> Mapping[float, float] | None:
    """Return the probability of each score in `legal` as the value of `field` in a JSON reply; they sum to 1.

    The token that holds the number has alternatives, whose probabilities are added up by the score that they mean.
    Alternatives that mean no legal score are ignored. If 10 is legal, "1" is ignored too, since it may begin a 10. If
    an alternative has two digits, 10 is a token as well, and "1" counts.

    `None` if no single token holds the number, or if all legal scores together have less than `MIN_LEGAL_PROBABILITY`.
    """
    if "".join(token.text for token in reply.tokens) != reply.text:
        return None
    # The number is the value of `field` in the only object that has this field.
    spans = [span_of_value(reply.text, candidate, field) for candidate in json_objects(reply.text)]
    field_spans = [span for span in spans if span]
    if len(field_spans) != 1:
        return None
    value_begin, value_end = field_spans[0]
    number = _NUMBER.fullmatch(reply.text[value_begin:value_end].strip(' \t\n\r"'))
    if not number:
        return None
    begin = reply.text.index(number[0], value_begin)
    end = begin + len(number[0])
    # Which token holds it?
    offset = 0
    for token in reply.tokens:
        if offset <= begin and end <= offset + len(token.text):
            by_number = _probability_by_number(token, token.text[: begin - offset], token.text[end - offset :])
            return _probability_by_score(by_number, legal)
        offset += len(token.text)
    return None


def _probability_by_number(token: Token, before: str, after: str) -> dict[str, float]:
    """Return the probability of each number in a token's alternatives; the token is `before`, a number and `after`."""
    probabilities: dict[str, float] = {}
    for text, logprob in token.alternatives:
        written = text.removeprefix(before).lstrip(_AROUND_NUMBER)
        number = _NUMBER.match(written)
        rest = written[number.end() :] if number else ""
        if number and (rest == after or not rest.strip(_AROUND_NUMBER)):
            probabilities[number[0]] = probabilities.get(number[0], 0.0) + math.exp(min(logprob, 0.0))
    return probabilities


def _probability_by_score(by_number: Mapping[str, float], legal: Sequence[float]) -> dict[float, float] | None:
    probabilities = dict.fromkeys(map(float, legal), 0.0)
    # A legal score may take several tokens if it is not among the numbers, and if it has a fraction or more digits than
    # each number. If such a score begins with one of the numbers, this number may be only the beginning of the score.
    max_digits = max((len(number.lstrip("-")) for number in by_number if "." not in number), default=0)
    absent_scores = {repr(score).removesuffix(".0") for score in probabilities} - by_number.keys()
    multi_token_scores = [score for score in absent_scores if "." in score or len(score.lstrip("-")) > max_digits]
    for number, probability in by_number.items():
        may_continue = any(score.startswith(number) for score in multi_token_scores)
        if float(number) in probabilities and not may_continue:
            probabilities[float(number)] += probability
    total = sum(probabilities.values())
    if total < MIN_LEGAL_PROBABILITY:
        return None
    return {score: probability / total for score, probability in probabilities.items()}
