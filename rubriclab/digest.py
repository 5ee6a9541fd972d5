"""Content digests, equal for equal values in every process and on every machine.

A digest is `sha256:` and 64 hexadecimal digits over canonical JSON: keys sorted, no white space, ASCII escapes,
numbers in their shortest form that reads back the same. NaN and infinities have no JSON form and are refused.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

PREFIX = "sha256:"


def canonical(value: Any) -> str:
    """Return `value` (JSON types only) as canonical JSON text.

    Raises:
        ValueError: for NaN or infinities.
        TypeError: for anything that JSON cannot hold.
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def digest(value: Any) -> str:
    """Return the digest of `value` (JSON types only), tagged with its algorithm."""
    return digest_text(canonical(value))


def digest_text(text: str) -> str:
    """Return the digest of `text`; lone surrogates are allowed."""
    return PREFIX + hashlib.sha256(encoded(text)).hexdigest()


def encoded(text: str) -> bytes:
    """Return `text` in UTF-8, lone surrogates included."""
    return text.encode("utf-8", "surrogatepass")
