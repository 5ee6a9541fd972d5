"""Why a request failed, as problem details (RFC 9457), without what callers must not know: addresses, paths, keys."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from http import HTTPStatus

import orjson
from starlette.responses import Response

from rubriclab.characters import plain
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
from rubriclab.option_names import in_python
from rubriclab.services.text_fields import FieldMissing
from rubriclab.web.api.models import ProblemDetails
from rubriclab.web.api.problem_kinds import KINDS

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
        return Refused("unusable_texts", f"{plain(in_python(error.message))}{hint}")
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
