"""What results come to: means over seeds and aspects, the papers' figures beside them, and which arms really differ."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import chain
from typing import Any

import numpy as np

from experiments.runner.designs import design_named
from experiments.runner.figures import COEFFICIENTS
from experiments.runner.results import Gap, Outcome, Results, Row, Spent
from experiments.runner.significance import wilcoxon_paired, wilcoxon_ranksum
from experiments.runner.study import Study
from rubriclab.stats import Interval, Level, adjust_p_values, paired_mean, rounded

# A test of significance over fewer pairs cannot come to 0.05.
FEWEST_PAIRS = 6
# Student's interval of fewer aspects is wider than the range of a correlation and says nothing.
FEWEST_ASPECTS = 5

Figures = Mapping[str, Interval]
# By judge and measure.
PaperFigures = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class Setting:
    """What an arm's figure is of, the seed left aside."""

    labels: int
    variant: str
    arm: str


@dataclass(frozen=True)
class Line:
    """An evaluator on one aspect: means over the seeds of values and interval ends.

    Attributes:
        seeds: over how many.
        n, groups: texts and groups that the figures rest on, the fewest of any seed; `None` if not recorded.
        figures: as the paper takes them.
        ours: by our own level and rule, where these differ.
        published: the paper's, by judge.
        note: remarks, as which measure a baseline is.
        missing: why there is no figure for some seed.
    """

    set: str
    aspect: str
    setting: Setting
    seeds: int
    n: int | None
    groups: int | None
    figures: Figures
    ours: Figures | None
    published: PaperFigures
    note: str
    missing: str | None


@dataclass(frozen=True)
class Mean:
    """An evaluator over the aspects.

    Attributes:
        aspects: over how many that have a figure; where the study varies the number of labels, those alone that have
            every number, so that the means of different numbers can be compared.
        figures, ours: mean over them.
        intervals: `figures` with Student's 95 % intervals over the aspects, none below `FEWEST_ASPECTS` of them; of one
            aspect, its own.
        published: mean over those of them for which the paper has a figure.
        learning, scoring: mean calls of learning, and of scoring a text; `None` for a baseline.
        cost_usd: what all cases took together; `None` where a price is not known.
    """

    setting: Setting
    aspects: int
    figures: Mapping[str, float | None]
    intervals: Mapping[str, Interval]
    ours: Mapping[str, float | None]
    published: PaperFigures
    learning: float | None
    scoring: float | None
    seconds: float | None
    cost_usd: float | None


@dataclass(frozen=True)
class Contrast:
    """One evaluator against another.

    Attributes:
        aspects: in how many both have a figure.
        difference: mean over them.
        p, adjusted: of Wilcoxon's test over the aspects, and after Benjamini and Hochberg's correction for all
            contrasts of the study; `None` for too few aspects.
        interval: of the difference on the same texts, a paired bootstrap over groups; mean of its ends over the cases.
        ahead, behind, cases: in how many cases the paired bootstrap interval lies above and below zero, of how many.
    """

    first: str
    second: str
    labels: int
    variant: str
    measure: str
    aspects: int
    difference: float | None
    p: float | None
    adjusted: float | None
    interval: Interval
    ahead: int
    behind: int
    cases: int


@dataclass(frozen=True)
class Tested:
    """The texts that correlations are of.

    Attributes:
        levels: of the correlations; several where sets differ.
        texts, groups: fewest and most of a case.
    """

    levels: tuple[Level, ...]
    texts: tuple[int, int]
    groups: tuple[int, int]


@dataclass(frozen=True)
class Summary:
    """What results come to.

    Attributes:
        tested: `None` where no case has correlations.
    """

    study: str
    tested: Tested | None
    measures: tuple[str, ...]
    judges: tuple[str, ...]
    small: bool
    cases: int
    lines: tuple[Line, ...]
    means: tuple[Mean, ...]
    contrasts: tuple[Contrast, ...] = field(default=())

    def to_row(self) -> dict[str, Any]:
        """Return the summary as one JSON object."""
        return asdict(self, dict_factory=_plain)


