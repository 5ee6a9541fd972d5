"""A provider's response to a prompt: a reply or an error.

Of a reply, `ResponseRecord` limits the size, `repaired_reply` corrects what litellm would misread, and
`reported_tokens` returns the tokens with the probabilities of their alternatives. Of an error, `judge_error_from` says
whether a retry can help, `AdjustedSettings.after` adjusts what was refused, and `retry_after` returns how long to wait.
All three search messages for known wordings.
"""

from __future__ import annotations

import codecs
import itertools
import math
import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from rubriclab.errors import JudgeError, JudgeRefused, JudgeUnavailable, MissingKey, PromptRejected, ReplyTooLarge
from rubriclab.judges.options import DEFAULT_MAX_REPLY_BYTES
from rubriclab.judges.providers import key_variable, mask_env_keys, mask_keys, provider_of
from rubriclab.judges.replies import Token, json_objects
from rubriclab.models.base import load_patterns
from rubriclab.prompts.prompt import Prompt

# Text has about 4 bytes per token, or 12 if escapes in JSON triple its length; only control characters need more.
MAX_BYTES_PER_TOKEN = 16
# One alternative at one position: the token, its log-probability, and its bytes as a list of numbers.
BYTES_PER_ALTERNATIVE = 160
# The parts of a response besides the reply's text and the log-probabilities: names, counts, annotations.
MAX_BYTES_BESIDE_REPLY = 64_000


@dataclass
class ResponseRecord:
    """What is known of the response to one prompt while it is received.

    Attributes:
        limit: the largest size of the decompressed response body, in bytes.
        fault: why no more of the response is received.
        may_be_billed: whether the provider may bill the request; `None` until it is sent.
    """

    model: str
    limit: int = DEFAULT_MAX_REPLY_BYTES
    fault: JudgeError | None = None
    may_be_billed: bool | None = None

    def too_large_error(self) -> ReplyTooLarge:
        """Return the error of a reply beyond the limit, which becomes the `fault`."""
        self.fault = ReplyTooLarge(f"{self.model}: unusable reply: it is larger than {self.limit:,} bytes.")
        return self.fault

    def set_may_be_billed(self, error: JudgeError) -> JudgeError:
        # A rejected prompt keeps `may_be_billed` as true, since Azure bills it.
        if self.may_be_billed is not None and not isinstance(error, PromptRejected):
            error.may_be_billed = self.may_be_billed
        return error


# Set for each request; it reaches the transport through litellm and the provider's client.
CURRENT_RESPONSE: ContextVar[ResponseRecord | None] = ContextVar("response", default=None)


def text_limit(prompt: Prompt[Any], hidden_tokens: int, max_bytes: int) -> int:
    """Return the largest size in bytes of a reply's text, which may also use the tokens meant for hidden reasoning."""
    return min(max_bytes, MAX_BYTES_PER_TOKEN * (prompt.max_tokens + hidden_tokens))


def body_limit(prompt: Prompt[Any], hidden_tokens: int, max_bytes: int) -> int:
    """Return the largest size in bytes of a response's body: up to `max_bytes`, plus the log-probabilities."""
    tokens = prompt.max_tokens + hidden_tokens
    logprob_bytes = tokens * (prompt.alternatives + 1) * BYTES_PER_ALTERNATIVE if prompt.alternatives else 0
    return min(max_bytes, MAX_BYTES_BESIDE_REPLY + MAX_BYTES_PER_TOKEN * tokens) + logprob_bytes


MAX_NAME_CHARACTERS = 200  # of a model's name
MAX_REFUSAL_CHARACTERS = 200
MAX_TOKENS = 100_000_000  # more than a reply can have

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
    repaired, usage, choices = dict(body), body.get("usage"), body.get("choices")
    if usage is not None:
        repaired["usage"] = _usable_counts(usage) if isinstance(usage, Mapping) else {}
    if isinstance(choices, list):
        repaired["choices"] = [dict(choice) if isinstance(choice, Mapping) else choice for choice in choices]
        for choice in repaired["choices"]:
            if not isinstance(choice, dict):
                continue
            # Content filters have several names.
            if str(choice.get("finish_reason")).casefold().startswith(("content_filter", "safety")):
                choice["finish_reason"] = "content_filter"
            # A text may come in parts.
            message = choice.get("message")
            parts = message.get("content") if isinstance(message, Mapping) else None
            if isinstance(message, Mapping) and isinstance(parts, list):
                texts = (part.get("text") for part in parts if isinstance(part, Mapping))
                choice["message"] = {**message, "content": "".join(text for text in texts if isinstance(text, str))}
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
    """Return why a response has no text, "" if unknown; `choice` is the reply in the response, `None` without one."""
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


