"""What is judged: the task, the aspect and the scale, in the words of prompts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rubriclab.data.aspect import Aspect, TaskWords
from rubriclab.data.example import Example
from rubriclab.data.scale import Scale


@dataclass(frozen=True, slots=True)
class Assignment:
    """The words of a task, the aspect and the scale."""

    words: TaskWords
    aspect: Aspect
    scale: Scale

    def fields(self) -> dict[str, Any]:
        """Return the fields of every prompt about this assignment."""
        return {
            "words": self.words.model_dump(),
            "aspect": self.aspect.model_dump(),
            "scale": {
                "text": self.scale.describe(),
                "low": self.scale.low,
                "high": self.scale.high,
                "whole": self.scale.whole,
                "between": self.scale.between,
                "anchors": list(self.scale.anchors()),
            },
        }

    @staticmethod
    def text_fields(example: Example) -> dict[str, Any]:
        """Return the fields of a text in prompts, without its labels."""
        return {"source": example.source, "context": example.context, "output": example.output}
