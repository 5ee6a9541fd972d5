"""The pages of the studio, a web application to read and edit the rubrics of a store, and its server.

Each `*_routes` function returns the routes of some pages with the handlers of their requests. Where a handler runs an
operation that asks a judge, it responds with a price until the user has agreed to pay it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from functools import lru_cache, partial
from itertools import islice
from typing import Any
from urllib.parse import urlencode

from pydantic import Field, ValidationError
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp

from rubriclab.base_options import first_fault
from rubriclab.errors import JudgeError, NotInStore, RubriclabError, SettingsError, StoreError
from rubriclab.models.aggregation import hand_set_threshold
from rubriclab.models.characters import count, escape_controls, is_blank, join_names
from rubriclab.models.evaluation import GRADED_MEASURES
from rubriclab.models.text import Example, format_score
from rubriclab.models.version import Version
from rubriclab.ops.edit import EditableVersion, EditResult, edit, editable_version
from rubriclab.ops.explain import ScoreExplanation, explain as explain_score
from rubriclab.ops.options import Edit, EditOptions, ExplainOptions
from rubriclab.ops.versions import DisagreementsOptions, disagreements
from rubriclab.ops.workspace import Job, Workspace
from rubriclab.report import rubrics, wording
from rubriclab.report.outputs import typeset
from rubriclab.report.render import View, macro, view
from rubriclab.report.results import difference_view, paired_effect
from rubriclab.report.wording import figure
from rubriclab.running import run_to_end
from rubriclab.stats.intervals import Interval
from rubriclab.store.diff import compare as compare_versions
from rubriclab.web.server import LOOPBACK, SAFE_METHODS, Access, Guard, listen, port_of, read_body, serve, static_routes
from rubriclab.web.studio.studio import (
    CACHED_VERSIONS,
    PaidRequest,
    PriceQuote,
    Query,
    Studio,
    scorer_word,
    select_page,
)


def version_routes(studio: Studio) -> list[BaseRoute]:
    def list_rubrics(request: Request) -> Response:
        search = request.query_params.get("search", "")
        load_errors: list[StoreError] = []
        summaries = [summarize(version) for version in studio.workspace.store.newest(load_errors.append)]
        words = search.lower().split()
        matches = [each for each in summaries if all(word in each["words"] for word in words)]
        # A baseline is listed right after a rubric that was compared with it, or at the end ("~") if there is none.
        listed_under = {each["against"]: each["version"].name for each in summaries}
        listed_under |= {each["version"].ref: each["version"].name for each in summaries if not each["baseline"]}
        matches.sort(key=lambda each: (listed_under.get(each["version"].ref, "~"), each["baseline"]))
        return studio.render_page(
            "rubrics.html",
            "Rubrics",
            tables={kind: [each for each in matches if each["kind"] == kind] for kind in ("scores", "decisions")},
            summaries=summaries,
            rubrics=rubrics,  # the module, whose functions the template calls
            needs_judge_option=any(wording.judge_option(each["version"]) for each in matches),
            format_command=studio.format_command,
            search=search,
            store_address=studio.workspace.store.address,
            load_errors=load_errors,
        )

    def show_version(request: Request) -> Response:
        version = studio.load_version(request.path_params["ref"])
        try:
            charted_record = studio.training_record(version)
        except NotInStore:  # the version has no training record to chart
            charted_record = None
        # `record=None` leaves the texts out: other pages show them.
        overview = view("training", version=version, record=None, charted_record=charted_record, missing_record="")
        just_saved = "saved" in request.query_params and version.parent is not None
        title = f"{version.ref}, the judge asked directly" if version.rubric.asks_directly else version.ref
        shown, contents = studio.render(overview), overview.contents()
        return studio.render_page("version.html", title, version, shown=shown, contents=contents, just_saved=just_saved)

    def list_versions(request: Request) -> Response:
        version = studio.load_version(request.path_params["ref"])
        rows = [summarize(each) for each in studio.workspace.store.log(version.name)]
        return studio.render_page("versions.html", f"Versions of {version.name}", version, "versions", rows=rows)

    def compare(request: Request) -> Response:
        version = studio.load_version(request.path_params["ref"])
        store = studio.workspace.store
        other_rubrics = [each for each in store.newest(lambda _error: None) if each.name != version.name]
        other_versions = [each for each in store.log(version.name) if each.ref != version.ref]
        # Without a choice, a version is compared with its parent or, if it has none, with a version made from it.
        other_versions.sort(key=lambda each: (each.ref != version.parent, each.parent != version.ref))
        chosen_ref = request.query_params.get("with", "")
        other = studio.load_version(chosen_ref) if chosen_ref else next(iter(other_versions), None)
        sides = [version, other] if other else []
        same_name = other is not None and other.name == version.name
        sides.sort(key=lambda side: side.number if same_name else side.created)
        difference = compare_versions(*sides) if sides else None
        return studio.render_page(
            "compare.html",
            " to ".join(side.ref for side in sides) or "Compare",
            version,
            "compare",
            sides=[summarize(side) for side in sides],
            effect=paired_effect(difference) if difference else "",
            shown=studio.render(difference_view(difference, with_heading=False)) if difference else "",
            other=other.ref if other else "",
            versions=other_versions,
            others=other_rubrics,
        )

    return [
        Route("/", list_rubrics),
        Route("/{ref}", show_version),
        Route("/{ref}/versions", list_versions),
        Route("/{ref}/compare", compare),
    ]


# For each measure: a version's figure, and which texts it compares, such as "within groups" (empty for errors).
AgreementFigures = Mapping[str, tuple[Interval, str]]


def summarize(version: Version) -> dict[str, Any]:
    """Return what lists show of a version; `words`, in lower case, is the text that a search looks in."""
    provenance, rubric = version.provenance, version.rubric
    other_badge = rubrics.badge_on_other_texts(version, version.evaluation) if version.evaluation else None
    badge = rubrics.learning_badge(version)
    if other_badge and not version.deciding_evaluation and badge.tone == "good":
        badge = badge._replace(tone="qualified")  # the evaluation lacks a comparison with the judge asked directly
    agreement, measured_on = _agreement_figures(version)
    judge, how_made = wording.judge(provenance), _how_made(version)
    words = [version.ref, *version.tags, rubric.aspect.name, rubric.task, badge.words, judge, how_made]
    words.append(other_badge.words if other_badge else "")
    return {
        "version": version,
        "badge": badge if provenance.validation else None,
        "measured_at": rubrics.MEASURED_AT[provenance.made_by],  # such as "at learning"
        "evaluated": other_badge,  # on other texts
        "kind": "scores" if rubric.threshold is None else "decisions",
        "baseline": rubric.asks_directly,
        # The reference of the baseline that the version was compared with; a comma begins remarks on it.
        "against": version.evaluation.verdict.against.partition(",")[0] if version.evaluation else None,
        # Whether lists show the evaluation on other texts, rather than the recorded agreement.
        "on_other_texts": bool(other_badge and (version.deciding_evaluation or rubric.asks_directly or not agreement)),
        "agreement": agreement,
        "measured_on": measured_on,  # the labels behind `agreement`, in words
        "calls": wording.scoring_calls(version),
        "judge": judge,
        "created": wording.utc_time(version.created),
        "how_made": how_made,
        "words": "\n".join(words).lower(),
    }


def _agreement_figures(version: Version) -> tuple[AgreementFigures, str]:
    """Return a version's recorded agreement with people, and words on the labels that it was measured on."""
    provenance, recorded = version.provenance, wording.recorded_agreement(version)
    if recorded is None:
        return {}, ""
    validation, agreement = provenance.validation, provenance.agreement
    figures = {recorded.measure: (recorded.value, recorded.level)}
    if validation and validation.rubric.error:
        figures = {validation.measures.error: (validation.rubric.error, ""), **figures}
    elif agreement and not validation and not agreement.optimistic and not agreement.auroc:
        # Here `recorded` is Spearman's correlation; lists also show Pearson's.
        figures[GRADED_MEASURES.order] = (agreement.pearson, recorded.level)
    groups = validation.groups if validation else len(provenance.groups)
    how = recorded.how.removeprefix("on labels ")  # "cross-validated" or "not used for learning"
    measured_at = rubrics.MEASURED_AT[provenance.made_by]
    return figures, f"{measured_at}: {count(recorded.n, 'text')} of {count(groups, 'group')}, {how}"


