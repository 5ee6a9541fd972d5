"""A provider's response: limits on its size, what it reports besides the text, and the probabilities of scores."""

from __future__ import annotations

import codecs
import itertools
import math
import re
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from rubriclab.errors import JudgeError, PromptRejected, ReplyTooLarge
from rubriclab.judges.judge import Reply, Token
from rubriclab.judges.options import DEFAULT_MAX_REPLY_BYTES
from rubriclab.judges.providers import without_keys
from rubriclab.judges.replies import json_objects, span_of_value
from rubriclab.prompts.prompt import Prompt

# Text has about 4 bytes per token, or 12 if escapes in JSON triple its length; only control characters need more.
MAX_BYTES_PER_TOKEN = 16
# One alternative at one position: the token, its log-probability, and its bytes as a list of numbers.
BYTES_PER_ALTERNATIVE = 160
# The rest of a response: names, counts, annotations.
FRAME_BYTES = 64_000


@dataclass
class ResponseRecord:
    """What is known of the response to one prompt while it is received.

    Attributes:
        limit: the most bytes of the decompressed response body.
        fault: why no more of the response is received.
        may_be_billed: whether the provider may bill the request; `None` while that is unknown.
    """

    model: str
    limit: int = DEFAULT_MAX_REPLY_BYTES
    fault: JudgeError | None = None
    may_be_billed: bool | None = None

    def mark_too_large(self) -> ReplyTooLarge:
        """Set `fault` to the error of a reply beyond the limit, and return it."""
        self.fault = ReplyTooLarge(f"{self.model}: unusable reply: it is larger than {self.limit:,} bytes.")
        return self.fault

    def with_billing(self, error: JudgeError) -> JudgeError:
        # A rejected prompt keeps `may_be_billed` as true, since Azure bills it.
        if self.may_be_billed is not None and not isinstance(error, PromptRejected):
            error.may_be_billed = self.may_be_billed
        return error


# Set for each request; it reaches the transport through litellm and the provider's client.
CURRENT_RESPONSE: ContextVar[ResponseRecord | None] = ContextVar("response", default=None)


def text_limit(prompt: Prompt[Any], hidden_tokens: int, max_bytes: int) -> int:
    """Return the most bytes of a reply's text; `hidden_tokens` are those of hidden reasoning."""
    return min(max_bytes, MAX_BYTES_PER_TOKEN * (prompt.max_tokens + hidden_tokens))


def body_limit(prompt: Prompt[Any], hidden_tokens: int, max_bytes: int) -> int:
    """Return the most bytes of a response's body: at most `max_bytes`, plus those of log-probabilities."""
    tokens = prompt.max_tokens + hidden_tokens
    logprob_bytes = tokens * (prompt.alternatives + 1) * BYTES_PER_ALTERNATIVE if prompt.alternatives else 0
    return min(max_bytes, FRAME_BYTES + MAX_BYTES_PER_TOKEN * tokens) + logprob_bytes


MAX_NAME_CHARACTERS = 200
MAX_REFUSAL_CHARACTERS = 200
# More tokens than a reply can have.
MAX_TOKENS = 100_000_000

_TOKEN_COUNT_ENDINGS = ("tokens", "Tokens", "TokenCount")


def stated_status(body: Any) -> int | None:
    """Return the status of an error that a gateway passed on with the HTTP status 200; `None` if there is none."""
    error = body.get("error") if isinstance(body, Mapping) else None
    fields = error if isinstance(error, Mapping) else {"message": error}
    if not error or (not fields.get("message") and fields.get("code") is None):
        return None  # some servers send an empty error with every reply
    status = _whole_number(fields.get("code"))
    if status is not None and 400 <= status < 600:
        return status
    return 400 if fields.get("type") == "invalid_request_error" else 502


