"""The labelled texts on which people and a rubric differ most, and what a person says of their labels."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, Literal

from markupsafe import Markup
from pydantic import Field
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from rubriclab.base_models import Bounded, FrozenModel
from rubriclab.characters import plain
from rubriclab.corrections import Correction
from rubriclab.errors import SettingsError
from rubriclab.report.conclusion import verdict_line
from rubriclab.report.html import body
from rubriclab.report.model import View
from rubriclab.report.recorded import corrections_table, disagreement_card, label_now, score_axis_of
from rubriclab.services.disagreements import Disagreements, DisagreementsOptions, disagreements
from rubriclab.services.labels import LabelsOptions, labels
from rubriclab.web.studio.app import Studio
from rubriclab.web.studio.asking import body_of

SHOWN = 10
SIDES = {"both": "All", "higher": "Rubric higher", "lower": "Rubric lower"}


class Judgment(FrozenModel):
    """What a person says of a label: the kinds of `rubriclab.corrections.Correction`.

    Attributes:
        text: id of the text.
        score: the new label, for `correct`.
        note: what the rubric misses, for `misses`.
        request: an id of the judgment, so that one that is sent twice is stored once.
    """

    kind: Literal["correct", "rubric right", "misses"]
    text: str
    score: Bounded | None = None
    rater: str = ""
    note: str = ""
    by: str
    because: str = ""
    request: str = Field(min_length=1, max_length=80)

    def options(self) -> LabelsOptions:
        """Return the options of the service that stores it.

        Raises:
            SettingsError: if the label or the note is missing.
        """
        signed = {"by": self.by.strip(), "because": self.because.strip(), "request": self.request}
        if self.kind == "rubric right":
            return LabelsOptions(rubric_right=(self.text,), rater=self.rater, **signed)
        if self.kind == "misses":
            if not self.note.strip():
                raise SettingsError("Expected what the rubric misses, got an empty text.")
            return LabelsOptions(misses={self.text: self.note.strip()}, **signed)
        if self.score is None:
            raise SettingsError("Expected the correct label, got none.")
        return LabelsOptions(correct={self.text: self.score}, rater=self.rater, **signed)


def routes(studio: Studio) -> list[BaseRoute]:
    """Return the routes of the page and of the judgments made on it."""
    correcting = threading.Lock()

    def page(request: Request) -> Response:
        options = _options(request)
        version = studio.version(request.path_params["ref"])
        found = disagreements(studio.reading, version, options, record=studio.matrices.get(version).record)
        corrections = studio.reading.store.corrections(version.name)
        return studio.page(
            "disagreements.html",
            f"Disagreements of {version.ref}",
            version,
            "disagreements",
            verdict=body(View((), verdict_line(version))),
            cases=_cases(found, corrections),
            scale=version.rubric.scores_on,
            sides=SIDES,
            side=options.side,
            count=options.count,
            more=options.count + SHOWN if len(found.texts) == options.count else None,
        )

    async def judge(request: Request) -> Response:
        judgment = await body_of(request, Judgment)
        return JSONResponse(await run_in_threadpool(store, request.path_params["ref"], judgment))

    def store(ref: str, judgment: Judgment) -> dict[str, Any]:
        # Each correction names the label that it found, so those of several tabs follow each other.
        with correcting, studio.workspace() as workspace:
            result = labels(workspace, ref, judgment.options())
        (text,) = (each for each in result.texts if each.id == judgment.text)
        return {
            "html": _corrections(judgment.text, result.corrections),
            "now": label_now(text, result.corrections),
        }

    return [
        Route("/{ref}/disagreements", page),
        Route("/{ref}/disagreements/labels", judge, methods=["POST"]),
    ]


def _options(request: Request) -> DisagreementsOptions:
    """Return which texts an address asks for.

    Raises:
        SettingsError: for a side or a number that is none.
    """
    asked = request.query_params
    return DisagreementsOptions(count=asked.get("count", SHOWN), side=asked.get("side", "both"))


def _cases(found: Disagreements, corrections: Sequence[Correction]) -> list[dict[str, Any]]:
    """Return each text with its scores and reasons, and the corrections of its label."""
    axis = score_axis_of(found.version, found.record.texts)
    return [
        {
            "id": each.text.id,
            "shown": plain(each.text.id),
            "card": body(View((), (disagreement_card(axis, each, opened=False, full=True),))),
            "now": label_now(each.text, corrections),
            "corrections": _corrections(each.text.id, corrections),
            "label": each.text.label,
            "raters": [(name, plain(name)) for name in each.text.raters],
        }
        for each in found.texts
    ]


def _corrections(text: str, corrections: Sequence[Correction]) -> Markup:
    own = [each for each in corrections if each.text == text]
    return body(View((), (corrections_table(own),))) if own else Markup("")
