"""The types of options as readers see them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest

from rubriclab.base_options import Texts, type_text


@pytest.mark.parametrize(
    ("annotation", "shown"),
    [
        (Texts | None, "tuple[str, ...] | None"),
        (Mapping[str, Annotated[int, "checked"]], "Mapping[str, int]"),
        (Literal["a", "b"], "Literal['a', 'b']"),
        (Literal["a"] | None, "Literal['a'] | None"),
        (Path, "Path"),
    ],
)
def test_types_are_shown_without_modules_and_validators(annotation: Any, shown: str) -> None:
    assert type_text(annotation) == shown
