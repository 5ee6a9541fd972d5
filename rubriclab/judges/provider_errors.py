"""Classification of providers' errors: refused for good, refused for this prompt, or worth a retry.

litellm's exceptions are distinguished by status, headers, body and class name, since several of them have a status of
500 that no server has sent.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any

from rubriclab.errors import JudgeError, JudgeRefused, JudgeUnavailable, PromptRejected
from rubriclab.judges.json_objects import json_objects
from rubriclab.judges.masking import masked
from rubriclab.judges.providers import key_variable, provider_of

TRANSIENT = {408, 409, 425, 429}
# Statuses from 500 on that refuse a request before it is processed.
OVERLOADED = {503, 529}
LONGEST_MESSAGE = 300
# Characters of a message that are searched: some of the patterns below take more than linear time.
LONGEST_READ = 8_000
# No key is longer.
LONGEST_ECHOED_KEY = 8_000

_NO_KEY = re.compile(r"missing\b.{0,200}?(api[ _]?key|credentials)|api_key client option must be set", re.IGNORECASE)
# Words of a prompt, or of its reply's limit, that the model's context does not hold.
_TOO_LONG = re.compile(
    r"context[ _-]?(?:length|size|window)|maximum (?:model|input|prompt) length|max_model_len|range of input length"
    r"|(?:prompt|input|messages|request)\b.{0,60}?\b(?:too (?:long|large|many tokens)|longer than|exceeds?)\b"
    r"|exceeds?\b.{0,60}?\b(?:context|input|prompt)\b|`?inputs`? tokens|reduce (?:the length|your message|the size)",
    re.IGNORECASE | re.DOTALL,
)
# The same where the status is that of a server error.
_NO_CONTEXT = re.compile(r"context[ _-]?(?:length|size|window)|maximum (?:model|input|prompt) length", re.IGNORECASE)
_TOO_LARGE = re.compile(r"request too large|reduce your message", re.IGNORECASE)
_FILTERED = re.compile(
    r"content[ _-]?(?:management|filter|policy)|responsible ?ai|\bflagged\b|requires moderation|inappropriate content"
    r"|usage polic|safety (?:system|filter|setting)|datainspection|prohibited[ _]content|sensitive content",
    re.IGNORECASE,
)
# Settings that no prompt has words of; a refusal that names one concerns all prompts, unless it is of the prompt.
_SETTING = re.compile(r"\b(?:max_(?:completion_)?tokens|response_format|json_schema|(?:top_)?logprobs)\b")
# What ends a command whatever the HTTP status: no prompt is answered.
_FOR_ALL = {"insufficient_quota", "model_not_found", "invalid_api_key", "invalid_model", "billing_hard_limit_reached"}
# Statuses that may concern this prompt alone.
_REFUSED = {400, 403, 406, 422, 451}
# litellm appends tracebacks, or lines of them, to some messages.
_TRACEBACK = re.compile(r"Traceback \(most recent call last\)|File \"[^\"\n]{1,1000}\", line \d")
# Paths of Python files and installed packages, on this machine or the server.
_PATH = re.compile(
    r"(?:[A-Za-z]:)?[\\/][^\s\"'<>|()]{0,300}?(?:(?:site|dist)-packages[^\s\"'<>|()]*|\.pyc?\b(?::\d+)?)(?:, line \d+)?"
)
# Errors of connections, by the package of the client and the name of the class.
_CONNECTION_ERRORS = {
    ("aiohttp", "ClientConnectionError"),
    ("aiohttp", "ClientPayloadError"),
    ("httpx", "TransportError"),
    ("openai", "APIConnectionError"),
    ("requests", "ConnectionError"),
    ("requests", "Timeout"),
    ("socket", "gaierror"),
    ("urllib", "URLError"),
    ("urllib3", "HTTPError"),
}
_PREFIX = re.compile(r"^(?:[\w.]*(?:Error|Exception|Timeout)(?:: | - ))+")


def translated(error: Exception, model: str) -> JudgeError:
    """Return this package's error for an error of litellm in a call of `model`."""
    status = getattr(error, "status_code", None) or 500
    message = f"{model}: {provider_message(error)}"
    message += "" if message.endswith((".", "!", "?", "…")) else "."
    if _NO_KEY.search(searched_message(error)):
        own = " (any text will do for a server of your own)" if provider_of(model) == "openai" else ""
        return JudgeRefused(message, f"Set {key_variable(model)}{own}.")
    code = str(_code(error))
    if code in _FOR_ALL:
        return JudgeRefused(message, _what_to_check(402 if code == "insufficient_quota" else 404, model))
    if status == 413 or is_too_long(error) or _is_filtered(error, status):
        return PromptRejected(message)
    if status in TRANSIENT or not 400 <= status < 500:  # below 400 the reply's body was damaged
        return JudgeUnavailable(message, retry_after=retry_after(_headers(error), searched_message(error)))
    if status in _REFUSED and not _SETTING.search(searched_message(error)):
        hint = _what_to_check(status, model) if status == 403 else None
        return PromptRejected(message, hint, is_doubtful=True)
    return JudgeRefused(message, _what_to_check(status, model))