def token_count(*reported: Any, most: int = MAX_TOKENS) -> int:
    """Return the first of the reported numbers of tokens that is from 1 to `most`; 0 if there is none."""
    return next((number for number in reported if type(number) is int and 0 < number <= most), 0)


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


class _LogprobReport(BaseModel):
    model_config = ConfigDict(strict=True, from_attributes=True)

    content: list[_Position]


def reported_tokens(report: Any, text: str) -> tuple[Token, ...]:
    """Return the tokens of `text` with their alternatives, from `logprobs` in the format of OpenAI's chat API.

    The result is empty if the report is damaged or missing, if no run of its tokens makes up `text`, or if an
    alternative holds an API key.
    """
    try:
        positions = _LogprobReport.model_validate(report).content
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
            return tokens if mask_env_keys(alternatives) == alternatives else ()
    return ()


def _run_of_tokens(pieces: Sequence[str], text: str) -> slice | None:
    """Return which `pieces` in a row make up `text`: the last ones, since hidden reasoning may quote the reply."""
    joined = "".join(pieces)
    # Backwards, because `find` takes linear time, and `rfind` does not.
    from_end = joined[::-1].find(text[::-1]) if text else -1
    start = len(joined) - from_end - len(text)
    bounds = list(itertools.accumulate(map(len, pieces), initial=0))
    if from_end < 0 or start not in bounds or start + len(text) not in bounds:
        return None
    return slice(bounds.index(start), bounds.index(start + len(text)))


# Patterns of the errors of providers, and of what providers call settings; the file explains them.
_WORDINGS = Path(__file__).with_name("error_wordings.toml")
ERRORS, SETTINGS = load_patterns(_WORDINGS, "errors"), load_patterns(_WORDINGS, "settings")

MAX_SHOWN_CHARACTERS = 300
# Only the start of a message is searched, since some of the patterns take more than linear time.
MAX_SEARCHED_CHARACTERS = 8_000
# Characters after `MAX_SEARCHED_CHARACTERS` that are kept until keys are masked, since half a key is not recognized.
MASKING_MARGIN = 8_000

# The HTTP status that means the same as an error code. The other codes in `_FATAL_CODES` mean 404.
_STATUS_BY_CODE = {"invalid_api_key": 401, "insufficient_quota": 402, "billing_hard_limit_reached": 402}
# Error codes that end a command whatever the HTTP status, since no prompt will be answered.
_FATAL_CODES = {*_STATUS_BY_CODE, "model_not_found", "invalid_model"}
# Statuses of refusals that may concern one prompt only.
_STATUSES_OF_SINGLE_PROMPTS = {400, 403, 406, 422, 451}
# litellm appends tracebacks, or lines of them, to some messages.
_TRACEBACK = re.compile(r"Traceback \(most recent call last\)|File \"[^\"\n]{1,1000}\", line \d")
# Paths of Python files and installed packages, on this machine or the server.
_PATH = re.compile(
    r"(?:[A-Za-z]:)?[\\/][^\s\"'<>|()]{0,300}?(?:(?:site|dist)-packages[^\s\"'<>|(),]*|\.pyc?\b(?::\d+)?)"
    r"(?:, line \d+)?"
)
# aiohttp appends the repr of its SSL context to an address.
_SSL = re.compile(r" ssl:(?:<[^<>]{0,100}>|\w{1,20})")
_ERROR_NAMES = re.compile(r"^(?:[\w.]*(?:Error|Exception|Timeout)(?:: | - ))+")


def judge_error_from(error: Exception, model: str, variable: str | None = None) -> JudgeError:
    """Return this package's error for an error of litellm; `variable` names the environment variable with the key."""
    variable = variable or key_variable(model)
    status: int = getattr(error, "status_code", None) or 500
    searched, message = searched_message(error), f"{model}: {provider_message(error)}"
    if not message.endswith((".", "!", "?", "…")):
        message += "."
    if ERRORS["no_key"].search(searched):
        addition = " (any text will do for a server of your own)" if provider_of(model) == "openai" else ""
        return MissingKey(message, f"Set {variable}{addition}.")
    code = str(_error_code(error))
    if code in _FATAL_CODES:
        return JudgeRefused(message, _what_to_check(_STATUS_BY_CODE.get(code, 404), variable))
    # Gateways report content filters with various statuses.
    may_be_filtered = status in _STATUSES_OF_SINGLE_PROMPTS or status >= 500
    is_filtered = may_be_filtered and ERRORS["filtered"].search(searched)
    if status == 413 or exceeds_context(error) or is_filtered or "ContentPolicyViolationError" in _class_names(error):
        return PromptRejected(message)
    if status in (408, 409, 425, 429) or not 400 <= status < 500:  # below 400 the reply's body was damaged
        response = getattr(error, "response", None)
        raw_headers = getattr(error, "litellm_response_headers", None) or getattr(response, "headers", None) or {}
        headers = {str(key).lower(): str(value) for key, value in raw_headers.items()}
        return JudgeUnavailable(message, retry_after=retry_after(headers, searched))
    if status in _STATUSES_OF_SINGLE_PROMPTS and not ERRORS["setting"].search(searched):
        return PromptRejected(message, _what_to_check(403, variable) if status == 403 else None, may_concern_all=True)
    return JudgeRefused(message, _what_to_check(status, variable))