def _how_made(version: Version) -> str:
    """Return how a version was made of another: by an edit, a transfer or an import; empty if it was learned."""
    provenance = version.provenance
    if provenance.edit:
        changes = []
        for change in provenance.edit.changes:
            colon = ":" if change.action == "definition" else ""
            changes.append(f"{rubrics.CHANGES[change.action]}{colon} {rubrics.change_words(change)}")
        return f"{'; '.join(changes)}: {provenance.edit.because} (edited by {provenance.edit.author})"
    if provenance.transfer:
        return f"transferred: {wording.transfer_summary(provenance)}"
    return f"imported from {version.imported_from}" if version.imported else ""


_QUERY_DEFAULTS = Query().model_dump()
# The number of disagreements that are shown at first, and that each "Show more" adds.
CASES_SHOWN = 10


def text_routes(studio: Studio) -> list[BaseRoute]:
    def texts(request: Request) -> Response:
        version = studio.load_version(request.path_params["ref"])
        try:
            query = Query.model_validate({name: value for name, value in request.query_params.items() if value != ""})
        except ValidationError as error:
            fault = f"The address is not understood: {first_fault(error)}."
            raise SettingsError(fault, "Open the page again.") from None
        record = studio.training_record(version)

        def address(**changes: object) -> str:
            """Return the address of this page with `changes` to the query, at the first page of texts by default."""
            fields = {**query.model_dump(exclude_defaults=True), "page": 1, **changes}
            return f"?{urlencode({name: value for name, value in fields.items() if value != _QUERY_DEFAULTS[name]})}"

        return studio.render_page(
            "texts.html",
            f"Labelled texts of {version.ref}",
            version,
            "texts",
            query=query,
            result=select_page(version, record, query),
            total=len(record.texts),
            filters_open=bool(query.side or query.every),  # `every` also shows criteria that were not kept
            address=address,
        )

    def show_disagreements(request: Request) -> Response:
        query = request.query_params
        options = DisagreementsOptions(count=query.get("count", CASES_SHOWN), side=query.get("side", "both"))
        version = studio.load_version(request.path_params["ref"])
        result = disagreements(version, studio.training_record(version), options)
        axis = rubrics.score_axis_of(result.version, result.record.texts)
        scorer = scorer_word(version).capitalize()
        return studio.render_page(
            "disagreements.html",
            f"Disagreements of {version.ref}",
            version,
            "disagreements",
            summary=studio.render(View(macro("disagreements_head", version, result.record))),
            cases=result.texts,
            cards=[View(macro("disagreement_card", axis, version, each, full=True)).body() for each in result.texts],
            sides={"both": "All", "higher": f"{scorer} higher", "lower": f"{scorer} lower"},
            side=options.side,
            count=options.count,
            next_count=options.count + CASES_SHOWN if len(result.texts) == options.count else None,
        )

    return [Route("/{ref}/texts", texts), Route("/{ref}/disagreements", show_disagreements)]


