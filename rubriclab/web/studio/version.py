"""The list of all rubrics, one version, all versions of its rubric, and two versions side by side."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rubriclab.models.characters import asked_at
from rubriclab.models.version import EditChange, Version
from rubriclab.ops import versions as service
from rubriclab.report import describe, verdicts, wording
from rubriclab.report.conclusion import badge_of
from rubriclab.report.difference import difference_view, paired_effect
from rubriclab.report.edit import CHANGES, HELD_OUT_BY, change_words
from rubriclab.report.html import body, contents
from rubriclab.report.model import Figure
from rubriclab.report.training import overview
from rubriclab.store import VersionDiff
from rubriclab.web.studio.app import Studio


def routes(studio: Studio) -> list[BaseRoute]:
    """Return the routes of the list `/`, and of a version: `/NAME`, `/NAME@NUMBER` or `/NAME@TAG`, and its versions.

    `/REF/compare?with=OTHER` shows two versions, the older first, by default with the parent.
    """

    def rubrics(request: Request) -> Response:
        search = request.query_params.get("search", "")
        summaries = [summary(version) for version in service.list_versions(studio.reading)]
        words = search.lower().split()
        found = [each for each in summaries if all(word in each.words for word in words)]
        place = studio.reading.store.place
        total = len(summaries)
        return studio.page("rubrics.html", "Rubrics", rubrics=found, total=total, search=search, place=place)

    def show(request: Request) -> Response:
        version = studio.version(request.path_params["ref"])
        # Read while a person reads this page.
        studio.background.submit(service.log, studio.reading, version.name)
        if studio.reading.store.training_digest(version.ref):
            studio.matrices.prepare(version)
        view = overview(version)
        saved = "saved" in request.query_params and version.parent
        return studio.page("version.html", version.ref, version, shown=body(view), contents=contents(view), saved=saved)

    def versions(request: Request) -> Response:
        version = studio.version(request.path_params["ref"])
        rows = [summary(each) for each in service.log(studio.reading, version.name)]
        return studio.page("versions.html", f"Versions of {version.name}", version, "versions", rows=rows)

    def compare(request: Request) -> Response:
        version = studio.version(request.path_params["ref"])
        versions = service.log(studio.reading, version.name)
        others = [each for each in service.list_versions(studio.reading) if each.name != version.name]
        asked = request.query_params.get("with", "")
        other = studio.version(asked) if asked else _usual(version, versions)
        # A child is what the reader of its parent most likely looks for.
        rivals = sorted(
            (each for each in versions if each.ref != version.ref), key=lambda each: each.parent != version.ref
        )
        older, newer = _in_order(version, other) if other else (None, None)
        difference = service.diff(studio.reading, older.ref, newer.ref) if older and newer else None
        effect, shown = _shown(difference)
        return studio.page(
            "compare.html",
            f"{older.ref} to {newer.ref}" if older and newer else "Compare",
            version,
            "compare",
            sides=(summary(older), summary(newer)) if older and newer else (),
            effect=effect,
            shown=shown,
            other=other.ref if other else "",
            versions=rivals,
            others=others,
        )

    return [
        Route("/", rubrics),
        Route("/{ref}", show),
        Route("/{ref}/versions", versions),
        Route("/{ref}/compare", compare),
    ]


def _shown(difference: VersionDiff | None) -> tuple[Markup, Markup]:
    """Return the effect of an edit, which comes before both versions, and everything else that changed."""
    if difference is None:
        return Markup(), Markup()
    view, effect = difference_view(difference), tuple(paired_effect(difference))
    shown = replace(view, blocks=view.blocks[len(effect) :])
    return body(replace(view, blocks=effect)), body(shown)


def _usual(version: Version, versions: tuple[Version, ...]) -> Version | None:
    """Return the parent of a version, else its newest child, else the newest other version of the rubric, if any."""
    others = [each for each in versions if each.ref != version.ref]
    family = [each for each in others if each.ref == version.parent] or [
        each for each in others if each.parent == version.ref
    ]
    return next(iter(family or others), None)


def _in_order(one: Version, two: Version) -> tuple[Version, Version]:
    earlier = one.number < two.number if one.name == two.name else one.created <= two.created
    return (one, two) if earlier else (two, one)


@dataclass(frozen=True)
class Summary:
    """What a list shows of a version.

    Attributes:
        tone: how the verdict is coloured; empty for a version that was never compared with baselines.
        comparisons: the rest of the sentence that the verdict begins; empty for such a version.
        measure: what the agreement is; empty if it was not measured.
        errors: mean absolute error, bias and share near the labels; empty if not measured.
        procedure: how the held-out agreement was measured; empty without a gate.
        price: requests per text; empty if not recorded.
        origin: how it was made from its parent, by whom and why; empty for a version that was learned.
    """

    version: Version
    verdict: str
    tone: Literal["", "good", "warning", "bad"]
    comparisons: str
    agreement: Figure | None
    measure: str
    errors: str
    procedure: str
    price: str
    judge: str
    criteria: str
    created: str
    origin: str

    @property
    def words(self) -> str:
        """What a search looks through, in lower case."""
        version, rubric = self.version, self.version.rubric
        parts = (version.ref, *version.tags, rubric.aspect.name, rubric.task, self.verdict, self.judge, self.origin)
        return "\n".join(parts).lower()


def summary(version: Version) -> Summary:
    """Return what a list shows of a version."""
    made = version.provenance
    badge = badge_of(version)
    measured = verdicts.recorded_agreement(version)
    return Summary(
        version,
        badge.words,
        badge.tone if made.validation else "",
        badge.remark,
        Figure(measured.value) if measured else None,
        measured.name if measured else "",
        verdicts.errors_words(measured.errors) if measured and measured.errors else "",
        HELD_OUT_BY[made.held_out_by] if made.validation else "",
        verdicts.per_text(verdicts.rubric_agreement(made.validation).calls) if made.validation else "",
        asked_at(made.judge, made.judge_address),
        describe.contents(version.rubric.criteria),
        wording.moment(version.created),
        _origin(version),
    )


def _change(change: EditChange) -> str:
    """Return a change as `dropped h07`."""
    return f"{CHANGES[change.action]}{':' if change.action == 'definition' else ''} {change_words(change)}"


def _origin(version: Version) -> str:
    made = version.provenance
    if made.edit:
        changes = "; ".join(_change(change) for change in made.edit.changes)
        return f"{changes}: {made.edit.because} (edited by {made.edit.by})"
    if made.transfer:
        return f"transferred: {describe.carried_over(made)}"
    return f"imported from {version.imported_from}" if version.imported else ""
