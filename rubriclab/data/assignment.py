"""What is judged: the task, the aspect and the scale, in the words of prompts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from rubriclab.data.aspect import Aspect, TaskWords
from rubriclab.data.example import Example
from rubriclab.data.scale import Scale


@dataclass(frozen=True)
class Assignment:
    """The words of a task, the aspect and the scale."""

    words: TaskWords
    aspect: Aspect
    scale: Scale

    def fields(self) -> dict[str, Any]:
        """Return the fields of every prompt about this assignment."""
        return {
            "words": dict(self._words),
            "aspect": {"name": self.aspect.name, "definition": self.aspect.definition},
            "scale": {
                "text": self._scale_text,
                "low": self.scale.low,
                "high": self.scale.high,
                "whole": self.scale.whole,
                "between": self._between,
                "anchors": list(self._anchors),
            },
        }

    # Computed once, since every prompt of every text has these fields.

    @cached_property
    def _words(self) -> dict[str, str]:
        return self.words.model_dump()

    @cached_property
    def _scale_text(self) -> str:
        return self.scale.describe()

    @cached_property
    def _between(self) -> bool:
        return self.scale.between

    @cached_property
    def _anchors(self) -> tuple[float, ...]:
        return self.scale.anchors()

    @staticmethod
    def text_fields(example: Example) -> dict[str, Any]:
        """Return the fields of a text in prompts, without its labels."""
        return {"source": example.source, "context": example.context, "output": example.output}
