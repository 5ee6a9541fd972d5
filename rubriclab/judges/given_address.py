"""The address that a user gives once, for an operation that may ask several judges."""

from __future__ import annotations

from threading import Lock

from rubriclab.judges.connect import makes_requests, provider


class GivenAddress:
    """The address of a server, for the first judge that asks for it and the others of its provider.

    Judges of another provider have another key, which that server must not get: they are asked at their own address.
    """

    def __init__(self, address: str | None) -> None:
        self._address = address
        self._first: str | None = None
        self._lock = Lock()

    def for_judge(self, judge: str) -> str | None:
        """Return the address if it is for this judge."""
        if self._address is None or not makes_requests(judge):
            return None
        with self._lock:
            self._first = self._first or judge
        is_for_it = judge == self._first or _server(judge) == _server(self._first)
        return self._address if is_for_it else None


def _server(judge: str) -> str:
    """Return the provider whose server and key a judge has; litellm has two names for some, as for Ollama."""
    return provider(judge).removesuffix("_chat")
