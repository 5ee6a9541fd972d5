"""What is known of providers: their keys, addresses and prices, and what their errors mean."""

from __future__ import annotations

import functools
import json
import logging
import math
import os
import re
import warnings
from base64 import b64encode
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit

from rubriclab.errors import JudgeError, JudgeRefused, JudgeUnavailable, MissingKey, PromptRejected, SettingsError
from rubriclab.judges.options import Price
from rubriclab.judges.replies import json_objects
from rubriclab.models.base import load_patterns
from rubriclab.prompts.render import Message

# Keys and passwords in texts from outside are masked before they are shown or stored, as servers may echo requests.
MASK = "***"
# Characters. A shorter value is a placeholder, such as `none` for a server without keys; masking it garbles messages.
MIN_KEY = 8
# Characters. Longer values are documents, such as the credentials of a service account, which are masked as a whole.
MAX_KEY = 1000
# This many first or last characters identify a key if marks such as asterisks or dots replace its other characters.
SHOWN_END = 4

# Patterns of secrets, of the errors of providers, and of what providers call settings; the files explain them.
_SECRETS = load_patterns(Path(__file__).with_name("secrets.toml"))
_WORDINGS = Path(__file__).with_name("error_wordings.toml")
ERRORS, SETTINGS = load_patterns(_WORDINGS, "errors"), load_patterns(_WORDINGS, "settings")


def masked(text: str, environment: Mapping[str, str] | None = None) -> str:
    """Return a message with everything masked that may be a key.

    A key is recognised by its form, by the name of its field, or as part of a key in `environment`.
    """
    text = without_keys(text, environment)
    for key in _keys(environment):
        text = _partial_key(key).sub(MASK, text)
    for name in ("parameter", "field", "header", "bearer", "basic"):
        for match in reversed(list(_SECRETS[name].finditer(text))):
            text = text[: match.start("value")] + MASK + text[match.end() :]
    text = _SECRETS["form"].sub(MASK, text)
    text = _SECRETS["starred"].sub(MASK, text)
    return _SECRETS["user_info"].sub(f"{MASK}@", text)


def without_keys(text: str, environment: Mapping[str, str] | None = None) -> str:
    """Return `text` with the keys of the environment masked, also percent-encoded and in base64, and nothing else."""
    for key in _keys(environment):
        text = text.replace(key, MASK)
        if len(key) <= MAX_KEY:
            text = _encoded_key(key).sub(MASK, text)
    return text


def _keys(environment: Mapping[str, str] | None) -> list[str]:
    variables = os.environ if environment is None else environment
    keys = {value.strip() for name, value in variables.items() if _SECRETS["variable"].search(name)}
    # The longest first, as one key may contain another.
    return sorted((key for key in keys if len(key) >= MIN_KEY), key=lambda key: (-len(key), key))


@lru_cache(maxsize=64)
def _encoded_key(key: str) -> re.Pattern[str]:
    """Return a pattern for the key percent-encoded, wholly or partly, escaped for JSON, and in base64."""
    content = key.encode("utf-8", "surrogateescape")
    patterns = []
    for before in range(3):  # the number of preceding bytes modulo 3, on which the key in base64 depends
        # A character encodes six bits. Characters that also encode neighbouring bytes are left out.
        first, end = math.ceil(before * 8 / 6), (before + len(content)) * 8 // 6
        code = b64encode(b"\0" * before + content).decode()[first:end].replace("+", r"[+\-]").replace("/", "[/_]")
        patterns.append(rf"[A-Za-z0-9+/_\-]{{0,3}}{code}[A-Za-z0-9+/_\-]{{0,3}}={{0,2}}")
    literal = ""
    for character in key:
        percent = "".join(f"%{byte:02x}" for byte in character.encode("utf-8", "surrogateescape"))
        literal += rf"(?:\\?{re.escape(character)}|(?i:{percent}|\\u{ord(character):04x}))"
    return re.compile("|".join([literal, *patterns]))


