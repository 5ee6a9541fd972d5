"""Studies and their results, the papers' figures in the next columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

from experiments.runner.study import studies
from experiments.runner.summary import FEWEST_ASPECTS, FEWEST_PAIRS
from rubriclab.report.model import (
    Basis,
    Block,
    Cell,
    Figure,
    Pairs,
    Paragraph,
    Row,
    Section,
    Stack,
    Table,
    View,
    quoted,
    table,
)
from rubriclab.research import wording
from rubriclab.stats import FEWEST_GROUPS, Interval

if TYPE_CHECKING:
    from experiments.runner.results import Results
    from experiments.runner.study import Study
    from experiments.runner.summary import Contrast, Line, Mean, Summary, Tested

NOBODY = "a question of our own"
OWN_STUDY = "a study of your own"
# A second measure beside the first leaves room in 80 columns for the papers' figures.
SHOWN = 2


def studies_view(studies: Sequence[Study], measurements: Mapping[str, str]) -> View:
    """Return the studies with their questions and papers, and the measurements with theirs."""
    rows = (
        (study.name, Stack((Paragraph(quoted(study.question)), Paragraph(quoted(study.paper or NOBODY), "quiet"))))
        for study in studies
    )
    others = tuple((name, Paragraph(quoted(question))) for name, question in measurements.items())
    return View((), (Pairs(tuple(rows)), Section("Measurements (python -m experiments measure)", (Pairs(others),))))


def study_view(study: Study, results: Results, summary: Summary) -> View:
    """Return what results come to: means first, then every aspect, then differences and what it took."""
    origin = study.paper or (NOBODY if study.name in studies() else OWN_STUDY)
    blocks: tuple[Block, ...] = (Paragraph(quoted(origin), "quiet"), *_basis(study, results, summary))
    if not summary.lines:
        return View(quoted(study.question), (*blocks, Paragraph("no case is finished")))
    sections = (_means(summary), *_aspects(summary), *_contrasts(summary), _efforts(summary))
    return View(quoted(study.question), (*blocks, *sections))


def _basis(study: Study, results: Results, summary: Summary) -> Iterator[Paragraph]:
    judges = f"judge: {', '.join(results.judges)}; {wording.count(len(results.cases), 'case')} finished"
    yield Paragraph(quoted(judges), "quiet")
    if summary.tested:
        yield Paragraph(_tested(summary.tested), "quiet")
    if results.small:
        yield Paragraph("a small run: its figures show that everything runs, and nothing else", "quiet")
    elif results.digest != study.digest:
        yield Paragraph("run with another configuration than the study has now", "quiet")
    if study.constant == "papers":
        yield Paragraph(
            "groups with constant human scores count as 1, as in the paper; `ours` leaves them out", "quiet"
        )


def _tested(tested: Tested) -> str:
    """Return the level of the correlations and the number of texts in a sentence."""
    levels = wording.listed(wording.LEVELS[level] for level in tested.levels)
    texts, groups = wording.count_range(tested.texts, "text"), wording.count_range(tested.groups, "group")
    few = f", none below {FEWEST_GROUPS} groups" if tested.groups[0] < FEWEST_GROUPS else ""
    return f"correlations {levels}, on {texts} in {groups} per case; 95 % bootstrap intervals over groups{few}"


def _means(summary: Summary) -> Section:
    labels = sorted({mean.setting.labels for mean in summary.means})
    aspects = len({(line.set, line.aspect) for line in summary.lines})
    fewer = f" of {aspects}, those with every number of labels" if len(labels) > 1 and _most(summary) < aspects else ""
    title = f"Means over {wording.count(_most(summary), 'aspect')}{fewer}"
    table = _by_labels(summary, labels) if len(labels) > 1 else _by_measure(summary)
    shown = replace(table, title=_alone(title, summary))
    return Section(title, (shown, Paragraph(_mean_intervals(_most(summary)), "quiet")), _beside(summary))


def _alone(title: str, summary: Summary) -> str:
    """Return a table's title for where it stands alone."""
    return f"{title}; {_tested(summary.tested)}" if summary.tested else title


