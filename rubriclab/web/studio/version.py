"""One version: the conclusion, its criteria, and where it came from."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rubriclab.report.html import body
from rubriclab.report.version import version_view
from rubriclab.web.studio.app import Studio


def routes(studio: Studio) -> list[BaseRoute]:
    """Return the route of a version's page: `/NAME`, `/NAME@NUMBER` or `/NAME@TAG`."""

    def overview(request: Request) -> Response:
        version = studio.version(request.path_params["ref"])
        return studio.page("version.html", version.ref, version, shown=body(version_view(version)))

    return [Route("/{ref}", overview)]
