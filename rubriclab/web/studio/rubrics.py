"""The list of all rubrics in the store."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rubriclab.report.html import body
from rubriclab.report.lists import names_view
from rubriclab.services import versions as service
from rubriclab.web.studio.app import Studio


def routes(studio: Studio) -> list[BaseRoute]:
    """Return the route of the page that the studio begins with."""

    def rubrics(_request: Request) -> Response:
        with studio.workspace() as workspace:
            versions = service.list_versions(workspace)
        return studio.page("rubrics.html", "Rubrics", shown=body(names_view(versions)))

    return [Route("/", rubrics)]
