"""What the pages of the studio share: the store, operations with their price and progress, and labelled texts."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, Generic, Literal, TypeVar

import numpy as np
from markupsafe import Markup
from pydantic import Field
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import BaseRoute, Route

from rubriclab.errors import BudgetReached, NotInStore, SettingsError, StoreError
from rubriclab.judges.judge import Ledger
from rubriclab.judges.limits import LocalBudget
from rubriclab.learning.estimate import DryRun
from rubriclab.methods.method import Progress
from rubriclab.models.base import FrozenModel
from rubriclab.models.characters import count, plain
from rubriclab.models.version import Candidate, Cell, RecordedText, TrainingRecord, Version, parse_ref
from rubriclab.ops.versions import training_record
from rubriclab.ops.workspace import Job, Notify, Workspace, finish, no_progress, spent
from rubriclab.report import wording
from rubriclab.report.evaluation import TITLE_LENGTH
from rubriclab.report.render import View
from rubriclab.report.rubrics import kept_first
from rubriclab.stats.correlation import BoolArray, FloatArray
from rubriclab.web.server import Access, page_response

# The pages of a version by the last part of their path.
TABS: Mapping[str, str] = {
    "": "Overview",
    "versions": "Versions",
    "texts": "Texts",
    "disagreements": "Disagreements",
    "edit": "Edit",
    "explain": "Why this score?",
    "compare": "Compare",
}


@dataclass(frozen=True, eq=False)
class Studio:
    """The workspace behind all pages, the access to them, the judge in place of the rubrics', and how commands look."""

    shared: Workspace
    access: Access
    judge: str | None = None
    form_of: Callable[[str], str] = str

    def matrix(self, version: Version) -> Matrix:
        """Return the labelled texts of a version; the texts of the last `CACHED_VERSIONS` versions are cached."""
        # The digest is part of the cache key, so that nothing of a deleted record is shown.
        return self._matrix(version.ref, self.shared.store.training_digest(version.ref))

    @cached_property
    def _matrix(self) -> Callable[[str, str | None], Matrix]:
        @lru_cache(CACHED_VERSIONS)
        def read(ref: str, _digest: str | None) -> Matrix:
            return make_matrix(self.version(ref), training_record(self.shared.store, ref))

        return read

    def workspace(self, notify: Notify = lambda _text: None) -> Workspace:
        """Return a workspace with a ledger of its own for one operation, which has to close it."""
        return replace(self.shared, notify=notify, progress=no_progress, ledger=Ledger())

    @cached_property
    def operations(self) -> Operations:
        return Operations(self.workspace)

    def version(self, ref: str) -> Version:
        """Return the version of a reference (`NAME`, `NAME@NUMBER` or `NAME@TAG`), or raise NotInStore."""
        try:
            parse_ref(ref)
        except StoreError as error:
            raise NotInStore(error.message, error.hint) from None
        return self.shared.store.load(ref)

    def body(self, view: View) -> Markup:
        return view.with_forms(self.form_of).body()

    def page(
        self, file: str, title: str, version: Version | None = None, tab: str = "", *, status: int = 200, **fields: Any
    ) -> HTMLResponse:
        """Return a page from a template file that extends `studio/layout.html`; `tab` is a key of `TABS`."""
        common = {"title": plain(title), "token": self.access.token, "version": version, "tab": tab, "tabs": TABS}
        common["scorer"] = scorer_of(version) if version else ""
        return page_response(f"studio/{file}", status, **common, **fields)


# Versions whose labelled texts are cached: 10,000 texts take about 0.2 GB.
CACHED_VERSIONS = 2

T = TypeVar("T")


class PaidRequest(FrozenModel):
    """The number of calls that a user has agreed to; `request` is the id by which the page asks for progress."""

    agreed: int = Field(default=0, ge=0)
    request: str = Field(default="", max_length=100)


@dataclass(frozen=True)
class PriceQuote:
    """The estimated calls and cost of an operation; `words` states them and the tokens for each judge."""

    calls: int
    money: str
    words: str

    def to_row(self) -> dict[str, Any]:
        return {"calls": self.calls, "label": f"Get {count(self.calls, 'answer')} ({self.money})", "words": self.words}


