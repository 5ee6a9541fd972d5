"""Which imported versions may choose judges and addresses."""

from __future__ import annotations

from rubriclab.errors import NoStore
from rubriclab.services.workspace import Workspace
from rubriclab.store import Version


def trust(workspace: Workspace, ref: str, *, revoke: bool = False) -> Version:
    """Return an imported version, confirmed from now on: it may choose the judge and its address; or no longer.

    Raises:
        NotInStore: if there is no such version.
    """
    store = workspace.open_store()
    return store.revoke(ref) if revoke else store.confirm(ref)


def imported_versions(workspace: Workspace) -> tuple[Version, ...]:
    """Return all imported versions, by name and number; none where there is no store."""
    try:
        return workspace.open_store().imported()
    except NoStore:
        return ()
