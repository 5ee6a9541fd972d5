"""Whether other processes of this computer are running."""

from __future__ import annotations

import os


def is_running(pid: int) -> bool:
    """Return whether a process of this computer is running; `True` where that cannot be asked without ending it."""
    if os.name == "nt":
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it is another user's
        return True
    return True
