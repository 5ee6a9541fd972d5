"""What a store holds, how cached answers are removed from it, and how their space is given back."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator

from rubriclab.base_options import Options
from rubriclab.display import Displayed
from rubriclab.errors import SettingsError
from rubriclab.option_names import option
from rubriclab.services.workspace import Workspace
from rubriclab.store import KindSize, Space

if TYPE_CHECKING:
    from rubriclab.report.model import View

_AGE = re.compile(r"([0-9]{1,5})\s*([hdw])")
_UNITS = {"h": "hours", "d": "days", "w": "weeks"}


def _age(value: Any) -> Any:
    if isinstance(value, str) and (match := _AGE.fullmatch(value.strip())):
        value = timedelta(**{_UNITS[match[2]]: int(match[1])})
    if not isinstance(value, timedelta) or value < timedelta():
        raise ValueError(f"expected hours, days or weeks, such as 12h, 90d or 8w; got {value!r}")
    return value


class PruneOptions(Options):
    """Which cached answers are removed."""

    older_than: Annotated[timedelta | None, BeforeValidator(_age)] = None
    """Those cached longer ago: `"12h"`, `"90d"`, `"8w"` or a `timedelta`."""

    dry_run: bool = False
    """Remove nothing, and count what would be removed."""


@dataclass(frozen=True, repr=False)
class StoreSize(Displayed):
    """The rows and bytes of a store by kind, and the space that the database takes."""

    place: str
    kinds: tuple[KindSize, ...]
    space: Space

    def view(self) -> View:
        """Return a table of the kinds, and the space."""
        from rubriclab.report.lists import size_view

        return size_view(self)

    def to_row(self) -> dict[str, Any]:
        """Return the sizes as one JSON object."""
        return {"store": self.place, "kinds": [asdict(kind) for kind in self.kinds], **asdict(self.space)}


@dataclass(frozen=True, repr=False)
class PruneResult(Displayed):
    """The cached answers that were removed.

    Attributes:
        place: where the store is.
        removed, bytes: how many answers, and the bytes of their replies.
        dry_run: whether they were only counted.
    """

    place: str
    removed: int
    bytes: int
    dry_run: bool

    def view(self) -> View:
        """Return what was removed, and how its space is given back."""
        from rubriclab.report.lists import prune_view

        return prune_view(self)

    def to_row(self) -> dict[str, Any]:
        """Return the counts as one JSON object."""
        return {"store": self.place, **{name: value for name, value in asdict(self).items() if name != "place"}}


@dataclass(frozen=True, repr=False)
class VacuumResult(Displayed):
    """The space that a store takes, in bytes, before and after."""

    place: str
    before: int
    after: int

    def view(self) -> View:
        """Return both in a sentence."""
        from rubriclab.report.lists import vacuum_view

        return vacuum_view(self)

    def to_row(self) -> dict[str, Any]:
        """Return both as one JSON object."""
        return {"store": self.place, "before": self.before, "after": self.after}


def store_size(workspace: Workspace) -> StoreSize:
    """Return what the store holds. Every row is read.

    Raises:
        NoStore: if there is no store.
    """
    store = workspace.open_store(access="read")
    return StoreSize(store.place, *store.sizes())


def prune(workspace: Workspace, options: PruneOptions) -> PruneResult:
    """Remove cached answers, and nothing else. They are asked again, and paid for again, where they are needed.

    Raises:
        NoStore: if there is no store.
        SettingsError: if no age is given.
    """
    if options.older_than is None:
        raise SettingsError(
            "Nothing says which cached answers to remove;",
            f"give {option('older_than', '90d')}, or {option('older_than', '0d')} for all.",
        )
    before = datetime.now(UTC) - options.older_than
    store = workspace.open_store(access="read" if options.dry_run else "write")
    removed = size = 0
    for step in store.prune(before, dry_run=options.dry_run):
        removed, size = removed + step.rows, size + step.bytes
    return PruneResult(store.place, removed, size, options.dry_run)


def vacuum(workspace: Workspace) -> VacuumResult:
    """Give the space of what was removed back to the file system. Other processes that use the store wait meanwhile.

    Raises:
        NoStore: if there is no store.
        StoreError: if it is read-only, or neither SQLite nor PostgreSQL.
        StoreUnavailable: if another process uses the store for long, or the disk is full.
    """
    store = workspace.open_store()
    before = store.space().total
    store.vacuum()
    after = store.space().total
    return VacuumResult(store.place, before or 0, after or 0)