def _mean_intervals(aspects: int) -> str:
    """Return how the intervals of means over so many aspects are computed."""
    if aspects == 1:
        return "95 % bootstrap intervals over groups."
    if aspects < FEWEST_ASPECTS:
        return f"Means over fewer than {FEWEST_ASPECTS} aspects have no interval."
    return "95 % intervals over the aspects by Student's t, cut at -1 and 1 for correlations."


def _by_labels(summary: Summary, labels: Sequence[int]) -> Table:
    """Return a table of the first measure with a column for each number of labels."""
    numeric = [f"{number} labels" for number in labels]
    means = {(mean.setting.arm, mean.setting.variant, mean.setting.labels): mean for mean in summary.means}
    rows: list[tuple[Cell, ...] | str] = []
    for name in _baselines_last(dict.fromkeys((arm, variant) for arm, variant, _ in means)):
        if isinstance(name, str):
            rows.append(name)
            continue
        own = [means.get((*name, number)) for number in labels]
        fewer = "".join(
            f" ({mean.setting.labels} labels: {_some(mean, summary)})" for mean in own if mean and _some(mean, summary)
        )
        first = summary.measures[0]
        rows.append((_called(*name) + fewer, *("" if mean is None else Figure(mean.intervals[first]) for mean in own)))
    return table((summary.measures[0], *numeric), rows, numeric=numeric)


def _by_measure(summary: Summary) -> Table:
    """Return a table of the first measures, of ours where it differs, and of the papers'."""
    first, judges = summary.measures[0], _judges(summary)
    differs = any(mean.ours != mean.figures for mean in summary.means)
    numeric = [*summary.measures[:SHOWN], *([f"{first}, ours"] if differs else []), *judges]
    means = {(mean.setting.arm, mean.setting.variant): mean for mean in summary.means}
    rows: list[tuple[Cell, ...] | str] = []
    for name in _baselines_last(means):
        if isinstance(name, str):
            rows.append(name)
            continue
        mean = means[name]
        figures: list[Cell] = [Figure(mean.intervals[measure]) for measure in summary.measures[:SHOWN]]
        figures += [wording.figure(mean.ours[first])] if differs else []
        figures += [_paper(mean.published.get(judge, {}).get(first)) for judge in judges]
        rows.append((_called(*name) + _fewer(mean, summary), *figures))
    return table(("", *numeric), rows, numeric=numeric)


def _aspects(summary: Summary) -> Iterator[Block]:
    """Yield a table with a title for each aspect, and below it why some arm has no figure."""
    several = len({line.setting.labels for line in summary.lines}) > 1
    first, judges = summary.measures[0], _judges(summary)
    numeric = [*summary.measures[:SHOWN], *judges]
    rows: list[Row | str] = []
    for (name, aspect), own in groupby(summary.lines, lambda line: (line.set, line.aspect)):
        rows.append(f"{name} {aspect}")
        for line in own:
            others = (line.figures.get(each) for each in summary.measures[1:SHOWN])
            figures: list[Cell] = [Figure(line.figures[first]) if first in line.figures else "none"]
            figures += [Figure(other) if other else "" for other in others]
            figures += [_paper(line.published.get(judge, {}).get(first)) for judge in judges]
            rows.append(Row((_row_name(line, several=several), *figures), basis=_line_basis(line, summary)))
    missing = (
        Paragraph(f"no figure for {line.setting.arm} on {line.set} {line.aspect}: {line.missing}", "quiet")
        for line in summary.lines
        if line.missing
    )
    title = "Aspect by aspect"
    shown = table(("", *numeric), rows, numeric=numeric, title=_alone(title, summary))
    yield Section(title, (shown, *missing), "means over the seeds")


def _line_basis(line: Line, summary: Summary) -> Basis:
    level = ", ".join(summary.tested.levels) if summary.tested else ""
    return Basis(aspect=f"{line.set} {line.aspect}", level=level, n=line.n, groups=line.groups)


