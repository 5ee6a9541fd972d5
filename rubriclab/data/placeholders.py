"""What data sets write where there is no text: absent, not a text that says "none"."""

from __future__ import annotations

# Topical-Chat's `_nofact` among them; compared in small letters, without brackets and closing marks around them.
_PLACEHOLDERS = frozenset(
    {
        "_nofact",
        "_none",
        "_null",
        "empty",
        "n.a",
        "n/a",
        "na",
        "nan",
        "nil",
        "no context",
        "no fact",
        "no reference",
        "no source",
        "nofact",
        "none",
        "not applicable",
        "not available",
        "null",
        "undefined",
    }
)
_AROUND = " \t\r\n[](){}<>\"'`*.-–—"


def without_placeholder(text: str | None) -> str | None:
    """Return a source, context or reference as it is, or `None` where it only says that there is none.

    An output is never passed through this: somebody wrote it, whatever it says.
    """
    if text is None:
        return None
    said = text.strip(_AROUND).lower()
    return None if not said or said in _PLACEHOLDERS else text
