"""The requests and responses of the HTTP service as JSON models, its problems, and its OpenAPI description.

Docstrings of models and fields are part of the description. A problem is why a request fails; its code, such as
`not_json`, stands in `problems.toml` with the HTTP status and the meaning.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Any, Literal

import orjson
from pydantic import BaseModel, ConfigDict, Field
from pydantic.json_schema import models_json_schema
from starlette.responses import Response

from rubriclab import __version__, errors
from rubriclab.judges.cache import RECORDED_PREFIX, short_judge_name
from rubriclab.learning.scoring import Score
from rubriclab.models.base import parse_toml
from rubriclab.models.characters import escape_controls
from rubriclab.models.rubric import CriterionKind, Rubric
from rubriclab.models.version import Version
from rubriclab.ops.inputs import FieldMissing


class TextToScore(BaseModel):
    """A text to score, as programs give it by HTTP (`InputText`) and assistants by tool calls (`ToolText`)."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    output: str
    """The text."""
    source: str | None = None
    """What the text was made from, such as the article of a summary or the question of an answer."""
    context: str | None = None
    """What came before the text, such as a dialogue; the judge sees it."""
    reference: str | None = None
    """A text that a person wrote for the same source, for criteria that compare the text with it."""
    id: str | None = None
    """Name of the text in the response; by default derived from the text."""
    group: str | None = None
    """Name that texts of the same source share; by default derived from the source."""


