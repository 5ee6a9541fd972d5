"""A language model that litellm reaches.

`LanguageModel` sends requests, which may have a strict JSON schema (`response_format`) and marks for the provider's
prompt cache (`CacheMarks`). `SchemaProbed` finds out whether the user's own server supports schemas.
"""

from __future__ import annotations

import asyncio
import copy
import functools
import logging
import os
import re
import sys
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Literal

from pydantic import BaseModel

from rubriclab.errors import JudgeError, JudgeRefused, JudgeUnavailable, MissingKey, PromptRejected
from rubriclab.judges import providers, responses
from rubriclab.judges.judge import Judge, JudgeWrapper, messages_of, turns_of
from rubriclab.judges.options import DEFAULT_MAX_REPLY_BYTES, Price, SendSchema
from rubriclab.judges.replies import Reply, Usage, parse_reply, without_reasoning
from rubriclab.judges.responses import AdjustedSettings
from rubriclab.models.base import digest_text
from rubriclab.models.characters import did_you_mean
from rubriclab.prompts.prompt import HiddenFormReply, Prompt
from rubriclab.prompts.render import Message, Turn

# Keywords of JSON schemas that a strict schema may have. Each part of a schema needs one of `TYPE_KEYWORDS`.
KEPT_KEYWORDS = {"type", "properties", "items", "anyOf", "enum", "const", "description", "$defs", "minimum", "maximum"}
TYPE_KEYWORDS = {"type", "anyOf", "enum", "const"}
# Keywords without an equivalent in strict schemas.
INEXPRESSIBLE_KEYWORDS = {"oneOf", "allOf", "prefixItems", "patternProperties"}


def response_format(reply: type[BaseModel], *, ranges: bool = True) -> dict[str, Any] | None:
    schema = strict_schema(reply, ranges=ranges)
    if schema is None:
        return None
    name = re.sub(r"[^A-Za-z0-9_-]", "_", reply.__name__)[:64]
    # A copy, since providers' adapters modify schemas in place.
    return {"type": "json_schema", "json_schema": {"name": name, "schema": copy.deepcopy(schema), "strict": True}}


@functools.lru_cache(maxsize=128)
def strict_schema(reply: type[BaseModel], *, ranges: bool = True) -> dict[str, Any] | None:
    """Return a reply model's strict JSON schema, `None` if there is none; with limits of numbers if `ranges`."""
    keywords = KEPT_KEYWORDS if ranges else KEPT_KEYWORDS - {"minimum", "maximum"}
    try:
        strict = _strict(reply.model_json_schema(), keywords)
    except _Inexpressible:
        return None
    return strict if "properties" in strict else None


class _Inexpressible(Exception):
    """A part of a schema has no strict form: an object with any keys, a value of any type, a tuple, a tagged union."""


def _strict(node: dict[str, Any], keywords: set[str]) -> dict[str, Any]:
    if "$ref" in node:
        return {"$ref": node["$ref"]}
    if not TYPE_KEYWORDS & node.keys() or INEXPRESSIBLE_KEYWORDS & node.keys():
        raise _Inexpressible
    strict = {key: value for key, value in node.items() if key in keywords}
    for key in {"properties", "$defs"} & strict.keys():
        strict[key] = {name: _strict(child, keywords) for name, child in strict[key].items()}
    if "items" in strict:
        strict["items"] = _strict(strict["items"], keywords)
    if "anyOf" in strict:
        strict["anyOf"] = [_strict(child, keywords) for child in strict["anyOf"]]
    if strict.get("type") == "object":
        if "properties" not in strict or isinstance(node.get("additionalProperties"), dict):
            raise _Inexpressible
        strict |= {"required": list(strict["properties"]), "additionalProperties": False}
    return strict


