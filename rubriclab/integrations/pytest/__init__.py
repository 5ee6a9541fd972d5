"""The pytest plugin. Its fixture `rubric` is a `RubricFixture`: called in a test, it returns a `RubricChecker`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rubriclab.lazy_names import lazy_names

if TYPE_CHECKING:
    from rubriclab.integrations.pytest.checker import RubricChecker as RubricChecker, RubricFixture as RubricFixture

_MODULE_OF = dict.fromkeys(("RubricChecker", "RubricFixture"), "rubriclab.integrations.pytest.checker")

__all__ = [*_MODULE_OF]

# Hidden from type checkers, which would accept any name because of `__getattr__`.
if not TYPE_CHECKING:
    __getattr__ = lazy_names(__name__, _MODULE_OF)
