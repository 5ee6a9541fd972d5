"""The list of all rubrics, one version, and all versions of its rubric."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rubriclab.report.html import body, contents
from rubriclab.report.training import overview
from rubriclab.services import versions as service
from rubriclab.web.studio.app import Studio
from rubriclab.web.studio.summary import summary


def routes(studio: Studio) -> list[BaseRoute]:
    """Return the routes of the list `/`, and of a version: `/NAME`, `/NAME@NUMBER` or `/NAME@TAG`, and its versions."""

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

    return [Route("/", rubrics), Route("/{ref}", show), Route("/{ref}/versions", versions)]