class _ResponseModel(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", from_attributes=True, use_attribute_docstrings=True)


class LevelDescription(_ResponseModel):
    """A score, and what a text of this score is like."""

    score: float
    """A score on the scale of the criterion."""
    description: str
    """What such a text is like."""


class CriterionDescription(_ResponseModel):
    """A criterion of the rubric."""

    id: str
    """The `id` by which the `criteria` of a score refer to this criterion."""
    kind: CriterionKind
    """Kind of the criterion, such as a yes/no `question` or a `hypothesis` about good texts."""
    trait: str
    """Subject of the criterion in a few words."""
    statement: str
    """The question or the statement that the judge is given."""
    levels: tuple[LevelDescription, ...] = ()
    """Descriptions of scores; empty if the criterion has none."""
    weight: float | None = None
    """Share of the criterion in the score, null if not learned; the absolute values of all weights sum to 1."""


class AspectDescription(_ResponseModel):
    """What is judged."""

    name: str
    """Name of what is judged, such as `coherence`."""
    definition: str
    """What the name means."""


class ScaleDescription(_ResponseModel):
    """The ends of the scale of scores."""

    low: float
    """The lowest score."""
    high: float
    """The highest score."""


class RubricDescription(_ResponseModel):
    """The rubric that scores."""

    rubric: str
    """Name of the rubric with its version."""
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
    """Fields that every text should have, since the rubric was learned from texts that all had them."""
    verdict: Literal["better", "inconclusive", "not better", "worse"] | None
    """Whether the rubric agrees better with people than the same judge without a rubric; null if not measured."""
    criteria: tuple[CriterionDescription, ...]
    """What the judge rates, in the order of the rubric."""


def shown_judge(judge: str) -> str:
    """Return the name of a judge as callers see it: only `recorded` if its answers come from a recording."""
    name = short_judge_name(judge)
    return RECORDED_PREFIX.rstrip(":") if name.startswith(RECORDED_PREFIX) else name


def describe_rubric(rubric: Rubric, name: str, judge: str, version: Version | None) -> RubricDescription:
    weights = {criterion_id: term.weight for criterion_id, term in rubric.terms.items()}
    criteria = map(CriterionDescription.model_validate, rubric.criteria)
    return RubricDescription(
        rubric=name,
        digest=rubric.digest,
        task=rubric.task,
        aspect=AspectDescription.model_validate(rubric.aspect),
        scale=ScaleDescription.model_validate(rubric.score_scale),
        judge=shown_judge(judge),
        needs=(version.provenance.text_fields if version else None) or (),
        verdict=version.outcome if version else None,
        criteria=tuple(each.model_copy(update={"weight": weights.get(each.id)}) for each in criteria),
    )


class _RequestModel(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, use_attribute_docstrings=True)


class InputText(_RequestModel, TextToScore):
    """A text to score, in a request."""

    system: str | None = None
    """Which system wrote the text."""


class InputTexts(_RequestModel):
    """Several texts to score."""

    texts: Annotated[tuple[InputText, ...], Field(min_length=1, strict=False)]
    """The texts."""


class UnitResult(_ResponseModel):
    """The answer for a piece of a text."""

    unit: str
    """The piece, as the judge was asked about it."""
    sentences: tuple[int, ...]
    """Numbers of the sentences that contain the piece, counted from 0."""
    value: float | None
    """1 is best for the text, 0 is worst; null without a usable answer."""
    reason: str
    """The judge's reason, or why there is no value."""
    support: tuple[str, ...]
    """The facts that support the piece."""


class CriterionResult(_ResponseModel):
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
    """Whether the criterion applies to this text; if not, `score` is null."""
    weight: float | None = None
    """Weight of the criterion within its method (the weights sum to 1); left out if the method has no weights."""
    units: tuple[UnitResult, ...] = ()
    """Answers for pieces of the text; left out if it is judged as a whole."""
    contribution: float | None = None
    """Points that this rating adds to the score, compared with an average rating; left out without learned weights."""


class ScoreResult(_ResponseModel):
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
    """Prediction interval for the score that people would give; left out if the rubric has none."""
    verdict: str | None = None
    """Level of this text, such as `pass`, if the rubric has two levels; `score` is the better level's probability."""
    rivals: Literal["together"] | None = None
    """`together` if rated in one call with its rivals, the texts of its group; compare its score only with theirs."""


class ScoreResults(_ResponseModel):
    """The scores of several texts."""

    scores: tuple[ScoreResult, ...]
    """In the order of the texts."""
    warnings: tuple[str, ...]
    """Reasons why scores may be less reliable, such as texts without the source that the rubric needs."""


class Health(_ResponseModel):
    """The service works."""

    status: Literal["ok"]
    """Always `ok`; a service that cannot score responds with a problem."""


class ProblemDetails(_ResponseModel):
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
    """Return the fields of `ScoreResult`, which are those that `rubriclab score` writes for a score."""
    return {**score.to_row(), "judge": shown_judge(score.judge)}


# The HTTP status and the meaning of each problem, by its code.
PROBLEMS: Mapping[str, tuple[int, str]] = parse_toml(Path(__file__).with_name("problems.toml").read_bytes())
MEDIA_TYPE = "application/problem+json"
# Seconds after which a caller should try again: if the judge is down, the store is locked, or the service is busy.
RETRY_WHEN_DOWN, RETRY_WHEN_LOCKED, RETRY_WHEN_BUSY = 30, 2, 1


class Refused(Exception):
    """A refused request: a code of `PROBLEMS`, what is wrong, and in how many seconds another attempt may succeed."""

    def __init__(self, code: str, detail: str | None = None, retry_after: float | None = None) -> None:
        self.status, meaning = PROBLEMS[code]
        self.code, self.detail, self.retry_after = code, detail or meaning, retry_after
        super().__init__(self.detail)


# The code of each class of errors, and the seconds to another attempt. The first class that fits an error applies.
_REFUSALS: Sequence[tuple[type[Exception], str, int | None]] = (
    (errors.BudgetReached, "budget_reached", None),
    (errors.ProviderDown, "judge_unavailable", RETRY_WHEN_DOWN),
    (errors.JudgeUnavailable, "judge_unavailable", RETRY_WHEN_DOWN),
    (errors.ReplayMiss, "not_recorded", None),
    (errors.JudgeError, "judge_failed", None),
    (errors.StoreError, "store_unavailable", RETRY_WHEN_LOCKED),
    (Exception, "internal_error", None),
)


def convert_error(error: Exception) -> Refused:
    """Return an error as callers see it: without the messages of providers, stores and bugs, which only the log has."""
    if isinstance(error, Refused):
        return error
    if isinstance(error, errors.SettingsError | errors.DataError):
        # The error's own hint is about options, which callers do not have.
        hint = " Send it with each text." if isinstance(error, FieldMissing) else ""
        return Refused("unusable_texts", f"{escape_controls(error.message)}{hint}")
    code, retry_after = next((code, seconds) for cls, code, seconds in _REFUSALS if isinstance(error, cls))
    return Refused(code, retry_after=retry_after)


def problem_response(error: Refused, request_id: str, headers: Mapping[str, str] | None = None) -> Response:
    """Return the problem as a response in the form of RFC 9457."""
    title = HTTPStatus(error.status).phrase
    problem = ProblemDetails(title=title, status=error.status, code=error.code, detail=error.detail, request=request_id)
    retry = {} if error.retry_after is None else {"Retry-After": str(math.ceil(error.retry_after))}
    content = orjson.dumps(problem.model_dump(mode="json"))
    return Response(content, error.status, {**retry, **(headers or {})}, MEDIA_TYPE)


SCORE_PATH, RUBRIC_PATH = "/v1/score", "/v1/rubric"
HEALTH_PATH, METRICS_PATH, OPENAPI_PATH = "/health", "/metrics", "/openapi.json"
PATHS_WITHOUT_TOKEN = frozenset({HEALTH_PATH, OPENAPI_PATH})
PATHS = frozenset({SCORE_PATH, RUBRIC_PATH, HEALTH_PATH, METRICS_PATH, OPENAPI_PATH})

_REF = "#/components/schemas/{model}"
_EXAMPLE = {"output": "The council closes the bridge.", "source": "The council met on Monday and closed the bridge."}


@cache
def describe_api(*, needs_token: bool) -> dict[str, Any]:
    """Return the OpenAPI description, which is the same for every rubric."""
    response_models = (ScoreResult, ScoreResults, RubricDescription, Health, ProblemDetails)
    models_and_modes: list[Any] = [(model, "validation") for model in (InputText, InputTexts)]
    models_and_modes += [(model, "serialization") for model in response_models]
    _, schema = models_json_schema(models_and_modes, ref_template=_REF)
    security: dict[str, Any] = {"security": [{"token": []}]} if needs_token else {}
    all_problems = " ".join(f"{status} `{code}`: {meaning}" for code, (status, meaning) in PROBLEMS.items())
    retry_after = {"description": "Seconds, for 429, 503 and 504.", "schema": {"type": "integer", "minimum": 0}}
    details_schema = {"$ref": _REF.format(model="ProblemDetails")}
    failure = _describe_response(f"The request failed. {all_problems}", MEDIA_TYPE, details_schema)
    failure["headers"] = {"Retry-After": retry_after}
    schemes = {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}} if needs_token else {}
    license_ = {"name": "Apache-2.0", "identifier": "Apache-2.0"}
    info = {"title": "rubriclab", "version": __version__, "summary": "Scores texts by a rubric.", "license": license_}
    return {
        "openapi": "3.1.0",
        "info": info,
        "servers": [{"url": "/"}],
        **security,
        "paths": _describe_paths(needs_token=needs_token),
        "components": {**schemes, "schemas": schema["$defs"], "responses": {"Problem": failure}},
    }


