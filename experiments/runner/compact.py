"""Base of stored results, whose optional fields are written only if they are set."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import SerializerFunctionWrapHandler, model_serializer

from rubriclab.research import FrozenModel


class CompactModel(FrozenModel):
    """A frozen model that omits the fields named in `added` from its JSON while they have their default."""

    added: ClassVar[frozenset[str]] = frozenset()

    @model_serializer(mode="wrap")
    def _without_defaults(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields = type(self).model_fields
        omitted = {name for name in self.added if getattr(self, name) == fields[name].default}
        return {name: value for name, value in write(self).items() if name not in omitted}
