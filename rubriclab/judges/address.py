"""Addresses of servers: checked before anything is sent, and shown without what could be secret."""

from __future__ import annotations

import os
import re
from urllib.parse import urlsplit, urlunsplit

from rubriclab.errors import SettingsError
from rubriclab.masking import holds_secret

# What stands before the host ends at the last "@" before the path; clients differ on backslashes, so both end it.
_AUTHORITY = re.compile(r"^(?:[A-Za-z][A-Za-z0-9+.-]*:)?[/\\\\]*(?P<authority>[^/\\\\?#]*)")
_VARIABLES = ("API_BASE", "BASE_URL", "API_BASE_URL", "API_ENDPOINT")


def check_address(address: str, source: str) -> str:
    """Return the address of a server, if it is one and holds no credentials; `source` is what set it.

    Raises:
        SettingsError: if it holds credentials, is not an http address, or has characters that clients read differently.
            The message never repeats credentials.
    """
    written = address.strip()
    if _holds_credentials(written):
        raise SettingsError(
            f"{source}: the address holds a user name, password or key, which would end up in logs and messages.",
            "Leave it out of the address and put the key into the provider's variable, such as OPENAI_API_KEY.",
        )
    if "\\" in written or " " in written or not written.isprintable():
        # Not repeated: where its host ends is not certain, and so neither is what in it is secret.
        raise SettingsError(
            f"{source}: the address has a backslash, white space or an invisible character in it.",
            "Write one such as http://localhost:8000/v1.",
        )
    if not _is_usable(written):
        # With an "@" it may hold a password that could not be told from the rest.
        got = "an address that cannot be read" if "@" in written else repr(written)
        raise SettingsError(f"{source}: got {got}, expected one such as http://localhost:8000/v1.")
    return written


def _holds_credentials(address: str) -> bool:
    found = _AUTHORITY.match(address)
    if (found and "@" in found["authority"]) or holds_secret(address):
        return True
    try:
        return "@" in urlsplit(address).netloc
    except ValueError:
        return False


def _is_usable(address: str) -> bool:
    try:
        parts = urlsplit(address)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def check_environment(provider: str) -> None:
    """Return if no variable that litellm may take a provider's address from holds credentials.

    Raises:
        SettingsError: if one does.
    """
    prefix = provider.removesuffix("_chat").upper()
    names = [f"{prefix}_{ending}" for ending in _VARIABLES]
    if prefix == "HUGGINGFACE":
        names.append("HF_API_BASE")
    for name in names:
        if address := os.environ.get(name):
            check_address(address, name)


def environment_address(provider: str) -> str | None:
    """Return the address that the environment sets for a provider, if it sets one."""
    prefix = provider.removesuffix("_chat").upper()
    return os.environ.get(f"{prefix}_API_BASE") or os.environ.get(f"{prefix}_BASE_URL")


def shown_address(address: str) -> str:
    """Return an address without user name, password, query or fragment: recordings and packs are passed on."""
    parts = urlsplit(address)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path.rstrip("/"), "", ""))
