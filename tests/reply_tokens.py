"""The log-probabilities that the local server reports: numbers are single tokens, their neighbours the likeliest."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

Tokeniser = Callable[[str, int], Any]

# Of a number, of the number one above it, of the one below it.
CHOSEN, ABOVE, BELOW = 0.625, 0.25, 0.0625
OTHER = " perhaps"

_PIECES = re.compile(r"-?\d+(?:\.\d+)?|\s?[^\W\d]+|\s+|.", re.DOTALL)
_NUMBER = re.compile(r"-?(\d+)(\.\d+)?")


def log_probabilities(text: str, top: int) -> dict[str, Any]:
    """Return the `logprobs` of a choice: each token of `text` with the `top` likeliest in its place."""
    content = []
    for piece in _PIECES.findall(text):
        likely = [entry(*token) for token in _likely(piece)]
        content.append({**likely[0], "top_logprobs": likely[:top]})
    return {"content": content, "refusal": None}


def entry(token: str, probability: float) -> dict[str, Any]:
    """Return one token as OpenAI's API has it."""
    return {"token": token, "logprob": math.log(probability), "bytes": list(token.encode())}


def _likely(piece: str) -> list[tuple[str, float]]:
    number = _NUMBER.fullmatch(piece)
    if number is None:
        return [(piece, 0.9), (OTHER, 0.05)]
    decimals = len(number[2] or ".") - 1
    above, below = (f"{float(piece) + step:.{decimals}f}" for step in (1, -1))
    return [(piece, CHOSEN), (above, ABOVE), (below, BELOW), (OTHER, 0.03)]
