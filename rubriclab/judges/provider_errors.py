"""What a provider's error means here: refused for good, refused for this prompt, or worth a retry.

litellm's exceptions are told apart by what they carry (status, headers, body) and by the names of their classes,
because several of them come with a status of 500 that no server sent.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from rubriclab.errors import JudgeError, JudgeRefused, JudgeUnavailable, PromptRejected
from rubriclab.judges.providers import key_variable, provider_of
from rubriclab.masking import masked

REJECTED = {"ContextWindowExceededError", "ContentPolicyViolationError"}
TRANSIENT = {408, 409, 425, 429}
LONGEST_MESSAGE = 300
# More of what a server says is not looked at: some of the patterns below take time that grows faster than the text.
LONGEST_READ = 8_000

_NO_KEY = re.compile(r"missing\b.{0,200}?(api[ _]?key|credentials)|api_key client option must be set", re.IGNORECASE)
_SETTINGS = {
    "response_format": re.compile(r"response_?format|json_?schema|output_?format|structured output", re.IGNORECASE),
    "temperature": re.compile(r"\btemperature\b", re.IGNORECASE),
    "seed": re.compile(r"\bseed\b", re.IGNORECASE),
    "logprobs": re.compile(r"log[_ ]?prob", re.IGNORECASE),
}
# No refusals by their status, but these come again as long as log-probabilities are asked for: litellm takes damaged
# ones for a broken server, and llama-cpp-python refuses them with a status of 500.
_NO_LOGPROBS = re.compile(r"validation errors? for ChoiceLogprobs|logprobs is not supported", re.IGNORECASE)
# litellm puts Python's traceback, or lines of one, behind some messages.
_TRACEBACK = re.compile(r"Traceback \(most recent call last\)|File \"[^\"\n]{1,1000}\", line \d")
# Files of Python code and whatever lies in an environment's folder of packages, on this machine or the server.
_PATH = re.compile(
    r"(?:[A-Za-z]:)?[\\/][^\s\"'<>|()]{0,300}?(?:(?:site|dist)-packages[^\s\"'<>|()]*|\.pyc?\b(?::\d+)?)(?:, line \d+)?"
)
_PREFIX = re.compile(r"^(?:[\w.]*(?:Error|Exception|Timeout)(?:: | - ))+")


def translated(error: Exception, model: str) -> JudgeError:
    """Return this package's error for what litellm raised when `model` was asked."""
    status = getattr(error, "status_code", None) or 500
    said = f"{model}: {provider_message(error)}"
    said += "" if said.endswith((".", "!", "?", "…")) else "."
    if _NO_KEY.search(_said(error)):
        own = " (any text will do for a server of your own)" if provider_of(model) == "openai" else ""
        return JudgeRefused(said, f"Set {key_variable(model)}{own}.")
    if REJECTED & _kinds(error) or status == 413:
        return PromptRejected(said)
    if _code(error) == "insufficient_quota":
        return JudgeRefused(said, "The account behind the key has no credit left.")
    if status in TRANSIENT or not 400 <= status < 500:  # below 400 it was the reply's body that was damaged
        return JudgeUnavailable(said, retry_after=retry_after(_headers(error)))
    return JudgeRefused(said, _what_to_check(status, model))


def refused_setting(error: Exception, settings: Collection[str]) -> str | None:
    """Return which of the `settings` sent an error refuses; `None` if it is about something else."""
    if "BadRequestError" not in _kinds(error):
        return "logprobs" if "logprobs" in settings and _NO_LOGPROBS.search(_said(error)) else None
    named = (name for name in settings if name in _SETTINGS and _SETTINGS[name].search(_said(error)))
    return next(named, None)


def provider_message(error: Exception) -> str:
    """Return what the provider said on one line, without litellm's class names, tracebacks, paths, and without keys."""
    said = _PREFIX.sub("", _TRACEBACK.split(_said(error))[0])
    cause = _first_cause(error)
    if isinstance(cause, OSError) and str(cause) not in said:
        said = f"{said} {masked(str(cause))}"  # "Connection error." alone does not say to which address
    line = " ".join(_PATH.sub("…", said).split()) or type(error).__name__
    return line if len(line) <= LONGEST_MESSAGE else line[: LONGEST_MESSAGE - 1] + "…"


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that the provider asks to wait; `None` if it does not say, or not in a readable form."""
    if (milliseconds := _number(headers.get("retry-after-ms"))) is not None:
        return milliseconds / 1000
    wish = headers.get("retry-after")
    seconds = _number(wish)
    return seconds if seconds is not None or wish is None else _seconds_until(wish)


def _said(error: Exception) -> str:
    """Return the beginning of what an error says, with keys masked before anything is cut."""
    return masked(str(error))[:LONGEST_READ]


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
    return body.get("code") if isinstance(body, Mapping) else None


def _headers(error: Exception) -> Mapping[str, str]:
    found = getattr(error, "litellm_response_headers", None)
    found = found or getattr(getattr(error, "response", None), "headers", None)
    return {str(key).lower(): str(value) for key, value in found.items()} if found else {}


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return max(0.0, number) if math.isfinite(number) else None


def _seconds_until(date: str) -> float | None:
    try:
        then = parsedate_to_datetime(date)
    except ValueError:
        return None
    then = then if then.tzinfo else then.replace(tzinfo=UTC)
    return max(0.0, (then - datetime.now(UTC)).total_seconds())
