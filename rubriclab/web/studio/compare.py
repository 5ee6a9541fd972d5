"""Two versions side by side, and what changed from one to the other."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rubriclab.report.difference import difference_view
from rubriclab.report.html import body
from rubriclab.services import versions as service
from rubriclab.store import Version
from rubriclab.web.studio.app import Studio
from rubriclab.web.studio.summary import summary


def routes(studio: Studio) -> list[BaseRoute]:
    """Return the route of the comparison: `/REF/compare?with=OTHER`; by default with the version it was made from."""

    def compare(request: Request) -> Response:
        version = studio.version(request.path_params["ref"])
        versions = service.log(studio.reading, version.name)
        others = [each for each in service.list_versions(studio.reading) if each.name != version.name]
        asked = request.query_params.get("with", "")
        other = studio.version(asked) if asked else _usual(version, versions)
        rivals = [each for each in versions if each.ref != version.ref]
        shown = difference_view(service.diff(studio.reading, other.ref, version.ref)) if other else None
        return studio.page(
            "compare.html",
            f"{other.ref} to {version.ref}" if other else "Compare",
            version,
            "compare",
            sides=(summary(other), summary(version)) if other else (),
            shown=body(shown) if shown else "",
            other=other.ref if other else "",
            versions=rivals,
            others=others,
        )

    return [Route("/{ref}/compare", compare)]


def _usual(version: Version, versions: tuple[Version, ...]) -> Version | None:
    """Return the version that one was made from, else the newest other one of the same rubric, if there is any."""
    others = [each for each in versions if each.ref != version.ref]
    return next((each for each in others if each.ref == version.parent), others[0] if others else None)
