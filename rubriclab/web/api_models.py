"""The requests and responses of the HTTP service as JSON models, and its OpenAPI description."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from http import HTTPStatus
from typing import Annotated, Any, Literal

import orjson
from pydantic import BaseModel, ConfigDict, Field
from pydantic.json_schema import models_json_schema
from starlette.responses import Response

from rubriclab import __version__, errors
from rubriclab.judges.cache import RECORDED_PREFIX, recorded_name
from rubriclab.learning.scoring import Score
from rubriclab.models.characters import plain
from rubriclab.models.rubric import CriterionKind, Rubric
from rubriclab.models.version import Version
from rubriclab.ops.inputs import FieldMissing


class GivenText(BaseModel):
    """A text to score, as programs and assistants give it."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    output: str
    """The text."""
    source: str | None = None
    """What the text was made from, such as the article of a summary or the question of an answer."""
    context: str | None = None
    """What came before the text, such as a dialogue; the judge sees it."""
    reference: str | None = None
    """A text that a person wrote for the same source, for criteria that compare with one."""
    id: str | None = None
    """Name of the text in the response; by default derived from the text."""
    group: str | None = None
    """Name that texts of the same source share; by default derived from the source."""


class DescriptionModel(BaseModel):
    """Base of responses."""

    model_config = ConfigDict(frozen=True, extra="forbid", from_attributes=True, use_attribute_docstrings=True)


class LevelDescription(DescriptionModel):
    """A score, and what a text of this score is like."""

    score: float
    """A score on the scale of the criterion."""
    description: str
    """What such a text is like."""


class CriterionDescription(DescriptionModel):
    """A criterion of the rubric."""

    id: str
    """Name of the criterion in scores."""
    kind: CriterionKind
    """What the judge is asked for."""
    trait: str
    """Its subject in a few words."""
    statement: str
    """What the judge is asked."""
    levels: tuple[LevelDescription, ...] = ()
    """Descriptions of scores; empty if the criterion has none."""
    weight: float | None = None
    """Its share of the score; absolute values sum to 1. Null if the weights were not learned."""


class AspectDescription(DescriptionModel):
    """What is judged."""

    name: str
    """A word for it, such as `coherence`."""
    definition: str
    """What it means."""


class ScaleDescription(DescriptionModel):
    """The ends of the scale of scores."""

    low: float
    """The lowest score."""
    high: float
    """The highest score."""


class RubricDescription(DescriptionModel):
    """The rubric that scores."""

    rubric: str
    """Its name with its version."""
    digest: str
    """Equal rubrics have equal digests."""
    task: str
    """The kind of text."""
    aspect: AspectDescription
    """What the rubric judges."""
    scale: ScaleDescription
    """The scale of the scores."""
    judge: str
    """The judge that rates texts; `recorded` if its answers come from a recording."""
    needs: tuple[str, ...]
    """Fields that every text should have, as all texts had that the rubric was learned from."""
    verdict: Literal["better", "inconclusive", "not better", "worse"] | None
    """Whether the rubric agrees better with people than the same judge asked directly; null if not measured."""
    criteria: tuple[CriterionDescription, ...]
    """What the judge rates, in the order of the rubric."""


def shown_judge(judge: str) -> str:
    """Return a judge without the path of its recording."""
    name = recorded_name(judge)
    return RECORDED_PREFIX.rstrip(":") if name.startswith(RECORDED_PREFIX) else name


def describe_rubric(rubric: Rubric, name: str, judge: str, version: Version | None) -> RubricDescription:
    """Return the description of a rubric as callers see it."""
    provenance = version.provenance if version else None
    weights = {name: term.weight for name, term in rubric.terms.items()}
    criteria = map(CriterionDescription.model_validate, rubric.criteria)
    return RubricDescription(
        rubric=name,
        digest=rubric.digest,
        task=rubric.task,
        aspect=AspectDescription.model_validate(rubric.aspect),
        scale=ScaleDescription.model_validate(rubric.scores_on),
        judge=shown_judge(judge),
        needs=(provenance.text_fields or ()) if provenance else (),
        verdict=version.outcome if version else None,
        criteria=tuple(each.model_copy(update={"weight": weights.get(each.id)}) for each in criteria),
    )


