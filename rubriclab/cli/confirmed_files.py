"""Which configuration files the user has confirmed, each by its path and the digest of its content.

The list is in the user's own configuration folder and not in a store, since a configuration file may name the store.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path

from rubriclab.errors import SettingsError


def place() -> Path:
    """Return the file that holds the list."""
    import platformdirs

    return platformdirs.user_config_path("rubriclab", appauthor=False) / "trusted.json"


def confirmed_files() -> Mapping[str, str]:
    """Return the digest of the confirmed content by absolute path, sorted by path.

    Raises:
        SettingsError: if the list cannot be read.
    """
    file = place()
    try:
        held = json.loads(file.read_bytes())
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise SettingsError(f"{file} cannot be read: {error.strerror}.") from None
    except ValueError:
        held = None
    if not isinstance(held, dict) or not all(isinstance(digest, str) for digest in held.values()):
        raise SettingsError(f"{file} is damaged: expected a JSON object of paths and digests.", "Delete it.")
    return dict(sorted(held.items()))


def is_confirmed(file: Path, content: bytes) -> bool:
    """Return whether the user has confirmed just this content at just this path."""
    return confirmed_files().get(str(file.resolve())) == digest_of(content)


def confirm(file: Path, content: bytes) -> None:
    """Remember that the user has confirmed this content at this path."""
    _write({**confirmed_files(), str(file.resolve()): digest_of(content)})


def revoke(file: Path) -> bool:
    """Forget the confirmation of a file, and return whether there was one."""
    held = dict(confirmed_files())
    digest = held.pop(str(file.resolve()), None)
    if digest is not None:
        _write(held)
    return digest is not None


def digest_of(content: bytes) -> str:
    """Return the SHA-256 digest of a file's content."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def _write(held: Mapping[str, str]) -> None:
    """Replace the list in one step, so that a killed command leaves the old one or the new one."""
    file = place()
    draft = file.with_name(f"{file.name}.{os.getpid()}")
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft.write_text(json.dumps(held, indent=2, sort_keys=True) + "\n", "utf-8")
        draft.chmod(0o600)
        draft.replace(file)
    except OSError as error:
        raise SettingsError(f"{file} cannot be written: {error.strerror}.") from None
