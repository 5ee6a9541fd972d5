"""Studies and their results, the papers' figures in the next columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table

from rubriclab.report import wording
from rubriclab.report.terminal.parts import QUIET, columns, heading, pairs, text

if TYPE_CHECKING:
    from experiments.runner.results import Results
    from experiments.runner.study import Study
    from experiments.runner.summary import Contrast, Line, Mean, Summary

NOBODY = "a question of our own"
# A second measure beside the first leaves room in 80 columns for the papers' figures.
SHOWN = 2


def studies_view(found: Sequence[Study]) -> RenderableType:
    """Return the studies with their questions and papers."""
    return pairs((each.name, Group(text(each.question), text(each.paper or NOBODY, QUIET))) for each in found)


def study_view(study: Study, results: Results, summary: Summary) -> RenderableType:
    """Return what results come to: means first, then every aspect, then differences and what it took."""
    parts = [text(study.question, "bold"), text(study.paper or NOBODY, QUIET), *_basis(study, results)]
    if not summary.lines:
        return Group(*parts, text("no case is finished"))
    return Group(*parts, *_means(summary), *_aspects(summary), *_contrasts(summary), *_efforts(summary))


def _basis(study: Study, results: Results) -> Iterator[RenderableType]:
    yield text(f"judge: {', '.join(results.judges)}; {wording.count(len(results.cases), 'case')} finished", QUIET)
    if results.small:
        yield text("a run in little: its figures say that everything runs, and nothing else", QUIET)
    elif results.digest != study.digest:
        yield text("run with another configuration than the study has now", QUIET)
    if study.constant == "papers":
        yield text("groups with constant human scores count as 1, as in the paper; `ours` leaves them out", QUIET)


def _means(summary: Summary) -> Iterator[RenderableType]:
    labels = sorted({mean.setting.labels for mean in summary.means})
    aspects = len({(line.set, line.aspect) for line in summary.lines})
    fewer = f" of {aspects}, those with every number of labels" if len(labels) > 1 and _most(summary) < aspects else ""
    yield heading(f"Means over {wording.count(_most(summary), 'aspect')}{fewer}", _beside(summary))
    yield _by_labels(summary, labels) if len(labels) > 1 else _by_measure(summary)


def _by_labels(summary: Summary, labels: Sequence[int]) -> Table:
    """Return a table of the first measure with a column for each number of labels."""
    names = [f"{number} labels" for number in labels]
    table = columns(summary.measures[0], *names, numeric=names)
    found = {(mean.setting.arm, mean.setting.variant, mean.setting.labels): mean for mean in summary.means}
    for arm, variant in _floors_last(table, dict.fromkeys((arm, variant) for arm, variant, _ in found)):
        own = (found.get((arm, variant, number)) for number in labels)
        figures = ("" if mean is None else _mean_figure(mean, summary) for mean in own)
        table.add_row(text(_called(arm, variant)), *map(text, figures))
    return table


def _by_measure(summary: Summary) -> Table:
    """Return a table of the first measures, of ours where it differs, and of the papers'."""
    first, judges = summary.measures[0], _judges(summary)
    differs = any(mean.ours != mean.figures for mean in summary.means)
    names = [*summary.measures[:SHOWN], *([f"{first}, ours"] if differs else []), *judges]
    table = columns("", *names, numeric=names)
    found = {(mean.setting.arm, mean.setting.variant): mean for mean in summary.means}
    for arm, variant in _floors_last(table, found):
        mean = found[arm, variant]
        figures = [wording.figure(mean.figures[name]) for name in summary.measures[:SHOWN]]
        figures += [wording.figure(mean.ours[first])] if differs else []
        figures += [_paper(mean.published.get(judge, {}).get(first)) for judge in judges]
        table.add_row(text(_called(arm, variant) + _fewer(mean, summary)), *map(text, figures))
    return table