def _describe_paths(*, needs_token: bool) -> dict[str, Any]:
    scores = _describe_json("The score of the text, or those of all texts.", "ScoreResult", "ScoreResults")
    metrics = _describe_response("The metrics.", "text/plain", {"type": "string"})
    openapi = _describe_response("The description.", "application/json", {"type": "object"})
    operations: Sequence[tuple[str, str, str, dict[str, Any]]] = (
        (SCORE_PATH, "score", "Score one text, or several.", scores),
        (RUBRIC_PATH, "rubric", "The rubric that scores.", _describe_json("The rubric.", "RubricDescription")),
        (METRICS_PATH, "metrics", "Metrics for Prometheus.", metrics),
        (HEALTH_PATH, "health", "Whether the service works.", _describe_json("It works.", "Health")),
        (OPENAPI_PATH, "openapi", "This description.", openapi),
    )
    paths: dict[str, Any] = {}
    for path, name, summary, response in operations:
        responses = {"200": response, "default": {"$ref": "#/components/responses/Problem"}}
        operation: dict[str, Any] = {"operationId": name, "summary": summary, "responses": responses}
        if needs_token and path in PATHS_WITHOUT_TOKEN:
            operation["security"] = []
        method = "post" if path == SCORE_PATH else "get"
        paths[path] = {method: operation}
    body = _describe_json("", "InputText", "InputTexts")["content"]
    body["application/json"]["example"] = _EXAMPLE
    paths[SCORE_PATH]["post"]["description"] = "A text that cannot be scored has no score but a reason in `unscored`."
    paths[SCORE_PATH]["post"]["requestBody"] = {"required": True, "content": body}
    return paths


def _describe_json(meaning: str, *models: str) -> dict[str, Any]:
    schemas = [{"$ref": _REF.format(model=model)} for model in models]
    return _describe_response(meaning, "application/json", {"oneOf": schemas} if len(models) > 1 else schemas[0])


def _describe_response(meaning: str, media_type: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"description": meaning, "content": {media_type: {"schema": schema}}}
