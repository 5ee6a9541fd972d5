"""What the pages of the studio share.

- Operations, such as an edit, may have to ask a judge. A page first gets the price. Once the user agrees to it, the
  page sends the request again, and asks for the progress of the operation while it runs.
- A training record holds the labelled texts that a version was learned from, with their ratings by each criterion.
  `select_page` selects the texts that a page shows.
- `Studio` holds the store, the operations under way and cached training records, and renders all pages.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, TypeVar

import numpy as np
from markupsafe import Markup
from pydantic import Field
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from rubriclab.errors import BudgetReached, NotInStore, SettingsError, StoreError
from rubriclab.judges.judge import Ledger
from rubriclab.judges.limits import LocalBudget
from rubriclab.learning.estimate import DryRun
from rubriclab.methods.method import Progress
from rubriclab.models.base import FrozenModel
from rubriclab.models.characters import count, escape_controls
from rubriclab.models.rubric import Criterion
from rubriclab.models.text import Scale
from rubriclab.models.version import Candidate, Cell, RecordedText, TrainingRecord, Version, parse_ref
from rubriclab.ops.versions import training_record
from rubriclab.ops.workspace import Job, Notify, Workspace
from rubriclab.report import wording
from rubriclab.report.evaluation import TITLE_LENGTH
from rubriclab.report.render import View
from rubriclab.report.rubrics import kept_first
from rubriclab.running import describe_spending, no_progress, run_to_end
from rubriclab.stats.correlation import BoolArray, floats
from rubriclab.web import server

T = TypeVar("T")


class PaidRequest(FrozenModel):
    agreed: int = Field(default=0, ge=0)  # calls that the user has agreed to pay for
    request: str = Field(default="", max_length=100)  # the id by which the page asks for progress


@dataclass(frozen=True)
class PriceQuote:
    """The estimated calls and cost of an operation."""

    calls: int
    money: str  # the cost in words
    words: str  # calls, tokens and cost by each judge

    def to_row(self) -> dict[str, Any]:
        return {"calls": self.calls, "label": f"Get {count(self.calls, 'answer')} ({self.money})", "words": self.words}


def quote_price(estimate: DryRun) -> PriceQuote:
    costs = [role.cost_usd for role in estimate.roles.values()]
    known_costs = [cost for cost in costs if cost is not None]
    money = f"about ${sum(known_costs):.4f}" if len(known_costs) == len(costs) else "price unknown"
    return PriceQuote(sum(role.calls for role in estimate.roles.values()), money, " ".join(estimate.lines()))


class Stopped(SettingsError):
    """The user stopped an operation."""


@dataclass(eq=False)
class Operations:
    """Runs operations of pages, each in a workspace of its own, and keeps their progress."""

    new_workspace: Callable[[Notify], Workspace]
    # Operations that may spend run one after the other, so that all keep to one budget.
    _spending_lock: threading.Lock = field(default_factory=threading.Lock)
    _progress: dict[str, dict[str, Any]] = field(default_factory=dict)  # by the id of a request
    _stop_requested: set[str] = field(default_factory=set)  # ids of requests

    async def run(self, prepare: Callable[[Workspace], Job[T]], paid: PaidRequest) -> tuple[T, list[str]] | PriceQuote:
        """Return the result and notices, or a price to agree to first; Stopped if the user stops the operation."""
        return await run_in_threadpool(self._run, prepare, paid)

    def _run(self, prepare: Callable[[Workspace], Job[T]], paid: PaidRequest) -> tuple[T, list[str]] | PriceQuote:
        notices: list[str] = []

        def display(ledger: Ledger) -> AbstractContextManager[Progress]:
            def advance(stage: str, share: float) -> None:
                self._progress[paid.request] = {"doing": f"{stage}; {describe_spending(ledger)}", "share": share}
                if paid.request in self._stop_requested:
                    raise Stopped("Stopped. Answers so far are kept and not asked for again.")

            return nullcontext(advance)

        self._progress[paid.request] = {"doing": "preparing", "share": -1}  # negative: unknown
        try:
            with self.new_workspace(notices.append) as workspace:
                workspace.progress = display
                job = prepare(workspace)
                if paid.agreed and quote_price(job.estimate()).calls <= paid.agreed:
                    with self._spending_lock:
                        return run_to_end(job.run), notices
                workspace.budget = LocalBudget(max_calls=0)  # cached answers may suffice
                try:
                    return run_to_end(job.run), notices
                except BudgetReached:
                    return quote_price(job.estimate())
        finally:
            self._progress.pop(paid.request, None)
            self._stop_requested.discard(paid.request)

    async def show_progress(self, request: Request) -> Response:
        return JSONResponse(self._progress.get(request.path_params["request"], {"doing": None, "share": None}))

    async def stop(self, request: Request) -> Response:
        if (request_id := request.path_params["request"]) in self._progress:
            self._stop_requested.add(request_id)
        return JSONResponse({})


TEXTS_PER_PAGE = 50
SHADES = 5  # colors that show how high a rating is


class Query(FrozenModel):
    """Which texts a page shows, and in which order."""

    search: str = Field("", max_length=1000)
    side: Literal["", "higher", "lower"] = ""  # whether the rubric's score is higher or lower than people's
    sort: str = ""  # the key of a column
    order: Literal["ascending", "descending"] = "ascending"
    every: bool = False  # also shows criteria that learning or a person left out of the rubric
    page: int = Field(1, ge=1)


@dataclass(frozen=True)
class Column:
    key: str  # of the column in an address, as in `?sort=label`
    name: str  # of a figure, or the id of a criterion
    title: str = ""  # of a criterion
    candidate: Candidate | None = None
    index: int = -1  # of the candidate in the training record


@dataclass(frozen=True)
class TextRow:
    text: RecordedText
    difference: float | None  # the score minus the label
    cells: tuple[tuple[str, str, str], ...]  # the rating, its CSS class, and its reason


@dataclass(frozen=True)
class TextPage:
    rows: tuple[TextRow, ...]
    columns: tuple[Column, ...]  # figures, then criteria, kept ones first
    matching: int  # texts on all pages
    first: int  # the position of this page's first text among all matching texts, from 1
    number: int  # of this page
    pages: int


def select_page(version: Version, record: TrainingRecord, query: Query) -> TextPage:
    """Return the labelled texts that match the query, sorted with missing values last."""
    labels, scores = np.array([(text.label, text.predicted) for text in record.texts], dtype=float).T
    figures = {"label": labels, "rubric": scores, "difference": scores - labels}
    columns = [Column("label", "people"), Column("rubric", scorer_word(version)), Column("difference", "difference")]
    for index in kept_first(record):
        candidate = record.candidates[index]
        title = wording.title(candidate.criterion, TITLE_LENGTH)
        columns.append(Column(f"c{index}", candidate.criterion.id, title, candidate, index))
    matching: BoolArray = np.ones(len(record.texts), dtype=bool)
    if words := query.search.lower().split():
        searched = ("\n".join((text.id, text.group, text.output, text.source or "")).lower() for text in record.texts)
        matching = np.array([all(word in each for word in words) for each in searched], dtype=bool)
    differences = figures["difference"]
    if query.side:
        matching &= differences > 0 if query.side == "higher" else differences < 0
    indices = np.flatnonzero(matching)
    if sort_column := next((column for column in columns if column.key == query.sort), None):
        if sort_column.candidate:
            values = floats(cells[sort_column.index].score for cells in record.cells)
        else:
            values = figures[sort_column.key]
        sort_values = -values[indices] if query.order == "descending" else values[indices]
        # `stable` keeps the record's order among equal values; NaN is last in both directions.
        indices = indices[np.argsort(sort_values, kind="stable")]
    pages = max(1, math.ceil(len(indices) / TEXTS_PER_PAGE))
    number = min(query.page, pages)
    start = (number - 1) * TEXTS_PER_PAGE
    columns = [column for column in columns if query.every or not column.candidate or column.candidate.kept]
    rows = []
    for index in indices[start : start + TEXTS_PER_PAGE].tolist():
        rated = [(record.cells[index][each.index], each.candidate.criterion) for each in columns if each.candidate]
        ratings_shown = tuple(_shown_rating(cell, criterion, version.rubric.scale) for cell, criterion in rated)
        difference = None if np.isnan(differences[index]) else float(differences[index])
        rows.append(TextRow(record.texts[index], difference, ratings_shown))
    return TextPage(tuple(rows), tuple(columns), len(indices), first=start + 1, number=number, pages=pages)


def _shown_rating(cell: Cell, criterion: Criterion, scale: Scale) -> tuple[str, str, str]:
    """Return a rating in words, the CSS class for its position on its scale, and its reason."""
    shade = ""
    if cell.score is not None and criterion.kind != "feature":  # text features have no scale
        low, high = (0.0, 1.0) if criterion.kind == "question" else (scale.low, scale.high)
        share = (cell.score - low) / (high - low)
        shade = f"shade{min(SHADES - 1, max(0, math.floor(share * SHADES)))}"
    return wording.rating_text(cell, criterion), shade, cell.reason


def scorer_word(version: Version) -> str:
    return "judge" if version.rubric.asks_directly else "rubric"


# Versions whose training records are cached: 10,000 texts take about 0.2 GB.
CACHED_VERSIONS = 2
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
    workspace: Workspace
    access: server.Access
    judge: str | None = None  # asked instead of each rubric's own judge
    format_command: Callable[[str], str] = str  # rewrites a typed command, for example as a call in Python
    _records: dict[tuple[str, str | None], TrainingRecord] = field(default_factory=dict)

    def training_record(self, version: Version) -> TrainingRecord:
        """Return the training record of a version, which is cached; NotInStore if the version has none."""
        # The digest is part of the cache key, so that nothing of a deleted record is shown.
        key = (version.ref, self.workspace.store.training_digest(version.ref))
        record = self._records.get(key) or training_record(self.workspace.store, version.ref)
        self._records[key] = record
        for oldest_key in list(self._records)[:-CACHED_VERSIONS]:
            self._records.pop(oldest_key, None)
        return record

    def new_workspace(self, notify: Notify = lambda _text: None) -> Workspace:
        """Return a workspace for one operation, with a ledger of its own; the caller has to close the workspace."""
        return replace(self.workspace, notify=notify, progress=no_progress, ledger=Ledger())

    @cached_property
    def operations(self) -> Operations:
        return Operations(self.new_workspace)

    def load_version(self, ref: str) -> Version:
        """Return the version of a reference (`NAME`, `NAME@NUMBER` or `NAME@TAG`), or raise NotInStore."""
        try:
            parse_ref(ref)
        except StoreError as error:
            raise NotInStore(error.message, error.hint) from None
        return self.workspace.store.load(ref)

    def render(self, view: View) -> Markup:
        return view.with_commands_rewritten_by(self.format_command).body()

    def render_page(
        self, file: str, title: str, version: Version | None = None, tab: str = "", *, status: int = 200, **fields: Any
    ) -> HTMLResponse:
        """Return a page from a template file that extends `studio/layout.html`; `tab` is a key of `TABS`."""
        common: dict[str, Any] = {"title": escape_controls(title), "token": self.access.token, "tab": tab, "tabs": TABS}
        common |= {"version": version, "scorer": scorer_word(version) if version else ""}
        return server.page_response(f"studio/{file}", status, **common, **fields)
