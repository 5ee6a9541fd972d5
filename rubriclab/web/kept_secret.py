"""Secrets of pages that stay the same when a server is started again, so that open pages and sent links keep working.

They are derived from one random key in a file that only the user can read, in the user's data folder.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import secrets
import tempfile
from pathlib import Path

import platformdirs

from rubriclab.errors import SettingsError

FILE = "page-key"
SIZE = 32


def kept_secret(*purpose: str) -> str:
    """Return an unguessable text for a purpose; the same one each time.

    Raises:
        SettingsError: if the key cannot be read or written.
    """
    content = "\0".join(purpose).encode("utf-8", "surrogatepass")
    return base64.urlsafe_b64encode(hmac.digest(_key(), content, hashlib.sha256)).decode().rstrip("=")


def _key() -> bytes:
    file = platformdirs.user_data_path("rubriclab", appauthor=False) / FILE
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not file.exists():
            _create(file)
        key = file.read_bytes()
    except OSError as error:
        raise SettingsError(
            f"The key of the pages, {file}, cannot be kept: {error.strerror}.", "Make its folder writable."
        ) from None
    if len(key) != SIZE:
        raise SettingsError(f"The key of the pages, {file}, has {len(key)} bytes instead of {SIZE}.", "Delete it.")
    return key


def _create(file: Path) -> None:
    """Write a new key, complete from the moment it appears; the first of several processes decides."""
    handle, name = tempfile.mkstemp(dir=file.parent)
    try:
        with os.fdopen(handle, "wb") as new:
            new.write(secrets.token_bytes(SIZE))
        os.link(name, file)
    except FileExistsError:
        pass
    finally:
        os.unlink(name)
