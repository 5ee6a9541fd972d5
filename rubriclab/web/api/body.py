"""The texts in the body of a request."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from pydantic import ValidationError
from starlette.requests import ClientDisconnect, Request

from rubriclab.characters import one_line
from rubriclab.descriptions import preview
from rubriclab.pydantic_errors import faults
from rubriclab.services.inputs import repeated_id
from rubriclab.web.api.models import InputText, InputTexts
from rubriclab.web.api.problems import KINDS, Refused

# Seconds until the whole body has to be there.
PATIENCE = 30.0


async def texts_of(request: Request, most_bytes: int, most_texts: int) -> tuple[tuple[InputText, ...], bool]:
    """Return the texts in the body of a request, and whether it is a list of texts.

    Raises:
        Refused: if the body is no JSON, too large, late, or of another form, or says something twice.
    """
    _check_type(request)
    content = await _content(request, most_bytes)
    try:
        value = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise Refused("not_json", f"The body is not JSON: {one_line(str(error))}.") from None
    _check_keys(content)
    several = isinstance(value, dict) and "texts" in value
    try:
        texts = InputTexts.model_validate(value).texts if several else (InputText.model_validate(value),)
    except ValidationError as error:
        hint = ' Send several texts as {"texts": […]}.' if isinstance(value, list) else ""
        raise Refused("invalid_body", f"{faults(error)}.{hint}") from None
    if len(texts) > most_texts:
        raise Refused(
            "too_many_texts",
            f"Expected at most {most_texts:,} texts, got {len(texts):,}; send them in several requests.",
        )
    _check_ids(texts)
    return texts, several


def _check_type(request: Request) -> None:
    # Pages of other sites can send other types without asking (cross-site request forgery).
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json":
        given = f"got {media_type!r:.80}" if media_type else "there is none"
        raise Refused("other_media_type", f"Expected the Content-Type application/json; {given}.")
    encodings = request.headers.getlist("content-encoding")
    if any(encoding.strip().lower() != "identity" for encoding in encodings):
        raise Refused("compressed_body", f"Send the body without compression; it is sent as {encodings[0]!r:.80}.")


def _check_keys(content: bytes) -> None:
    """Check that no object has a key twice: the reader of JSON would take the last value in silence."""
    try:
        json.loads(content, object_pairs_hook=_unique)
    except RecursionError:
        raise Refused("not_json", "The body is nested too deeply.") from None


def _unique(pairs: Sequence[tuple[str, Any]]) -> Mapping[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        repeated = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise Refused("repeated_key", f"The key {preview(repeated)} occurs twice in an object; send it once.")
    return found


def _check_ids(texts: Sequence[InputText]) -> None:
    if repeated := repeated_id(text.id for text in texts):
        first, second = repeated
        raise Refused(
            "repeated_id",
            f"texts[{second}]: the id {preview(texts[second].id or '')} is that of texts[{first}] already; "
            "give each its own, or none.",
        )


async def _content(request: Request, most: int) -> bytes:
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length) > most:
        raise _too_large(most)
    content = bytearray()
    try:
        async with asyncio.timeout(PATIENCE):
            async for part in request.stream():
                content += part
                if len(content) > most:
                    raise _too_large(most)
    except TimeoutError:
        raise Refused("late_body", f"The body was not complete after {PATIENCE:g} seconds.") from None
    except ClientDisconnect:
        raise Refused("incomplete_body", KINDS["incomplete_body"].meaning) from None
    return bytes(content)


def _too_large(most: int) -> Refused:
    return Refused("too_large", f"Expected a body of at most {most:,} bytes.")