# How many of the latest beginnings of prompts are remembered: enough for the texts under way and their inputs.
MAX_BEGINNINGS = 4096
# Providers that cache prompts without marks.
PROVIDERS_WITHOUT_MARKS = frozenset({"openai", "azure", "text-completion-openai"})


class CacheMarks:
    """Marks the beginnings of prompts, of at least `min_tokens`, that a model has received before."""

    def __init__(self, min_tokens: int) -> None:
        self._min_tokens = min_tokens
        self._sent: OrderedDict[str, None] = OrderedDict()

    def mark(self, turns: Sequence[Turn]) -> list[dict[str, Any]]:
        """Return the messages of `turns`, with a mark at the end of each beginning that was sent before."""
        messages: list[dict[str, Any]] = []
        beginning = ""
        for turn in turns:
            blocks: list[dict[str, Any]] = []
            for part in turn.parts:
                beginning += part
                block: dict[str, Any] = {"type": "text", "text": part}
                is_last = len(blocks) == len(turn.parts) - 1
                if not is_last and self._was_sent(beginning):
                    block["cache_control"] = {"type": "ephemeral"}
                blocks.append(block)
            has_mark = any("cache_control" in block for block in blocks)
            messages.append({"role": turn.role, "content": blocks} if has_mark else {**turn.message})
        return messages

    def _was_sent(self, beginning: str) -> bool:
        """Return whether a beginning that is long enough to be cached was sent before, and remember it."""
        # The estimate is usually too high. If a marked beginning is too short after all, the provider ignores the mark.
        if providers.estimated_tokens([Message(role="user", content=beginning)]) < self._min_tokens:
            return False
        key = digest_text(beginning)
        was_sent = key in self._sent
        self._sent[key] = None
        self._sent.move_to_end(key)
        if len(self._sent) > MAX_BEGINNINGS:
            self._sent.popitem(last=False)
        return was_sent


# litellm's time limit is for silence: a server that sends a byte now and then never exceeds it. Ours is for the whole
# request; litellm's is this many seconds longer.
LITELLM_EXTRA_SECONDS = 15.0
# Tokens for hidden reasoning, which would otherwise use up the tokens of the reply itself.
REASONING_TOKENS = 4096
NO_KEY = "none"  # sent to servers without keys, since litellm's clients need a key
OWN_SERVERS = {"ollama", "ollama_chat", "hosted_vllm", "lm_studio", "llamafile", "xinference", "docker_model_runner"}
# The tokens for hidden reasoning whose cost the budget reserves; `token_bounds` sets them in each request's context.
_RESERVED_REASONING_LIMIT: ContextVar[int] = ContextVar("reserved_reasoning_limit", default=sys.maxsize)

_log = logging.getLogger(__name__)