def _contrasts(summary: Summary) -> Iterator[Section]:
    if not summary.contrasts:
        return
    beside = (
        f"in {summary.measures[0]}, mean over the aspects; intervals by the paired bootstrap over groups, their ends "
        "averaged over the cases; p by Wilcoxon's test over aspects, adjusted for all pairs (Benjamini-Hochberg); "
        "cases in which the interval lies above and below 0"
    )
    numeric = ("difference", "p", "aspects", "above", "below", "cases")
    several = len({each.labels for each in summary.contrasts}) > 1
    rows: list[tuple[Cell, ...]] = [
        (
            _pair(each, several=several),
            Figure(Interval(each.difference, each.interval.low, each.interval.high)),
            "" if each.adjusted is None else f"{each.adjusted:.3f}",
            *map(str, (each.aspects, each.ahead, each.behind, each.cases)),
        )
        for each in summary.contrasts
    ]
    few = any(each.aspects < FEWEST_PAIRS for each in summary.contrasts)
    note = (Paragraph(f"p needs {FEWEST_PAIRS} aspects.", "quiet"),) if few else ()
    title = "Differences"
    shown = table(("", *numeric), rows, numeric=numeric, title=_alone(f"{title} {beside}", summary))
    yield Section(title, (shown, *note), beside)


def _efforts(summary: Summary) -> Section:
    """Return what each arm took by itself."""
    numeric = ("calls to learn", "calls a text", "dollars", "seconds")
    several = len({mean.setting.labels for mean in summary.means}) > 1
    rows = [
        (
            _called(mean.setting.arm, mean.setting.variant, mean.setting.labels if several else None),
            _count(mean.learning),
            _count(mean.scoring),
            "unknown" if mean.cost_usd is None else f"{mean.cost_usd:,.2f}",
            f"{mean.seconds:,.1f}",
        )
        for mean in summary.means
        if mean.seconds is not None
    ]
    beside = "each arm by itself; learning on average, scoring a text, all cases together"
    return Section("What it took", (table(("", *numeric), rows, numeric=numeric),), beside)


def _baselines_last(names: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str] | str]:
    """Yield arms and variants, the free baselines after a title of their own."""
    titled = False
    for name in sorted(names, key=lambda each: wording.is_baseline(each[0])):
        if wording.is_baseline(name[0]) and not titled:
            titled = True
            yield "free baselines:"
        yield name


def _pair(each: Contrast, *, several: bool) -> str:
    where = ([f"{each.labels} labels"] if several else []) + ([each.variant] if each.variant else [])
    remark = f" ({', '.join(where)})" if where else ""
    return f"{each.first} - {each.second}{remark}"


def _row_name(line: Line, *, several: bool) -> str:
    note = f" ({line.note})" if line.note else ""
    return f"{_called(line.setting.arm, line.setting.variant, line.setting.labels if several else None)}{note}"


def _called(arm: str, variant: str, labels: int | None = None) -> str:
    return ", ".join([arm, *([variant] if variant else []), *([f"{labels} labels"] if labels is not None else [])])


def _beside(summary: Summary) -> str:
    judges = _judges(summary)
    return f"the paper's {summary.measures[0]} under its judge's name" if judges else ""


def _judges(summary: Summary) -> list[str]:
    return list(dict.fromkeys(judge for line in summary.lines for judge in line.published))


def _most(summary: Summary) -> int:
    return max(mean.aspects for mean in summary.means)


def _fewer(mean: Mean, summary: Summary) -> str:
    """Return a remark where an arm has figures for fewer aspects than others."""
    return f" ({_some(mean, summary)})" if _some(mean, summary) else ""


def _some(mean: Mean, summary: Summary) -> str:
    return f"{mean.aspects} of {_most(summary)}" if mean.aspects < _most(summary) else ""


def _paper(value: float | None) -> str:
    return "" if value is None else wording.figure(value)


def _count(calls: float | None) -> str:
    return "" if calls is None else f"{calls:,.1f}".removesuffix(".0")
