"""A language model as a judge, through litellm, which is imported with the first call."""

from __future__ import annotations

import asyncio
import functools
import logging
import os
import sys
import time
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import replace
from typing import Any, Literal

from rubriclab.errors import JudgeError, JudgeRefused, JudgeUnavailable, PromptRejected
from rubriclab.judges.address import check_address, check_environment, environment_address, shown_address
from rubriclab.judges.json_objects import without_reasoning
from rubriclab.judges.judge import Reply, Usage
from rubriclab.judges.logprobs import reported_tokens
from rubriclab.judges.masking import without_keys
from rubriclab.judges.mended_settings import LIMIT_NAMES, MendedSettings
from rubriclab.judges.price import Price, highest_price_of, most_tokens, price_of
from rubriclab.judges.prompt_cache import (
    CacheMarks,
    CachePrices,
    cache_prices,
    least_cached_tokens,
    needs_marks,
    tokens_read_and_written,
)
from rubriclab.judges.provider_errors import provider_message, translated
from rubriclab.judges.providers import is_loaded, load_litellm, provider_of
from rubriclab.judges.reply_size import DEFAULT_BYTES, RECEPTION, Reception, body_limit, text_limit
from rubriclab.judges.request import messages_of, turns_of
from rubriclab.judges.response_body import clean, reported_name, token_count, tokens_without_keys, why_empty
from rubriclab.judges.schema import response_format
from rubriclab.option_names import did_you_mean
from rubriclab.prompts.prompt import Prompt, UntoldReply

Structured = Literal["auto", "schema", "text"]

# litellm limits silence only, so a server that sends a byte now and then passes. Our limit is on the whole request;
# litellm's is this much longer.
GRACE_SECONDS = 15.0
# For hidden reasoning, which would use up the reply's own tokens.
REASONING_TOKENS = 4096

# Providers whose servers users run themselves.
OWN_SERVERS = {"ollama", "ollama_chat", "hosted_vllm", "lm_studio", "llamafile", "xinference", "docker_model_runner"}

# The spare tokens at which the cost of the request in this context was reserved: it must not use more.
_RESERVED: ContextVar[int] = ContextVar("reserved", default=sys.maxsize)

_log = logging.getLogger(__name__)


