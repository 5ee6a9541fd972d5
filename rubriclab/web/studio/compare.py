"""Two versions side by side, and what changed from one to the other."""

from __future__ import annotations

from dataclasses import replace

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rubriclab.report.difference import difference_view, paired_effect
from rubriclab.report.html import body
from rubriclab.services import versions as service
from rubriclab.store import Version, VersionDiff
from rubriclab.web.studio.app import Studio
from rubriclab.web.studio.summary import summary


def routes(studio: Studio) -> list[BaseRoute]:
    """Return the route of the comparison: `/REF/compare?with=OTHER`, older first, by default with the parent."""

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

    return [Route("/{ref}/compare", compare)]


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
