"""Errors that one process sends to another."""

from __future__ import annotations

import pickle
import traceback

from rubriclab.errors import RubriclabError


def portable(error: Exception) -> Exception:
    """Return an error that another process can read; one that is not raised on purpose with its traceback as a note."""
    if not isinstance(error, RubriclabError):
        error.add_note("In a worker process:\n" + "".join(traceback.format_exception(error)))
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        replaced = RuntimeError(f"{type(error).__name__}: {error}")
        replaced.add_note("\n".join(getattr(error, "__notes__", ())))
        return replaced
    return error
