"""From marks to a number (DCR, equation 3)."""

from __future__ import annotations

from collections.abc import Sequence

from rubriclab.methods.dcr.replies import Sign
from rubriclab.methods.method import MISSING


def consistency(marks: Sequence[Sign], alpha: float = 0.0, beta: float = 0.0) -> float | None:
    """Return the score in [0, 1] that k marks come to: Z = (sum of marks + alpha) / (k + beta), then (Z + 1) / 2.

    It is `None` where there is no mark, or k + beta is not above zero. With alpha or beta other than 0 it can fall
    outside [0, 1], and is clipped; with both 0 it is the share of positive marks.
    """
    length = len(marks) + beta
    if not marks or length <= 0:
        return None
    return min(1.0, max(0.0, ((sum(marks) + alpha) / length + 1) / 2))


def known(marks: Sequence[Sign | None]) -> tuple[Sign, ...]:
    """Return the marks that are there; none at all where half of them or more are missing."""
    there = tuple(mark for mark in marks if mark is not None)
    return there if len(marks) - len(there) < MISSING * len(marks) else ()
