"""HTML pages from templates that escape everything, with the style of the reports."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from rubriclab.characters import plain
from rubriclab.report.describe import rounded
from rubriclab.report.html import STYLE, inline, typeset
from rubriclab.report.wording import excerpt

HERE = Path(__file__).parent
# Browsers keep these files, and ask each time whether they have changed.
REVALIDATED = {"Cache-Control": "no-cache"}


@cache
def templates() -> jinja2.Environment:
    """Return the templates of the pages. Values are escaped; an undefined name is an error."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    # Text from outside, without characters that act on a page; cells of a report; numbers as reports write them.
    environment.filters |= {"plain": plain, "cell": inline, "rounded": rounded, "excerpt": excerpt, "typeset": typeset}
    return environment


def rendered(template: str, status: int = 200, **fields: Any) -> HTMLResponse:
    """Return a page; templates extend `base.html`, which needs `title` and `token` (`security.Access.token`)."""
    return HTMLResponse(templates().get_template(template).render(fields), status)


def static_routes() -> list[BaseRoute]:
    """Return the routes of scripts and styles under `/static`, those of the reports among them."""
    return [
        Route("/static/report.css", _report_style),
        Mount("/static", _Revalidated(directory=HERE / "static")),
    ]


async def _report_style(_request: Request) -> Response:
    return FileResponse(STYLE, headers=REVALIDATED)


class _Revalidated(StaticFiles):
    """Files of the package."""

    def file_response(self, *arguments: Any, **options: Any) -> Response:
        response = super().file_response(*arguments, **options)
        response.headers.update(REVALIDATED)
        return response