@dataclass(eq=False, repr=False)
class LanguageModel:
    """A model that litellm reaches, with the settings of `JudgeOptions`.

    Attributes:
        name: litellm's model string.
        structured: `auto` sends the reply's JSON schema if litellm lists the model as accepting schemas, or if a probe
            shows that the user's own server does (see `SchemaProbed`). After a refusal, no schema is sent.
        price: the price that the user gave; `None` for the listed price.
        api_base: the server's address, without credentials; replaces the provider's environment variable.
        api_key_variable: the environment variable with the judge's API key; `None` for the provider's usual variable.
        reasoning_tokens: tokens for hidden reasoning; `None` for `REASONING_TOKENS` if litellm knows that the model
            reasons, else 0. They are raised once if a reply reaches its limit before any text.
        judge_names_for_hint: such as `embedded` and `recorded:`, for the hint if litellm does not know the model.
    """

    name: str
    _: KW_ONLY
    timeout: float = 60.0
    structured: SendSchema = "auto"
    price: Price | None = None
    api_base: str | None = None
    api_key_variable: str | None = None
    reasoning_tokens: int | None = None
    max_reply_bytes: int = DEFAULT_MAX_REPLY_BYTES
    judge_names_for_hint: Sequence[str] = ()
    _raised_reasoning_limit: int | None = field(default=None, init=False)
    adjusted_settings: AdjustedSettings = field(default=AdjustedSettings(), init=False)

    def __post_init__(self) -> None:
        if self.api_base:
            self.api_base = providers.check_address(self.api_base, "The API base")
        else:
            providers.check_environment_addresses(providers.provider_of(self.name))

    @functools.cached_property
    def identity(self) -> Mapping[str, Any]:
        return {
            "model": self.name,
            "address": providers.server_address(self.name, self.api_base),
            "structured": self.structured,
            "reasoning_tokens": self.reasoning_tokens,
        }

    @functools.cached_property
    def highest_price(self) -> Price | None:
        return self.price or providers.price_of(self.name, highest=True)

    def token_bounds(self, prompt: Prompt[Any]) -> tuple[int, int]:
        """Return the most prompt and completion tokens of a request; the second limits `reply` in the same context."""
        schema = self._settings(prompt).get("response_format")
        reasoning_limit = self.reasoning_limit
        _RESERVED_REASONING_LIMIT.set(reasoning_limit)
        return providers.most_prompt_tokens(messages_of(prompt), schema), prompt.max_tokens + reasoning_limit

    @property
    def reasoning_limit(self) -> int:
        """The most tokens that a reply may use for hidden reasoning, in addition to the prompt's own limit."""
        if self.adjusted_settings.no_room_for_reasoning:
            return 0
        if self._raised_reasoning_limit is not None:
            return self._raised_reasoning_limit
        if self.reasoning_tokens is not None:
            return self.reasoning_tokens
        return REASONING_TOKENS if providers.load_litellm().supports_reasoning(self.name) else 0

    async def reply(self, prompt: Prompt[Any]) -> Reply:
        """Return the reply. If a setting is refused for the first time, the request is sent again without it."""
        providers.load_litellm()  # not within the time limit, since the import takes seconds
        # Without this check, litellm would send the request without a key.
        uses_openai_key = self.api_key_variable is None and providers.provider_of(self.name) == "openai"
        if uses_openai_key and not os.environ.get("OPENAI_API_KEY"):
            hint = "Set OPENAI_API_KEY (any text will do for a server of your own)."
            raise MissingKey(f"{self.name}: the API key is missing.", hint)
        started = time.monotonic()
        _log.debug("%s: request %s", self.name, prompt.name)
        reasoning_limit = min(self.reasoning_limit, _RESERVED_REASONING_LIMIT.get())
        # A server may send hidden reasoning even if there are no tokens for it.
        hidden_tokens = max(reasoning_limit, REASONING_TOKENS)
        max_bytes = responses.body_limit(prompt, hidden_tokens, self.max_reply_bytes)
        async with self._receiving(max_bytes, self.timeout) as record:
            reply = self._read(await self._respond(prompt, record, reasoning_limit), self.price)
            if len(reply.text.encode()) > responses.text_limit(prompt, hidden_tokens, self.max_reply_bytes):
                raise record.too_large_error()
        can_raise_limit = self._raised_reasoning_limit is None and not self.adjusted_settings.no_room_for_reasoning
        if can_raise_limit and reply.truncated and not without_reasoning(reply.text).strip():
            # Tokens are raised only once, so by enough for much longer reasoning.
            self._raised_reasoning_limit = max(REASONING_TOKENS, 4 * reasoning_limit)
            warning = "%s reached its limit on tokens before its reply began; it now has %d tokens for hidden reasoning"
            _log.warning(warning, self.name, self._raised_reasoning_limit)
        message = "%s: reply to %s after %.2f s, %d prompt and %d completion tokens"
        tokens = reply.usage.prompt_tokens, reply.usage.completion_tokens
        _log.debug(message, self.name, prompt.name, time.monotonic() - started, *tokens)
        return reply

    @asynccontextmanager
    async def _receiving(self, max_bytes: int, seconds: float) -> AsyncIterator[responses.ResponseRecord]:
        """Limit the bytes and the time of the response that the block receives; raise errors of this package."""
        from openai import OpenAIError

        record = responses.ResponseRecord(self.name, max_bytes)
        outer = responses.CURRENT_RESPONSE.set(record)
        try:
            async with asyncio.timeout(seconds):
                yield record
        except TimeoutError:
            message = f"{self.name}: no complete reply within {seconds:g} seconds."
            raise record.set_may_be_billed(JudgeUnavailable(message)) from None
        except OpenAIError as failed:
            fault = record.fault or responses.judge_error_from(failed, self.name, self.api_key_variable)
            raise record.set_may_be_billed(fault) from failed
        except JudgeError as failed:
            record.set_may_be_billed(failed)
            raise
        finally:
            responses.CURRENT_RESPONSE.reset(outer)

    @property
    def _address_and_key(self) -> dict[str, str]:
        address = {"api_base": self.api_base} if self.api_base else {}
        if self.api_key_variable is None and not providers.falls_back_to_openai(self.name):
            return address
        variable = self.api_key_variable or providers.key_variable(self.name)
        return {**address, "api_key": os.environ.get(variable) or NO_KEY}

    async def _respond(self, prompt: Prompt[Any], record: responses.ResponseRecord, reasoning_limit: int) -> Any:
        from openai import OpenAIError

        while True:
            settings, adjusted = self._settings(prompt, reasoning_limit), self.adjusted_settings
            try:
                # No retries, since litellm would also repeat refused requests, in two layers.
                return await providers.load_litellm().acompletion(
                    model=self.name,
                    messages=self._messages(prompt),
                    timeout=self.timeout + LITELLM_EXTRA_SECONDS,
                    num_retries=0,
                    max_retries=0,
                    drop_params=True,  # settings that litellm knows the model does not accept
                    **self._address_and_key,
                    **settings,
                )
            except OpenAIError as error:
                sent = set(settings)
                if self._marks and "cache_control" not in adjusted.dropped:
                    sent.add("cache_control")
                can_repeat = self._adjust(adjusted, error, sent, settings.get(adjusted.token_limit_name), prompt)
                if not can_repeat or record.may_be_billed:  # a cost was reserved for one billed request only
                    raise
            except Exception as error:
                if isinstance(error, JudgeError) or record.may_be_billed is None:  # `None`: nothing was sent
                    raise
                # litellm raises various errors for a body that is no completion.
                message = f"{self.name}: damaged reply: {responses.provider_message(error)}"
                raise JudgeUnavailable(message) from error

    def _adjust(
        self, adjusted: AdjustedSettings, error: Exception, sent: set[str], token_limit: int | None, prompt: Prompt[Any]
    ) -> bool:
        """Change the settings in `sent` after a refusal, and return whether the request can be sent again.

        Of several refused requests that were sent with the same `adjusted`, only the first changes the settings.
        """
        if self.structured == "schema":  # the user requires the schema, so it is not dropped
            sent = sent - {"response_format"}
        newly_adjusted = adjusted.after(error, sent, token_limit, prompt.max_tokens)
        if newly_adjusted is not None and self.adjusted_settings is adjusted:
            self.adjusted_settings = newly_adjusted
            _log.info("%s does not accept a setting: %s", self.name, responses.provider_message(error))
        return newly_adjusted is not None

    def _messages(self, prompt: Prompt[Any]) -> list[dict[str, Any]]:
        """Return the messages, with marks for the provider's prompt cache. No digest depends on the marks."""
        turns = [Turn(turn.role, tuple(map(responses.without_surrogates, turn.parts))) for turn in turns_of(prompt)]
        if self.adjusted_settings.without_system:
            return [{"role": "user", "content": "\n\n".join(turn.message["content"] for turn in turns)}]
        if self._marks is None or "cache_control" in self.adjusted_settings.dropped:
            return [{**turn.message} for turn in turns]
        return self._marks.mark(turns)

    def _settings(self, prompt: Prompt[Any], reasoning_limit: int | None = None) -> dict[str, Any]:
        adjusted = self.adjusted_settings
        if reasoning_limit is None or adjusted.no_room_for_reasoning:  # a refusal during `reply` may have shown this
            reasoning_limit = self.reasoning_limit
        # The probe is sent with its schema, to find out whether the server supports schemas.
        has_schema = self.takes_schema or (self.takes_schema is None and prompt.reply is OddWord)
        ranges = not adjusted.without_ranges
        settings = {
            "temperature": prompt.temperature,
            adjusted.token_limit_name: min(prompt.max_tokens + reasoning_limit, adjusted.highest_token_limit),
            # Fixed, and different for each sample, so that a request is reproducible.
            "seed": prompt.sample,
            "response_format": response_format(prompt.reply, ranges=ranges) if has_schema else None,
        }
        if prompt.alternatives and "logprobs" not in adjusted.dropped:
            settings |= {"logprobs": True, "top_logprobs": prompt.alternatives}
        return {name: value for name, value in settings.items() if value is not None and name not in adjusted.dropped}

    def _read(self, response: Any, price: Price | None) -> Reply:
        choice = response.choices[0] if response.choices else None
        finish_reason = getattr(choice, "finish_reason", None)
        text = providers.mask_env_keys(responses.without_surrogates(choice.message.content or "")) if choice else ""
        model = response.model
        is_usable = isinstance(model, str) and 0 < len(model) <= responses.MAX_NAME_CHARACTERS and model.isprintable()
        return Reply(
            text=text,
            model=providers.mask_env_keys(model if is_usable else self.name),
            usage=self._usage(response, text, price),
            truncated=finish_reason == "length",
            filtered=finish_reason == "content_filter",
            fault="" if text.strip() else providers.mask_env_keys(responses.why_empty(choice)),
            tokens=responses.reported_tokens(getattr(choice, "logprobs", None), text),
        )

    def _usage(self, response: Any, text: str, price: Price | None) -> Usage:
        usage = getattr(response, "usage", None)
        prompt_tokens = responses.token_count(getattr(usage, "prompt_tokens", None))
        completion_tokens = responses.token_count(getattr(usage, "completion_tokens", None))
        # Tokens that the provider read from its prompt cache and wrote to it.
        details = getattr(usage, "prompt_tokens_details", None)
        read = getattr(details, "cached_tokens", None), getattr(usage, "cache_read_input_tokens", None)
        from_cache = responses.token_count(*read, most=prompt_tokens)
        written = getattr(details, "cache_creation_tokens", None), getattr(usage, "cache_creation_input_tokens", None)
        to_cache = responses.token_count(*written, most=prompt_tokens)
        saved = 0.0
        if not price and (from_cache or to_cache):  # the user's price says nothing of the cache
            costs = {name: cost for name, cost in providers.model_info(self.name).items() if cost is not None}
            input_cost = costs.get("input_cost_per_token", 0.0)
            read_cost = costs.get("cache_read_input_token_cost", input_cost)
            write_cost = costs.get("cache_creation_input_token_cost", input_cost)
            saved = from_cache * (input_cost - read_cost) - to_cache * (write_cost - input_cost)
        cost: float | None = None
        is_counted = prompt_tokens > 0 and (completion_tokens > 0 or not text)
        if is_counted and price:
            cost = price.cost(prompt_tokens, completion_tokens)
        elif is_counted and providers.price_of(self.name):  # for a model without a price, litellm's figure is 0
            cost = response._hidden_params.get("response_cost")  # with discounts, such as for cached input
        return Usage(prompt_tokens, completion_tokens, cost, from_cache, saved)

    @functools.cached_property
    def _marks(self) -> CacheMarks | None:
        model, provider = self._model_and_provider
        info = {} if provider in PROVIDERS_WITHOUT_MARKS else providers.model_info(model, provider)
        # A model that does not charge for writing to its cache needs no marks.
        if not (info.get("supports_prompt_caching") and info.get("cache_creation_input_token_cost")):
            return None
        return CacheMarks(int(providers.load_litellm().utils.get_prompt_cache_min_tokens(self.name)))

    @functools.cached_property
    def _model_and_provider(self) -> tuple[str, str]:
        litellm = providers.load_litellm()
        try:
            model, provider, _, _ = litellm.get_llm_provider(self.name, api_base=self.api_base)
        except litellm.BadRequestError:
            _, colon, argument = self.name.partition(":")
            # The names of the judges with the user's argument: for "record:a.jsonl", they include `recorded:a.jsonl`.
            other_forms = [f"{name.removesuffix(colon)}{colon}{argument}" for name in self.judge_names_for_hint]
            judges = f"a judge ({', '.join(self.judge_names_for_hint)}), " if other_forms else ""
            raise JudgeRefused(
                f"{self.name!r} is neither a judge nor a model whose provider litellm knows.",
                f"{did_you_mean(self.name, other_forms)}Write {judges}PROVIDER/MODEL as in ollama_chat/llama3.1, or "
                "openai/MODEL for a server of your own.",
            ) from None
        if self.api_base is None:
            providers.check_environment_addresses(provider)  # only litellm knows the provider of a bare name
        return model, provider

    @functools.cached_property
    def takes_schema(self) -> bool | None:
        """Whether the schema of a reply is sent; `None` if the user's own server has to be probed first."""
        if self.structured != "auto":
            return self.structured == "schema"
        model, provider = self._model_and_provider
        if providers.load_litellm().supports_response_schema(model, custom_llm_provider=provider):
            return True
        is_own = provider in OWN_SERVERS or providers.server_address(self.name, self.api_base) is not None
        return None if is_own else False


