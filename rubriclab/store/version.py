"""Versions, and references to them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from rubriclab.display import Displayed
from rubriclab.errors import StoreError
from rubriclab.provenance import Effort, Provenance
from rubriclab.rubric import Rubric

if TYPE_CHECKING:
    from rubriclab.report.model import View

_WORD = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}")
_NUMBER = re.compile(r"[1-9][0-9]{0,8}")
# What a reader would take for a version's number, or for its place among the others.
_LIKE_A_NUMBER = re.compile(r"v?[0-9._-]+(?:(?:a|b|c|rc|alpha|beta|dev|pre|post)[0-9._-]*)?")
_PLACES = frozenset({"latest", "newest", "last", "current", "head", "next", "previous", "first", "oldest"})


@dataclass(frozen=True, repr=False)
class Version(Displayed):
    """A rubric in a store under a name and a number.

    Attributes:
        digest: digest of `rubric`.
        provenance_digest: digest of `provenance`.
        parent: `NAME@NUMBER` of the parent version; `None` for a first version.
        created: with zone, in UTC.
        imported_from: `NAME@NUMBER` in the pack that it came from, so that its judges and addresses were chosen
            elsewhere; `None` if it was learned in this store.
        confirmed: whether the user has confirmed that it may choose the judge.
        tags: tags that point to it, sorted.
        new: whether the call that returned it has created it.
    """

    name: str
    number: int
    digest: str
    rubric: Rubric
    provenance: Provenance
    provenance_digest: str
    effort: Effort
    parent: str | None
    created: datetime
    tags: tuple[str, ...] = ()
    new: bool = False
    imported_from: str | None = None
    confirmed: bool = False

    def view(self) -> View:
        """Return the rubric with where it came from, how well it agrees with people, and its criteria."""
        from rubriclab.report.version import version_view

        return version_view(self)

    def __repr__(self) -> str:
        return f"Version({self.ref!r})"

    @property
    def imported(self) -> bool:
        """Whether it came from a pack."""
        return self.imported_from is not None

    @property
    def ref(self) -> str:
        """`NAME@NUMBER`, the permanent reference to this version."""
        return f"{self.name}@{self.number}"

    @property
    def trusted(self) -> bool:
        """Whether its recorded judge, generator and addresses may be used without the user naming them."""
        return self.confirmed or not self.imported


@dataclass(frozen=True, slots=True)
class Ref:
    """A reference as a user writes it: `NAME` (the newest), `NAME@3` or `NAME@tag`."""

    name: str
    number: int | None = None
    tag: str | None = None


def parse_ref(text: str) -> Ref:
    """Return the reference in `text`.

    Raises:
        StoreError: if it is none.
    """
    name, at, rest = text.partition("@") if isinstance(text, str) else ("", "", "")
    if not _WORD.fullmatch(name) or (at and not _WORD.fullmatch(rest)):
        raise StoreError(f"{text!r} does not refer to a rubric.", "Write NAME, NAME@NUMBER or NAME@TAG.")
    if not at:
        return Ref(name)
    return Ref(name, number=int(rest)) if _NUMBER.fullmatch(rest) else Ref(name, tag=rest)


def names_a_version(text: str) -> bool:
    """Return whether `text` has the form `NAME@NUMBER`."""
    name, _, number = text.partition("@")
    return bool(_WORD.fullmatch(name) and _NUMBER.fullmatch(number))


def check_name(name: str) -> str:
    """Return `name` if it is a valid name of a rubric.

    Raises:
        StoreError: if it is not.
    """
    if not isinstance(name, str) or not _WORD.fullmatch(name):
        raise StoreError(
            f"{name!r} cannot be the name of a rubric.",
            "Use at most 100 small letters, digits, dots, dashes and underscores, a letter or digit first.",
        )
    return name


def check_tag(tag: str) -> str:
    """Return `tag` if it is valid.

    Raises:
        StoreError: if it is not, or if it could be taken for a number (`1.0`) or for a version's place (`latest`).
    """
    if not isinstance(tag, str) or not _WORD.fullmatch(tag):
        raise StoreError(
            f"{tag!r} cannot be a tag.",
            "Use at most 100 small letters, digits, dots, dashes and underscores, a letter or digit first.",
        )
    if tag in _PLACES:
        raise StoreError(
            f"{tag!r} cannot be a tag: it says which version is meant, and a tag does not move by itself.",
            "Choose a tag such as stable; NAME alone is the newest version.",
        )
    if _LIKE_A_NUMBER.fullmatch(tag):
        raise StoreError(
            f"{tag!r} cannot be a tag: it could be taken for the number of a version.",
            "Choose a word, such as stable; NAME@NUMBER is a version.",
        )
    return tag
