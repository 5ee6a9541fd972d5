"""The machine that figures are of."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from typing import Any


def this_machine() -> dict[str, Any]:
    """Return the Python version, the system, the number of processors and the load over the last minute."""
    return {
        "python": platform.python_version(),
        "system": platform.platform(),
        "processors": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
    }


def described(machine: Mapping[str, Any]) -> str:
    """Return a machine in words."""
    return f"Python {machine['python']}, {machine['processors']} cores, load {machine['load']:.1f}"