@dataclass(frozen=True)
class OperationResult(Generic[T]):
    result: T
    notices: tuple[str, ...]


@dataclass(eq=False)
class Operations:
    """Runs operations of pages, each in its own workspace but with one budget for all, and tracks their progress."""

    workspace: Callable[[Notify], Workspace]
    _spending: threading.Lock = field(default_factory=threading.Lock)
    _under_way: dict[str, dict[str, Any]] = field(default_factory=dict)
    _stopped: set[str] = field(default_factory=set)

    async def run(
        self, prepare: Callable[[Workspace], Job[T]], allowance: PaidRequest
    ) -> OperationResult[T] | PriceQuote:
        """Return the result, or the price of more calls than agreed; Stopped if the user stopped the operation."""
        return await run_in_threadpool(self._run, prepare, allowance)

    def progress(self, request: str) -> dict[str, Any]:
        return self._under_way.get(request, {"doing": None, "share": None})

    def stop(self, request: str) -> None:
        if request in self._under_way:
            self._stopped.add(request)

    def _run(self, prepare: Callable[[Workspace], Job[T]], allowance: PaidRequest) -> OperationResult[T] | PriceQuote:
        notices: list[str] = []
        with self.workspace(notices.append) as workspace, self._tracked(workspace, allowance.request):
            job = prepare(workspace)
            if allowance.agreed and quote_price(job.estimate()).calls <= allowance.agreed:
                with self._spending:
                    return OperationResult(finish(job.run), tuple(notices))
            workspace.budget = LocalBudget(max_calls=0)  # cached answers may suffice
            try:
                return OperationResult(finish(job.run), tuple(notices))
            except BudgetReached:
                return quote_price(job.estimate())

    @contextmanager
    def _tracked(self, workspace: Workspace, request: str) -> Iterator[None]:
        @contextmanager
        def display(ledger: Ledger) -> Iterator[Progress]:
            def advance(stage: str, share: float) -> None:
                self._under_way[request] = {"doing": f"{stage}; {spent(ledger)}", "share": share}
                if request in self._stopped:
                    raise Stopped("Stopped. Answers so far are kept and not asked for again.")

            yield advance

        workspace.progress = display
        self._under_way[request] = {"doing": "preparing", "share": -1}
        try:
            yield
        finally:
            self._under_way.pop(request, None)
            self._stopped.discard(request)


def operation_routes(operations: Operations) -> list[BaseRoute]:
    """Return the routes to see and stop operations. Their paths begin with `-`, as no name of a rubric does."""

    async def progress(request: Request) -> Response:
        return JSONResponse(operations.progress(request.path_params["request"]))

    async def stop(request: Request) -> Response:
        operations.stop(request.path_params["request"])
        return JSONResponse({})

    return [Route("/-/operations/{request}", progress), Route("/-/operations/{request}/stop", stop, methods=["POST"])]


class Stopped(SettingsError):
    """The user stopped an operation."""


def quote_price(estimate: DryRun) -> PriceQuote:
    costs = [role.cost_usd for role in estimate.roles.values()]
    known_costs = [cost for cost in costs if cost is not None]
    money = f"about ${sum(known_costs):.4f}" if len(known_costs) == len(costs) else "price unknown"
    return PriceQuote(sum(role.calls for role in estimate.roles.values()), money, " ".join(estimate.lines()))


def scorer_of(version: Version) -> str:
    return "judge" if version.rubric.asks_directly else "rubric"


# Texts on one page.
ROWS = 50
# Shades of the ratings, from the lowest to the highest of the scale.
SHADES = 5
# The keys of the columns before the criteria; the address of a page names a column to sort by (`?sort=label`).
FIGURES = ("label", "rubric", "difference")


class Query(FrozenModel):
    """The choice and order of texts on a page, missing values last; `every` also shows criteria that were not kept."""

    search: str = Field("", max_length=1000)
    side: Literal["", "higher", "lower"] = ""
    sort: str = ""
    order: Literal["ascending", "descending"] = "ascending"
    every: bool = False
    page: int = Field(1, ge=1)