def summarise(study: Study, results: Results) -> Summary:
    """Return what the results of a study come to."""
    measures = design_named(study.design).measures
    found = [(outcome, row) for outcome in results.cases for row in outcome.rows]
    by_line = _grouped(found, lambda each: (each[0].case.set, each[0].case.aspect, _setting(*each)))
    order = {quality: place for place, quality in enumerate(study.qualities)}
    in_order = sorted(by_line, key=lambda key: (order.get(key[:2], len(order)), key[:2], key[2].labels))
    lines = tuple(
        _line(study, name, aspect, setting, [row for _, row in by_line[name, aspect, setting]])
        for name, aspect, setting in in_order
    )
    by_setting = _grouped(lines, lambda line: line.setting)
    efforts = _grouped(found, lambda each: _setting(*each))
    means = tuple(
        _mean(setting, own, [row for _, row in efforts[setting]], measures)
        for setting, own in _grouped(_comparable(lines), lambda line: line.setting).items()
    )
    contrasts = _contrasts(study, results.cases, by_setting, measures[0])
    tested = _tested(results.cases)
    judges, small, cases = results.judges, results.small, len(results.cases)
    return Summary(results.study, tested, measures, judges, small, cases, lines, means, contrasts)


def _tested(cases: Sequence[Outcome]) -> Tested | None:
    counts = [row.counts for outcome in cases for row in outcome.rows if row.counts.get("groups")]
    levels = dict.fromkeys(outcome.basis["paper"].level for outcome in cases if "paper" in outcome.basis)
    if not counts or not levels:
        return None
    texts, groups = ([count[name] for count in counts] for name in ("n", "groups"))
    return Tested(tuple(levels), (min(texts), max(texts)), (min(groups), max(groups)))


def _setting(outcome: Outcome, each: Row | Gap, arm: str = "") -> Setting:
    variant = ", ".join(filter(None, (outcome.case.variant, each.variant)))
    return Setting(outcome.case.labels, variant, each.arm if isinstance(each, Row) else arm)


def _line(study: Study, name: str, aspect: str, setting: Setting, rows: Sequence[Row]) -> Line:
    notes = dict.fromkeys(row.note for row in rows if row.note)
    reasons = dict.fromkeys(row.missing for row in rows if row.missing)
    return Line(
        set=name,
        aspect=aspect,
        setting=setting,
        seeds=len(rows),
        n=min((row.counts["n"] for row in rows if "n" in row.counts), default=None),
        groups=min((row.counts["groups"] for row in rows if "groups" in row.counts), default=None),
        figures=_over_seeds([row.figures for row in rows]),
        ours=_over_seeds([row.ours for row in rows if row.ours]) or None,
        published=_published(study, name, aspect, setting),
        note=", ".join(notes),
        missing="; ".join(reasons) or None,
    )


def _comparable(lines: Sequence[Line]) -> list[Line]:
    """Return those on aspects that have every number of labels, so that their means differ by nothing else; all of them
    where no aspect has."""
    numbers = {line.setting.labels for line in lines}
    by_aspect = _grouped(lines, lambda line: (line.set, line.aspect)).values()
    whole = [line for own in by_aspect if {line.setting.labels for line in own} == numbers for line in own]
    return whole or list(lines)


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
    """Return what a figure counts for in a mean: an evaluator that cannot tell any two texts apart has no correlation
    with people, which counts as none at all, as it does within groups."""
    return 0.0 if figure.value is None and measure in COEFFICIENTS else figure.value


def _average(numbers: Iterable[float | None]) -> float | None:
    """Return the mean of the numbers that are there; `None` of none."""
    there = [number for number in numbers if number is not None]
    return rounded(sum(there) / len(there)) if there else None


def _published(study: Study, name: str, aspect: str, setting: Setting) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for published in study.published:
        same = setting.arm in published.arm and published.variant == setting.variant
        if same and published.labels in (None, setting.labels):
            for measure in published.measures:
                figure = published.figure(name, aspect, measure)
                if figure is not None:
                    found.setdefault(published.judge, {})[measure] = figure
    return found


def _mean(setting: Setting, lines: Sequence[Line], rows: Sequence[Row], measures: Sequence[str]) -> Mean:
    judges = dict.fromkeys(judge for line in lines for judge in line.published)
    spent = [row for row in rows if row.scoring]
    total = sum((row.scoring or Spent() for row in spent), sum((row.learning or Spent() for row in spent), Spent()))
    return Mean(
        setting=setting,
        aspects=sum(_value(line.figures, measures[0]) is not None for line in lines),
        figures={name: _average(_value(line.figures, name) for line in lines) for name in measures},
        intervals={name: _interval(lines, name) for name in measures},
        ours={name: _average(_value(line.ours or line.figures, name) for line in lines) for name in measures},
        published={judge: _paper_means(lines, judge, measures) for judge in judges},
        learning=_average(float(row.learning.calls) for row in spent if row.learning),
        scoring=_average(row.scoring.calls / max(row.counts.get("texts", 0), 1) for row in spent if row.scoring),
        seconds=round(total.seconds, 1) if spent else None,
        cost_usd=total.cost_usd if spent else None,
    )