MAX_PASTED_LENGTH = 1_000_000
MAX_SUGGESTIONS = 20
PASTED_NAME = "pasted text"  # the id and group of a pasted text
PASTED_FIELDS = ("source", "context")


class PastedText(PaidRequest):
    output: str = Field(max_length=MAX_PASTED_LENGTH)
    source: str = Field(default="", max_length=MAX_PASTED_LENGTH)
    context: str = Field(default="", max_length=MAX_PASTED_LENGTH)

    def example(self, version: Version) -> Example:
        """Return the text as an example; SettingsError if it is empty or lacks a field of the version's texts."""
        if is_blank(self.output):
            raise SettingsError("Expected a text, got an empty one.", "Paste the text to explain.")
        pasted = {"source": self.source, "context": self.context}
        fields = {name: None if is_blank(text) else text for name, text in pasted.items()}
        missing = [name for name in version.provenance.text_fields or () if name in fields and fields[name] is None]
        if missing:
            names = join_names(missing)
            problem = f"{version.ref} was learned from texts with their {names}"
            hint = f"Give the {names} of the text."
            raise SettingsError(f"{problem}: scores of other texts are not comparable.", hint)
        return Example(PASTED_NAME, self.output, PASTED_NAME, fields["source"], fields["context"])


def explanation_routes(studio: Studio) -> list[BaseRoute]:
    def show_explanation(request: Request) -> Response:
        version, name = studio.load_version(request.path_params["ref"]), request.query_params.get("id")
        explanation = fault = None
        if name:
            try:
                with studio.new_workspace() as workspace:
                    job = explain_score(workspace, None, version, ExplainOptions(id=name))
                    explanation = studio.render(rubrics.explanation_view(run_to_end(job.run)))
            except RubriclabError as error:
                fault = error.text
        return studio.render_page(
            "explain.html",
            "Why this score?",
            version,
            "explain",
            status=404 if fault else 200,
            name=name or "",
            pasted_fields={field: field in (version.provenance.text_fields or ()) for field in PASTED_FIELDS},
            shown=explanation,
            fault=fault,
        )

    async def explain(request: Request) -> Response:
        pasted, ref = await read_body(request, PastedText), request.path_params["ref"]

        def prepare(workspace: Workspace) -> Job[ScoreExplanation]:
            version = studio.load_version(ref)
            example = pasted.example(version)
            return explain_score(workspace, [example], version, ExplainOptions(judge=studio.judge))

        outcome = await studio.operations.run(prepare, pasted)
        if isinstance(outcome, PriceQuote):
            return JSONResponse({"price": outcome.to_row()})
        explanation, notices = outcome
        return JSONResponse({"html": studio.render(rubrics.explanation_view(explanation)), "notices": notices})

    def suggest_texts(request: Request) -> Response:
        search = request.query_params.get("q", "").casefold()
        texts = studio.training_record(studio.load_version(request.path_params["ref"])).texts
        ids = (each.id for each in texts if search in each.id.casefold() or search in each.output.casefold())
        return JSONResponse(list(islice(ids, MAX_SUGGESTIONS)))

    return [
        Route("/{ref}/explain", show_explanation),
        Route("/{ref}/explain", explain, methods=["POST"]),
        Route("/{ref}/explain/texts", suggest_texts),
    ]


