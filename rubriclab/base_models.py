"""Base and number types of stored data."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

# Bound of numbers in scoring, so that products and quotients of a few of them are finite.
LARGEST = 1e12
Count = Annotated[int, Field(ge=0)]
Bounded = Annotated[float, Field(ge=-LARGEST, le=LARGEST, allow_inf_nan=False)]


class FrozenModel(BaseModel):
    """Base of stored data: immutable, without unknown fields, infinite numbers and NaN."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
