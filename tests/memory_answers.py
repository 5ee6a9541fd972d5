"""A cache of answers that lives as long as a test."""

from __future__ import annotations

from typing import Any


class MemoryAnswers:
    """Answers cached as long as the process lives."""

    remote = False

    def __init__(self) -> None:
        self._answers: dict[str, dict[str, Any]] = {}

    def get(self, digest: str) -> dict[str, Any] | None:
        return self._answers.get(digest)

    def put(self, digest: str, answer: dict[str, Any]) -> bool:
        """Return whether `answer` was cached; an answer that is there already stays."""
        return self._answers.setdefault(digest, answer) is answer

    def check_writable(self) -> None:
        """Do nothing: an answer can always be cached."""
