"""Readers and writers of files and tables; checks of training data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rubriclab.lazy_names import lazy_modules

# Type checkers would accept any name as a module.
if not TYPE_CHECKING:
    __getattr__ = lazy_modules(__name__)
