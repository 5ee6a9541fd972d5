"""Options of judges that the command line, the configuration file and Python can set."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from rubriclab.judges.language_model import Structured
from rubriclab.judges.price import Price
from rubriclab.judges.reply_size import DEFAULT_BYTES


class JudgeOptions(BaseModel):
    """Options of calls to a language model. They do not apply to the offline judge and recordings, which make no calls.

    Attributes:
        concurrency: requests in flight.
        timeout: seconds for one request.
        attempts: requests per prompt, the first one included, before its answer is missing.
        requests_per_minute, tokens_per_minute: limits of the provider's plan; `None` for no limit.
        max_calls: cap on replies from the provider.
        max_cost: cap in US dollars.
        price: replaces litellm's price table.
        structured: whether the reply's JSON schema is sent; `auto` sends it if the model is known to accept it, or
            the user's own server heeds it, which one request finds out.
        api_base: the server's address; replaces the provider's environment variable.
        generator_api_base: the server's address for the generator of `learn`; `None` for that of any other model.
        retry_failed: whether requests whose cached reply is unusable are repeated.
        reasoning_tokens: tokens for hidden reasoning, on top of each prompt's own limit; `None` for 4096 if litellm
            knows that the model reasons, and none otherwise, until a reply ends before its text begins.
        max_reply_bytes: larger replies are cut off and count as missing; most prompts' own token limits allow less.
            Log-probabilities do not count.
        batch: whether prompts are sent by the provider's Batch API, at a lower price, within a day.
        batch_size: the largest number of prompts in a batch, and of texts that are scored at a time.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    concurrency: int = Field(default=8, ge=1, le=1024)
    timeout: float = Field(default=60.0, gt=0, le=3600)
    attempts: int = Field(default=8, ge=1, le=20)
    requests_per_minute: float | None = Field(default=None, gt=0)
    tokens_per_minute: float | None = Field(default=None, gt=0)
    max_calls: int | None = Field(default=None, ge=1)
    max_cost: float | None = Field(default=None, ge=0)
    price: Price | None = None
    structured: Structured = "auto"
    api_base: str | None = None
    generator_api_base: str | None = None
    retry_failed: bool = False
    reasoning_tokens: int | None = Field(default=None, ge=0)
    max_reply_bytes: int = Field(default=DEFAULT_BYTES, ge=1_000, le=100_000_000)
    batch: bool = False
    batch_size: int = Field(default=10_000, ge=1, le=50_000)
