"""A text feature: a number read off a text's surface, with everything a person needs to read it."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

AspectKind = Literal["fluency", "coherence", "coverage", "faithfulness", "engagement"]
"""The families of human-rated aspects between which a feature's usual direction differs."""


@dataclass(frozen=True)
class TextFeature:
    """One row of `catalogue.csv`; the row is the feature's documentation.

    Attributes:
        name: identifier in snake_case; the key in the result of `extract_features`.
        title: short noun phrase, to be read by a person inside a sentence.
        unit: what is counted, or the range.
        keywords: beginnings of the words by which a criterion in plain English refers to the trait.
        better_high: kinds of aspect that usually grow with the feature, by general knowledge and not by any data set.
        better_low: kinds of aspect that usually fall with the feature.
        needs: "source" or "context", which must accompany the output; without it the value is nan.
        tasks: the tasks in which these directions hold; none named means in any.
        reference: author, year and venue of the idea, or "elementary".
    """

    name: str
    title: str
    unit: str
    keywords: tuple[str, ...]
    better_high: tuple[AspectKind, ...]
    better_low: tuple[AspectKind, ...]
    needs: tuple[str, ...]
    tasks: tuple[str, ...]
    reference: str

    def direction(self, kind: AspectKind) -> int:
        """+1, -1 or 0: the direction in which the feature usually moves with a kind of aspect; 0 is unknown."""
        return (kind in self.better_high) - (kind in self.better_low)


def catalogue_rows() -> tuple[TextFeature, ...]:
    """Return the features of `catalogue.csv`; lists in it are separated by semicolons."""
    with (Path(__file__).parent / "catalogue.csv").open(encoding="utf-8", newline="") as file:
        return tuple(map(_feature, csv.DictReader(file)))


def _feature(row: dict[str, str]) -> TextFeature:
    def column(name: str) -> tuple[Any, ...]:
        return tuple(filter(None, row[name].split(";")))

    return TextFeature(
        name=row["name"],
        title=row["title"],
        unit=row["unit"],
        keywords=column("keywords"),
        better_high=column("better_high"),
        better_low=column("better_low"),
        needs=column("needs"),
        tasks=column("tasks"),
        reference=row["reference"],
    )