def is_bad_request(error: Exception) -> bool:
    """Return whether the provider found the request itself at fault."""
    return getattr(error, "status_code", None) in (400, 422) or "BadRequestError" in _kinds(error)


def is_too_long(error: Exception) -> bool:
    """Return whether the model's context does not hold the prompt and its reply."""
    if "ContextWindowExceededError" in _kinds(error) or _code(error) == "context_length_exceeded":
        return True
    status, message = getattr(error, "status_code", None), searched_message(error)
    # One request that is larger than the limit of a minute has the status of a rate limit.
    pattern = {400: _TOO_LONG, 422: _TOO_LONG, 429: _TOO_LARGE, 500: _NO_CONTEXT}.get(status or 0)
    return pattern is not None and pattern.search(message) is not None


def _is_filtered(error: Exception, status: int) -> bool:
    """Return whether a filter of content refused the prompt; gateways report this with statuses of their own."""
    is_possible = status in _REFUSED or status >= 500
    return "ContentPolicyViolationError" in _kinds(error) or bool(
        is_possible and _FILTERED.search(searched_message(error))
    )


def provider_fault(error: Exception, who: str) -> JudgeError | None:
    """Return this package's error for a failed connection, a time-out or an HTTP status of an error in a plug-in.

    The common HTTP clients are told by class name, since none of them need be installed.

    Args:
        who: begins the message.

    Returns:
        `None` if the error has another cause.
    """
    status = _http_status(error)
    if status is None and not _is_lost_connection(error):
        return None
    message = f"{who}: {type(error).__name__}: {provider_message(error).rstrip('.')}."
    if status is None or status in TRANSIENT or status >= 500:
        fault = JudgeUnavailable(message, retry_after=retry_after(_headers(error)))
        refused = isinstance(_first_cause(error), ConnectionRefusedError)
        fault.may_be_billed = not refused if status is None else may_be_billed(status)
        return fault
    if status == 413:
        return PromptRejected(message)
    return JudgeRefused(message, "The provider does not accept the request; no retry can help.")


def may_be_billed(status: int) -> bool:
    """Return whether the provider may bill a request that ended with this HTTP status.

    With most statuses from 500 on, a gateway may have lost a reply that the provider bills.
    """
    return not (300 <= status < 500 or status in OVERLOADED) or status == 408


def provider_message(error: Exception) -> str:
    """Return the provider's message on one line, without keys, paths, tracebacks and litellm's class names."""
    message = _PREFIX.sub("", _TRACEBACK.split(searched_message(error))[0])
    if message.startswith("{") and isinstance(stated := _stated(message).get("message"), str):
        message = stated
    cause = _first_cause(error)
    if isinstance(cause, OSError) and str(cause) not in message:
        message = f"{message} {masked(str(cause))}"  # "Connection error." alone does not name the address
    line = " ".join(_PATH.sub("…", message).split()) or type(error).__name__
    return line if len(line) <= LONGEST_MESSAGE else line[: LONGEST_MESSAGE - 1] + "…"


def _http_status(error: Exception) -> int | None:
    response = getattr(error, "response", None)
    reported = (
        *(getattr(error, name, None) for name in ("status_code", "status", "code")),
        *(getattr(response, name, None) for name in ("status_code", "status")),
    )
    return next((each for each in reported if isinstance(each, int) and 400 <= each < 600), None)


def _is_lost_connection(error: Exception) -> bool:
    names = {(kind.__module__.partition(".")[0], kind.__name__) for kind in type(error).__mro__}
    return isinstance(error, ConnectionError | TimeoutError) or bool(names & _CONNECTION_ERRORS)


def searched_message(error: Exception) -> str:
    """Return the start of an error's message, with keys masked before it is cut."""
    # A longer start is masked than is read, because half a key would not be recognised.
    return masked(str(error)[: LONGEST_READ + LONGEST_ECHOED_KEY])[:LONGEST_READ]


def _kinds(error: Exception) -> set[str]:
    return {kind.__name__ for kind in type(error).__mro__}


def _what_to_check(status: int, model: str) -> str:
    if status in (401, 403):
        return f"Check the key in {key_variable(model)}, and whether it may use this model."
    if status == 402:
        return "The account behind the key has no credit left."
    if status == 404:
        return "Check the model's name, and the address if the server is your own."
    return "The provider does not accept the request; no retry can help."


def _first_cause(error: BaseException) -> BaseException:
    while (before := error.__cause__ or error.__context__) is not None:
        error = before
    return error


