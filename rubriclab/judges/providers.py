"""What is known of providers: their keys, the addresses of their servers, and the prices of their models.

Keys are masked in texts from outside, and addresses with credentials are refused. litellm, which sends the requests, is
loaded here, and its table says which provider and which price a model has.
"""

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
from functools import lru_cache
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit

from rubriclab.errors import SettingsError
from rubriclab.judges.options import Price
from rubriclab.models.base import load_patterns
from rubriclab.prompts.render import Message

# Keys and passwords are masked before a text from outside is shown or stored, as servers may repeat them in errors.
MASK = "***"
# Characters. A shorter value is a placeholder, such as `none` for a server without keys, and may be a usual word.
MIN_KEY = 8
# Characters. Longer values are documents, such as the credentials of a service account, which are masked as a whole.
MAX_KEY = 1000
# This many first or last characters identify a key if marks such as asterisks or dots replace its other characters.
SHOWN_END = 4

# Patterns of secrets; the file explains them.
_SECRETS = load_patterns(Path(__file__).with_name("secrets.toml"))


def mask_keys(text: str, environment: Mapping[str, str] | None = None) -> str:
    """Return a message with keys masked: those in `environment`, their parts, and what looks or is named like a key."""
    text = mask_env_keys(text, environment)
    for key in _keys(environment):
        text = _partial_key(key).sub(MASK, text)
    for name in ("parameter", "field", "header", "bearer", "basic"):
        for match in reversed(list(_SECRETS[name].finditer(text))):
            text = text[: match.start("value")] + MASK + text[match.end() :]
    text = _SECRETS["known_key"].sub(MASK, text)
    text = _SECRETS["starred"].sub(MASK, text)
    return _SECRETS["user_info"].sub(f"{MASK}@", text)


def mask_env_keys(text: str, environment: Mapping[str, str] | None = None) -> str:
    """Return `text` with only the keys of the environment masked, also if they are percent-encoded or in base64."""
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
    """Return a pattern for the key in other notations: percent-encoded, escaped for JSON, and in base64."""
    content = key.encode("utf-8", "surrogateescape")
    patterns = []
    for before in range(3):  # the number of preceding bytes modulo 3, on which the key in base64 depends
        # A character encodes six bits. Characters that also encode neighboring bytes are left out.
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
    """Return a pattern for the first or last eight characters of a key, or four beside a mask such as `***`."""
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
    """Return a server's address if it is valid and has no credentials.

    Any other address is a `SettingsError`, which begins with `source` and never repeats credentials.
    """
    written = address.strip()
    authority = _AUTHORITY.match(written)
    try:
        parts = urlsplit(written)
        is_usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        has_user = "@" in parts.netloc
    except ValueError:
        is_usable = has_user = False
    spellings = (written, unquote(written))
    has_secret = any(_SECRETS["parameter"].search(text) for text in spellings)
    has_key = any(re.search(r"\d", match[0]) for text in spellings for match in _SECRETS["known_key"].finditer(text))
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


def check_environment_addresses(provider: str) -> None:
    """Check the addresses in the environment that litellm may use for a provider."""
    prefix = provider.removesuffix("_chat").upper()
    names = [f"{prefix}_{ending}" for ending in _ADDRESS_VARIABLE_ENDINGS]
    if prefix == "HUGGINGFACE":
        names.append("HF_API_BASE")
    for name in names:
        if address := os.environ.get(name):
            check_address(address, name)


def server_address(model: str, api_base: str | None) -> str | None:
    """Return a server's address without credentials and query: `api_base`, else from the environment, else `None`."""
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
        name = "no_proxy" if "no_proxy" in os.environ else "NO_PROXY"  # clients read `no_proxy` first
        os.environ[name] = ",".join(filter(None, (os.environ.get(name), host)))


# Names of OpenAI's models, recognized without importing litellm, which takes seconds.
_OPENAI_MODEL = re.compile(r"(?:ft:)?(?:gpt-\d|chatgpt-|o\d(?:-|$))")
# litellm's names of clients of OpenAI's API, which use its key.
_OPENAI_CLIENTS = {"custom_openai", "aiohttp_openai", "text-completion-openai"}
# With this variable, litellm asks OpenAI-compatible servers by its own HTTP client. OpenAI's client would take
# a third of a call's processor time.
OWN_CLIENT_VARIABLE = "EXPERIMENTAL_OPENAI_BASE_LLM_HTTP_HANDLER"
# If one of these variables is set, OpenAI's client is used after all, since only that client sends them.
_SENT_ONLY_BY_OPENAI_CLIENT = ("OPENAI_ORG_ID", "OPENAI_ORGANIZATION", "OPENAI_PROJECT_ID")


@functools.cache
def load_litellm() -> Any:
    """Return litellm, configured to send no telemetry and to read no file. The first call takes seconds."""
    # These settings keep litellm from downloading a price table and from reading any .env file that it finds.
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    os.environ.setdefault("LITELLM_MODE", "PRODUCTION")
    if not any(map(os.environ.get, _SENT_ONLY_BY_OPENAI_CLIENT)):
        os.environ.setdefault(OWN_CLIENT_VARIABLE, "True")
    for host in ("localhost", "127.0.0.1", "::1"):  # a `BoundedTransport` does this itself; other clients do not
        bypass_proxies(host)
    import litellm
    from litellm.llms.custom_httpx.http_handler import AsyncHTTPHandler
    from openai import _base_client as sdk

    from rubriclab.judges.transport import limit_responses, limit_sdk_responses

    limit_responses(AsyncHTTPHandler)
    limit_sdk_responses(AsyncHTTPHandler, sdk, "AsyncHttpxClientWrapper")
    with suppress(ImportError):  # only newer releases of litellm have this client for the OpenAI package
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
# Chat templates add tokens to each message, to a request (a system prompt of their own), and to a request with a schema
# (instructions for the reply). The first number is usual, the others are upper bounds.
USUALLY_ADDED_PER_MESSAGE = 4
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


def price_of(model: str, *, highest: bool = False) -> Price | None:
    """Return the price of `model` in litellm's table; `None` if it has none, or zeros only.

    The `highest` price may be for long prompts, for writing to the prompt cache, or for a service tier.
    """
    costs = {name: cost for name, cost in model_info(model).items() if cost is not None}
    prompt, completion = costs.get("input_cost_per_token", 0.0), costs.get("output_cost_per_token", 0.0)
    if not prompt and not completion:
        return None
    if highest:
        prompt = max(cost for name, cost in costs.items() if _PROMPT_PRICE_NAME.match(name))
        completion = max(cost for name, cost in costs.items() if _COMPLETION_PRICE_NAME.match(name))
    return Price(prompt * 1e6, completion * 1e6)


def estimated_tokens(messages: Iterable[Message]) -> int:
    """Return about how many tokens the messages have; this is too high for most texts, and too low for some scripts."""
    sizes = [len(message["content"].encode("utf-8", "replace")) for message in messages]
    return math.ceil(sum(sizes) / BYTES_PER_TOKEN) + USUALLY_ADDED_PER_MESSAGE * len(sizes)


def most_prompt_tokens(messages: Iterable[Message], schema: Mapping[str, Any] | None = None) -> int:
    """Return an upper bound of the tokens of the messages and of the schema, which providers add to the prompt."""
    sizes = [len(message["content"].encode("utf-8", "replace")) for message in messages]
    added = MAX_ADDED_PER_SCHEMA + len(json.dumps(schema)) if schema else 0
    return sum(sizes) + MAX_ADDED_PER_MESSAGE * len(sizes) + MAX_ADDED_PER_REQUEST + added
