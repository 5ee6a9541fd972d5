"""What a text is taken apart into before it is judged, and what the pieces are held against (SEAL, table 2)."""

from __future__ import annotations

from typing import Literal

from rubriclab.base_models import FrozenModel

# `response` and `triple` are the whole text: what answers a dialogue, and what is read with its source and reference.
UnitKind = Literal["sentence", "sentence pair", "fact", "response", "triple"]

# The fields of an example that its output can be held against.
Material = Literal["source", "context", "reference"]


class Units(FrozenModel):
    """Pieces of a text, each of which can be judged by itself.

    Attributes:
        kind: what a piece is.
        beside: what it is judged beside, and shown with; as single facts where the pieces are facts. What an example
            does not have is left out.
        weights: whether the judge weighs the questions for each text anew, or all count alike.
    """

    kind: UnitKind
    beside: tuple[Material, ...] = ()
    weights: Literal["judge", "equal"] = "equal"
