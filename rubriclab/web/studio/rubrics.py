"""The list of all rubrics in the store."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rubriclab.services import versions as service
from rubriclab.web.studio.app import Studio
from rubriclab.web.studio.summary import summary


def routes(studio: Studio) -> list[BaseRoute]:
    """Return the route of the page that the studio begins with."""

    def rubrics(request: Request) -> Response:
        search = request.query_params.get("search", "")
        summaries = [summary(version) for version in service.list_versions(studio.reading)]
        words = search.lower().split()
        found = [each for each in summaries if all(word in each.words for word in words)]
        place = studio.reading.store.place
        total = len(summaries)
        return studio.page("rubrics.html", "Rubrics", rubrics=found, total=total, search=search, place=place)

    return [Route("/", rubrics)]
