"""Base and number types of stored data."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer

# Bound of numbers in scoring, so that products and quotients of a few of them are finite.
LARGEST = 1e12
Count = Annotated[int, Field(ge=0)]
Bounded = Annotated[float, Field(ge=-LARGEST, le=LARGEST, allow_inf_nan=False)]


class FrozenModel(BaseModel):
    """Base of stored data: immutable, without unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ExtensibleModel(FrozenModel):
    """Base of what has gained fields since versions were first stored.

    The fields named in `added` are left out of the JSON while they have their default: content that does not use them
    is written as it was before they came, and keeps its digest.
    """

    added: ClassVar[frozenset[str]] = frozenset()

    @model_serializer(mode="wrap")
    def _without_unused(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields = type(self).model_fields
        unused = {name for name in self.added if getattr(self, name) == fields[name].default}
        return {name: value for name, value in write(self).items() if name not in unused}