@lru_cache(maxsize=64)
def _partial_key(key: str) -> re.Pattern[str]:
    """Return a pattern for the start or end of a key: many characters, or a few beside marks for the rest."""
    mask = r"(?:(?<!\*)\*{2,}+|(?<!\.)\.{2,}+|…|(?<!•)•{2,}+|(?<![xX])[xX]{4,}+)"
    gap = r"[\w\-]{0,100}"
    patterns = [rf"{re.escape(key[:SHOWN_END])}{gap}{mask}[\w\-*.…•]*", rf"{mask}{gap}{re.escape(key[-SHOWN_END:])}"]
    # Eight characters at either end of a long key are no common word, so they need no marks beside them.
    if len(key) >= 2 * MIN_KEY and re.fullmatch(r"[\w\-]+", key[:MIN_KEY] + key[-MIN_KEY:]):
        patterns += [rf"{re.escape(key[:MIN_KEY])}[\w\-*.…•]*", rf"{gap}{re.escape(key[-MIN_KEY:])}"]
    return re.compile("|".join(patterns))


# The authority ends where the path begins; clients differ on backslashes, so either slash ends it.
_AUTHORITY = re.compile(r"^(?:[A-Za-z][A-Za-z0-9+.-]*:)?[/\\\\]*(?P<authority>[^/\\\\?#]*)")
_ADDRESS_VARIABLE_ENDINGS = ("API_BASE", "BASE_URL", "API_BASE_URL", "API_ENDPOINT")


def check_address(address: str, source: str) -> str:
    """Return a server's address if it is valid and has no credentials; `source` names its origin in errors.

    Any other address is a `SettingsError`, whose message never repeats credentials.
    """
    written = address.strip()
    authority = _AUTHORITY.match(written)
    try:
        parts = urlsplit(written)
        is_usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        has_user = "@" in parts.netloc
    except ValueError:
        is_usable = has_user = False
    readings = (written, unquote(written))
    has_secret = any(_SECRETS["parameter"].search(text) for text in readings)
    has_key = any(re.search(r"\d", match[0]) for text in readings for match in _SECRETS["form"].finditer(text))
    if has_user or (authority and "@" in authority["authority"]) or has_secret or has_key:
        message = f"{source}: the address has a user name, password or key, which would appear in logs and messages."
        raise SettingsError(message, "Remove it, and set the key in the provider's variable, such as OPENAI_API_KEY.")
    if "\\" in written or " " in written or not written.isprintable():
        # The message does not repeat the address, since it is uncertain where the host ends and what is secret.
        hint = "Write one such as http://localhost:8000/v1."
        raise SettingsError(f"{source}: the address has a backslash, white space or an invisible character.", hint)
    if not is_usable:
        # With an "@" it may have a password.
        got = "an address that cannot be read" if "@" in written else repr(written)
        raise SettingsError(f"{source}: got {got}, expected one such as http://localhost:8000/v1.")
    return written


def check_environment(provider: str) -> None:
    """Check the variables from which litellm may take a provider's address, as `check_address` does."""
    prefix = provider.removesuffix("_chat").upper()
    names = [f"{prefix}_{ending}" for ending in _ADDRESS_VARIABLE_ENDINGS]
    if prefix == "HUGGINGFACE":
        names.append("HF_API_BASE")
    for name in names:
        if address := os.environ.get(name):
            check_address(address, name)


def server_address(model: str, api_base: str | None) -> str | None:
    """Return the server's address without user name, password and query; `None` for the provider's own server."""
    prefix = provider_of(model).removesuffix("_chat").upper()
    address = api_base or os.environ.get(f"{prefix}_API_BASE") or os.environ.get(f"{prefix}_BASE_URL")
    if not address:
        return None
    parts = urlsplit(address)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path.rstrip("/"), "", ""))


def is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower().rstrip(".") == "localhost"


