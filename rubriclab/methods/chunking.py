"""Many things in a few calls."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def chunks(items: Sequence[T], most: int) -> list[Sequence[T]]:
    """Return `items` in as few runs as it takes for none to hold more than `most`, all of about the same length."""
    count = math.ceil(len(items) / most)
    ends = [len(items) * number // count for number in range(count + 1)] if count else []
    return [items[start:end] for start, end in itertools.pairwise(ends)]