async def close_connections() -> None:
    """Close the connections of language models in this event loop; connections of other threads stay open."""
    if providers.load_litellm.cache_info().currsize:
        from rubriclab.judges.transport import close_transports

        litellm = providers.load_litellm()
        if await close_transports():
            await litellm.close_litellm_async_clients()
        # This keeps litellm from using the closed clients again.
        litellm.in_memory_llm_clients_cache.flush_cache()


class OddWord(HiddenFormReply):
    """A reply with a word that only a server with support for schemas can know."""

    tree: Literal["quilvarroon"]


PROBE = Prompt("schema/probe", {}, OddWord, max_tokens=32)


@dataclass(eq=False, repr=False)
class SchemaProbed(JudgeWrapper):
    """A judge that sends `PROBE` before its first prompt if it is unknown whether the server supports schemas.

    Attributes:
        prober: sends the probe with few attempts, since a server without support may fail.
        send_probe: by default `prober.reply`; `connect` sets a function that counts the probe and caches its reply.
    """

    prober: Judge
    model: LanguageModel

    def __post_init__(self) -> None:
        super().__post_init__()
        self._probe_lock = asyncio.Lock()
        self.send_probe: Callable[[Prompt[Any]], Awaitable[Reply]] = self.prober.reply

    async def reply(self, prompt: Prompt[Any]) -> Reply:
        if prompt.reply is OddWord:  # the probe, which comes through the cache if `connect` set `send_probe`
            return await self.prober.reply(prompt)
        if self.model.takes_schema is None:
            async with self._probe_lock:
                if self.model.takes_schema is None:
                    try:
                        answer, _ = parse_reply(await self.send_probe(PROBE), PROBE)
                        self.model.takes_schema = answer is not None
                    except (JudgeUnavailable, PromptRejected):
                        self.model.takes_schema = False
        return await self.judge.reply(prompt)