def exceeds_context(error: Exception) -> bool:
    """Return whether an error says that the prompt and its reply exceed the model's context."""
    if "ContextWindowExceededError" in _class_names(error) or _error_code(error) == "context_length_exceeded":
        return True
    status, message = getattr(error, "status_code", None), searched_message(error)
    # A single request above the limit on tokens per minute is answered with 429.
    wording = {400: "too_long", 422: "too_long", 429: "too_large", 500: "too_long_500"}.get(status or 0)
    return wording is not None and ERRORS[wording].search(message) is not None


def may_be_billed(status: int) -> bool:
    # From 500 on, a gateway may have lost a reply that the provider bills. An overload refuses a request at once.
    is_refused = (300 <= status < 500 and status != 408) or status in (503, 529)
    return not is_refused


def provider_message(error: Exception) -> str:
    """Return the provider's message for users: one line without keys, paths, tracebacks and names of classes."""
    message = _ERROR_NAMES.sub("", _TRACEBACK.split(searched_message(error))[0])
    stated = _error_fields(message).get("message") if message.startswith("{") else None
    if isinstance(stated, str):
        message = stated
    # The message may be just "Connection error."; its cause names the address.
    cause: BaseException | None = error
    while cause and not isinstance(cause, OSError):
        cause = cause.__cause__ or cause.__context__
    if cause and str(cause) not in message:
        message = f"{message} {mask_keys(str(cause))}"
    line = " ".join(_PATH.sub("…", _SSL.sub("", message)).split()) or type(error).__name__
    return line if len(line) <= MAX_SHOWN_CHARACTERS else line[: MAX_SHOWN_CHARACTERS - 1] + "…"


def searched_message(error: Exception) -> str:
    """Return the start of an error's message, in which patterns are searched, with keys masked."""
    return mask_keys(str(error)[: MAX_SEARCHED_CHARACTERS + MASKING_MARGIN])[:MAX_SEARCHED_CHARACTERS]


def _class_names(error: Exception) -> set[str]:
    return {kind.__name__ for kind in type(error).__mro__}


def _what_to_check(status: int, variable: str) -> str:
    key = f"Check the key in {variable}, and whether it may use this model."
    return {
        401: key,
        402: "The account behind the key has no credit left, or has reached its spending limit.",
        403: key,
        404: "Check the model's name, and the address if the server is your own.",
    }.get(status, "The provider does not accept the request; no retry can help.")


def _error_code(error: Exception) -> object:
    body = getattr(error, "body", None)
    fields = body if isinstance(body, Mapping) else _error_fields(searched_message(error))
    return fields.get("code")


def _error_fields(message: str) -> Mapping[str, Any]:
    body: Mapping[str, Any] = next((candidate.value for candidate in json_objects(message)), {})
    error = body.get("error", body)
    return error if isinstance(error, Mapping) else {"message": error}


# What providers call the limit on a reply's tokens. The second name is sent after a refusal of the first.
LIMIT_NAMES = ("max_tokens", "max_completion_tokens")
_STATUS = re.compile(r"\b(?:code|status)\W{1,4}\d{3}\b", re.IGNORECASE)
_NUMBER = re.compile(r"(?<![\w.])\d{1,9}(?![\w.]*\w)")