def bypass_proxies(host: str) -> None:
    """Add `host` to `NO_PROXY`, so that litellm's clients send it no request through a proxy."""
    from urllib.request import proxy_bypass

    if not proxy_bypass(host):
        name = "no_proxy" if "no_proxy" in os.environ else "NO_PROXY"  # clients read the former first
        os.environ[name] = ",".join(filter(None, (os.environ.get(name), host)))


# Names of OpenAI's models, recognised without importing litellm, which takes seconds.
_OPENAI_MODEL = re.compile(r"(?:ft:)?(?:gpt-\d|chatgpt-|o\d(?:-|$))")
# litellm's names of clients of OpenAI's API, which use its key.
_OPENAI_CLIENTS = {"custom_openai", "aiohttp_openai", "text-completion-openai"}
# With this variable, litellm asks OpenAI-compatible servers by its own HTTP client. OpenAI's client would take
# a third of a call's processor time.
OWN_CLIENT = "EXPERIMENTAL_OPENAI_BASE_LLM_HTTP_HANDLER"
# If one of these variables is set, OpenAI's client is used after all, since only that client sends them.
_SENT_ONLY_BY_OPENAI_CLIENT = ("OPENAI_ORG_ID", "OPENAI_ORGANIZATION", "OPENAI_PROJECT_ID")


@functools.cache
def load_litellm() -> Any:
    """Return litellm, configured to send no telemetry and to read no file. The first call takes seconds."""
    # Otherwise litellm downloads a price table and reads any .env file that it finds.
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    os.environ.setdefault("LITELLM_MODE", "PRODUCTION")
    if not any(map(os.environ.get, _SENT_ONLY_BY_OPENAI_CLIENT)):
        os.environ.setdefault(OWN_CLIENT, "True")
    for host in ("localhost", "127.0.0.1", "::1"):  # for clients without a `BoundedTransport`
        bypass_proxies(host)
    import litellm
    from litellm.llms.custom_httpx.http_handler import AsyncHTTPHandler
    from openai import _base_client as sdk

    from rubriclab.judges.transport import limit_responses, limit_sdk_responses

    limit_responses(AsyncHTTPHandler)
    limit_sdk_responses(AsyncHTTPHandler, sdk, "AsyncHttpxClientWrapper")
    with suppress(ImportError):  # newer releases give the OpenAI package a client of their own
        from litellm.llms.openai import workload_identity

        limit_sdk_responses(AsyncHTTPHandler, workload_identity, "OpenAIAsyncHTTPClient")
    litellm.suppress_debug_info = True
    logging.getLogger("LiteLLM").setLevel(logging.ERROR)
    # These warnings come from damaged log-probabilities, which are detected where the reply is read.
    warnings.filterwarnings("ignore", "Pydantic serializer warnings", UserWarning)
    # These warnings are about litellm's own types.
    warnings.filterwarnings("ignore", r"Item '\w+' on TypedDict class", UserWarning)
    # A cancelled request may leave a coroutine behind in litellm's thread.
    warnings.filterwarnings("ignore", r"coroutine '[\w.]*completion' was never awaited", RuntimeWarning)
    return litellm


@functools.cache
def provider_of(model: str) -> str:
    """Return the provider to which litellm sends requests for `model`; an unknown bare name is returned as it is."""
    if "/" in model:
        return model.split("/", 1)[0]
    if _OPENAI_MODEL.match(model):
        return "openai"
    litellm = load_litellm()
    try:
        return str(litellm.get_llm_provider(model)[1]).removeprefix("text-completion-")
    except litellm.BadRequestError:
        return model


def key_variable(model: str) -> str:
    """Return the environment variable in which litellm looks for the provider's key."""
    provider = provider_of(model)
    return "OPENAI_API_KEY" if provider in _OPENAI_CLIENTS else f"{provider.removesuffix('_chat').upper()}_API_KEY"


