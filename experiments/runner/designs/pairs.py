"""Sets in pairs, each the other's home: for designs that learn on one and test on the other."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from experiments.runner.cases import Case, every_case, most_labels
from experiments.runner.sets import Sets
from experiments.runner.study import Study
from rubriclab import SettingsError
from rubriclab.research import FrozenModel


def _place(text: str) -> str:
    if not all(part.strip() for part in text.partition(":")):
        raise ValueError("expected SET:ASPECT, as in hanna:coherence")
    return text


Place = Annotated[str, AfterValidator(_place)]


class Pairs(FrozenModel):
    """Which set and aspect is learned for which.

    Attributes:
        pairs: each two places, written SET:ASPECT, of which either is the other's home.
    """

    pairs: tuple[tuple[Place, Place], ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _one_home_each(self) -> Self:
        places = list(itertools.chain(*self.pairs))
        if twice := next((place for place in places if places.count(place) > 1), None):
            raise ValueError(f"{twice} stands in two pairs")
        return self

    @property
    def homes(self) -> dict[tuple[str, str], tuple[str, str]]:
        """The home of each set and aspect."""
        both_ways = itertools.chain(self.pairs, ((second, first) for first, second in self.pairs))
        return {_named(tested): _named(home) for tested, home in both_ways}


def cases_away(study: Study, sets: Sets, pairs: Pairs) -> Iterator[Case]:
    """Yield a case for each set, aspect, number of labels and seed whose home is there and large enough.

    Raises:
        SettingsError: if a set and aspect has no home.
    """
    if homeless := [" ".join(each) for each in study.qualities if each not in pairs.homes]:
        raise SettingsError(f"{study.name}: options.pairs: {homeless[0]} is tested, and has no home there.")
    for case in every_case(study, sets):
        name, aspect = home = pairs.homes[case.set, case.aspect]
        if sets.path(name) and case.labels <= most_labels(sets.texts(name, aspect)):
            yield case.model_copy(update={"home": home})


def _named(place: str) -> tuple[str, str]:
    name, _, aspect = place.partition(":")
    return name, aspect
