"""One version, and all versions of its rubric with their lineage."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rubriclab.report.html import body, contents
from rubriclab.report.training import overview
from rubriclab.services import versions as service
from rubriclab.web.studio.app import Studio
from rubriclab.web.studio.lineage import drawn, lineage
from rubriclab.web.studio.summary import summary


def routes(studio: Studio) -> list[BaseRoute]:
    """Return the routes of a version: `/NAME`, `/NAME@NUMBER` or `/NAME@TAG`, and below it its lineage."""

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
        nodes = lineage(service.log(studio.reading, version.name))
        lanes = 1 + max(max((node.lane, *node.passing)) for node in nodes)
        rows = [(summary(node.version), drawn(node, lanes)) for node in nodes]
        return studio.page("versions.html", f"Versions of {version.name}", version, "versions", rows=rows)

    return [Route("/{ref}", show), Route("/{ref}/versions", versions)]