@functools.cache
def falls_back_to_openai(model: str) -> bool:
    """Return whether litellm would send OpenAI's key for `model`, because its provider's own key is not set."""
    from litellm.llms.openai_like.json_loader import JSONProviderRegistry

    litellm = load_litellm()
    _, provider, key, _ = litellm.get_llm_provider(model)
    is_compatible = provider in litellm.openai_compatible_providers or JSONProviderRegistry.exists(provider)
    # Azure also accepts tokens of its directory instead of a key.
    return key is None and is_compatible and provider not in {*_OPENAI_CLIENTS, "azure_ai"}


# English has four to five bytes per token, Chinese and Japanese about three; rare scripts, emoji and base64 have fewer.
BYTES_PER_TOKEN = 3
USUALLY_ADDED_PER_MESSAGE = 4
# The most tokens that chat templates add to a message, to a request (a system prompt of their own), and to a request
# with a schema (instructions for the reply).
MAX_ADDED_PER_MESSAGE = 16
MAX_ADDED_PER_REQUEST = 100
MAX_ADDED_PER_SCHEMA = 1000
_PROMPT_PRICE_NAME = re.compile(r"(input_cost_per|cache_creation_input)_token")
_COMPLETION_PRICE_NAME = re.compile(r"output_cost_per_(reasoning_)?token")


def model_info(model: str, provider: str | None = None) -> Mapping[str, Any]:
    """Return what litellm's table says of a model; empty for a model that is not in the table."""
    try:
        info: Mapping[str, Any] = load_litellm().get_model_info(model, custom_llm_provider=provider)
    except Exception:  # litellm raises a bare Exception for an unknown model
        return {}
    return info


def price_of(model: str) -> Price | None:
    """Return the price of `model` in litellm's table; `None` if it has none, or zeros only."""
    info = model_info(model)
    prompt, completion = info.get("input_cost_per_token") or 0.0, info.get("output_cost_per_token") or 0.0
    return Price(prompt * 1e6, completion * 1e6) if prompt or completion else None


def highest_price_of(model: str) -> Price | None:
    """Return the highest price in litellm's table, which may be for long prompts, prompt caches or a service tier."""
    if price_of(model) is None:
        return None
    costs = {name: cost for name, cost in model_info(model).items() if cost is not None}
    prompt = max(cost for name, cost in costs.items() if _PROMPT_PRICE_NAME.match(name))
    completion = max(cost for name, cost in costs.items() if _COMPLETION_PRICE_NAME.match(name))
    return Price(prompt * 1e6, completion * 1e6)


def estimated_tokens(messages: Iterable[Message]) -> int:
    """Return an estimate of the messages' tokens, which is too high for most texts, and too low for some scripts."""
    sizes = _bytes_of(messages)
    return math.ceil(sum(sizes) / BYTES_PER_TOKEN) + USUALLY_ADDED_PER_MESSAGE * len(sizes)


def most_prompt_tokens(messages: Iterable[Message], schema: Mapping[str, Any] | None = None) -> int:
    """Return an upper bound of the tokens, one for each byte; `schema` counts, since providers add it to the prompt."""
    sizes = _bytes_of(messages)
    added = MAX_ADDED_PER_SCHEMA + len(json.dumps(schema)) if schema else 0
    return sum(sizes) + MAX_ADDED_PER_MESSAGE * len(sizes) + MAX_ADDED_PER_REQUEST + added


def _bytes_of(messages: Iterable[Message]) -> list[int]:
    return [len(message["content"].encode("utf-8", "replace")) for message in messages]


TRANSIENT_STATUSES = {408, 409, 425, 429}
# Statuses from 500 on that refuse a request before it is processed.
OVERLOAD_STATUSES = {503, 529}
MAX_SHOWN_CHARACTERS = 300
# Of a message, only the start is searched, as some of the patterns take more than linear time.
MAX_SEARCHED_CHARACTERS = 8_000
# Characters after `MAX_SEARCHED_CHARACTERS` that are kept until keys are masked, since half a key is not recognised.
MASKING_MARGIN = 8_000

