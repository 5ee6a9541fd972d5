"""How far each rater is, how consistent with themselves, and how well raters agree with each other."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rubriclab.labeling.judgment import History, HumanJudgment, Item, ItemId, TextToJudge
from rubriclab.stats.interval import Interval
from rubriclab.stats.reliability import krippendorff_alpha

# Fewer judgments say little about how long the others will take.
FEWEST_TIMED = 3


@dataclass(frozen=True, slots=True)
class Consistency:
    """A rater's second judgments of the same texts compared with the first ones.

    Attributes:
        repeats: items judged twice.
        same: share of equal scores.
        difference: mean absolute difference of the scores, in points of the scale.
    """

    repeats: int
    same: float
    difference: float


@dataclass(frozen=True, slots=True)
class RaterProgress:
    """How far a rater is.

    Attributes:
        done: items with a judgment other than skipping.
        skipped: items that were skipped so far.
        total: of all items, repeats included.
        seconds_left: expected from the median of the rater's own judgments; `None` if there are too few.
        consistency: `None` before anything was judged twice.
    """

    done: int
    skipped: int
    total: int
    seconds_left: float | None
    consistency: Consistency | None


@dataclass(frozen=True, slots=True)
class RaterAgreement:
    """Krippendorff's alpha of several raters' scores, with the metric `interval`.

    Attributes:
        raters: with judgments.
        units: texts that two raters or more have rated.
        alpha: with an interval over groups of texts; its value is `None` if it is undefined.
    """

    raters: int
    units: int
    alpha: Interval


def progress_of(items: Sequence[Item], given: Mapping[ItemId, HumanJudgment]) -> RaterProgress:
    """Return a rater's progress, from the items that were dealt and the judgments that apply."""
    given = {item.id: given[item.id] for item in items if item.id in given}
    found = list(given.values())
    done = [judgment for judgment in found if judgment.kind != "skipped"]
    left = len(items) - len(done)
    timed = [judgment.seconds for judgment in done if judgment.seconds > 0]
    seconds = statistics.median(timed) * left if len(timed) >= FEWEST_TIMED else None
    return RaterProgress(len(done), len(found) - len(done), len(items), seconds, consistency_of(given))


def consistency_of(given: Mapping[ItemId, HumanJudgment]) -> Consistency | None:
    """Return a rater's consistency; `None` if nothing was judged twice."""
    rated = [
        (first.value, second.value)
        for (text, again), second in given.items()
        if again and (first := given.get((text, False))) and first.value is not None and second.value is not None
    ]
    if not rated:
        return None
    apart = [abs(one - two) for one, two in rated]
    return Consistency(len(rated), sum(each == 0 for each in apart) / len(apart), statistics.fmean(apart))


def rater_agreement(history: History, texts: Sequence[TextToJudge]) -> RaterAgreement | None:
    """Return the agreement of the raters on `texts` by their first ratings; `None` with fewer than two raters."""
    groups = {text.key: text.example.group for text in texts}
    rated = [
        (each.rater, each.text, each.value)
        for each in history.all()
        if not each.again and each.text in groups and each.value is not None
    ]
    raters = {name: row for row, name in enumerate(sorted({rater for rater, _, _ in rated}))}
    if len(raters) < 2:
        return None
    units = {text: column for column, text in enumerate(sorted({text for _, text, _ in rated}))}
    table = np.full((len(raters), len(units)), np.nan)
    for rater, text, value in rated:
        table[raters[rater], units[text]] = value
    names, clusters = np.unique([groups[text] for text in units], return_inverse=True)
    alpha = krippendorff_alpha(table, "interval", clusters if len(names) > 1 else None)
    return RaterAgreement(len(raters), int(((~np.isnan(table)).sum(axis=0) >= 2).sum()), alpha)
