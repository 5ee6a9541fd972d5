"""The options and the result of an edit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator

from rubriclab.aggregation import Bounds
from rubriclab.base_options import Texts
from rubriclab.data.reading import ReadingOptions
from rubriclab.display import Displayed
from rubriclab.editing.edits import Edits, Threshold
from rubriclab.editing.effect import EditEffect
from rubriclab.errors import SettingsError
from rubriclab.provenance import Effort
from rubriclab.rubric import Rubric
from rubriclab.services.base import JudgeOption
from rubriclab.store import Version

if TYPE_CHECKING:
    from rubriclab.report.model import View


def _merges(value: Any) -> Any:
    if not isinstance(value, Mapping):
        return value
    return tuple((_ids(key), text) for key, text in value.items())


def _ids(key: Any) -> tuple[str, ...]:
    return tuple(name.strip() for name in (key.split(",") if isinstance(key, str) else key))


def _bounds(value: Any) -> Any:
    return {name: _ends(name, given) for name, given in value.items()} if isinstance(value, Mapping) else value


def _ends(name: str, given: Any) -> Any:
    if given in ("free", None):
        return None
    ends = given.split(":") if isinstance(given, str) else given
    try:
        low, high = (float(end) for end in ends)
    except (TypeError, ValueError):
        raise ValueError(f"{name}={given}: expected LOW:HIGH, such as 0:0.2, or free") from None
    return low, high


def _threshold(given: Any) -> Any:
    try:
        return given if given in ("learned", None) else float(given)
    except (TypeError, ValueError):
        raise ValueError(f"{given}: expected a number from 0 to 1, or learned") from None


class EditOptions(ReadingOptions, JudgeOption):
    """What a person changes in a rubric, who does so and why."""

    drop: Texts = ()
    """Ids of criteria to remove."""

    reword: Mapping[str, str] = {}
    """The new wording of criteria, by id. A hypothesis keeps the description of its levels."""

    merge: Annotated[tuple[tuple[tuple[str, ...], str], ...], BeforeValidator(_merges)] = ()
    """The wording of one criterion that replaces several: `{"h01,h04": "..."}`."""

    add: Texts = ()
    """Statements or yes/no questions to add; their ids are `a01`, `a02`, ... `(better: no)` after a question says that
    no is the better answer."""

    pin: Mapping[str, float] = {}
    """The weight of criteria, as a share of all weights: `{"h02": 0.3}`."""

    bound: Annotated[Mapping[str, Bounds | None], BeforeValidator(_bounds)] = {}
    """The lowest and highest weight of criteria: `{"h05": (0, 0.2)}`; `None` or `"free"` removes a limit."""

    threshold: Annotated[Threshold | None, BeforeValidator(_threshold)] = None
    """For a rubric with verdicts: the lowest score that passes; `"learned"` fits it to the labels again."""

    definition: str | None = None
    """The new definition of the aspect; every criterion is rated anew."""

    labels: Any = None
    """Labelled texts, in place of those kept with the version."""

    by: str | None = None
    """Who changes the rubric. Needed unless `preview` is set."""

    because: str | None = None
    """Why. Needed unless `preview` is set."""

    preview: bool = False
    """Show the effect and save nothing."""

    name: str | None = None
    """The name to save under. Default: the rubric's."""

    @property
    def edits(self) -> Edits:
        """The changes."""
        pinned = {name: (weight, weight) for name, weight in self.pin.items()}
        if twice := [name for name in pinned if name in self.bound]:
            raise SettingsError(f"The weight of {twice[0]} is both pinned and bounded.", "Do one of them.")
        bounds = {**pinned, **self.bound}
        return Edits(self.drop, self.reword, self.merge, self.add, bounds, self.threshold, self.definition)

    @property
    def signature(self) -> str:
        """Who makes the changes and why, as reasons for dropped criteria say."""
        return f"by {self.by or 'hand'}" + (f": {self.because}" if self.because else "")


@dataclass(frozen=True, repr=False)
class EditResult(Displayed):
    """What an edit does.

    Attributes:
        parent: the version that was edited, as `NAME@NUMBER`.
        rubric: the edited one, refitted.
        effect: on held-out agreement, weights and calls.
        saved: the child version; `None` for a preview.
        notes: what the person should know, such as criteria that weigh nothing.
    """

    parent: str
    rubric: Rubric
    effect: EditEffect
    saved: Version | None
    effort: Effort
    notes: tuple[str, ...] = ()

    def to_row(self) -> dict[str, Any]:
        """Return the effect as one JSON object, without the rubric."""
        saved = self.saved.ref if self.saved else None
        return {"parent": self.parent, "saved": saved, "notes": list(self.notes), **self.effect.to_row()}

    def view(self) -> View:
        """Return what is shown in a terminal and a notebook."""
        from rubriclab.report.edit import edit_view

        return edit_view(self)
