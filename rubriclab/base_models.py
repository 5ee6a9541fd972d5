"""Base and number types of stored data."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field

# Bound of numbers in scoring, so that products and quotients of a few of them are finite.
LARGEST = 1e12
Count = Annotated[int, Field(ge=0)]
Bounded = Annotated[float, Field(ge=-LARGEST, le=LARGEST, allow_inf_nan=False)]


def _with_time_in_utc(moment: datetime) -> datetime:
    try:
        moment.astimezone(UTC)
    except OverflowError:
        raise ValueError("the time in UTC is before the year 1 or after the year 9999") from None
    return moment


Moment = Annotated[AwareDatetime, AfterValidator(_with_time_in_utc)]


class FrozenModel(BaseModel):
    """Base of stored data: immutable, without unknown fields, infinite numbers and NaN."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
