"""Readers and writers of files and tables; checks of training data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rubriclab.lazy_names import lazy_modules

# Hidden from type checkers, which would accept any name because of `__getattr__`.
if not TYPE_CHECKING:
    __getattr__ = lazy_modules(__name__)