@dataclass(frozen=True)
class AdjustedSettings:
    """What is changed in requests to a model because its provider refused earlier ones.

    Attributes:
        dropped: settings that are not sent.
        token_limit_name, highest_token_limit: the name and the highest accepted value of the limit on a reply's tokens.
        no_room_for_reasoning: whether the model's context has no room for hidden reasoning.
        without_system: whether the system's turn is sent as part of the user's.
        without_ranges: whether JSON schemas are sent without the minima and maxima of numbers.
    """

    dropped: frozenset[str] = frozenset()
    token_limit_name: str = LIMIT_NAMES[0]
    highest_token_limit: float = math.inf
    no_room_for_reasoning: bool = False
    without_system: bool = False
    without_ranges: bool = False

    def after(
        self, error: Exception, sent: Collection[str], token_limit: int | None, reply_tokens: int
    ) -> AdjustedSettings | None:
        """Return what to change after `error`, or `None` if no change of the settings in `sent` can help.

        `token_limit` is the limit that was sent; `reply_tokens` is the part of it without hidden reasoning.
        """
        message = searched_message(error)
        is_bad_request = getattr(error, "status_code", None) in (400, 422) or "BadRequestError" in _class_names(error)
        if not (is_bad_request or ERRORS["unsupported"].search(message)):
            return None
        mentions_limit = self.token_limit_name in sent and _mentions(message, self.token_limit_name)
        is_only_about_limit = mentions_limit and not ERRORS["prompt_size"].search(message)
        if exceeds_context(error) and not is_only_about_limit:
            included_reasoning = (token_limit or 0) > reply_tokens and not self.no_room_for_reasoning
            return replace(self, no_room_for_reasoning=True) if mentions_limit and included_reasoning else None
        if mentions_limit:
            return self._with_other_limit(message, token_limit)
        if not self.without_system and ERRORS["no_system"].search(message):
            return replace(self, without_system=True)
        if not self.without_ranges and ERRORS["ranges"].search(message):
            return replace(self, without_ranges=True)
        mentioned = sorted(name for name in sent if _mentions(message, name))
        return replace(self, dropped=self.dropped | {mentioned[0]}) if mentioned else None

    def _with_other_limit(self, message: str, token_limit: int | None) -> AdjustedSettings | None:
        numbers = map(int, _NUMBER.findall(_STATUS.sub("", message)))
        lower_limits = [number for number in numbers if token_limit is not None and 1 < number < token_limit]
        may_have_other_name = self.token_limit_name == LIMIT_NAMES[0] and re.search(rf"\b{LIMIT_NAMES[0]}\b", message)
        if may_have_other_name and (not lower_limits or ERRORS["unsupported"].search(message)):
            return replace(self, token_limit_name=LIMIT_NAMES[1])
        if not lower_limits:
            return None
        is_exclusive = ERRORS["exclusive"].search(message)  # as in "less than 4096"
        return replace(self, highest_token_limit=max(lower_limits) - 1 if is_exclusive else max(lower_limits))


def _mentions(message: str, setting: str) -> bool:
    pattern = SETTINGS.get("limit" if setting in LIMIT_NAMES else setting)
    return re.search(pattern or rf"(?i)\b{setting}\b", message) is not None


_SECONDS_BY_UNIT = {"mil": 0.001, "ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}  # "mil": milliseconds
_UNIT = r"(?:milliseconds?|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|h|days?|d)(?![a-z])"
_DURATION = rf"(?:\d{{1,9}}(?:\.\d{{1,9}})?\s?{_UNIT}[\s,]{{0,2}})+"
_AMOUNT = re.compile(r"([\d.]+)\s?(mil|ms|s|m|h|d)", re.IGNORECASE)
_WAIT = re.compile(
    rf"(?:retry|try again|wait|resets? in|next request in)[^\d\n]{{0,30}}?(?P<wait>{_DURATION})", re.IGNORECASE
)
_RETRY_AFTER_FIELD = re.compile(
    r"retry[_-]?after(?:[_-]?(?:(?P<milli>ms)|seconds|secs?))?[\"']?\s?[:=]\s?[\"']?"
    r"(?P<number>\d{1,15}(?:\.\d{1,9})?)(?![\d.:]*\w)",
    re.IGNORECASE,
)


def retry_after(headers: Mapping[str, str], message: str = "") -> float | None:
    """Return the longest wait in seconds that the headers (in lower case) or the message ask for, or `None`."""
    # The values of headers and fields, each with its units per second: 1 for seconds, 1000 for milliseconds.
    stated = [(headers.get("retry-after", ""), 1), (headers.get("retry-after-ms", ""), 1000)]
    stated += [(match["number"], 1000 if match["milli"] else 1) for match in _RETRY_AFTER_FIELD.finditer(message)]
    pauses = [_duration(match["wait"]) for match in _WAIT.finditer(message)]
    for value, units_per_second in stated:
        pause = _parsed_seconds(value)
        if pause is not None:
            pauses.append(pause / units_per_second)
    return max(pauses, default=None)


def _parsed_seconds(value: str) -> float | None:
    """Return the seconds that a number, a duration such as 1m30s or an HTTP date means, at least 0; else `None`."""
    if re.fullmatch(_DURATION, value.strip(), re.IGNORECASE):
        return _duration(value)
    with suppress(ValueError):
        seconds = float(value)
        return max(0.0, seconds) if math.isfinite(seconds) else None
    with suppress(ValueError, OverflowError):  # a date overflows if its year or zone is out of range
        date = parsedate_to_datetime(value)
        if date.tzinfo is None:
            date = date.replace(tzinfo=UTC)
        return max(0.0, (date - datetime.now(UTC)).total_seconds())
    return None


def _duration(text: str) -> float:
    return sum(float(number) * _SECONDS_BY_UNIT[unit.lower()] for number, unit in _AMOUNT.findall(text))
