"""What every command and every method of `Lab` does: typed options in, typed results out, no printing.

Each operation has a module with its options (`LearnOptions`), its function (`learn`) and what that returns
(`LearnResult`). Functions that ask a judge are asynchronous; those that only read or change the store are not. They get
a `Workspace` (the store, how judges are asked, whom to notify), the data, and the options.
"""

from __future__ import annotations
