"""Training records, read once and kept, since reading that of 10,000 texts takes longer than a page may."""

from __future__ import annotations

import gc
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from typing import Generic, TypeVar

from rubriclab.models.version import TrainingRecord, Version
from rubriclab.ops import versions as service
from rubriclab.ops.workspace import Workspace

Made = TypeVar("Made")
# Those of 10,000 texts take some 0.2 GB each.
KEPT = 2


class Records(Generic[Made]):
    """What is made of the training records of the versions that were looked at last, in a thread of `background`."""

    def __init__(
        self, reading: Workspace, make: Callable[[Version, TrainingRecord], Made], background: Executor
    ) -> None:
        self._reading = reading
        self._make = make
        self._background = background
        self._made: OrderedDict[tuple[str, str], Future[Made]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, version: Version) -> Made:
        """Return what is made of the record of a version.

        Raises:
            NotInStore: if the store does not hold it, or does no longer.
        """
        return self.prepare(version).result()

    def prepare(self, version: Version) -> Future[Made]:
        """Begin to read the record of a version, and return what will be made of it."""
        # A record may be deleted while its version stays: then nothing is shown of its texts any more.
        digest = self._reading.store.training_digest(version.ref)
        with self._lock:
            key = (version.ref, digest or "")
            known = self._made.get(key)
            # The store may have failed for a moment only: an error is not kept.
            if known is None or (known.done() and (known.cancelled() or known.exception())):
                self._made[key] = self._background.submit(self._read, version)
                while len(self._made) > KEPT:
                    self._made.popitem(last=False)
            self._made.move_to_end(key)
            return self._made[key]

    def _read(self, version: Version) -> Made:
        with _without_collection():
            return self._make(version, service.training_record(self._reading, version.ref))


@contextmanager
def _without_collection() -> Iterator[None]:
    """Keep the garbage collector from going through the new objects again and again, which takes half of the time.

    They are also left out of later collections, which would each halt all pages.
    """
    was = gc.isenabled()
    gc.disable()
    try:
        yield
        gc.freeze()
    finally:
        if was:
            gc.enable()
