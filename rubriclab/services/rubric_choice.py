"""Which rubric or version an argument means: a reference, a version, or a rubric that is not stored."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rubriclab.descriptions import describe
from rubriclab.errors import SettingsError
from rubriclab.rubric import Rubric
from rubriclab.services.workspace import Workspace
from rubriclab.store import Version

# A reference (`NAME`, `NAME@3`, `NAME@production`), a version, or a rubric that is not stored.
RubricLike = str | Version | Rubric

_REFERENCES = "Give a version, or a text: NAME (the newest), NAME@NUMBER or NAME@TAG."


def ref_of(rubric: Any) -> str:
    """Return the reference of a version, or the one that is given as a text.

    Raises:
        SettingsError: if it is neither.
    """
    if isinstance(rubric, Version):
        return rubric.ref
    if isinstance(rubric, str):
        return rubric
    if isinstance(rubric, Rubric):
        raise SettingsError("Expected a version in the store, got a rubric that is not stored.", _REFERENCES)
    raise SettingsError(f"Expected a rubric, got {describe(rubric)}.", _REFERENCES)


def version_of(workspace: Workspace, rubric: str | Version) -> Version:
    """Return the version that is meant; of an imported one, what the store now says of its confirmation.

    Raises:
        NotInStore: if there is no such version.
        SettingsError: if `rubric` is neither a reference nor a version.
    """
    if isinstance(rubric, Version) and not rubric.imported:
        return rubric
    return workspace.store.load(ref_of(rubric))


def versions_of(workspace: Workspace, rubrics: Any) -> tuple[Version, ...]:
    """Return the versions that are meant, each once, in their order.

    Raises:
        NotInStore: if there is no such version.
        SettingsError: if there is none, or one is neither a reference nor a version.
    """
    several = isinstance(rubrics, Iterable) and not isinstance(rubrics, str | bytes | Version)
    named = tuple(rubrics) if several else (rubrics,)
    if not named:
        raise SettingsError("Expected one rubric or more, got none.", _REFERENCES)
    return tuple({version.ref: version for version in (version_of(workspace, rubric) for rubric in named)}.values())