class EditDraft(PaidRequest, Edit):
    author: str = ""
    because: str = ""
    name: str = ""


def edit_routes(studio: Studio) -> list[BaseRoute]:
    loading_lock = threading.Lock()

    @lru_cache(CACHED_VERSIONS)
    def load_editable(ref: str) -> EditableVersion:
        with studio.new_workspace() as workspace:
            editable = editable_version(workspace, workspace.store.load(ref), EditOptions())
            if editable.version.rubric.aggregation and not editable.unrated:
                _ = editable.selection  # computed and cached here, before the first edit needs it
            return editable

    def cached_editable(ref: str) -> EditableVersion:
        """Return a version with its criteria selected in each fold, which takes a second the first time."""
        with loading_lock:
            return load_editable(studio.load_version(ref).ref)

    def show_editor(request: Request) -> Response:
        version = studio.load_version(request.path_params["ref"])
        threshold = version.rubric.threshold
        return studio.render_page(
            "edit.html",
            f"Edit {version.ref}",
            version,
            "edit",
            terms=version.rubric.terms,
            has_weights=version.rubric.aggregation is not None,
            threshold=None if threshold is None else format_score(threshold),
            threshold_by_hand=hand_set_threshold(version.rubric.aggregation) is not None,
        )

    async def prepare_editor(request: Request) -> Response:
        started = time.monotonic()
        editable = await run_in_threadpool(cached_editable, request.path_params["ref"])
        seconds = round(time.monotonic() - started, 1)
        return JSONResponse({"labels": count(len(editable.examples), "labelled text"), "seconds": seconds})

    async def run_edit(request: Request, *, preview: bool) -> Response:
        draft, started = await read_body(request, EditDraft), time.monotonic()
        changes = {name: getattr(draft, name) for name in Edit.model_fields}
        stripped = {name: getattr(draft, name).strip() or None for name in ("author", "because", "name")}
        options = EditOptions(**changes, **stripped, preview=preview, judge=studio.judge)
        ref = request.path_params["ref"]

        def prepare(workspace: Workspace) -> Job[EditResult]:
            editable = cached_editable(ref)
            return edit(workspace, editable.version, options, editable=editable)

        outcome = await studio.operations.run(prepare, draft)
        if isinstance(outcome, PriceQuote):
            return JSONResponse({"price": outcome.to_row()})
        result, notices = outcome
        saved, effect = result.saved, result.effect
        low, high = effect.difference.low, effect.difference.high
        includes_zero = low is not None and high is not None and low <= 0 <= high
        hint = "; this may be chance" if includes_zero else ""
        change = rubrics.change_in_agreement(effect.statistic, effect.difference, effect.folds, effect.n)
        before, after = figure(effect.before.value), figure(effect.after.value)
        return JSONResponse(
            {
                "lead": typeset(change),
                "html": studio.render(view("edit_effect", result=result)),
                "summary": typeset(f"{effect.statistic} {before} before, {after} after{hint}"),
                "weights": {
                    each.criterion: wording.percent(each.after) for each in effect.weights if each.after is not None
                },
                "notices": notices,
                "seconds": round(time.monotonic() - started, 1),
                "saved": saved.ref if saved else None,
            }
        )

    return [
        Route("/{ref}/edit", show_editor),
        Route("/{ref}/edit/ready", prepare_editor, methods=["POST"]),
        Route("/{ref}/edit/effect", partial(run_edit, preview=True), methods=["POST"]),
        Route("/{ref}/edit/save", partial(run_edit, preview=False), methods=["POST"]),
    ]


