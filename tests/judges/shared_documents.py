"""A document in memory that several budgets or limits share, with a clock to set."""

from __future__ import annotations

import json
import threading
from typing import Any

from rubriclab.errors import StoreUnavailable


class MemoryDocument:
    """Holds its document as JSON, as a store does; it fails while `away`."""

    def __init__(self) -> None:
        self.content = "{}"
        self._lock = threading.Lock()
        self.now = 1000.0
        self.changes = 0
        self.away = False
        self.twice = False

    def change(self, change: Any) -> Any:
        """Return the result of `change`; called a second time if `twice`, as after a lost connection."""
        if self.away:
            raise StoreUnavailable("The store is away.")
        with self._lock:
            self.changes += 1
            document, result = change(json.loads(self.content), self.now)
            if self.twice:
                document, result = change(json.loads(json.dumps(document)), self.now)
            self.content = json.dumps(document)
        return result
