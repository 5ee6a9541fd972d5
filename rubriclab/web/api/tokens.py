"""Who may use a service: bearer tokens (RFC 6750), from the environment and from a file."""

from __future__ import annotations

import hashlib
import hmac
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rubriclab.documents import Unreadable, read_file, text_of
from rubriclab.errors import SettingsError
from rubriclab.option_names import option

VARIABLE = "RUBRICLAB_SERVE_TOKEN"
# Characters: 16 random ones of base64 are 96 bits, which cannot be guessed over a network.
SHORTEST, LONGEST = 16, 1_000
MOST_BYTES = 1_000_000
# The name of the caller with the token of the environment, and of every caller of a service without tokens.
OF_ENVIRONMENT, ANYBODY = "token", "anybody"
_TOKEN = re.compile(r"[A-Za-z0-9\-._~+/]+=*")
_NAME = re.compile(r"[\w.\-]{1,100}", re.ASCII)


@dataclass(frozen=True)
class Tokens:
    """The digest of each caller's token, by the caller's name; none if everybody who reaches the service may use it."""

    digests: Mapping[str, bytes] = field(default_factory=dict, repr=False)

    def __bool__(self) -> bool:
        return bool(self.digests)

    def caller(self, authorization: str) -> str | None:
        """Return whose token an `Authorization` header has, in a time that does not depend on the tokens.

        `None` if it is nobody's; `ANYBODY` if there are no tokens.
        """
        if not self.digests:
            return ANYBODY
        given = authorization.partition(" ")[2].strip() if is_bearer(authorization) else ""
        digest = _digest(given)
        found = None
        for name, own in self.digests.items():
            if hmac.compare_digest(own, digest):
                found = name
        return found


def is_bearer(authorization: str) -> bool:
    """Return whether an `Authorization` header has a bearer token, of whatever service."""
    scheme, _, token = authorization.partition(" ")
    return scheme.lower() == "bearer" and bool(token.strip())


def read_tokens(file: str | Path | None, environment: Mapping[str, str] | None = None) -> Tokens:
    """Return the tokens in a file, and that of the environment.

    Args:
        file: `TOKEN` or `NAME TOKEN` on each line; empty lines and those that begin with # are left out.
        environment: by default that of this process.

    Raises:
        SettingsError: if the file cannot be read, or a token is too short, repeated or not of the form of RFC 6750.
    """
    found: dict[str, bytes] = {}
    given = (os.environ if environment is None else environment).get(VARIABLE, "").strip()
    if given:
        _add(found, OF_ENVIRONMENT, given, VARIABLE)
    if file is not None:
        for number, line in enumerate(_lines(file), 1):
            if line.strip() and not line.lstrip().startswith("#"):
                *names, token = line.split()
                place = f"{file}, line {number}"
                if len(names) > 1 or not all(map(_NAME.fullmatch, names)):
                    raise SettingsError(f"{place}: expected TOKEN, or NAME TOKEN.")
                _add(found, names[0] if names else f"line {number}", token, place)
        if not found:
            raise SettingsError(f"{option('token_file')}: {file} has no token.", "Write one on a line.")
    return Tokens(found)


def _lines(file: str | Path) -> list[str]:
    try:
        return text_of(read_file(Path(file), MOST_BYTES)).splitlines()
    except Unreadable as error:
        raise SettingsError(f"{option('token_file')}: {file} cannot be used: {error}.") from None


def _add(found: dict[str, bytes], name: str, token: str, place: str) -> None:
    # A message must not repeat the token.
    if not SHORTEST <= len(token) <= LONGEST:
        raise SettingsError(
            f"{place}: a token has {SHORTEST} to {LONGEST} characters, this one {len(token)}.",
            "Make one with: openssl rand -base64 32",
        )
    if not _TOKEN.fullmatch(token):
        raise SettingsError(f"{place}: a token consists of letters, digits and -._~+/, with = at its end only.")
    digest = _digest(token)
    if name in found or digest in found.values():
        raise SettingsError(f"{place}: this name or token is there already.", "Give each caller a token of its own.")
    found[name] = digest


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
