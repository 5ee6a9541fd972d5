"""Options of calls to a language model, such as limits, price and address. This module imports nothing slow."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo

from rubriclab.base_options import JUDGING, LIMITS, CliForm, Options
from rubriclab.errors import SettingsError

SendSchema = Literal["auto", "schema", "text"]
DEFAULT_MAX_REPLY_BYTES = 1_000_000


@dataclass(frozen=True)
class Price:
    """US dollars per million prompt and completion tokens."""

    prompt: float
    completion: float

    def cost(self, prompt_tokens: int, completion_tokens: int) -> float:
        return (prompt_tokens * self.prompt + completion_tokens * self.completion) / 1e6

    def times(self, share: float) -> Price:
        return Price(self.prompt * share, self.completion * share)


def as_price(value: Any) -> Price:
    """Return `value` as a price: a `Price`, two numbers or `IN:OUT`, in US dollars per million tokens."""
    if isinstance(value, Price):
        return value
    try:
        amounts = value.split(":") if isinstance(value, str) else value
        prompt, completion = map(float, amounts)
        if not (0 <= prompt < math.inf and 0 <= completion < math.inf):
            raise ValueError
    except (TypeError, ValueError):
        hint = "Write US dollars per million prompt and completion tokens, as in 0.15:0.60."
        raise SettingsError(f"The price {value!r} is not understood.", hint) from None
    return Price(prompt, completion)


def _check_address(address: str, info: ValidationInfo) -> str:
    from rubriclab.judges.providers import check_address

    return check_address(address, f"`{info.field_name}`")


Address = Annotated[Annotated[str, AfterValidator(_check_address)] | None, CliForm(metavar="URL", section=JUDGING)]


class CallOptions(Options):
    """Options that every command with calls to a language model takes."""

    section: ClassVar[str] = LIMITS

    concurrency: int = Field(default=8, ge=1, le=1024)
    """The number of concurrent requests."""

    timeout: float = Field(default=60.0, gt=0, le=3600)
    """Time limit in seconds for one request and its response."""

    attempts: int = Field(default=8, ge=1, le=20)
    """Attempts at a request before its reply is missing."""

    requests_per_minute: float | None = Field(default=None, gt=0)
    """The provider's limit on requests, if it has one."""

    tokens_per_minute: float | None = Field(default=None, gt=0)
    """The provider's limit on tokens of prompts and replies, if it has one."""

    max_calls: int | None = Field(default=None, ge=1)
    """Stop cleanly after this many calls."""

    max_cost: float | None = Field(default=None, ge=0)
    """Stop cleanly before the cost exceeds this many US dollars."""

    price: Annotated[Annotated[Price, BeforeValidator(as_price)] | None, CliForm(metavar="IN:OUT")] = None
    """US dollars per million prompt and completion tokens, for a model of unknown price."""

    structured: Annotated[SendSchema, CliForm(section=JUDGING)] = "auto"
    """`schema` sends the JSON schema of replies, `text` does not, `auto` does if the model supports it."""

    api_base: Address = None
    """The address of your own server, without user name or password."""

    reasoning_tokens: Annotated[int | None, CliForm(metavar="N", section=JUDGING)] = Field(default=None, ge=0)
    """Tokens for hidden reasoning, in addition to each reply's own limit. Default: 4096 for models known to reason."""

    retry_failed: Annotated[bool, CliForm(section=JUDGING)] = False
    """Send a prompt again if its cached reply cannot be used."""


class BatchOptions(Options):
    """Options of prompts that are sent together, and answered within a day."""

    batch: Annotated[bool, CliForm(section=JUDGING)] = False
    """Send prompts by the provider's Batch API, at about half the price; answers come within a day."""

    batch_size: Annotated[int, CliForm(section=LIMITS)] = Field(default=10_000, ge=1, le=50_000)
    """The largest number of prompts in a batch, and of texts scored at a time."""


class GeneratorOptions(Options):
    """Options of calls to the model that proposes criteria."""

    generator_api_base: Address = None
    """The address of the generator's own server, if it has one; `api_base` is then for the judge only. The key of this
    server is in the environment variable RUBRICLAB_GENERATOR_API_KEY."""


class JudgeOptions(GeneratorOptions, BatchOptions, CallOptions):
    """Options of calls to a language model; the offline judge and recordings, which make no calls, ignore them."""

    max_reply_bytes: int = Field(default=DEFAULT_MAX_REPLY_BYTES, ge=1_000, le=100_000_000)
    """Larger replies are cut off and count as missing; most prompts' own token limits allow less. Log-probabilities do
    not count."""