class _RequestModel(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, use_attribute_docstrings=True)


class InputText(_RequestModel, GivenText):
    """A text to score."""

    system: str | None = None
    """Which system wrote the text."""


class InputTexts(_RequestModel):
    """Several texts to score."""

    texts: Annotated[tuple[InputText, ...], Field(min_length=1, strict=False)]
    """The texts."""


class UnitResult(DescriptionModel):
    """The answer for a piece of a text."""

    unit: str
    """The piece, as the judge was asked about it."""
    sentences: tuple[int, ...]
    """Numbers of the sentences that hold it, counted from 0."""
    value: float | None
    """From 1, in favour of the text, to 0, against it; null without a usable answer."""
    reason: str
    """The judge's reason, or why there is no value."""
    support: tuple[str, ...]
    """The facts that support the piece."""


class CriterionResult(DescriptionModel):
    """A text's score by one criterion."""

    id: str
    """The `id` of the criterion in the rubric."""
    name: str | None = None
    """Title of the criterion; left out if it has none."""
    score: float | None
    """Null if the judge gave no usable rating, or the criterion does not apply."""
    reason: str
    """The judge's reason, or why there is no score."""
    applies: bool
    """Whether the criterion can be asked of this text."""
    weight: float | None = None
    """Weight of the criterion within its method; left out if it has none."""
    units: tuple[UnitResult, ...] = ()
    """Answers for pieces of the text; left out if it is judged as a whole."""
    contribution: float | None = None
    """Points that the criterion adds to the score of an average text; left out without learned weights."""


class ScoreResult(DescriptionModel):
    """A text's score; either `score` or `unscored` is null."""

    id: str
    """The `id` of the text."""
    aspect: str
    """What is judged."""
    score: float | None
    """On the scale of the rubric."""
    criteria: tuple[CriterionResult, ...]
    """The score by each criterion; empty if the text was not judged."""
    unscored: str | None
    """Why there is no score."""
    rubric: str
    """The rubric with its version."""
    judge: str
    """The judge that rated the text; `recorded` if its answers came from a recording."""
    interval: tuple[float, float] | None = None
    """Prediction interval of the score by people; left out if the rubric has none."""
    verdict: str | None = None
    """Level of the text, such as `pass`, by a rubric for verdicts; `score` is the probability of the better level."""
    rivals: Literal["together"] | None = None
    """Present if texts of one group were rated in one call: compare their scores within the group only."""


class ScoreResults(DescriptionModel):
    """The scores of several texts."""

    scores: tuple[ScoreResult, ...]
    """In the order of the texts."""
    warnings: tuple[str, ...]
    """Reasons why scores may be less reliable, such as texts without the source that the rubric needs."""


class Health(DescriptionModel):
    """The service works."""

    status: Literal["ok"]
    """Always `ok`; a service that cannot score responds with a problem."""


class ProblemDetails(DescriptionModel):
    """Why a request failed (problem details of RFC 9457)."""

    title: str
    """The standard phrase of the status."""
    status: int
    """The HTTP status of the response."""
    code: str
    """The kind of problem, as a constant for programs."""
    detail: str
    """What is wrong with this request."""
    request: str
    """The id of the request in the log of the service."""


def score_row(score: Score) -> Mapping[str, Any]:
    """Return a score as `ScoreResult`, which has the fields that `rubriclab score` writes."""
    return {**score.to_row(), "judge": shown_judge(score.judge)}


