"""Raters' comparisons of texts, in rows that have no text themselves.

Such a row refers to texts by their `id`, before or after them in the file:

- `{"preferred": "a1-s3", "over": "a1-s1", "aspect": "coherence", "rater": "anna"}`, with `"tie": true` if neither is
  better;
- `{"ranking": ["a1-s3", ["a1-s1", "a1-s2"], "a1-s4"], "aspect": "coherence"}`, best first, with ties in nested lists;
  in CSV `a1-s3 > a1-s1 = a1-s2 > a1-s4`.

`aspect` is optional if the file is about one aspect, `rater` always. A row with an `output` is a text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from rubriclab.data.cells import TYPED, CellRules
from rubriclab.data.fields import FieldError, Fields
from rubriclab.data.mapping import NATIVE, FieldMap
from rubriclab.data.row import RowError
from rubriclab.descriptions import describe

COMPARING = ("preferred", "over", "ranking")
_RANKED = "a list of at least two ids, best first, with ties in nested lists"
_YES_OR_NO: Mapping[Any, bool] = {"true": True, "1": True, "false": False, "0": False}


@dataclass(frozen=True, slots=True)
class Comparison:
    """A preference between two texts, or a tie.

    Attributes:
        better, worse: ids of the texts; in either order for a tie.
        tie: whether neither is better.
        aspect: the aspect compared; `None` if the row names none.
        rater: the rater's name; `None` if unknown.
    """

    better: str
    worse: str
    tie: bool = False
    aspect: str | None = None
    rater: str | None = None


def comparisons_of(
    row: Any, where: str, line: int, mapping: FieldMap = NATIVE, rules: CellRules = TYPED
) -> tuple[Comparison, ...] | RowError | None:
    """Return the comparisons in a row, or its first fault; `None` if the row is of another kind.

    A ranking becomes all of its pairs: neighbouring pairs alone would not give consistent estimates (Azari
    Soufiani, Chen, Parkes & Xia 2013, "Generalized method-of-moments for rank aggregation").
    """
    if not isinstance(row, Mapping):
        return None
    fields = _ComparisonFields(row, mapping, rules)
    if fields.is_given("output") or not any(map(fields.is_given, COMPARING)):
        return None
    try:
        return fields.comparisons()
    except FieldError as wrong:
        return RowError(where, line, wrong.field, wrong.got, wrong.expected)


class _ComparisonFields(Fields):
    """The fields of a row with comparisons."""

    def comparisons(self) -> tuple[Comparison, ...]:
        pairs = tuple(self._ranked() if self.is_given("ranking") else self._preferred())
        aspect, rater = self._if_given("aspect"), self._if_given("rater")
        return tuple(Comparison(better, worse, tie, aspect, rater) for better, worse, tie in pairs)

    def _if_given(self, name: str) -> str | None:
        return self.name(name) if self.is_given(name) else None

    def _preferred(self) -> Iterator[tuple[str, str, bool]]:
        better, worse = (self._id(name, self._value(name)) for name in ("preferred", "over"))
        if better == worse:
            raise FieldError("over", f"{worse!r}, the text itself", "the id of another text")
        yield better, worse, self._tie()

    def _ranked(self) -> Iterator[tuple[str, str, bool]]:
        if extra := next(filter(self.is_given, ("preferred", "over")), None):
            raise FieldError(extra, "a preference beside a ranking", "a row for each")
        places = self._places(self.value("ranking"))
        ids = [(place, name) for place, names in enumerate(places) for name in names]
        twice = [name for name, count in Counter(name for _, name in ids).items() if count > 1]
        if twice:
            raise FieldError("ranking", f"{twice[0]!r} twice", "each text once")
        if len(ids) < 2:
            raise FieldError("ranking", f"{len(ids)} texts" if len(ids) != 1 else "1 text", _RANKED)
        for (place, better), (other, worse) in combinations(ids, 2):
            yield better, worse, place == other

    def _places(self, ranking: Any) -> list[list[str]]:
        if isinstance(ranking, str) and not self.rules.typed:
            ranking = [[part.strip() for part in place.split("=")] for place in ranking.split(">")]
        if not isinstance(ranking, list | tuple):
            raise FieldError("ranking", describe(ranking), _RANKED)
        return [[self._id("ranking", name) for name in self._tied(place)] for place in ranking]

    def _tied(self, place: Any) -> Sequence[Any]:
        if isinstance(place, list | tuple):
            if not place:
                raise FieldError("ranking", "an empty list in it", _RANKED)
            return place
        return [place]

    def _value(self, name: str) -> Any:
        return self.value(name) if self.is_given(name) else None

    def _id(self, field: str, value: Any) -> str:
        name = self.as_name(field, value)
        if name is None:
            raise FieldError(field, "nothing" if value is None else describe(value), "the id of a text")
        return name

    def _tie(self) -> bool:
        if not self.is_given("tie"):
            return False
        value = self.value("tie")
        if isinstance(value, str) and not self.rules.typed:
            value = _YES_OR_NO.get(value.strip().lower(), value)
        if not isinstance(value, bool):
            raise FieldError("tie", describe(value), "true or false")
        return value
