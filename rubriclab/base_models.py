"""The bases of what is stored: immutable plain data, whose JSON stays what it was when fields are added."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer

# A number that scoring calculates with: products and quotients of a few of them stay finite.
LARGEST = 1e12
Count = Annotated[int, Field(ge=0)]
Bounded = Annotated[float, Field(ge=-LARGEST, le=LARGEST, allow_inf_nan=False)]


class FrozenModel(BaseModel):
    """Base of everything that is stored: immutable, and strict about names it does not know."""

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
