"""Why a request failed, as problem details (RFC 9457), without what callers must not know: addresses, paths, keys."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus

import orjson
from starlette.responses import Response

from rubriclab.errors import (
    BudgetReached,
    DataError,
    JudgeError,
    JudgeUnavailable,
    ProviderDown,
    ReplayMiss,
    SettingsError,
    StoreError,
)
from rubriclab.models.characters import plain
from rubriclab.ops.inputs import FieldMissing
from rubriclab.web.api.models import ProblemDetails


@dataclass(frozen=True, slots=True)
class ProblemKind:
    """What callers are told of every problem with a code.

    Attributes:
        status: the HTTP status.
        meaning: what is wrong, and what to do.
    """

    status: int
    meaning: str


# By their codes, which do not change with the wording.
KINDS: Mapping[str, ProblemKind] = {
    "not_json": ProblemKind(400, "The body is not JSON."),
    "incomplete_body": ProblemKind(400, "The connection was closed before the body was complete."),
    "two_lengths": ProblemKind(400, "The request has both Content-Length and Transfer-Encoding; send one of them."),
    "unknown_parameter": ProblemKind(400, "The address has a query (`?name=value`); this request takes none."),
    "no_token": ProblemKind(401, "The request has no bearer token."),
    "wrong_token": ProblemKind(401, "The bearer token is not one of this service."),
    "budget_reached": ProblemKind(
        402, "The cap on calls or cost is reached: only requests whose answers are all in the store are answered."
    ),
    "other_origin": ProblemKind(403, "Without a token, the service refuses requests of other sites' pages (`Origin`)."),
    "no_such_path": ProblemKind(404, "The service has no such path; `GET /openapi.json` describes all requests."),
    "other_method": ProblemKind(405, "The path does not take this method; `Allow` names those that it takes."),
    "late_body": ProblemKind(408, "The body was not complete in time."),
    "too_large": ProblemKind(413, "The body is too large."),
    "too_many_texts": ProblemKind(413, "The body has too many texts."),
    "other_media_type": ProblemKind(415, "The body is not sent as application/json."),
    "compressed_body": ProblemKind(415, "The body is compressed; send it without compression."),
    "other_host": ProblemKind(421, "Without a token, the service answers under its own address only."),
    "invalid_body": ProblemKind(
        422, "The body is JSON of another form: a field is unknown, missing or of another type."
    ),
    "repeated_key": ProblemKind(422, "An object of the body has a key twice."),
    "repeated_id": ProblemKind(422, "Two texts of a list have the same `id`."),
    "unusable_texts": ProblemKind(
        422, "No text has a field, such as `source`, that every text had that the rubric was learned from."
    ),
    "too_many_at_once": ProblemKind(429, "Too many requests at a time; `Retry-After` says when to send it again."),
    "large_head": ProblemKind(431, "The head of the request is too large."),
    "internal_error": ProblemKind(500, "An unexpected error, which the log of the service has."),
    "judge_failed": ProblemKind(502, "The judge refused the request, such as for a wrong key."),
    "not_recorded": ProblemKind(502, "The judge is a recording, which has no answer about this text."),
    "judge_unavailable": ProblemKind(503, "The judge does not answer; `Retry-After` says when to send it again."),
    "store_unavailable": ProblemKind(503, "The store cannot be used; `Retry-After` says when to send it again."),
    "not_responding": ProblemKind(503, "The service does not score at present; `Retry-After` says when to ask again."),
    "stopping": ProblemKind(503, "The service is shutting down; `Retry-After` says when to send it again."),
    "timeout": ProblemKind(504, "No score in time. Answers that arrive later are kept: send the same request again."),
}


def statuses(codes: Sequence[str]) -> Sequence[int]:
    """Return the statuses of problems, each once, in ascending order."""
    return sorted({KINDS[code].status for code in codes})


MEDIA_TYPE = "application/problem+json"
# Seconds after which another attempt is worthwhile.
WHEN_DOWN, WHEN_LOCKED, WHEN_BUSY = 30, 2, 1


class Refused(Exception):
    """A request that gets no result.

    Attributes:
        status: the HTTP status.
        code: the kind of problem, one of `KINDS`.
        detail: for the caller.
        retry_after: seconds after which another attempt is worthwhile.
    """

    def __init__(self, code: str, detail: str, retry_after: float | None = None) -> None:
        super().__init__(detail)
        self.status = KINDS[code].status
        self.code = code
        self.detail = detail
        self.retry_after = retry_after


# The refusals of errors, of which the first that fits holds.
_REFUSALS: Sequence[tuple[tuple[type[Exception], ...], Refused]] = (
    (
        (BudgetReached,),
        Refused(
            "budget_reached",
            "The cap on calls or cost of this service is reached: no text is sent to the judge any more. Requests "
            "whose answers are all in the store are still answered.",
        ),
    ),
    (
        (ProviderDown, JudgeUnavailable),
        Refused("judge_unavailable", "The judge does not answer at present; send the request again.", WHEN_DOWN),
    ),
    (
        (ReplayMiss,),
        Refused("not_recorded", "The judge is a recording, which has no answer about this text."),
    ),
    (
        (JudgeError,),
        Refused("judge_failed", "The judge refused the request; the log of the service says why."),
    ),
    (
        (StoreError,),
        Refused("store_unavailable", "The store cannot be used at present; send the request again.", WHEN_LOCKED),
    ),
)


def refused(error: Exception) -> Refused:
    """Return what a caller is told of an error; what the provider, the store or a bug says is for the log only."""
    if isinstance(error, Refused):
        return error
    if isinstance(error, SettingsError | DataError):
        # The hint is about options, which the caller does not have.
        hint = " Send it with each text." if isinstance(error, FieldMissing) else ""
        return Refused("unusable_texts", f"{plain(error.message)}{hint}")
    known = (refusal for kinds, refusal in _REFUSALS if isinstance(error, kinds))
    return next(known, Refused("internal_error", "An unexpected error; the log of the service has it."))


def problem_response(error: Refused, request: str, headers: Mapping[str, str] | None = None) -> Response:
    """Return the response to a request that failed.

    Args:
        request: the id of the request.
        headers: further headers.
    """
    problem = ProblemDetails(
        title=HTTPStatus(error.status).phrase,
        status=error.status,
        code=error.code,
        detail=error.detail,
        request=request,
    )
    own = {} if error.retry_after is None else {"Retry-After": str(math.ceil(error.retry_after))}
    content = orjson.dumps(problem.model_dump(mode="json"))
    return Response(content, error.status, {**own, **(headers or {})}, MEDIA_TYPE)