# The HTTP status and the meaning of each problem, by its code. Codes never change.
KINDS: Mapping[str, tuple[int, str]] = {
    "not_json": (400, "The body is not JSON, or an object in it has a key twice."),
    "incomplete_body": (400, "The connection was closed before the body was complete."),
    "two_lengths": (400, "The request has both Content-Length and Transfer-Encoding; send one."),
    "unknown_parameter": (400, "The address has a query (`?name=value`); this request takes none."),
    "no_token": (401, "The request has no bearer token."),
    "wrong_token": (401, "The bearer token is not one of this service."),
    "budget_reached": (402, "The cap on calls or cost of this service is reached; only stored answers are used."),
    "other_origin": (403, "A service without tokens refuses requests from pages of other sites (`Origin`)."),
    "no_such_path": (404, "The path does not exist; `GET /openapi.json` describes all paths."),
    "other_method": (405, "The path does not take this method; the header `Allow` lists those it takes."),
    "late_body": (408, "The body was not complete in time."),
    "too_large": (413, "The body is too large."),
    "too_many_texts": (413, "The body has too many texts."),
    "other_media_type": (415, "The Content-Type is not application/json."),
    "compressed_body": (415, "The body is compressed; send it without compression."),
    "other_host": (421, "A service without tokens responds at its own address only."),
    "invalid_body": (422, "A field of the body is unknown, missing or of the wrong type."),
    "repeated_id": (422, "Two texts of a list have the same `id`."),
    "unusable_texts": (422, "No text has a field that the rubric needs, such as `source`."),
    "too_many_at_once": (429, "Too many requests at a time; send it again after `Retry-After`."),
    "large_head": (431, "The head of the request is too large."),
    "internal_error": (500, "An unexpected error; the log of the service has the details."),
    "judge_failed": (502, "The judge refused the request; the log of the service says why."),
    "not_recorded": (502, "The judge is a recording without an answer for this text."),
    "judge_unavailable": (503, "The judge does not respond; send the request again after `Retry-After`."),
    "store_unavailable": (503, "The store cannot be used; send the request again after `Retry-After`."),
    "not_responding": (503, "The service cannot score at present; ask again after `Retry-After`."),
    "stopping": (503, "The service is shutting down; send the request again after `Retry-After`."),
    "timeout": (504, "No score in time. Answers that arrive later are stored: send the same request again."),
}


MEDIA_TYPE = "application/problem+json"
# Seconds after which another attempt is worthwhile.
WHEN_DOWN, WHEN_LOCKED, WHEN_BUSY = 30, 2, 1


class Refused(Exception):
    """A refused request: a code of `KINDS`, and after how many seconds another attempt may succeed, if ever."""

    def __init__(self, code: str, detail: str | None = None, retry_after: float | None = None) -> None:
        self.status, meaning = KINDS[code]
        super().__init__(detail or meaning)
        self.code = code
        self.detail = detail or meaning
        self.retry_after = retry_after


# The code of each error, and the seconds to another attempt; the first class that matches applies.
_REFUSALS: Sequence[tuple[type[Exception], str, int | None]] = (
    (errors.BudgetReached, "budget_reached", None),
    (errors.ProviderDown, "judge_unavailable", WHEN_DOWN),
    (errors.JudgeUnavailable, "judge_unavailable", WHEN_DOWN),
    (errors.ReplayMiss, "not_recorded", None),
    (errors.JudgeError, "judge_failed", None),
    (errors.StoreError, "store_unavailable", WHEN_LOCKED),
    (Exception, "internal_error", None),
)


def convert_error(error: Exception) -> Refused:
    """Return an error as callers see it; messages of providers, stores and bugs are for the log only."""
    if isinstance(error, Refused):
        return error
    if isinstance(error, errors.SettingsError | errors.DataError):
        # The error's own hint is about options, which callers do not have.
        hint = " Send it with each text." if isinstance(error, FieldMissing) else ""
        return Refused("unusable_texts", f"{plain(error.message)}{hint}")
    code, retry_after = next((code, seconds) for kind, code, seconds in _REFUSALS if isinstance(error, kind))
    return Refused(code, retry_after=retry_after)