def _aspects(summary: Summary) -> Iterator[RenderableType]:
    """Yield a table with a section for each aspect, and below it why some arm has no figure."""
    several = len({line.setting.labels for line in summary.lines}) > 1
    first, judges = summary.measures[0], _judges(summary)
    names = [*summary.measures[:SHOWN], *judges]
    yield heading("Aspect by aspect", "means over the seeds")
    table = columns("", *names, numeric=names)
    for (name, aspect), own in groupby(summary.lines, lambda line: (line.set, line.aspect)):
        table.add_section()
        table.add_row(text(f"{name} {aspect}", "bold"))
        for line in own:
            figures = [wording.estimate(line.figures[first]) if first in line.figures else "none"]
            others = (line.figures.get(each) for each in summary.measures[1:SHOWN])
            figures += [wording.figure(other.value) if other else "" for other in others]
            figures += [_paper(line.published.get(judge, {}).get(first)) for judge in judges]
            table.add_row(text(_row_name(line, several=several)), *map(text, figures))
    yield table
    for line in summary.lines:
        if line.missing:
            yield text(f"no figure for {line.setting.arm} on {line.set} {line.aspect}: {line.missing}", QUIET)


def _contrasts(summary: Summary) -> Iterator[RenderableType]:
    if not summary.contrasts:
        return
    yield heading(
        "Differences",
        f"in {summary.measures[0]}, mean over the aspects; p by Wilcoxon's test over them, adjusted for all pairs "
        "(Benjamini-Hochberg); cases in which the paired bootstrap interval lies above and below 0",
    )
    names = ("difference", "p", "aspects", "above", "below", "cases")
    table = columns("", *names, numeric=names)
    several = len({each.labels for each in summary.contrasts}) > 1
    for each in summary.contrasts:
        p = "" if each.adjusted is None else f"{each.adjusted:.3f}"
        counts = map(str, (each.aspects, each.ahead, each.behind, each.cases))
        signed = "" if each.difference is None else f"{each.difference:+.3f}"
        table.add_row(text(_pair(each, several=several)), signed, p, *counts)
    yield table


def _efforts(summary: Summary) -> Iterator[RenderableType]:
    """Yield what each arm took by itself."""
    yield heading("What it took", "each arm by itself; learning on average, scoring a text, all cases together")
    names = ("calls to learn", "calls a text", "dollars", "seconds")
    table = columns("", *names, numeric=names)
    several = len({mean.setting.labels for mean in summary.means}) > 1
    for mean in summary.means:
        if mean.seconds is not None:
            calls = (
                "" if each is None else f"{each:,.1f}".removesuffix(".0") for each in (mean.learning, mean.scoring)
            )
            money = "unknown" if mean.cost_usd is None else f"{mean.cost_usd:,.2f}"
            labels = mean.setting.labels if several else None
            name = text(_called(mean.setting.arm, mean.setting.variant, labels))
            table.add_row(name, *calls, money, f"{mean.seconds:,.1f}")
    yield table


def _floors_last(table: Table, named: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield arms and variants, the floors after a line of their own."""
    ordered = sorted(named, key=lambda each: wording.is_floor(each[0]))
    for place, each in enumerate(ordered):
        if wording.is_floor(each[0]) and (place == 0 or not wording.is_floor(ordered[place - 1][0])):
            table.add_section()
        yield each


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


def _mean_figure(mean: Mean, summary: Summary) -> str:
    return wording.figure(mean.figures[summary.measures[0]]) + _fewer(mean, summary)


def _fewer(mean: Mean, summary: Summary) -> str:
    """Return a remark where an arm has figures for fewer aspects than others."""
    return f" ({mean.aspects} of {_most(summary)})" if mean.aspects < _most(summary) else ""


def _paper(value: float | None) -> str:
    return "" if value is None else wording.figure(value)


def _count(calls: float | None) -> str:
    return "" if calls is None else f"{calls:,.1f}".removesuffix(".0")