def repaired_reply(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return a body that litellm reads correctly.

    Token counts become whole, or 0 if unusable. Parts of a text are joined. Other names of content filters in
    `finish_reason` become `content_filter`.
    """
    repaired, usage, choices = dict(body), body.get("usage"), body.get("choices")
    if usage is not None:
        repaired["usage"] = _usable_counts(usage) if isinstance(usage, Mapping) else {}
    if isinstance(choices, list):
        repaired["choices"] = [_repaired_choice(each) if isinstance(each, Mapping) else each for each in choices]
    return repaired


def _repaired_choice(choice: Mapping[str, Any]) -> dict[str, Any]:
    repaired, message = dict(choice), choice.get("message")
    if str(choice.get("finish_reason")).casefold().startswith(("content_filter", "safety")):
        repaired["finish_reason"] = "content_filter"
    parts = message.get("content") if isinstance(message, Mapping) else None
    if isinstance(message, Mapping) and isinstance(parts, list):
        texts = (part.get("text") for part in parts if isinstance(part, Mapping))
        repaired["message"] = {**message, "content": "".join(text for text in texts if isinstance(text, str))}
    return repaired


def _usable_counts(usage: Mapping[str, Any]) -> dict[str, Any]:
    counts: dict[str, Any] = {}
    for name, value in usage.items():
        if name.endswith(_TOKEN_COUNT_ENDINGS):
            number = _whole_number(value)
            counts[name] = number if number is not None and 0 <= number <= MAX_TOKENS else 0
        else:
            counts[name] = _usable_counts(value) if isinstance(value, Mapping) else value
    return counts


def _whole_number(value: Any) -> int | None:
    if not isinstance(value, int | float | str) or isinstance(value, bool):
        return None
    try:
        return math.ceil(float(value))
    except (ValueError, OverflowError):  # not a number, or infinite
        return None


def why_empty(choice: Any) -> str:
    """Return why a response has no text, or "" if the response does not say; without any choice, `choice` is `None`."""
    if choice is None:
        return "the response held no reply."
    message = choice.message
    extra = {**(getattr(choice, "provider_specific_fields", None) or {}), **(message.provider_specific_fields or {})}
    if refusal := extra.get("refusal"):
        return f"the model refused: {without_surrogates(str(refusal)[:MAX_REFUSAL_CHARACTERS].rstrip('.'))!r}."
    if choice.finish_reason == "length":
        return "hidden reasoning reached the limit on tokens before the reply began."
    if message.tool_calls or getattr(message, "function_call", None):
        return "the answer was in a call of a tool instead of the text."
    if getattr(message, "reasoning_content", None) or extra.get("reasoning"):
        return "there was hidden reasoning, and no text after it."
    return "the provider reported an error instead of a reply." if extra.get("native_finish_reason") == "error" else ""


def token_count(reported: Any) -> int:
    return reported if type(reported) is int and 0 <= reported <= MAX_TOKENS else 0


def without_surrogates(text: str) -> str:
    """Return `text` with lone surrogates replaced, which no provider, file or database accepts."""
    return text.encode("utf-8", "replace").decode("utf-8")


# How far above 0 a log-probability may be after 32-bit arithmetic.
ROUNDING = 1e-3
# OpenAI's log-probability for "very unlikely"; other providers report minus infinity, which JSON cannot hold.
VERY_UNLIKELY = -9999.0


def _encodable(text: str) -> str:
    text.encode()  # a lone surrogate cannot be stored; the error is a ValueError
    return text


class _Alternative(BaseModel):
    """A token and its log-probability; litellm returns objects or dictionaries."""

    model_config = ConfigDict(strict=True, from_attributes=True)

    token: Annotated[str, AfterValidator(_encodable)]
    logprob: float = Field(le=ROUNDING)

    @property
    def alternative(self) -> tuple[str, float]:
        return self.token, min(0.0, max(VERY_UNLIKELY, self.logprob))


class _Position(_Alternative):
    bytes: list[Annotated[int, Field(ge=0, le=255)]] | None = None
    top_logprobs: list[_Alternative] = Field(min_length=1)

    @property
    def alternatives(self) -> tuple[tuple[str, float], ...]:
        likely = tuple(token.alternative for token in self.top_logprobs)
        return likely if self.token in dict(likely) else (*likely, self.alternative)


class _Report(BaseModel):
    model_config = ConfigDict(strict=True, from_attributes=True)

    content: list[_Position]


def reported_tokens(report: Any, text: str) -> tuple[Token, ...]:
    """Return the tokens of `text` with their alternatives, from a choice's `logprobs` in OpenAI's chat format.

    The result is empty if anything is damaged or missing, if no run of tokens joins to `text`, or if they hold a key of
    the API.
    """
    try:
        positions = _Report.model_validate(report).content
    except ValidationError:
        return ()
    # Decoded from bytes, a character that spans several tokens belongs to the last of them.
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    decoded = [decoder.decode(bytes(position.bytes or position.token.encode())) for position in positions]
    for pieces in ([position.token for position in positions], decoded):
        run = _run_of_tokens(pieces, text)
        if run is not None:
            pairs = zip(pieces[run], positions[run], strict=True)
            tokens = tuple(Token(piece, position.alternatives) for piece, position in pairs)
            alternatives = "\0".join(written for token in tokens for written, _ in token.alternatives)
            return tokens if without_keys(alternatives) == alternatives else ()
    return ()


def _run_of_tokens(pieces: Sequence[str], text: str) -> slice | None:
    """Return the last run of `pieces` that joins to `text`, since hidden reasoning may quote the reply."""
    joined = "".join(pieces)
    # Backwards, because `find` takes linear time, and `rfind` does not.
    from_end = joined[::-1].find(text[::-1]) if text else -1
    start = len(joined) - from_end - len(text)
    bounds = list(itertools.accumulate(map(len, pieces), initial=0))
    if from_end < 0 or start not in bounds or start + len(text) not in bounds:
        return None
    return slice(bounds.index(start), bounds.index(start + len(text)))


# If the sum over the legal scores is lower, the judge meant something else, or too few alternatives were reported.
MIN_LEGAL_PROBABILITY = 0.5
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?")
_AROUND_NUMBER = " \t\n\r\"':,{}[]`"


def score_distribution(reply: Reply, legal: Sequence[float], field: str = "score") -> Mapping[float, float] | None:
    """Return the probability of each score in `legal` as the value of `field` in a JSON reply; they sum to 1.

    The probabilities are those of the alternatives to the single token that holds the number. Alternatives that mean
    the same score are added up. Alternatives that mean no legal score are ignored. If 10 is legal, "1" is also ignored,
    since it may begin a 10, unless some alternative has two digits: this shows that 10 is a single token as well.

    `None` if no single token holds the number, or if all legal scores together have less than `MIN_LEGAL_PROBABILITY`.
    """
    if "".join(token.text for token in reply.tokens) != reply.text:
        return None
    span = _span_of_number(reply.text, field)
    if span is None:
        return None
    begin, end = span
    offset = 0
    for token in reply.tokens:
        if offset <= begin and end <= offset + len(token.text):
            by_number = _probability_by_number(token, token.text[: begin - offset], token.text[end - offset :])
            return _probability_by_score(by_number, legal)
        offset += len(token.text)
    return None


def _span_of_number(text: str, field: str) -> tuple[int, int] | None:
    spans = [span_of_value(text, candidate, field) for candidate in json_objects(text)]
    field_spans = [span for span in spans if span]
    if len(field_spans) != 1:
        return None
    value_begin, value_end = field_spans[0]
    number = _NUMBER.fullmatch(text[value_begin:value_end].strip(' \t\n\r"'))
    if not number:
        return None
    begin = text.index(number[0], value_begin)
    return begin, begin + len(number[0])


def _probability_by_number(token: Token, before: str, after: str) -> dict[str, float]:
    """Return the probability of each number in a token's alternatives; `before` and `after` surround its number."""
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
    # A score counts as one token if it is among the numbers, or is an integer with no more digits than one of them.
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