def _interval(lines: Sequence[Line], measure: str) -> Interval:
    """Return the mean of a measure over aspects with its interval, if these are enough."""
    values = [value for line in lines if (value := _value(line.figures, measure)) is not None]
    if len(values) == 1:
        return next(line.figures[measure] for line in lines if _value(line.figures, measure) is not None)
    found = paired_mean(np.array(values), np.arange(len(values))).interval.rounded()
    if len(values) < FEWEST_ASPECTS:
        return Interval(found.value)
    return found.within(-1.0, 1.0) if measure in COEFFICIENTS else found


def _paper_means(lines: Sequence[Line], judge: str, measures: Sequence[str]) -> dict[str, float]:
    found = {}
    for name in measures:
        ours = [line for line in lines if _value(line.figures, name) is not None]
        average = _average(line.published.get(judge, {}).get(name) for line in ours)
        if average is not None:
            found[name] = average
    return found


def _value(figures: Figures, measure: str) -> float | None:
    return _counted(figures[measure], measure) if measure in figures else None


def _contrasts(
    study: Study, cases: Sequence[Outcome], by_setting: Mapping[Setting, Sequence[Line]], measure: str
) -> tuple[Contrast, ...]:
    found = []
    for labels, variant in dict.fromkeys((setting.labels, setting.variant) for setting in by_setting):
        for first, second in study.compare:
            one, other = (
                {(line.set, line.aspect): _value(line.figures, measure) for line in by_setting.get(setting, ())}
                for setting in (Setting(labels, variant, first), Setting(labels, variant, second))
            )
            if one and other:
                gaps = [
                    gap.difference
                    for outcome in cases
                    for gap in outcome.gaps
                    if _setting(outcome, gap) == Setting(labels, variant, "")
                    and (gap.first, gap.second) == (first, second)
                ]
                found.append(_contrast(study, (first, second, labels, variant, measure), one, other, gaps))
    adjusted = adjust_p_values([each.p for each in found])
    return tuple(Contrast(**{**vars(each), "adjusted": rounded(p)}) for each, p in zip(found, adjusted, strict=True))


def _contrast(
    study: Study,
    about: tuple[str, str, int, str, str],
    one: Mapping[tuple[str, str], float | None],
    other: Mapping[tuple[str, str], float | None],
    gaps: Sequence[Interval],
) -> Contrast:
    both = [(a, b) for key, a in one.items() if a is not None and (b := other.get(key)) is not None]
    ours, theirs = [a for a, _ in both], [b for _, b in both]
    test = wilcoxon_paired if study.significance == "signed ranks" else wilcoxon_ranksum
    return Contrast(
        *about,
        aspects=len(both),
        difference=_average(a - b for a, b in both),
        p=rounded(test(ours, theirs)) if len(both) >= FEWEST_PAIRS else None,
        adjusted=None,
        interval=_mean_gap(gaps),
        ahead=sum(gap.low is not None and gap.low > 0 for gap in gaps),
        behind=sum(gap.high is not None and gap.high < 0 for gap in gaps),
        cases=len(gaps),
    )


def _mean_gap(gaps: Sequence[Interval]) -> Interval:
    """Return the mean of differences and of the ends of their intervals; none of these if a case has none."""
    ends = [None if gap.value is None else (gap.low, gap.high) for gap in gaps]
    whole = bool(gaps) and all(end is not None and None not in end for end in ends)
    low, high = (_average(gap.low for gap in gaps), _average(gap.high for gap in gaps)) if whole else (None, None)
    return Interval(_average(gap.value for gap in gaps), low, high)


def _grouped(items: Iterable[Any], key: Callable[[Any], Any]) -> dict[Any, list[Any]]:
    found: dict[Any, list[Any]] = {}
    for item in items:
        found.setdefault(key(item), []).append(item)
    return found


def _plain(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    return {name: _plain_value(value) for name, value in pairs}


def _plain_value(value: Any) -> Any:
    if isinstance(value, Interval):
        return asdict(value)
    return {key: _plain_value(each) for key, each in value.items()} if isinstance(value, Mapping) else value
