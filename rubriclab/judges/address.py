"""Addresses of servers: checked before use, and shown without secrets."""

from __future__ import annotations

import os
import re
from ipaddress import ip_address
from urllib.parse import urlsplit, urlunsplit

from rubriclab.errors import SettingsError
from rubriclab.judges.masking import holds_secret

# The authority ends where the path begins; clients differ on backslashes, so either slash ends it.
_AUTHORITY = re.compile(r"^(?:[A-Za-z][A-Za-z0-9+.-]*:)?[/\\\\]*(?P<authority>[^/\\\\?#]*)")
_VARIABLES = ("API_BASE", "BASE_URL", "API_BASE_URL", "API_ENDPOINT")


def check_address(address: str, source: str) -> str:
    """Return a server's address if it is valid and has no credentials; `source` names its origin in errors.

    Raises:
        SettingsError: if it has credentials, is no http address, or has characters that clients read differently. The
            message never repeats credentials.
    """
    written = address.strip()
    if _holds_credentials(written):
        raise SettingsError(
            f"{source}: the address has a user name, password or key, which would appear in logs and messages.",
            "Remove it, and set the key in the provider's variable, such as OPENAI_API_KEY.",
        )
    if "\\" in written or " " in written or not written.isprintable():
        # Not repeated, since it is uncertain where its host ends and what in it is secret.
        raise SettingsError(
            f"{source}: the address has a backslash, white space or an invisible character.",
            "Write one such as http://localhost:8000/v1.",
        )
    if not _is_usable(written):
        # With an "@" it may have a password.
        got = "an address that cannot be read" if "@" in written else repr(written)
        raise SettingsError(f"{source}: got {got}, expected one such as http://localhost:8000/v1.")
    return written


def _holds_credentials(address: str) -> bool:
    match = _AUTHORITY.match(address)
    if (match and "@" in match["authority"]) or holds_secret(address):
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
    """Check the variables from which litellm may take a provider's address.

    Raises:
        SettingsError: if one has credentials or is invalid.
    """
    prefix = provider.removesuffix("_chat").upper()
    names = [f"{prefix}_{ending}" for ending in _VARIABLES]
    if prefix == "HUGGINGFACE":
        names.append("HF_API_BASE")
    for name in names:
        if address := os.environ.get(name):
            check_address(address, name)


def environment_address(provider: str) -> str | None:
    """Return a provider's address from the environment, if it is set."""
    prefix = provider.removesuffix("_chat").upper()
    return os.environ.get(f"{prefix}_API_BASE") or os.environ.get(f"{prefix}_BASE_URL")


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine: `localhost`, 127.0.0.0/8 or ::1."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower().rstrip(".") == "localhost"


def bypass_proxies(host: str) -> None:
    """Have no request to `host` sent to a proxy that the environment names.

    litellm has several HTTP clients, all of which heed `NO_PROXY`, though not each of them ranges of addresses in it.
    """
    from urllib.request import proxy_bypass

    if not proxy_bypass(host):
        name = "no_proxy" if "no_proxy" in os.environ else "NO_PROXY"  # the former comes first
        os.environ[name] = ",".join(filter(None, (os.environ.get(name), host)))


def shown_address(address: str) -> str:
    """Return an address without user name, password, query or fragment, since recordings and packs are shared."""
    parts = urlsplit(address)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path.rstrip("/"), "", ""))
