"""What every command and every method of `Lab` does: typed options in, typed results out, no printing.

Each operation has a module with its options (`LearnOptions`), its function (`learn`) and what that returns
(`LearnResult`). Functions that ask a judge are asynchronous and get a `Workspace` (the store, how judges are asked,
whom to notify), the data, and the options. Those that only read or change the store get it open, and import neither
judges nor learning. Any of them raises `DataError` for rows that it cannot use, `SettingsError` for options that do not
fit, `NotInStore` for what the store does not hold, and `JudgeError` if the provider fails; what a function raises
beyond is in its documentation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rubriclab.lazy_names import lazy_modules

# Hidden from type checkers, which would take any name for a module.
if not TYPE_CHECKING:
    __getattr__ = lazy_modules(__name__)
