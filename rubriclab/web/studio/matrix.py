"""The labelled texts of a version by its criteria: chosen, ordered and searched without a scan of the record."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from pydantic import Field

from rubriclab.models.base import FrozenModel
from rubriclab.models.version import (
    Candidate,
    Cell,
    RecordedText,
    TrainingRecord,
    Version,
)
from rubriclab.report import describe
from rubriclab.report.recorded import ranked
from rubriclab.report.texts import TITLE
from rubriclab.stats.correlation import BoolArray, FloatArray

# Texts on one page.
ROWS = 50
# Shades of the ratings, from the lowest to the highest of the scale.
SHADES = 5
FIGURES = {"label": "label", "rubric": "rubric", "difference": "difference"}


class Query(FrozenModel):
    """Which texts are shown, and in which order.

    Attributes:
        search: words that occur in the text, its source, its id or its group, in any case.
        side: only texts that the rubric scores higher, or lower, than their label.
        sort: the column to sort by, an earlier order is that of the record; missing values come last.
        every: whether criteria are shown that the rubric did not keep.
        page: from 1.
    """

    search: str = Field("", max_length=1000)
    side: Literal["", "higher", "lower"] = ""
    sort: str = ""
    order: Literal["ascending", "descending"] = "ascending"
    every: bool = False
    page: int = Field(1, ge=1)


@dataclass(frozen=True)
class Column:
    """A column of figures: the label, the held-out score, their difference, or the ratings by a candidate criterion."""

    key: str
    name: str
    title: str
    candidate: Candidate | None = None


@dataclass(frozen=True)
class TextRow:
    """A text, and its cells with their shades, in the order of the columns shown."""

    text: RecordedText
    difference: float | None
    cells: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True)
class Page:
    """Some of the texts: those of one page, and how many there are on all pages."""

    rows: tuple[TextRow, ...]
    columns: tuple[Column, ...]
    found: int
    number: int
    pages: int

    @property
    def first(self) -> int:
        """The number of the first text of the page, from 1; 0 if there is none."""
        return min(self.found, (self.number - 1) * ROWS + 1)

    @property
    def last(self) -> int:
        """The number of the last text of the page."""
        return min(self.found, self.number * ROWS)


@dataclass(frozen=True, eq=False)
class Matrix:
    """A training record with what searching and sorting need.

    Attributes:
        columns: the figures, then the criteria, those that the rubric kept first.
        places: of the criteria in the record, in the order of the columns.
        ratings: shape (texts, criteria), NaN where there is none, in the order of `places`.
        words: what is searched of each text, in lower case.
    """

    record: TrainingRecord
    columns: tuple[Column, ...]
    places: tuple[int, ...]
    ratings: FloatArray
    words: tuple[str, ...]
    low: float
    high: float

    def page(self, query: Query) -> Page:
        """Return the texts that a query asks for."""
        shown = [column for column in self.columns if query.every or not column.candidate or column.candidate.kept]
        values = self._values()
        chosen = np.flatnonzero(self._chosen(query, values[:, 2]))
        if query.sort in (keys := [column.key for column in self.columns]):
            by = values[chosen, keys.index(query.sort)]
            # Stable, so that equal values keep the order of the record; NaN is last in both directions.
            chosen = chosen[np.argsort(-by if query.order == "descending" else by, kind="stable")]
        pages = max(1, math.ceil(len(chosen) / ROWS))
        number = min(query.page, pages)
        places = chosen[(number - 1) * ROWS : number * ROWS]
        rows = tuple(self._row(int(place), values, len(shown) - len(FIGURES)) for place in places)
        return Page(rows, tuple(shown), len(chosen), number, pages)

    def _values(self) -> FloatArray:
        texts = self.record.texts
        label, rubric = np.array([(text.label, text.predicted) for text in texts], dtype=float).T
        return np.column_stack([label, rubric, rubric - label, self.ratings])

    def _chosen(self, query: Query, differences: FloatArray) -> BoolArray:
        texts = self.record.texts
        keep = np.ones(len(texts), dtype=bool)
        words = query.search.lower().split()
        if words:
            keep &= np.array([all(word in text for word in words) for text in self.words], dtype=bool)
        if query.side:
            keep &= differences > 0 if query.side == "higher" else differences < 0
        return keep

    def _row(self, place: int, values: FloatArray, shown: int) -> TextRow:
        text, cells = self.record.texts[place], self.record.cells[place]
        criteria = [(self.record.candidates[at], cells[at]) for at in self.places[:shown]]
        difference = values[place, 2]
        return TextRow(
            text,
            None if np.isnan(difference) else float(difference),
            tuple((describe.answered(cell, of.criterion), self._shade(of, cell), cell.reason) for of, cell in criteria),
        )

    def _shade(self, of: Candidate, cell: Cell) -> str:
        """Return how high a rating is on its scale, for the style sheet; empty for text features, which have none."""
        kind = of.criterion.kind
        if cell.score is None or kind == "feature":
            return ""
        low, high = (0.0, 1.0) if kind == "question" else (self.low, self.high)
        share = (cell.score - low) / (high - low)
        return f"shade{min(SHADES - 1, max(0, math.floor(share * SHADES)))}"


def matrix_of(version: Version, record: TrainingRecord) -> Matrix:
    """Return the texts of a version by its criteria."""
    places = ranked(record)
    columns = [Column(key, name, "") for key, name in FIGURES.items()]
    columns += [
        Column(f"c{place}", candidate.criterion.id, describe.title(candidate.criterion, TITLE), candidate)
        for place, candidate in ((place, record.candidates[place]) for place in places)
    ]
    words = tuple("\n".join((text.id, text.group, text.output, text.source or "")).lower() for text in record.texts)
    scale = version.rubric.scale
    return Matrix(record, tuple(columns), tuple(places), record.matrix[:, places], words, scale.low, scale.high)
