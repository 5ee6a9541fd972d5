"""Reading the token log-probabilities that a provider reports beside a reply.

Servers differ in what they list: the tokens of hidden thinking before the reply, an end mark behind it, one entry for
each part of a character. What is read here joins to the reply's text, or is nothing at all.
"""

from __future__ import annotations

import codecs
import itertools
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from rubriclab.judges.judge import Token

# How far above 0 a logarithm may come out of 32-bit arithmetic.
ROUNDING = 1e-3
# What OpenAI reports for "very unlikely"; others report minus infinity there, which JSON cannot hold.
VERY_UNLIKELY = -9999.0


def _encodable(text: str) -> str:
    text.encode()  # half a surrogate pair can be kept in no file; the error is a ValueError
    return text


class _Likely(BaseModel):
    """One token and its probability; litellm hands these over as objects or as dictionaries."""

    model_config = ConfigDict(strict=True, from_attributes=True)

    token: Annotated[str, AfterValidator(_encodable)]
    logprob: float = Field(le=ROUNDING)

    @property
    def alternative(self) -> tuple[str, float]:
        return self.token, min(0.0, max(VERY_UNLIKELY, self.logprob))


class _Place(_Likely):
    bytes: list[Annotated[int, Field(ge=0, le=255)]] | None = None
    top_logprobs: list[_Likely] = Field(min_length=1)

    @property
    def alternatives(self) -> tuple[tuple[str, float], ...]:
        likely = tuple(other.alternative for other in self.top_logprobs)
        chosen = () if self.token in dict(likely) else (self.alternative,)
        return likely + chosen


class _Report(BaseModel):
    model_config = ConfigDict(strict=True, from_attributes=True)

    content: list[_Place]


def reported_tokens(report: Any, text: str) -> tuple[Token, ...]:
    """Return the tokens of `text` with their alternatives, from a choice's `logprobs` in the form of OpenAI's chat API.

    None are returned where nothing or something damaged was reported (one odd entry is enough), where it names no
    alternatives, or where no run of the tokens joins to `text`.
    """
    try:
        places = _Report.model_validate(report).content
    except ValidationError:
        return ()
    for texts in ([place.token for place in places], _decoded(places)):
        if (run := _run(texts, text)) is not None:
            return tuple(Token(said, place.alternatives) for said, place in zip(texts[run], places[run], strict=True))
    return ()


def _decoded(places: Sequence[_Place]) -> list[str]:
    """Return the tokens' texts by their bytes: a character in several tokens stands whole in the last of these."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    return [decoder.decode(bytes(place.bytes or place.token.encode())) for place in places]


def _run(texts: Sequence[str], whole: str) -> slice | None:
    """Return the tokens that join to `whole`; the last such run, as thinking may quote the reply before it is given."""
    said = "".join(texts)
    # Backwards, because `find` takes linear time, and `rfind` does not.
    behind = said[::-1].find(whole[::-1]) if whole else -1
    start = len(said) - behind - len(whole)
    bounds = list(itertools.accumulate(map(len, texts), initial=0))
    if behind < 0 or start not in bounds or start + len(whole) not in bounds:
        return None
    return slice(bounds.index(start), bounds.index(start + len(whole)))
