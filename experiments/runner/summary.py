"""The means of results over seeds and aspects, the papers' figures, and the differences between arms."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from typing import Any

from experiments.runner.figures import COEFFICIENTS
from experiments.runner.results import Outcome, Results, Row, Spent
from experiments.runner.study import Study
from rubriclab.stats.intervals import Interval, adjust_p_values, round_or_none

# A test over fewer pairs cannot give a p-value of 0.05.
FEWEST_PAIRS = 6
# Decimal figures have rounding errors (0.55 - 0.49 and 0.46 - 0.40), which ranks would count.
DECIMALS = 12

Figures = Mapping[str, Interval]
# By judge and measure.
PaperFigures = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class Setting:
    """What a figure is of, apart from set, aspect and seed."""

    labels: int
    arm: str


@dataclass(frozen=True)
class Line:
    """An evaluator on one aspect.

    Attributes:
        figures: means of values and interval ends over the seeds, computed as in the paper.
        ours: the same by our own level and rule, if these differ.
        published: the paper's figures, by judge.
        note, missing: remarks, and why there is no figure for some seed.
    """

    set: str
    aspect: str
    setting: Setting
    figures: Figures
    ours: Figures | None
    published: PaperFigures
    note: str
    missing: str | None


@dataclass(frozen=True)
class Mean:
    """An evaluator over the aspects.

    Attributes:
        aspects: how many have a figure. If the number of labels varies, only aspects with every number count, so that
            their means can be compared.
        published: the paper's means over those of them for which it has a figure.
        learning, scoring: mean calls to learn, and per text; `None` for a baseline.
        cost_usd: of all cases; `None` if a price is not known.
    """

    setting: Setting
    aspects: int
    figures: Mapping[str, float | None]
    published: PaperFigures
    learning: float | None
    scoring: float | None
    cost_usd: float | None


@dataclass(frozen=True)
class Contrast:
    """One evaluator against another, in the first measure.

    Attributes:
        aspects: how many have a figure of both.
        difference: mean over them.
        p, adjusted: of Wilcoxon's test over the aspects, and adjusted for all contrasts of the study by Benjamini and
            Hochberg; `None` for too few aspects.
        ahead, behind, cases: in how many cases the paired interval is above and below zero, of how many.
    """

    first: str
    second: str
    labels: int
    aspects: int
    difference: float | None
    p: float | None
    adjusted: float | None
    ahead: int
    behind: int
    cases: int


@dataclass(frozen=True)
class Summary:
    """The summary of results."""

    study: str
    judge: str
    small: bool
    cases: int
    lines: tuple[Line, ...]
    means: tuple[Mean, ...]
    contrasts: tuple[Contrast, ...]

    def to_row(self) -> dict[str, Any]:
        """Return the summary as one JSON object."""
        return asdict(self)


def summarise(study: Study, results: Results) -> Summary:
    """Return the summary of the results of a study."""
    found = [(outcome, row) for outcome in results.cases for row in outcome.rows]
    by_line = _grouped(found, lambda each: (each[0].case.set, each[0].case.aspect, _setting(*each)))
    order = {quality: place for place, quality in enumerate(study.qualities)}
    in_order = sorted(by_line, key=lambda key: (order.get(key[:2], len(order)), key[:2], key[2].labels))
    lines = tuple(_line(study, key, [row for _, row in by_line[key]]) for key in in_order)
    efforts = _grouped(found, lambda each: _setting(*each))
    means = tuple(
        _mean(setting, own, [row for _, row in efforts[setting]])
        for setting, own in _grouped(_comparable(lines), lambda line: line.setting).items()
    )
    return Summary(
        study=results.study,
        judge=results.judge,
        small=results.small,
        cases=len(results.cases),
        lines=lines,
        means=means,
        contrasts=_contrasts(study, results.cases, lines, COEFFICIENTS[0]),
    )


def _setting(outcome: Outcome, row: Row) -> Setting:
    return Setting(outcome.case.labels, row.arm)


def _line(study: Study, key: tuple[str, str, Setting], rows: Sequence[Row]) -> Line:
    name, aspect, setting = key
    return Line(
        set=name,
        aspect=aspect,
        setting=setting,
        figures=_over_seeds([row.figures for row in rows]),
        ours=_over_seeds([row.ours for row in rows if row.ours]) or None,
        published=_published(study, name, aspect, setting),
        note=", ".join(dict.fromkeys(row.note for row in rows if row.note)),
        missing="; ".join(dict.fromkeys(row.missing for row in rows if row.missing)) or None,
    )


def _comparable(lines: Sequence[Line]) -> Sequence[Line]:
    """Return the lines of aspects that have every number of labels; all lines if there are no such aspects."""
    numbers = {line.setting.labels for line in lines}
    by_aspect = _grouped(lines, lambda line: (line.set, line.aspect)).values()
    return [line for own in by_aspect if {line.setting.labels for line in own} == numbers for line in own] or lines


def _over_seeds(found: Sequence[Figures]) -> dict[str, Interval]:
    names = dict.fromkeys(chain(*found))
    return {name: _mean_interval([figures[name] for figures in found if name in figures], name) for name in names}


def _mean_interval(found: Sequence[Interval], measure: str) -> Interval:
    some = any(each.value is not None for each in found)
    return Interval(
        value=_average(_counted(each, measure) if some else None for each in found),
        low=_average(each.low for each in found),
        high=_average(each.high for each in found),
    )


def _counted(figure: Interval, measure: str) -> float | None:
    """Return what a figure counts for in a mean: an evaluator that gives all texts one score has a correlation of 0, as
    it does within groups."""
    return 0.0 if figure.value is None and measure in COEFFICIENTS else figure.value


def _average(numbers: Iterable[float | None]) -> float | None:
    """Return the mean of the numbers that are there; `None` of none."""
    there = [number for number in numbers if number is not None]
    return round_or_none(sum(there) / len(there)) if there else None


def _published(study: Study, name: str, aspect: str, setting: Setting) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for published in study.published:
        values = published.figures.get(name, {}).get(aspect)
        if setting.arm in published.arm and published.labels in (None, setting.labels) and values:
            found.setdefault(published.judge, {}).update(zip(published.measures, values, strict=True))
    return found


def _mean(setting: Setting, lines: Sequence[Line], rows: Sequence[Row]) -> Mean:
    judges = dict.fromkeys(judge for line in lines for judge in line.published)
    spent = [row for row in rows if row.scoring]
    total = sum((row.scoring or Spent() for row in spent), sum((row.learning or Spent() for row in spent), Spent()))
    return Mean(
        setting=setting,
        aspects=sum(_value(line, COEFFICIENTS[0]) is not None for line in lines),
        figures={name: _average(_value(line, name) for line in lines) for name in COEFFICIENTS},
        published={judge: _paper_means(lines, judge) for judge in judges},
        learning=_average(float(row.learning.calls) for row in spent if row.learning),
        scoring=_average(row.scoring.calls / max(row.counts.get("texts", 0), 1) for row in spent if row.scoring),
        cost_usd=total.cost_usd if spent else None,
    )


def _paper_means(lines: Sequence[Line], judge: str) -> dict[str, float]:
    found = {}
    for name in COEFFICIENTS:
        values = [line.published.get(judge, {}).get(name) for line in lines if _value(line, name) is not None]
        if (average := _average(values)) is not None:
            found[name] = average
    return found


def _value(line: Line, measure: str) -> float | None:
    return _counted(line.figures[measure], measure) if measure in line.figures else None


def _contrasts(study: Study, cases: Sequence[Outcome], lines: Sequence[Line], measure: str) -> tuple[Contrast, ...]:
    found = []
    by_setting = _grouped(lines, lambda line: line.setting)
    for labels in dict.fromkeys(setting.labels for setting in by_setting):
        for first, second in study.compare:
            one, other = (
                {(line.set, line.aspect): _value(line, measure) for line in by_setting.get(Setting(labels, arm), ())}
                for arm in (first, second)
            )
            gaps = [
                gap.difference
                for outcome in cases
                for gap in outcome.gaps
                if outcome.case.labels == labels and (gap.first, gap.second) == (first, second)
            ]
            both = [(a, b) for key, a in one.items() if a is not None and (b := other.get(key)) is not None]
            if one and other:
                found.append(
                    Contrast(
                        first=first,
                        second=second,
                        labels=labels,
                        aspects=len(both),
                        difference=_average(a - b for a, b in both),
                        p=round_or_none(p_value(study, both)) if len(both) >= FEWEST_PAIRS else None,
                        adjusted=None,
                        ahead=sum(gap.low is not None and gap.low > 0 for gap in gaps),
                        behind=sum(gap.high is not None and gap.high < 0 for gap in gaps),
                        cases=len(gaps),
                    )
                )
    adjusted = adjust_p_values([each.p for each in found])
    return tuple(replace(each, adjusted=round_or_none(p)) for each, p in zip(found, adjusted, strict=True))


def p_value(study: Study, pairs: Sequence[tuple[float, float]]) -> float | None:
    """Return the p-value of Wilcoxon's test; `None` if no pair differs in a test of signed ranks."""
    from scipy.stats import mannwhitneyu, wilcoxon

    ours, theirs = zip(*pairs, strict=True)
    if study.significance == "rank sums":
        return float(mannwhitneyu(ours, theirs).pvalue)
    differences = [each for a, b in pairs if (each := round(a - b, DECIMALS))]
    return float(wilcoxon(differences).pvalue) if differences else None


def _grouped(items: Iterable[Any], key: Callable[[Any], Any]) -> dict[Any, list[Any]]:
    found: dict[Any, list[Any]] = {}
    for item in items:
        found.setdefault(key(item), []).append(item)
    return found
