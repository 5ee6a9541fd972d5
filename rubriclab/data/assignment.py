"""What is being judged: the kind of text, the aspect and the scale, in the words that prompts use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rubriclab.data.aspect import Aspect, TaskWords
from rubriclab.data.example import Example
from rubriclab.data.scale import Scale


@dataclass(frozen=True, slots=True)
class Assignment:
    """A task's words, the aspect judged, and the scale it is judged on."""

    words: TaskWords
    aspect: Aspect
    scale: Scale

    def fields(self) -> dict[str, Any]:
        """Return the fields that every prompt about this assignment carries."""
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
        """Return the fields that show one text, without what humans said of it."""
        return {"source": example.source, "context": example.context, "output": example.output}