# The port that is used if it is free, so that bookmarks keep working.
PORT = 8521
# The largest requests are an edit of all criteria of a rubric, and a text to explain.
MAX_REQUEST_BYTES = 1_000_000


def make_application(studio: Studio) -> ASGIApp:
    # Paths of operations begin with `-`, since no name of a rubric does.
    routes = [
        *static_routes(),
        Route("/-/operations/{request}", studio.operations.show_progress),
        Route("/-/operations/{request}/stop", studio.operations.stop, methods=["POST"]),
    ]
    for page_routes in (version_routes, text_routes, edit_routes, explanation_routes):
        routes += page_routes(studio)

    @asynccontextmanager
    async def lifespan(_application: Starlette) -> AsyncIterator[None]:
        with studio.workspace:
            yield

    fail = partial(_error_response, studio)
    handlers: Mapping[Any, Callable[[Request, Exception], Response]] = {RubriclabError: fail, HTTPException: fail}
    starlette = Starlette(routes=routes, exception_handlers=handlers, lifespan=lifespan)
    return Guard(starlette, studio.access, MAX_REQUEST_BYTES)


async def serve_studio(
    workspace: Workspace,
    rubric: str | None = None,
    *,
    judge: str | None = None,
    port: int | None = None,
    browser: bool = True,
    format_command: Callable[[str], str] = str,
    on_address: Callable[[str], object] = print,
) -> None:
    """Serve the studio on this computer only, until it is stopped; it opens at the page of `rubric`, if given.

    Raises:
        NoStore, NotInStore, SettingsError: without a store or such a rubric, or if the port cannot be used.
    """
    with workspace:
        # A store that cannot be opened is an error of the command, rather than of each page.
        workspace.open_store(access="write if possible")
        with suppress(StoreError):
            # Fills the store's cache of versions. Damaged versions are reported by the pages.
            workspace.store.newest()
        if rubric:
            workspace.store.load(rubric)
        with listen(LOOPBACK, port, preferred=PORT) as listener:
            studio = Studio(workspace, Access.at(port_of(listener)), judge, format_command)
            address = f"http://{LOOPBACK}:{port_of(listener)}/{rubric or ''}"
            on_address(address)
            await serve(lambda _stop: make_application(studio), listener, address, browser=browser)


def _error_response(studio: Studio, request: Request, error: RubriclabError | HTTPException) -> Response:
    if isinstance(error, HTTPException):
        status = error.status_code
        message = "There is no such page." if status == 404 else error.detail
    else:
        status, message = 422, escape_controls(error.text)
        if isinstance(error, NotInStore):
            status = 404
        elif error.exit_code == JudgeError.exit_code:
            status = 502  # the provider failed
    if request.method not in SAFE_METHODS or "application/json" in request.headers.get("accept", ""):
        return JSONResponse({"error": message}, status)
    return studio.render_page("failed.html", "Not found" if status == 404 else "Error", status=status, message=message)
