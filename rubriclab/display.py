"""What shows itself in a terminal, by rich, and in a notebook, as HTML."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rubriclab.report.model import View
    from rubriclab.report.terminal import RenderableType


class Displayed:
    """Base of results that show themselves; each says in `view` what is shown."""

    __slots__ = ()

    def view(self) -> View:
        """Return what is shown, as a report that can also be written as a page."""
        raise NotImplementedError

    def __rich__(self) -> RenderableType:
        return self.view().__rich__()

    def _repr_html_(self) -> str:
        return self.view()._repr_html_()
