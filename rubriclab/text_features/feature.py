"""A text feature: a number read off a text's surface, with everything a person needs to read it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

AspectKind = Literal["fluency", "coherence", "coverage", "faithfulness", "engagement"]
"""The families of human-rated aspects between which a feature's usual direction differs."""

Need = Literal["source", "context"]


@dataclass(frozen=True)
class TextFeature:
    """One entry of the catalogue; the entry is the feature's documentation."""

    name: str
    """Identifier in snake_case; the key in the result of `extract_features`."""
    title: str
    """Short noun phrase, to be read by a person inside a sentence."""
    unit: str
    keywords: tuple[str, ...]
    """Beginnings of the words by which a criterion in plain English refers to the trait."""
    better_high: tuple[AspectKind, ...] = ()
    """Kinds of aspect that usually grow with the feature, by general knowledge and not by any data set here."""
    better_low: tuple[AspectKind, ...] = ()
    """Kinds of aspect that usually fall with the feature."""
    needs: frozenset[Need] = frozenset()
    """What must accompany the output; without it the value is nan."""
    tasks: tuple[str, ...] = ()
    """The tasks in which these directions hold; none named means in any."""

    def direction(self, kind: AspectKind) -> int:
        """+1, -1 or 0: the direction in which the feature usually moves with a kind of aspect; 0 is unknown."""
        return (kind in self.better_high) - (kind in self.better_low)


NEEDS_SOURCE: frozenset[Need] = frozenset({"source"})
NEEDS_CONTEXT: frozenset[Need] = frozenset({"context"})
SUMMARIZATION = ("summarization",)
DIALOGUE = ("dialogue",)
