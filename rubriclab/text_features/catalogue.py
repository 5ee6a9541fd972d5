"""What each text feature is, how a person reads it, and how it usually moves with an aspect.

Thirty labels leave a correlation with a standard error of about 0.18, so pulling each one towards what is generally
known keeps chance findings out: directions that differ by the kind of aspect that a name and its definition speak of,
and weights learned from public sets over all their aspects.
"""

from __future__ import annotations

import csv
import re
from pathlib import Path
from statistics import fmean
from typing import Literal, get_args

from pydantic import BaseModel, ConfigDict, field_validator

AspectKind = Literal["fluency", "coherence", "coverage", "faithfulness", "engagement"]
"""The families of human-rated aspects between which a feature's usual direction differs."""


class TextFeature(BaseModel):
    """One row of `catalogue.csv`; the row is the feature's documentation.

    Attributes:
        name: identifier in snake_case; the key of its value in `Features`.
        title: short noun phrase, to be read by a person inside a sentence.
        unit: what is counted, or the range.
        typical: a common value in a paragraph of English.
        spread: by how much texts usually differ from it.
        keywords: beginnings of the words by which a criterion in plain English refers to the trait.
        better_high: kinds of aspect that usually grow with the feature, by general knowledge and not by any data set.
        better_low: kinds of aspect that usually fall with the feature.
        learned: the weight that public sets gave it, over all their aspects.
        needs: "source" or "context", which must accompany the output; without it the value is nan.
        tasks: the tasks in which these directions hold; none named means in any.
        reference: author, year and venue of the idea, or "elementary".
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    title: str
    unit: str
    typical: float
    spread: float
    keywords: tuple[str, ...]
    better_high: tuple[AspectKind, ...]
    better_low: tuple[AspectKind, ...]
    learned: float
    needs: tuple[str, ...]
    tasks: tuple[str, ...]
    reference: str

    @field_validator("keywords", "better_high", "better_low", "needs", "tasks", mode="before")
    @classmethod
    def _listed(cls, cell: str) -> tuple[str, ...]:
        return tuple(filter(None, cell.split(";")))

    def direction(self, kind: AspectKind) -> int:
        """Return 1, -1 or 0: how the feature usually moves with a kind of aspect; 0 is unknown."""
        return (kind in self.better_high) - (kind in self.better_low)


with (Path(__file__).parent / "catalogue.csv").open(encoding="utf-8", newline="") as _file:
    CATALOGUE = tuple(map(TextFeature.model_validate, csv.DictReader(_file)))

_KIND_WORDS: dict[AspectKind, tuple[str, ...]] = {
    "fluency": ("fluen", "gramma", "natural", "readab", "understandab", "clarity", "wording", "style"),
    "coherence": ("coheren", "cohes", "structur", "organi", "logic", "flow"),
    "coverage": ("relevan", "informati", "cover", "important", "complete", "helpful", "useful"),
    "faithfulness": ("consisten", "faithful", "factual", "ground", "hallucinat", "accura", "correct", "support"),
    "engagement": ("engag", "interest", "empath", "surpris", "complex", "creativ", "emotion", "fun", "humo", "vivid"),
}


def aspect_kinds(aspect: str, definition: str = "") -> tuple[AspectKind, ...]:
    """The kinds that the aspect's name speaks of, or else its definition; all kinds where neither says."""
    return _kinds_in(aspect) or _kinds_in(definition) or get_args(AspectKind)


def usual_directions(aspect: str, definition: str = "", task: str = "") -> dict[str, float]:
    """Return each text feature's usual direction for this aspect, from -1 to 1; 0 where nothing is known.

    An aspect of several kinds has the mean of their directions. Features whose directions are tied to other tasks
    than `task` have 0.
    """
    kinds = aspect_kinds(aspect, definition)
    return {
        feature.name: fmean(map(feature.direction, kinds)) if task in (feature.tasks or (task,)) else 0.0
        for feature in CATALOGUE
    }


def prior_directions(aspect: str, definition: str = "", task: str = "") -> dict[str, float]:
    """Return each text feature's weight before any label, for standardised values; the largest size is 1.

    The mean of the usual directions and of the weights learned from public sets, each with sizes that sum to 1. On sets
    left out of the learning, the mean agrees better with people than either alone (`docs/decisions/0012`).
    """
    usual = usual_directions(aspect, definition, task)
    of_usual, of_learned = sum(map(abs, usual.values())) or 1.0, sum(abs(feature.learned) for feature in CATALOGUE)
    total = {each.name: usual[each.name] / of_usual + each.learned / of_learned for each in CATALOGUE}
    largest = max(map(abs, total.values()))
    return {name: value / largest for name, value in total.items()}


def _kinds_in(words: str) -> tuple[AspectKind, ...]:
    found = re.findall(r"[a-z]+", words.lower())
    return tuple(kind for kind, stems in _KIND_WORDS.items() if any(word.startswith(stems) for word in found))
