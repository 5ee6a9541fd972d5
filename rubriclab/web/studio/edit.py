"""A rubric changed by hand: the effect on held-out agreement while it is edited, and the version that is saved."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from rubriclab.models.aggregation import Term, threshold_by_hand
from rubriclab.models.characters import count, plain
from rubriclab.models.rubric import Criterion
from rubriclab.models.text import show
from rubriclab.ops.edit import EditableVersion, EditOptions, EditResult, PreparedEdit, editable_version, prepare_edit
from rubriclab.ops.edits import Edit, EditEffect
from rubriclab.ops.workspace import Workspace
from rubriclab.report import charts, describe
from rubriclab.report.edit import agreement_section, notes, verdict, verdicts_section
from rubriclab.report.html import body, typeset
from rubriclab.report.model import Drawing, Figure, Table, View, quoted, table
from rubriclab.report.wording import figure
from rubriclab.web.studio.app import Studio
from rubriclab.web.studio.asking import Allowance, PriceQuote, body_of

# Versions with their labelled texts and selections that are kept for the next edit of them.
KEPT = 2


class Draft(Allowance, Edit):
    """An edit as the page holds it."""

    by: str = ""
    because: str = ""
    name: str = ""

    def options(self, judge: str | None, *, preview: bool) -> EditOptions:
        """Return the options of the operation."""
        signed = {name: getattr(self, name).strip() or None for name in ("by", "because", "name")}
        changes = {name: getattr(self, name) for name in Edit.model_fields}
        return EditOptions(**changes, **signed, preview=preview, judge=judge)


@dataclass(eq=False)
class EditableVersions:
    """The versions that were edited last, ready for further edits."""

    studio: Studio
    _kept: dict[str, EditableVersion] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def get(self, ref: str) -> EditableVersion:
        """Return a version whose criteria are selected in each fold, which takes a second the first time.

        Raises:
            NotInStore: if there is no such version.
            DataError: if it keeps no labelled texts.
        """
        with self._lock, self.studio.workspace() as workspace:
            version = workspace.store.load(ref)
            found = self._kept.pop(version.ref, None) or editable_version(workspace, version, EditOptions())
            if version.rubric.aggregation and not found.unknown:
                _ = found.selection
            self._kept[version.ref] = found
            while len(self._kept) > KEPT:
                del self._kept[next(iter(self._kept))]
            return found


def routes(studio: Studio) -> list[BaseRoute]:
    """Return the routes of the page, of previews and of saving."""
    versions = EditableVersions(studio)

    def page(request: Request) -> Response:
        version = studio.version(request.path_params["ref"])
        terms, fitted = describe.terms(version.rubric), version.rubric.aggregation is not None
        criteria = [_criterion(each, terms.get(each.id)) for each in version.rubric.criteria]
        return studio.page(
            "edit.html",
            f"Edit {version.ref}",
            version,
            "edit",
            criteria=criteria,
            fitted=fitted,
            threshold=None if (least := version.rubric.threshold) is None else show(least),
            by_hand=threshold_by_hand(version.rubric.aggregation) is not None,
            definition=version.rubric.aspect.definition,
            aspect=plain(version.rubric.aspect.name),
        )

    async def ready(request: Request) -> Response:
        started = time.monotonic()
        found = await run_in_threadpool(versions.get, request.path_params["ref"])
        seconds = round(time.monotonic() - started, 1)
        return JSONResponse({"labels": f"{count(len(found.texts.examples), 'labelled text')}", "seconds": seconds})

    async def effect(request: Request) -> Response:
        return await edited(request, preview=True)

    async def save(request: Request) -> Response:
        return await edited(request, preview=False)

    async def edited(request: Request, *, preview: bool) -> Response:
        draft, started = await body_of(request, Draft), time.monotonic()
        options, ref = draft.options(studio.judge, preview=preview), request.path_params["ref"]

        def prepare(workspace: Workspace) -> PreparedEdit:
            editable = versions.get(ref)
            return prepare_edit(workspace, editable.version, options, editable=editable)

        found = await studio.asking.run(prepare, draft)
        if isinstance(found, PriceQuote):
            return JSONResponse({"price": found.to_row()})
        saved = found.result.saved
        return JSONResponse(
            {
                "lead": typeset(verdict(found.result.effect)),
                "html": _shown(found.result),
                "summary": effect_summary(found.result.effect),
                "weights": dict(_weights(found.result.effect)),
                "notices": found.notices,
                "seconds": round(time.monotonic() - started, 1),
                "saved": saved.ref if saved else None,
            }
        )

    return [
        Route("/{ref}/edit", page),
        Route("/{ref}/edit/ready", ready, methods=["POST"]),
        Route("/{ref}/edit/effect", effect, methods=["POST"]),
        Route("/{ref}/edit/save", save, methods=["POST"]),
    ]


def _criterion(criterion: Criterion, term: Term | None) -> dict[str, Any]:
    bounds = term.bounds if term else None
    return {
        "id": criterion.id,
        "trait": plain(criterion.trait),
        "statement": plain(criterion.statement),
        "wording": criterion.statement,
        "remark": describe.polarity(criterion).strip(),
        "weight": describe.weight(term) if term else "",
        "limits": describe.limits(bounds),
        "lowest": -100 if criterion.kind == "feature" else 0,
        "rewordable": criterion.kind != "feature",
    }


def _weights(effect: EditEffect) -> Iterator[tuple[str, str]]:
    for change in effect.weights:
        if change.after is not None:
            yield change.criterion, describe.percent(change.after)


def effect_summary(effect: EditEffect) -> str:
    """Return the agreement before and after in one line, which says so if no difference can be told."""
    low, high = effect.difference.low, effect.difference.high
    told = "; no difference can be told" if low is not None and high is not None and low <= 0 <= high else ""
    return typeset(f"{effect.statistic} {figure(effect.before.value)} before, {figure(effect.after.value)} after{told}")


def _shown(result: EditResult) -> Markup:
    """Return the effect; the page shows the weights of the parent's criteria beside these."""
    weights = dict(_weights(result.effect))
    new = [
        (quoted(each.criterion, "id"), quoted(each.statement), weights[each.criterion])
        for each in result.effect.weights
        if each.criterion in weights and each.before is None
    ]
    added = (table(("new", "wording", "weight"), new, numeric=("weight",)),) if new else ()
    agreement = replace(agreement_section(result), name="agreement", folded=True)
    blocks = (
        _agreement(result),
        *added,
        *notes(result),
        agreement,
        *verdicts_section(result),
    )
    return body(View("Effect", blocks))


def _agreement(result: EditResult) -> Table:
    sides = ((result.parent, result.effect.before), ("edited", result.effect.after))
    axis = charts.correlation_axis([interval for _, interval in sides])
    statistic = result.effect.statistic
    rows = [
        (quoted(name), Drawing(charts.whisker(axis, interval, baseline=name == result.parent)), Figure(interval))
        for name, interval in sides
    ]
    return table(("version", "", statistic), rows, numeric=(statistic,), ticks=charts.tick_row(axis))
