"""The lines of a batch's files of answers and errors.

A line is `{"custom_id": …, "response": {"status_code": …, "body": …}, "error": …}`; a request that was not processed
has no response but an error with a code, such as `batch_expired`.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from rubriclab.judges.response_body import stated_status

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class BatchAnswer:
    """What a batch's files say about one request.

    Attributes:
        status: the HTTP status of the response; `None` if the request was not processed.
        body: the body of the response.
        reason: why the request was not processed.
    """

    status: int | None
    body: Any
    reason: str = ""

    @property
    def succeeded(self) -> bool:
        """Whether the body is a completion."""
        return self.status == 200 and isinstance(self.body, Mapping)


def answers_in(files: Iterable[bytes], names: Collection[str]) -> dict[str, BatchAnswer]:
    """Return what files say about the requests of these names, by name.

    Lines that are damaged or name no such request are left out, and logged; so are repeated names, of which a
    completion comes first, and otherwise the first line.
    """
    found: dict[str, BatchAnswer] = {}
    damaged = unknown = repeated = 0
    for line in (line for file in files for line in file.split(b"\n") if line.strip()):
        name, answer = _read(line)
        if answer is None:
            damaged += 1
        elif name not in names:
            unknown += 1
        elif name in found:
            repeated += 1
            if answer.succeeded and not found[name].succeeded:
                found[name] = answer
        else:
            found[name] = answer
    if damaged or unknown or repeated:
        _log.warning(
            "a batch's files have %d damaged lines, %d of unknown requests and %d repeated ones; they are ignored",
            damaged,
            unknown,
            repeated,
        )
    return found


def _read(line: bytes) -> tuple[str, BatchAnswer | None]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return "", None
    if not isinstance(row, dict) or not isinstance(row.get("custom_id"), str):
        return "", None
    response, error = row.get("response"), row.get("error")
    if isinstance(response, dict) and type(response.get("status_code")) is int:
        status, body = response["status_code"], response.get("body")
        return row["custom_id"], BatchAnswer(stated_status(body) or status if status == 200 else status, body)
    if isinstance(error, dict):
        reason = error.get("message") or error.get("code")
        return row["custom_id"], BatchAnswer(None, None, str(reason)[:500])
    return row["custom_id"], None
