"""Options that name something and give it a value: `--pin h02=0.3`."""

from __future__ import annotations

from collections.abc import Sequence


def pairs_of(given: Sequence[str], flag: str, form: str) -> dict[str, str] | None:
    """Return the values by name; `None` if nothing is given.

    Raises:
        SettingsError: if one is no pair, or a name is given twice.
    """
    from rubriclab.errors import SettingsError

    pairs: dict[str, str] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not (equals and name.strip() and value.strip()):
            raise SettingsError(f"{flag}: expected {form}, got {text!r}.", f"Write {flag} {form}.")
        if name.strip() in pairs:
            raise SettingsError(f"{flag} names {name.strip()} twice.", "Give each once.")
        pairs[name.strip()] = value.strip()
    return pairs or None
