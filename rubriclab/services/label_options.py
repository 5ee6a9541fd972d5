"""How people label texts on a page, and what comes out of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

from rubriclab.data.reading import ReadingOptions
from rubriclab.display import Displayed
from rubriclab.labeling.judgment import RaterAgreement, RaterProgress, rater_name
from rubriclab.services.base import ScaleText

if TYPE_CHECKING:
    from rubriclab.report.model import View


def _names(value: Any) -> Any:
    parts = value.split(",") if isinstance(value, str) else value
    return tuple(dict.fromkeys(map(rater_name, parts)))


class LabelOptions(ReadingOptions):
    """How texts are labelled on a page."""

    task: str
    """The kind of text: summarization, story, dialogue, or a word of your own."""

    aspect: str
    """The aspect that people rate."""

    definition: str | None = None
    """What the aspect means, shown to the raters; included for the aspects of well-known data sets."""

    scale: ScaleText = "1:5"
    """The raters' scale: whole numbers if both ends are, unless it ends with `:any`, as in `"0:1:any"`."""

    rater: Annotated[str, AfterValidator(rater_name)] | None = None
    """Who rates at this computer. Default: the page asks."""

    share: Annotated[tuple[str, ...], BeforeValidator(_names)] = ()
    """Raters elsewhere on the network; each gets a secret link. Default: the page is for this computer only."""

    port: int | None = Field(default=None, ge=1, le=65535)
    """The port of the page. Default: 8787 if it is free, else any free one."""

    no_browser: bool = False
    """Print the address without opening a browser."""

    no_page: bool = False
    """Write the labels that are kept in the store, without a page."""


@dataclass(frozen=True, repr=False)
class LabelResult(Displayed):
    """The labels so far.

    Attributes:
        rows: as `learn` reads them: the labelled texts, then the preferences that came with them.
        texts: the number of texts that were rated.
        raters: progress by rater.
        agreement: among the raters; `None` with fewer than two.
    """

    aspect: str
    rows: tuple[Mapping[str, Any], ...]
    texts: int
    raters: Mapping[str, RaterProgress]
    agreement: RaterAgreement | None

    def to_rows(self) -> list[dict[str, Any]]:
        """Return the rows."""
        return [dict(row) for row in self.rows]

    def to_row(self) -> dict[str, Any]:
        """Return what is known of the raters as one JSON object."""
        return {
            "aspect": self.aspect,
            "labelled": self.labelled,
            "texts": self.texts,
            "raters": {rater: asdict(progress) for rater, progress in self.raters.items()},
            "agreement": self.agreement and asdict(self.agreement),
        }

    @property
    def labelled(self) -> int:
        """The number of texts that have a label or are compared with others."""
        return sum("output" in row for row in self.rows)

    def view(self) -> View:
        """Return what is shown in a terminal and a notebook."""
        from rubriclab.report.lists import labeling_view

        return labeling_view(self)
