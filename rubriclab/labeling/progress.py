"""How far each rater is, how consistent with themselves, and how well raters agree with each other."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rubriclab.labeling.dealing import Item, Mode
from rubriclab.labeling.history import History
from rubriclab.labeling.judgment import HumanJudgment, ItemId, TextToJudge
from rubriclab.stats.interval import Interval
from rubriclab.stats.reliability import krippendorff_alpha

# Fewer judgments say little about how long the others will take.
FEWEST_TIMED = 3


@dataclass(frozen=True, slots=True)
class Consistency:
    """A rater's second judgments of the same texts compared with the first ones.

    Attributes:
        repeats: items judged twice.
        same: share of equal judgments, of pairs of texts where texts are compared.
        difference: mean absolute difference of the scores, in points of the scale; `None` for comparisons.
    """

    repeats: int
    same: float
    difference: float | None


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
    """Krippendorff's alpha of several raters: of scores with the metric `interval`, of preferences with `nominal`.

    Attributes:
        raters: with judgments.
        units: texts, or pairs of texts, that two raters or more have judged.
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
    pairs = [
        (given[texts, False], second)
        for (texts, again), second in given.items()
        if again and (texts, False) in given and second.kind == given[texts, False].kind
    ]
    rated = [(one.value, two.value) for one, two in pairs if one.value is not None and two.value is not None]
    if rated:
        apart = [abs(one - two) for one, two in rated]
        return Consistency(len(rated), sum(each == 0 for each in apart) / len(apart), statistics.fmean(apart))
    ranked = [(one, two) for one, two in pairs if one.kind == "ranking"]
    same = [first == second for one, two in ranked for first, second in _both(one, two)]
    return Consistency(len(ranked), sum(same) / len(same), None) if same else None


def rater_agreement(history: History, texts: Sequence[TextToJudge], *, mode: Mode = "rate") -> RaterAgreement | None:
    """Return the agreement of the raters on `texts` by their first judgments; `None` with fewer than two raters.

    It is about scores if texts are rated, and about the preferences in rankings and pairs otherwise.
    """
    groups = {text.key: text.example.group for text in texts}
    known = [each for each in history.all() if not each.again and all(key in groups for key in each.texts)]
    if mode == "rate":
        rated = [(each.rater, each.texts[0], each.value) for each in known if each.value is not None]
        return _alpha(rated, groups)
    compared = [
        (each.rater, (first, second), float(preference))
        for each in known
        for first, second, preference in each.preferences()
    ]
    return _alpha(compared, groups)


def _alpha(
    answers: Sequence[tuple[str, str | tuple[str, str], float]], groups: Mapping[str, str]
) -> RaterAgreement | None:
    """Return the agreement of answers by rater about units: keys of texts, or pairs of them."""
    raters = {name: row for row, name in enumerate(sorted({rater for rater, _, _ in answers}))}
    if len(raters) < 2:
        return None
    units = {unit: column for column, unit in enumerate(sorted({unit for _, unit, _ in answers}, key=str))}
    table = np.full((len(raters), len(units)), np.nan)
    for rater, unit, value in answers:
        table[raters[rater], units[unit]] = value
    group = [groups[unit if isinstance(unit, str) else unit[0]] for unit in units]
    names, clusters = np.unique(group, return_inverse=True)
    comparing = any(not isinstance(unit, str) for unit in units)
    alpha = krippendorff_alpha(table, "nominal" if comparing else "interval", clusters if len(names) > 1 else None)
    return RaterAgreement(len(raters), int(((~np.isnan(table)).sum(axis=0) >= 2).sum()), alpha)


def _both(one: HumanJudgment, two: HumanJudgment) -> list[tuple[int, int]]:
    """Return what two rankings of the same texts say of each pair."""
    second = {(first, other): preference for first, other, preference in two.preferences()}
    return [(preference, second[first, other]) for first, other, preference in one.preferences()]