class LanguageModel:
    """A model that litellm reaches.

    Attributes:
        model: a litellm model string, such as `gpt-4o-mini` or `ollama_chat/llama3.1`.
        timeout: seconds for a request, from connecting to the last byte of the reply.
        structured: `schema` sends the reply's JSON schema with every request, `text` never, `auto` if litellm knows
            that the model accepts one or the user's own server heeds it (see `schema_probe`), until it is refused.
        price: replaces litellm's price table.
        api_base: the server's address; replaces the provider's environment variable.
        reasoning_tokens: tokens for hidden reasoning, on top of each prompt's own limit; `None` for
            `REASONING_TOKENS` if litellm knows that the model reasons, and none for other models. They are raised once
            if a reply ends at its limit without a text.
        max_reply_bytes: the largest reply that is received; less if the prompt's own token limit allows less.
        other_judges: names of the judges that are not language models; one is proposed if it resembles a model string
            that litellm does not know.

    Raises:
        SettingsError: for an invalid address or one with credentials, given or in the environment.
    """

    def __init__(
        self,
        model: str,
        *,
        timeout: float = 60.0,
        structured: Structured = "auto",
        price: Price | None = None,
        api_base: str | None = None,
        reasoning_tokens: int | None = None,
        max_reply_bytes: int = DEFAULT_BYTES,
        other_judges: Sequence[str] = (),
    ) -> None:
        self.model = model
        self._timeout = timeout
        self._structured = structured
        self._price = price
        self._api_base = check_address(api_base, "The API base") if api_base else None
        if self._api_base is None:
            check_environment(provider_of(model))
        self._reasoning_tokens = reasoning_tokens
        self._raised_tokens: int | None = None
        self._max_reply_bytes = max_reply_bytes
        self._other_judges = other_judges
        self._mended = MendedSettings()

    @property
    def name(self) -> str:
        """The litellm model string."""
        return self.model

    @functools.cached_property
    def identity(self) -> Mapping[str, Any]:
        """Model, address and the settings that shape a reply; known without importing litellm."""
        return {
            "model": self.model,
            "address": _address(self.model, self._api_base),
            "structured": self._structured,
            "reasoning_tokens": self._reasoning_tokens,
        }

    @functools.cached_property
    def price(self) -> Price | None:
        """The price in force; `None` if neither the user nor litellm knows one."""
        return self._price or price_of(self.model)

    @functools.cached_property
    def highest_price(self) -> Price | None:
        """The highest price that a token may have; `None` if no price is known."""
        return self._price or highest_price_of(self.model)

    def most_tokens(self, prompt: Prompt[Any]) -> tuple[int, int]:
        """Return upper bounds of the prompt and completion tokens of a request."""
        schema = self._settings(prompt).get("response_format")
        spare = self.spare_tokens
        _RESERVED.set(spare)
        return most_tokens(messages_of(prompt), schema), prompt.max_tokens + spare

    @property
    def spare_tokens(self) -> int:
        """Tokens that a reply may use beyond the prompt's own limit."""
        if self._mended.has_no_room:
            return 0
        if self._raised_tokens is not None:
            return self._raised_tokens
        return self._spare_tokens

    @functools.cached_property
    def _spare_tokens(self) -> int:
        if self._reasoning_tokens is not None:
            return self._reasoning_tokens
        return REASONING_TOKENS if load_litellm().supports_reasoning(self.model) else 0

    @property
    def dropped(self) -> tuple[str, ...]:
        """Parameters that are omitted, since the model is known not to accept them or the provider has refused them."""
        return tuple(sorted({*self._unsupported, *self._mended.dropped}))

    async def reply(self, prompt: Prompt[Any]) -> Reply:
        """Return the model's reply, by one request, and one more for each setting that is refused for the first time.

        Its tokens are empty if the prompt asks for no alternatives or the provider does not report them.

        Raises:
            JudgeUnavailable: for a time-out, a lost connection, a rate limit, a server error or a damaged reply.
            PromptRejected: for a prompt that is too long or refused for its content.
            ReplyTooLarge: for a reply larger than the prompt allows.
            JudgeRefused: for a wrong key, model or request, or a server that redirects to another one.
        """
        load_litellm()  # before the time starts, since the import takes seconds
        self._check_key()
        started = time.monotonic()
        _log.debug("%s: request %s", self.model, prompt.name)
        spare = min(self.spare_tokens, _RESERVED.get())
        # A server may send hidden reasoning that nobody has made room for.
        largest = max(spare, REASONING_TOKENS)
        reception = Reception(self.model, body_limit(prompt, largest, self._max_reply_bytes))
        outer = RECEPTION.set(reception)
        try:
            reply = self._read(await self._received(prompt, reception, spare), self._price)
            if len(reply.text.encode()) > text_limit(prompt, largest, self._max_reply_bytes):
                raise reception.too_large()
        except JudgeError as error:
            # Azure bills prompts that it rejects.
            if reception.may_be_billed is not None and not isinstance(error, PromptRejected):
                error.may_be_billed = reception.may_be_billed
            raise
        finally:
            RECEPTION.reset(outer)
        if reply.truncated and not without_reasoning(reply.text).strip():
            self._raise_tokens(spare)
        usage, seconds = reply.usage, time.monotonic() - started
        _log.debug(
            "%s: reply to %s after %.2f s, %d prompt and %d completion tokens",
            self.model,
            prompt.name,
            seconds,
            usage.prompt_tokens,
            usage.completion_tokens,
        )
        return reply

    def _raise_tokens(self, spare: int) -> None:
        """Raise the tokens for hidden reasoning, once, after a reply that had only `spare` of them."""
        if self._raised_tokens is None and not self._mended.has_no_room:
            self._raised_tokens = max(REASONING_TOKENS, 4 * spare)
            _log.warning(
                "%s reached its limit on tokens before its reply began; from now on it has %d for hidden reasoning",
                self.model,
                self._raised_tokens,
            )

    def _check_key(self) -> None:
        # litellm's own client would send the request without a key.
        if provider_of(self.model) == "openai" and not os.environ.get("OPENAI_API_KEY"):
            hint = "Set OPENAI_API_KEY (any text will do for a server of your own)."
            raise JudgeRefused(f"{self.model}: the API key is missing.", hint)

    async def _received(self, prompt: Prompt[Any], reception: Reception, spare: int) -> Any:
        from openai import OpenAIError

        try:
            async with asyncio.timeout(self._timeout):
                return await self._respond(prompt, reception, spare)
        except TimeoutError:
            raise JudgeUnavailable(f"{self.model}: no complete reply within {self._timeout:g} seconds.") from None
        except OpenAIError as error:
            raise reception.fault or translated(error, self.model) from error

    async def _respond(self, prompt: Prompt[Any], reception: Reception, spare: int) -> Any:
        from openai import OpenAIError

        while True:
            settings = self._settings(prompt, spare)
            mended = self._mended
            try:
                return await self._complete(prompt, settings)
            except OpenAIError as error:
                sent = {*settings, *(["cache_control"] if self._marks else [])}
                if not self._mend(mended, error, sent, settings.get(mended.limit_name), prompt):
                    raise
                if reception.may_be_billed:  # the next request has to fit into the budget too
                    raise
            except JudgeError:
                raise
            except Exception as error:
                if reception.may_be_billed is None:  # nothing was sent
                    raise
                # litellm raises various errors for a body that is no completion.
                raise JudgeUnavailable(f"{self.model}: damaged reply: {provider_message(error)}") from error

    def _mend(
        self, mended: MendedSettings, error: Exception, sent: set[str], limit: int | None, prompt: Prompt[Any]
    ) -> bool:
        """Return whether a request with the settings `mended` can be sent again, with others.

        Of the requests that were in flight together and are refused together, the first mends the settings.
        """
        if self._structured == "schema":
            sent = sent - {"response_format"}
        change = mended.after(error, sent, limit, prompt.max_tokens)
        if change is not None and self._mended is mended:
            self._mended = change
            _log.info("%s does not accept a setting: %s", self.model, provider_message(error))
        return change is not None

    async def _complete(self, prompt: Prompt[Any], settings: dict[str, Any]) -> Any:
        # litellm would retry refusals too, in two layers.
        return await load_litellm().acompletion(
            model=self.model,
            messages=self._messages(prompt),
            timeout=self._timeout + GRACE_SECONDS,
            num_retries=0,
            max_retries=0,
            **({"api_base": self._api_base} if self._api_base else {}),
            **settings,
        )

    def _messages(self, prompt: Prompt[Any]) -> list[dict[str, Any]]:
        """Return the messages, with cache marks where the model needs them; these are part of no request digest."""
        if self._mended.without_system:
            contents = [clean(turn["content"]) for turn in messages_of(prompt)]
            return [{"role": "user", "content": "\n\n".join(contents)}]
        if self._marks is None:
            return [{"role": turn["role"], "content": clean(turn["content"])} for turn in messages_of(prompt)]
        turns = [replace(turn, parts=tuple(map(clean, turn.parts))) for turn in turns_of(prompt)]
        return self._marks.marked(turns)

    def _settings(self, prompt: Prompt[Any], spare: int | None = None) -> dict[str, Any]:
        mended = self._mended
        spare = self.spare_tokens if spare is None or mended.has_no_room else spare
        # The probe finds out whether it is heeded.
        schema = self.takes_schema or (self.takes_schema is None and issubclass(prompt.reply, UntoldReply))
        settings = {
            "temperature": prompt.temperature,
            mended.limit_name: min(prompt.max_tokens + spare, mended.highest_limit),
            # Fixed, and different for each sample, so that a request is reproducible.
            "seed": prompt.sample,
            "response_format": response_format(prompt.reply, ranges=not mended.without_ranges) if schema else None,
        }
        # If litellm knows that the model reports none, it refuses before anything is sent.
        if prompt.alternatives and "logprobs" not in mended.dropped:
            settings |= {"logprobs": True, "top_logprobs": prompt.alternatives}
        dropped = self.dropped
        return {name: value for name, value in settings.items() if value is not None and name not in dropped}

    def _read(self, response: Any, price: Price | None) -> Reply:
        choice = response.choices[0] if response.choices else None
        reason = getattr(choice, "finish_reason", None)
        text = without_keys(clean(choice.message.content or "")) if choice else ""
        return Reply(
            text=text,
            model=without_keys(reported_name(response.model) or self.model),
            usage=self._usage(response, text, price),
            truncated=reason == "length",
            filtered=reason == "content_filter",
            fault="" if text.strip() else without_keys(why_empty(choice)),
            tokens=tokens_without_keys(reported_tokens(getattr(choice, "logprobs", None), text)),
        )

    def _usage(self, response: Any, text: str, price: Price | None) -> Usage:
        usage = getattr(response, "usage", None)
        read = token_count(getattr(usage, "prompt_tokens", None))
        wrote = token_count(getattr(usage, "completion_tokens", None))
        from_cache, to_cache = tokens_read_and_written(usage, read)
        # A given price has none for the cache.
        saved = 0.0 if price else self._cache_prices.saved(from_cache, to_cache)
        is_known = read and (wrote or not text)
        return Usage(read, wrote, self._cost(response, read, wrote, price) if is_known else None, from_cache, saved)

    def _cost(self, response: Any, read: int, wrote: int, price: Price | None) -> float | None:
        if price:
            return price.cost(read, wrote)
        # litellm's figure includes discounts such as cached input, but is 0 for unknown models.
        cost: float | None = response._hidden_params.get("response_cost")
        return cost if self.price else None

    @functools.cached_property
    def _cache_prices(self) -> CachePrices:
        return cache_prices(self.model)

    @property
    def _marks(self) -> CacheMarks | None:
        return None if "cache_control" in self._mended.dropped else self._cache_marks

    @functools.cached_property
    def _cache_marks(self) -> CacheMarks | None:
        return CacheMarks(least_cached_tokens(self.model)) if needs_marks(*self._place) else None

    @functools.cached_property
    def _place(self) -> tuple[str, str]:
        litellm = load_litellm()
        try:
            model, provider, _, _ = litellm.get_llm_provider(self.model, api_base=self._api_base)
        except litellm.BadRequestError:
            raise self._unknown() from None
        if self._api_base is None:
            check_environment(provider)  # only litellm knows the provider of a bare name
        return model, provider

    def _unknown(self) -> JudgeRefused:
        _, colon, rest = self.model.partition(":")
        others = [f"{name}{colon}{rest}" for name in self._other_judges]
        installed = f"a judge ({', '.join(self._other_judges)}), " if others else ""
        return JudgeRefused(
            f"{self.model!r} is neither a judge nor a model that litellm knows a provider of.",
            f"{did_you_mean(self.model, others)}Write {installed}PROVIDER/MODEL as in ollama_chat/llama3.1, or "
            "openai/MODEL for a server of your own.",
        )

    @functools.cached_property
    def _unsupported(self) -> frozenset[str]:
        litellm = load_litellm()
        model, provider = self._place
        supported = litellm.get_supported_openai_params(model, custom_llm_provider=provider)
        if supported is None:  # no list for this provider, which will refuse what it does not accept
            return frozenset()
        sent = litellm.utils.get_optional_params(
            model=model, custom_llm_provider=provider, temperature=0.0, drop_params=True
        )
        taken = {"temperature"} & sent.keys()
        taken |= {"max_tokens"} if set(LIMIT_NAMES) & set(supported) else set()
        taken |= {"seed"} & set(supported)
        return frozenset({"temperature", "max_tokens", "seed"} - taken)

    @functools.cached_property
    def takes_schema(self) -> bool | None:
        """Whether the schema of a reply is sent; `None` if a server of the user's own has to be asked first."""
        if self._structured != "auto":
            return self._structured == "schema"
        model, provider = self._place
        if load_litellm().supports_response_schema(model, custom_llm_provider=provider):
            return True
        is_own = provider in OWN_SERVERS or _address(self.model, self._api_base) is not None
        return None if is_own else False


async def close_connections() -> None:
    """Close the connections that language models have opened in this event loop; the next request opens new ones.

    This is called once, before the event loop ends. Other threads go on with the connections of theirs.
    """
    if is_loaded():
        from rubriclab.judges.transport import close_transports

        litellm = load_litellm()
        if await close_transports():
            await litellm.close_litellm_async_clients()
        # Closed clients would be used again.
        litellm.in_memory_llm_clients_cache.flush_cache()


def _address(model: str, api_base: str | None) -> str | None:
    """Return the server's address, unless it is the provider's own."""
    address = api_base or environment_address(provider_of(model))
    return shown_address(address) if address else None
