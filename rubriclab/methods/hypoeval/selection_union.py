"""The final bank, from hypotheses learned from labels and hypotheses from literature alone (HypoEval, section 2)."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Literal

from rubriclab.rubric import Criterion

Union = Literal["reward", "random", "accuracy"]


def final_bank(
    learned: Sequence[Criterion], literature: Sequence[Criterion], size: int, union: Union, draw: random.Random
) -> tuple[Criterion, ...]:
    """Return at most `size` hypotheses of both sides, which are given best first.

    If one side is empty, the other one may fill the bank.
    """
    if not (learned and literature):
        return _some([*learned, *literature], size, union, draw)
    half = size // 2
    if union == "random":
        return (*draw.sample(learned, min(half, len(learned))), *draw.sample(literature, min(half, len(literature))))
    if union == "accuracy":
        kept = tuple(learned[:half])
        return (*kept, *literature[: size - len(kept)])
    added = tuple(literature[: max(half, size - len(learned))])
    return (*learned[: size - len(added)], *added)


def _some(side: Sequence[Criterion], size: int, union: Union, draw: random.Random) -> tuple[Criterion, ...]:
    return tuple(draw.sample(side, min(size, len(side))) if union == "random" else side[:size])
