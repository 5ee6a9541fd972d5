"""How judges are asked: what the command line and the configuration file can set."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from rubriclab.judges.language_model import Structured
from rubriclab.judges.price import Price
from rubriclab.judges.reply_size import DEFAULT_BYTES


class JudgeOptions(BaseModel):
    """Options of one language model. The offline judge and recordings send nothing and cost nothing: none applies.

    Attributes:
        concurrency: requests in flight.
        timeout: seconds for one request.
        attempts: requests per prompt before its answer is missing, the first one included.
        requests_per_minute, tokens_per_minute: as the provider's plan has them; `None` for no limit.
        max_calls: replies after which the command stops.
        max_cost: US dollars that the command must not pass.
        price: US dollars per million tokens, in place of litellm's price table.
        structured: whether the reply's JSON schema is sent: `auto` where the model is known to take it.
        api_base: the server's address, in place of the provider's environment variable.
        retry_failed: whether questions whose kept reply cannot be used are asked once more.
        reasoning_tokens: room for a reasoning model's hidden thinking, on top of each prompt's own limit.
        max_reply_bytes: larger replies are not received to their end, and are missing; most prompts' own limits in
            tokens allow less. Log-probabilities do not count.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    concurrency: int = Field(default=8, ge=1, le=1024)
    timeout: float = Field(default=60.0, gt=0, le=3600)
    attempts: int = Field(default=6, ge=1, le=20)
    requests_per_minute: float | None = Field(default=None, gt=0)
    tokens_per_minute: float | None = Field(default=None, gt=0)
    max_calls: int | None = Field(default=None, ge=1)
    max_cost: float | None = Field(default=None, ge=0)
    price: Price | None = None
    structured: Structured = "auto"
    api_base: str | None = None
    retry_failed: bool = False
    reasoning_tokens: int = Field(default=4096, ge=0)
    max_reply_bytes: int = Field(default=DEFAULT_BYTES, ge=1_000, le=100_000_000)
