"""The list of all rubrics, one version, and all versions of its rubric with their lineage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rubriclab.report.html import body, contents
from rubriclab.report.training import overview
from rubriclab.services import versions as service
from rubriclab.store import Version
from rubriclab.web.studio.app import Studio
from rubriclab.web.studio.summary import summary


def routes(studio: Studio) -> list[BaseRoute]:
    """Return the routes of the list `/`, and of a version: `/NAME`, `/NAME@NUMBER` or `/NAME@TAG`, and its lineage."""

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
        nodes = lineage(service.log(studio.reading, version.name))
        lanes = 1 + max(max((node.lane, *node.passing)) for node in nodes)
        rows = [(summary(node.version), drawn(node, lanes)) for node in nodes]
        return studio.page("versions.html", f"Versions of {version.name}", version, "versions", rows=rows)

    return [Route("/", rubrics), Route("/{ref}", show), Route("/{ref}/versions", versions)]


# Pixels between two lanes; beyond the last lane lines are drawn on top of each other.
LANE, MOST_LANES = 14, 8
# The first drawing makes room for the second, which is as high as its row.
_STRIP = Markup(
    '<svg width="{0}" height="1" aria-hidden="true"></svg><svg class="lineage" width="{0}" aria-hidden="true">{1}'
    '<circle cx="{2}" cy="50%" r="4.5" class="dot"/></svg>'
)
_LINE = Markup('<line x1="{}" y1="{}" x2="{}" y2="{}" class="lineage"/>')


@dataclass(frozen=True)
class Node:
    """A version in the graph.

    Attributes:
        lane: the column of its dot, from 0.
        passing: lanes of the lines that go through the row from top to bottom.
        children: lanes in which lines from newer versions arrive.
        down: whether a line goes on to a parent below.
    """

    version: Version
    lane: int
    passing: tuple[int, ...]
    children: tuple[int, ...]
    down: bool


def lineage(versions: Sequence[Version]) -> list[Node]:
    """Return the graph of the versions of a rubric, which are given the newest first.

    A lane belongs to the line that waits for a parent; a version takes the leftmost lane that waits for it, or a free
    one. A parent that is not among the versions ends its line.
    """
    known = {version.ref for version in versions}
    waiting: list[str | None] = []
    nodes = []
    for version in versions:
        children = tuple(lane for lane, ref in enumerate(waiting) if ref == version.ref)
        lane = children[0] if children else _free(waiting)
        passing = tuple(at for at, ref in enumerate(waiting) if ref is not None and at not in children)
        for at in children:
            waiting[at] = None
        down = version.parent in known
        if lane == len(waiting):
            waiting.append(None)
        waiting[lane] = version.parent if down else None
        nodes.append(Node(version, lane, passing, children, down))
    return nodes


def _free(waiting: Sequence[str | None]) -> int:
    return next((lane for lane, ref in enumerate(waiting) if ref is None), len(waiting))


def drawn(node: Node, lanes: int) -> Markup:
    """Return the row of the graph as a strip of the height of its row; `lanes` of all rows give its width."""
    here = _x(node.lane)
    lines = [_LINE.format(_x(lane), "0%", _x(lane), "100%") for lane in node.passing]
    lines += [_LINE.format(_x(lane), "0%", here, "50%") for lane in node.children]
    lines += [_LINE.format(here, "50%", here, "100%")] if node.down else []
    width = min(lanes, MOST_LANES) * LANE
    return _STRIP.format(width, Markup("").join(lines), here)


def _x(lane: int) -> float:
    return (min(lane, MOST_LANES - 1) + 0.5) * LANE
