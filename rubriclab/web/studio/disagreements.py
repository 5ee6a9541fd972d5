"""The labelled texts on which people and a rubric differ most."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rubriclab.models.characters import plain
from rubriclab.ops.versions import Disagreements, DisagreementsOptions, disagreements
from rubriclab.report.conclusion import verdict_line
from rubriclab.report.html import body
from rubriclab.report.model import View
from rubriclab.report.recorded import disagreement_card, score_axis_of
from rubriclab.web.studio.app import Studio

SHOWN = 10
SIDES = {"both": "All", "higher": "Rubric higher", "lower": "Rubric lower"}


def routes(studio: Studio) -> list[BaseRoute]:
    """Return the route of the page."""

    def page(request: Request) -> Response:
        options = _options(request)
        version = studio.version(request.path_params["ref"])
        found = disagreements(studio.reading, version, options, record=studio.matrices.get(version).record)
        return studio.page(
            "disagreements.html",
            f"Disagreements of {version.ref}",
            version,
            "disagreements",
            verdict=body(View((), verdict_line(version))),
            cases=_cases(found),
            sides=SIDES,
            side=options.side,
            count=options.count,
            more=options.count + SHOWN if len(found.texts) == options.count else None,
        )

    return [Route("/{ref}/disagreements", page)]


def _options(request: Request) -> DisagreementsOptions:
    """Return which texts an address asks for.

    Raises:
        SettingsError: for a side or a number that is none.
    """
    asked = request.query_params
    return DisagreementsOptions(count=asked.get("count", SHOWN), side=asked.get("side", "both"))


def _cases(found: Disagreements) -> list[dict[str, Any]]:
    axis, scale = score_axis_of(found.version, found.record.texts), found.version.rubric.scores_on
    return [
        {
            "id": each.text.id,
            "shown": plain(each.text.id),
            "card": body(View((), (disagreement_card(axis, scale, each, opened=False, full=True),))),
        }
        for each in found.texts
    ]
