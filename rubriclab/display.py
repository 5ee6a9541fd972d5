"""Results that display themselves: in a terminal by rich, and in a notebook as HTML."""

from __future__ import annotations

from typing import Any


class Document(str):
    """A document with a short repr, so that it does not fill the screen."""

    def __repr__(self) -> str:
        return f"<document of {len(self):,} characters>"


class Displayed:
    """Base of results that are displayed as their view."""

    def view(self) -> Any:
        """Return the result as a `View`, which can also be written as a page, as Markdown or as CSV."""
        from rubriclab.models.characters import python_call
        from rubriclab.report import view_of

        return view_of(self).with_forms(lambda typed: (python_call(typed),))

    def to_frame(self) -> Any:
        """Return the figures of the tables as a pandas data frame, with a row for each figure and its interval."""
        return self.view().to_frame()

    def __rich__(self) -> Any:
        return self.view().__rich__()

    def _repr_html_(self) -> str:
        return str(self.view()._repr_html_())

    def _repr_mimebundle_(self, **_kwargs: object) -> dict[str, str]:
        """Return what a notebook shows and stores: HTML, and the view as plain text instead of the repr."""
        return {"text/html": self._repr_html_(), "text/plain": str(self)}

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: print() shows it>"

    def __str__(self) -> str:
        return str(self.view())