def _code(error: Exception) -> object:
    body = getattr(error, "body", None)
    return (body if isinstance(body, Mapping) else _stated(searched_message(error))).get("code")


def _stated(message: str) -> Mapping[str, Any]:
    """Return the error in the JSON of a response's body, as most providers state it; an empty one if there is none."""
    body: Mapping[str, Any] = next((found.value for found in json_objects(message)), {})
    error = body.get("error", body)
    return error if isinstance(error, Mapping) else {"message": error}


def _headers(error: Exception) -> Mapping[str, str]:
    headers = getattr(error, "litellm_response_headers", None)
    headers = headers or getattr(getattr(error, "response", None), "headers", None)
    return {str(key).lower(): str(value) for key, value in headers.items()} if headers else {}


# Seconds of a time of the epoch rather than a duration.
EPOCH = 1e9
# A date after it is a mistake.
LONGEST_PAUSE = timedelta(days=31)

_UNITS = {"mil": 0.001, "ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_UNIT = r"(?:milliseconds?|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|h|days?|d)(?![a-z])"
_TIME = rf"\d{{1,9}}(?:\.\d{{1,9}})?\s?{_UNIT}[\s,]{{0,2}}"
_PART = re.compile(r"([\d.]+)\s?(mil|ms|s|m|h|d)", re.IGNORECASE)
_CLOCK = r"\d{1,3}:\d\d:\d\d(?:\.\d{1,9})?"
_DURATION = rf"{_CLOCK}|(?:{_TIME})+"
_WAIT = re.compile(
    rf"(?:retry|try again|wait|resets? in|next request in)[^\d\n]{{0,30}}?(?P<wait>{_DURATION})", re.IGNORECASE
)
_FIELD = re.compile(
    r"retry[_-]?after(?:[_-]?(?:(?P<milli>ms)|seconds|secs?))?[\"']?\s?[:=]\s?[\"']?"
    r"(?P<number>\d{1,15}(?:\.\d{1,9})?)(?![\d.:]*\w)",
    re.IGNORECASE,
)
_RESET = re.compile(r"ratelimit-(?:.*-)?reset(?:-.*)?")


def retry_after(headers: Mapping[str, str], message: str = "") -> float | None:
    """Return the seconds that the provider asks to wait, in its headers or its message; `None` if it does not say.

    Where it only says when its limits are reset, those count that are used up, or may be: then the first one.

    Args:
        headers: with names in lower case.
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    fields = ((match["number"], 1000 if match["milli"] else 1) for match in _FIELD.finditer(message))
    stated = [
        None if milliseconds is None else milliseconds / 1000,
        _seconds(headers.get("retry-after")),
        *(_duration(match["wait"]) for match in _WAIT.finditer(message)),
        *(None if (seconds := _seconds(number)) is None else seconds / unit for number, unit in fields),
    ]
    pauses = [seconds for seconds in stated if seconds is not None]
    return max(pauses) if pauses else _until_reset(headers)


def _until_reset(headers: Mapping[str, str]) -> float | None:
    used_up, unknown = list[float](), list[float]()
    for name, value in headers.items():
        if _RESET.search(name) and (seconds := _seconds(value)) is not None:
            remaining = _number(headers.get(name.replace("reset", "remaining")))
            if not remaining:
                (unknown if remaining is None else used_up).append(seconds)
    return max(used_up) if used_up else min(unknown, default=None)


def _seconds(value: str | None) -> float | None:
    """Return the seconds that a header states: a number or several, a time of the epoch, a duration or a date."""
    numbers = [number for part in (value or "").split(",") if (number := _number(part)) is not None]
    if numbers:
        seconds = max(numbers)
        for unit in (1, 1000):
            if EPOCH <= seconds / unit < 100 * EPOCH:
                return max(0.0, seconds / unit - time.time())
        return seconds
    if value is None:
        return None
    return _duration(value) if re.fullmatch(_DURATION, value.strip(), re.IGNORECASE) else _seconds_until(value)


def _duration(text: str) -> float:
    if ":" in text:
        hours, minutes, seconds = map(float, text.split(":"))
        return 3600 * hours + 60 * minutes + seconds
    return sum(float(number) * _UNITS[unit.lower()] for number, unit in _PART.findall(text))


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return max(0.0, number) if math.isfinite(number) else None


def _seconds_until(date: str) -> float | None:
    try:
        then = datetime.fromisoformat(date) if date[:1].isdigit() else parsedate_to_datetime(date)
        pause = (then if then.tzinfo else then.replace(tzinfo=UTC)) - datetime.now(UTC)
    except (ValueError, OverflowError):  # the latter for years and zones beyond what a date can have
        return None
    return max(0.0, pause.total_seconds()) if pause <= LONGEST_PAUSE else None