@dataclass(frozen=True)
class Column:
    key: str
    name: str
    title: str
    candidate: Candidate | None = None


@dataclass(frozen=True)
class TextRow:
    text: RecordedText
    difference: float | None
    cells: tuple[tuple[str, str, str], ...]  # the rating, its CSS class, and its reason


@dataclass(frozen=True)
class Page:
    """The texts of one page; `first` is the position of its first text, `found` the number on all pages."""

    rows: tuple[TextRow, ...]
    columns: tuple[Column, ...]
    found: int
    first: int
    number: int
    pages: int


@dataclass(frozen=True, eq=False)
class Matrix:
    """A training record as a table: columns `FIGURES`, then criteria, kept ones first. Missing `ratings` are NaN."""

    record: TrainingRecord
    columns: tuple[Column, ...]
    indices: tuple[int, ...]  # of the criteria in the record
    ratings: FloatArray
    searched: tuple[str, ...]
    low: float
    high: float

    def page(self, query: Query) -> Page:
        shown = [column for column in self.columns if query.every or not column.candidate or column.candidate.kept]
        texts = self.record.texts
        labels, scores = np.array([(text.label, text.predicted) for text in texts], dtype=float).T
        values = np.column_stack([labels, scores, scores - labels, self.ratings])
        words = query.search.lower().split()
        matching: BoolArray = np.array([all(word in text for word in words) for text in self.searched], dtype=bool)
        if query.side:
            matching &= values[:, 2] > 0 if query.side == "higher" else values[:, 2] < 0
        indices = np.flatnonzero(matching)
        keys = [column.key for column in self.columns]
        if query.sort in keys:
            sort_values = values[indices, keys.index(query.sort)]
            if query.order == "descending":
                sort_values = -sort_values
            # `stable` keeps the record's order among equal values; NaN is last in both directions.
            indices = indices[np.argsort(sort_values, kind="stable")]
        pages = max(1, math.ceil(len(indices) / ROWS))
        number = min(query.page, pages)
        on_page = indices[(number - 1) * ROWS : number * ROWS].tolist()
        rows = tuple(self._row(index, values[index, 2], len(shown) - len(FIGURES)) for index in on_page)
        return Page(rows, tuple(shown), len(indices), (number - 1) * ROWS + 1, number, pages)

    def _row(self, index: int, difference: float, criteria_shown: int) -> TextRow:
        text, cells = self.record.texts[index], self.record.cells[index]
        shown_cells = []
        for criterion_index in self.indices[:criteria_shown]:
            candidate, cell = self.record.candidates[criterion_index], cells[criterion_index]
            rating = wording.rating_text(cell, candidate.criterion)
            shown_cells.append((rating, self._shade(candidate, cell), cell.reason))
        return TextRow(text, None if np.isnan(difference) else float(difference), tuple(shown_cells))

    def _shade(self, candidate: Candidate, cell: Cell) -> str:
        """Return the CSS class for a rating's position on its scale; empty for text features, which have no scale."""
        kind = candidate.criterion.kind
        if cell.score is None or kind == "feature":
            return ""
        low, high = (0.0, 1.0) if kind == "question" else (self.low, self.high)
        share = (cell.score - low) / (high - low)
        return f"shade{min(SHADES - 1, max(0, math.floor(share * SHADES)))}"


def make_matrix(version: Version, record: TrainingRecord) -> Matrix:
    indices = kept_first(record)
    names = ("people", scorer_of(version), "difference")
    columns = [Column(key, name, "") for key, name in zip(FIGURES, names, strict=True)]
    for index in indices:
        candidate = record.candidates[index]
        title = wording.title(candidate.criterion, TITLE_LENGTH)
        columns.append(Column(f"c{index}", candidate.criterion.id, title, candidate))
    searched = tuple("\n".join((text.id, text.group, text.output, text.source or "")).lower() for text in record.texts)
    scale = version.rubric.scale
    return Matrix(record, tuple(columns), tuple(indices), record.matrix[:, indices], searched, scale.low, scale.high)
