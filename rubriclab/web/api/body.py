"""The texts in the body of a request."""

from __future__ import annotations

import asyncio

import orjson
from pydantic import ValidationError
from starlette.requests import ClientDisconnect, Request

from rubriclab.characters import one_line
from rubriclab.pydantic_errors import faults
from rubriclab.web.api.models import InputText, InputTexts
from rubriclab.web.api.problems import Refused

# Seconds until the whole body has to be there.
PATIENCE = 30.0


async def texts_of(request: Request, most_bytes: int, most_texts: int) -> tuple[tuple[InputText, ...], bool]:
    """Return the texts in the body of a request, and whether it is a list of texts.

    Raises:
        Refused: if the body is no JSON, too large, late, or of another form.
    """
    _check_type(request)
    content = await _content(request, most_bytes)
    try:
        value = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise Refused(400, "not_json", f"The body is not JSON: {one_line(str(error))}.") from None
    several = isinstance(value, dict) and "texts" in value
    try:
        texts = InputTexts.model_validate(value).texts if several else (InputText.model_validate(value),)
    except ValidationError as error:
        raise Refused(422, "invalid_body", f"{faults(error)}.") from None
    if len(texts) > most_texts:
        raise Refused(413, "too_many_texts", f"Expected at most {most_texts:,} texts, got {len(texts):,}.")
    return texts, several


def _check_type(request: Request) -> None:
    # Pages of other sites can send other types without asking (cross-site request forgery).
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json" or request.headers.get("content-encoding", "identity") != "identity":
        raise Refused(415, "not_json", "Send the body as application/json, without compression.")


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
        raise Refused(408, "late_body", f"The body was not complete after {PATIENCE:g} seconds.") from None
    except ClientDisconnect:
        raise Refused(400, "incomplete_body", "The connection was closed before the body was complete.") from None
    return bytes(content)


def _too_large(most: int) -> Refused:
    return Refused(413, "too_large", f"Expected a body of at most {most:,} bytes.")
