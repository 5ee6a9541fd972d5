"""The operations behind the commands and the methods of `Lab`: typed options in, typed results out, no printing.

Each operation is a function (`learn`) with options (`options.LearnOptions`) and a result (`LearnResult`). A function
that asks a judge gets a `Workspace` (the store, how judges are asked, whom to notify), the data, and the options. A
module that only reads or changes the store imports neither judges nor learning. All functions raise `DataError` for
rows that they cannot use, `SettingsError` for options that do not fit, `NotInStore` for what the store does not hold,
and `JudgeError` if the provider fails. Their docstrings name further errors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rubriclab.lazy_names import lazy_modules

# Because of `__getattr__`, a type checker would accept any name. It sees imports instead, here or in other modules.
if TYPE_CHECKING:
    from rubriclab.ops import learn, literature, transfer  # noqa: F401
else:
    __getattr__ = lazy_modules(__name__)
