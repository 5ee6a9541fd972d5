"""The judgments about a question, in the order in which they were given, and those that apply."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping

from rubriclab.labeling.judgment import HumanJudgment, ItemId


class History:
    """Judgments about one question; grows by `add`."""

    def __init__(self, judgments: Iterable[HumanJudgment] = ()) -> None:
        self._given: dict[str, dict[str, HumanJudgment]] = {}
        self._withdrawn: set[str] = set()
        self._applies: dict[str, dict[ItemId, HumanJudgment]] = {}
        for judgment in judgments:
            self.add(judgment)

    def add(self, judgment: HumanJudgment) -> None:
        """Add a judgment that is later than the others; one with a known id changes nothing."""
        given = self._given.setdefault(judgment.rater, {})
        if judgment.id in given:
            return
        given[judgment.id] = judgment
        applies = self._applies.setdefault(judgment.rater, {})
        if judgment.kind != "withdrawal":
            applies[judgment.item] = judgment
            return
        self._withdrawn.add(str(judgment.withdraws))
        applies.pop(judgment.item, None)
        for former in given.values():
            if former.item == judgment.item and self._stands(former):
                applies[judgment.item] = former

    @property
    def raters(self) -> tuple[str, ...]:
        """Names of the raters with judgments that apply, sorted."""
        return tuple(sorted(rater for rater, applies in self._applies.items() if applies))

    def of(self, rater: str) -> Mapping[ItemId, HumanJudgment]:
        """Return a rater's judgments that apply, by item."""
        return self._applies.get(rater, {})

    def all(self) -> tuple[HumanJudgment, ...]:
        """Return the judgments of every rater that apply, raters by name, each in order of first judgment."""
        return tuple(judgment for rater in self.raters for judgment in self._applies[rater].values())

    def find(self, rater: str, name: str) -> HumanJudgment | None:
        """Return a rater's judgment by its id, withdrawn or not."""
        return self._given.get(rater, {}).get(name)

    def latest(self, rater: str, items: Container[ItemId]) -> HumanJudgment | None:
        """Return a rater's latest judgment of one of the items that is not withdrawn, or `None`."""
        given = self._given.get(rater, {})
        return next((each for each in reversed(given.values()) if each.item in items and self._stands(each)), None)

    def _stands(self, judgment: HumanJudgment) -> bool:
        return judgment.kind != "withdrawal" and judgment.id not in self._withdrawn