# The HTTP status that means the same as an error code; the other fatal codes mean the same as 404.
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
    """Return this package's error for an error of litellm in a call of `model`.

    `variable` is the environment variable with the key, if it is not the one that litellm reads for this provider.
    """
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
    if status == 413 or is_too_long(error) or is_filtered or "ContentPolicyViolationError" in _class_names(error):
        return PromptRejected(message)
    if status in TRANSIENT_STATUSES or not 400 <= status < 500:  # below 400 the reply's body was damaged
        response = getattr(error, "response", None)
        raw_headers = getattr(error, "litellm_response_headers", None) or getattr(response, "headers", None) or {}
        headers = {str(key).lower(): str(value) for key, value in raw_headers.items()}
        return JudgeUnavailable(message, retry_after=retry_after(headers, searched))
    if status in _STATUSES_OF_SINGLE_PROMPTS and not ERRORS["setting"].search(searched):
        return PromptRejected(message, _what_to_check(403, variable) if status == 403 else None, may_concern_all=True)
    return JudgeRefused(message, _what_to_check(status, variable))


def is_bad_request(error: Exception) -> bool:
    return getattr(error, "status_code", None) in (400, 422) or "BadRequestError" in _class_names(error)


def is_too_long(error: Exception) -> bool:
    """Return whether the model's context does not hold the prompt and its reply."""
    if "ContextWindowExceededError" in _class_names(error) or _error_code(error) == "context_length_exceeded":
        return True
    status, message = getattr(error, "status_code", None), searched_message(error)
    # A single request above the limit on tokens per minute is answered with 429.
    wording = {400: "too_long", 422: "too_long", 429: "too_large", 500: "too_long_500"}.get(status or 0)
    return wording is not None and ERRORS[wording].search(message) is not None


def may_be_billed(status: int) -> bool:
    """Return whether the provider may bill a request that ended with this HTTP status.

    From 500 on, a gateway may have lost a reply that the provider bills.
    """
    is_refused = (300 <= status < 500 and status != 408) or status in OVERLOAD_STATUSES
    return not is_refused


def provider_message(error: Exception) -> str:
    """Return the provider's message on one line, without keys, paths, tracebacks and litellm's class names."""
    message = _ERROR_NAMES.sub("", _TRACEBACK.split(searched_message(error))[0])
    stated = _error_fields(message).get("message") if message.startswith("{") else None
    if isinstance(stated, str):
        message = stated
    # The message may be just "Connection error."; its cause names the address.
    cause: BaseException | None = error
    while cause and not isinstance(cause, OSError):
        cause = cause.__cause__ or cause.__context__
    if cause and str(cause) not in message:
        message = f"{message} {masked(str(cause))}"
    line = " ".join(_PATH.sub("…", _SSL.sub("", message)).split()) or type(error).__name__
    return line if len(line) <= MAX_SHOWN_CHARACTERS else line[: MAX_SHOWN_CHARACTERS - 1] + "…"


def searched_message(error: Exception) -> str:
    """Return the start of an error's message, with keys masked before it is cut."""
    return masked(str(error)[: MAX_SEARCHED_CHARACTERS + MASKING_MARGIN])[:MAX_SEARCHED_CHARACTERS]


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
    """Return the seconds that the provider asks to wait, by its headers (in lower case) or message, or `None`."""
    # Each stated value with its units per second: 1 for seconds, 1000 for milliseconds.
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
    for parse in (float, _seconds_until):
        with suppress(ValueError, OverflowError):  # a date overflows if its year or zone is out of range
            seconds = parse(value)
            return max(0.0, seconds) if math.isfinite(seconds) else None
    return None


def _duration(text: str) -> float:
    return sum(float(number) * _SECONDS_BY_UNIT[unit.lower()] for number, unit in _AMOUNT.findall(text))


def _seconds_until(date: str) -> float:
    then = parsedate_to_datetime(date)
    if then.tzinfo is None:
        then = then.replace(tzinfo=UTC)
    return (then - datetime.now(UTC)).total_seconds()