def problem_response(error: Refused, request: str, headers: Mapping[str, str] | None = None) -> Response:
    title = HTTPStatus(error.status).phrase
    problem = ProblemDetails(title=title, status=error.status, code=error.code, detail=error.detail, request=request)
    retry = {} if error.retry_after is None else {"Retry-After": str(math.ceil(error.retry_after))}
    content = orjson.dumps(problem.model_dump(mode="json"))
    return Response(content, error.status, {**retry, **(headers or {})}, MEDIA_TYPE)


SCORE, RUBRIC, HEALTH, METRICS, OPENAPI = "/v1/score", "/v1/rubric", "/health", "/metrics", "/openapi.json"
OPEN = frozenset({HEALTH, OPENAPI})
PATHS = frozenset({SCORE, RUBRIC, HEALTH, METRICS, OPENAPI})

_REF = "#/components/schemas/{model}"
_EXAMPLE = {"output": "The council closes the bridge.", "source": "The council met on Monday and closed the bridge."}


@cache
def description(*, tokens: bool) -> dict[str, Any]:
    """Return the OpenAPI description, the same for every rubric; `tokens`: whether callers need a token."""
    responses = (ScoreResult, ScoreResults, RubricDescription, Health, ProblemDetails)
    modes: list[Any] = [(model, "validation") for model in (InputText, InputTexts)]
    modes += [(model, "serialization") for model in responses]
    schemas = models_json_schema(modes, ref_template=_REF)[1]["$defs"]
    secured: dict[str, Any] = {"security": [{"token": []}]} if tokens else {}
    kinds = " ".join(f"{status} `{code}`: {meaning}" for code, (status, meaning) in KINDS.items())
    ref = {"$ref": _REF.format(model="ProblemDetails")}
    problem = _content(f"The request failed. {kinds}", MEDIA_TYPE, ref)
    seconds = {"description": "Seconds, for 429, 503 and 504.", "schema": {"type": "integer", "minimum": 0}}
    schemes = {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}} if tokens else {}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "rubriclab",
            "version": __version__,
            "summary": "Scores texts by a rubric.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        **secured,
        "paths": _paths(tokens=tokens),
        "components": {
            **schemes,
            "schemas": schemas,
            "responses": {"Problem": {**problem, "headers": {"Retry-After": seconds}}},
        },
    }


def _paths(*, tokens: bool) -> dict[str, Any]:
    scores = _json("The score of the text, or those of all texts.", "ScoreResult", "ScoreResults")
    metrics = _content("The metrics.", "text/plain", {"type": "string"})
    openapi = _content("The description.", "application/json", {"type": "object"})
    requests: Sequence[tuple[str, str, str, dict[str, Any]]] = (
        (SCORE, "score", "Score one text, or several.", scores),
        (RUBRIC, "rubric", "The rubric that scores.", _json("The rubric.", "RubricDescription")),
        (METRICS, "metrics", "Metrics for Prometheus.", metrics),
        (HEALTH, "health", "Whether the service works.", _json("It works.", "Health")),
        (OPENAPI, "openapi", "This description.", openapi),
    )
    paths: dict[str, Any] = {}
    for path, name, summary, response in requests:
        responses = {"200": response, "default": {"$ref": "#/components/responses/Problem"}}
        operation: dict[str, Any] = {"operationId": name, "summary": summary, "responses": responses}
        if tokens and path in OPEN:
            operation["security"] = []
        paths[path] = {"post" if path == SCORE else "get": operation}
    body = _json("", "InputText", "InputTexts")["content"]
    body["application/json"]["example"] = _EXAMPLE
    paths[SCORE]["post"]["description"] = "A text that cannot be scored has no score but a reason in `unscored`."
    paths[SCORE]["post"]["requestBody"] = {"required": True, "content": body}
    return paths


def _json(meaning: str, *models: str) -> dict[str, Any]:
    one_of = [{"$ref": _REF.format(model=model)} for model in models]
    return _content(meaning, "application/json", {"oneOf": one_of} if len(models) > 1 else one_of[0])


def _content(meaning: str, media_type: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"description": meaning, "content": {media_type: {"schema": schema}}}
