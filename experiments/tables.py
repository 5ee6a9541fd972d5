"""Tables of a study's results as Markdown, which `python -m experiments show` prints.

Each is a block of figures for the study's README (see `figures.py`):

    by set          means over the aspects of each set, by evaluator
    every aspect    the first measure of each aspect with its interval, and the paper's figures
    means           means over all aspects, the paper's means, and the calls
    by labels       the same by number of labels
    differences     differences of two evaluators, with Wilcoxon's test over the aspects
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from experiments.runner.figures import COEFFICIENTS
from experiments.runner.results import Results
from experiments.runner.study import Study
from experiments.runner.summary import Line, Setting, Summary, summarise
from rubriclab.models.characters import count
from rubriclab.models.evaluation import is_free_baseline
from rubriclab.report import wording


def tables(study: Study, results: Results) -> dict[str, str]:
    """Return the tables of a study's results by name."""
    summary = summarise(study, results)
    notes = _undefined(summary)

    def whole(*parts: str) -> str:
        return "\n\n".join([_basis(results), *parts, *notes])

    found = {
        "by set": whole(*_by_set(summary, results)),
        "every aspect": whole(_every_aspect(summary)),
        "means": whole(_means(summary)),
    }
    if _several(summary):
        found["by labels"] = whole(_by_labels(summary))
    if summary.contrasts:
        found["differences"] = _differences(study, summary)
    return found


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [f"| {' | '.join(cells)} |" for cells in (heads, *rows)]
    return "\n".join([lines[0], f"{'|---' * len(heads)}|", *lines[1:]])


def _basis(results: Results) -> str:
    """Return in a sentence the judge and the number of cases."""
    seeds = len({outcome.case.seed for outcome in results.cases})
    aspects = {(outcome.case.set, outcome.case.aspect) for outcome in results.cases}
    told = [f"`{results.judge}`", count(len(aspects), "aspect"), count(seeds, "seed")]
    small = " A small run: its figures only show that everything runs." if results.small else ""
    return f"Judge {', '.join(told)}, {count(len(results.cases), 'case')}.{small}"


def _undefined(summary: Summary) -> list[str]:
    """Return a sentence on evaluators that gave all texts one score, if there are any."""
    same: dict[str, list[str]] = {}
    for line in summary.lines:
        names = [name for name in COEFFICIENTS if name in line.figures]
        if names and line.figures[names[0]].value is None:
            same.setdefault(_called(line.setting), []).append(f"{line.set} {line.aspect}")
    told = "; ".join(f"{arm} ({', '.join(dict.fromkeys(where))})" for arm, where in same.items())
    return [f"All texts got one score, which counts as a correlation of 0: {told}."] if same else []


def _by_set(summary: Summary, results: Results) -> Iterator[str]:
    for name in dict.fromkeys(line.set for line in summary.lines):
        own = [line for line in summary.lines if line.set == name]
        measures = [measure for measure in COEFFICIENTS if any(measure in line.figures for line in own)]
        first = COEFFICIENTS[0]
        ours = any(line.ours and line.ours[first] != line.figures[first] for line in own if first in line.figures)
        heads = [*map(_head, measures), *([f"{_head(first)}, ours"] if ours else [])]
        rows = []
        for setting in _baselines_last(line.setting for line in own):
            found = [line for line in own if line.setting == setting]
            cells = [_average(found, measure) for measure in measures]
            cells += [_average(found, first, ours=True)] if ours else []
            rows.append([_called(setting, several=_several(summary)), *cells])
        aspects = len({line.aspect for line in own})
        title = f"{name}, {count(aspects, 'aspect')}, {_texts(results, name)}:"
        yield f"{title}\n\n{table(['evaluator', *heads], rows)}"


def _every_aspect(summary: Summary) -> str:
    first = COEFFICIENTS[0]
    judges = list(dict.fromkeys(judge for line in summary.lines for judge in line.published))
    rows = []
    for line in summary.lines:
        figure = wording.estimate(line.figures[first]) if first in line.figures else f"none: {line.missing}"
        papers = [_shown(line.published.get(judge, {}).get(first)) for judge in judges]
        name = _called(line.setting, several=_several(summary)) + (f" ({line.note})" if line.note else "")
        rows.append([f"{line.set} {line.aspect}", name, figure, *papers])
    return table(["aspect", "evaluator", _head(first), *(f"paper's, {judge}" for judge in judges)], rows)


def _means(summary: Summary) -> str:
    first = COEFFICIENTS[0]
    judges = list(dict.fromkeys(judge for mean in summary.means for judge in mean.published))
    rows = []
    for mean in sorted(summary.means, key=lambda mean: is_free_baseline(mean.setting.arm)):
        cells = [_shown(mean.figures[name]) for name in COEFFICIENTS]
        cells += [_shown(mean.published.get(judge, {}).get(first)) for judge in judges]
        calls = ["" if value is None else f"{value:,.1f}".removesuffix(".0") for value in (mean.learning, mean.scoring)]
        rows.append([_called(mean.setting, several=_several(summary)), str(mean.aspects), *cells, *calls])
    papers = [f"paper's {_head(first)}, {judge}" for judge in judges]
    heads = ["evaluator", "aspects", *map(_head, COEFFICIENTS), *papers, "calls to learn", "calls a text"]
    return table(heads, rows)


def _by_labels(summary: Summary) -> str:
    numbers = sorted({mean.setting.labels for mean in summary.means})
    found = {mean.setting: mean for mean in summary.means}
    first = COEFFICIENTS[0]
    rows = []
    for arm in sorted(dict.fromkeys(mean.setting.arm for mean in summary.means), key=is_free_baseline):
        own = [found.get(Setting(labels, arm)) for labels in numbers]
        rows.append([arm, *(_shown(mean.figures[first]) if mean else "" for mean in own)])
    most = max(mean.aspects for mean in summary.means)
    title = f"{_head(first)}, means over the {count(most, 'aspect')} with every number of labels:"
    return f"{title}\n\n{table(['evaluator', *(f'{number} labels' for number in numbers)], rows)}"


def _differences(study: Study, summary: Summary) -> str:
    test = "signed-rank" if study.significance == "signed ranks" else "rank-sum"
    told = (
        f"Differences in {_head(COEFFICIENTS[0])}, means over the aspects; p by Wilcoxon's {test} test over them, "
        "adjusted for all pairs; cases in which the paired interval lies above and below 0:"
    )
    rows = [
        [
            _called(Setting(each.labels, f"{each.first} - {each.second}"), several=_several(summary)),
            "" if each.difference is None else f"{each.difference:+.3f}",
            "" if each.adjusted is None else f"{each.adjusted:.3f}",
            *map(str, (each.aspects, each.ahead, each.behind, each.cases)),
        ]
        for each in summary.contrasts
    ]
    return f"{told}\n\n{table(['', 'difference', 'p', 'aspects', 'above', 'below', 'cases'], rows)}"


def _texts(results: Results, name: str) -> str:
    counts = [row.counts for outcome in results.cases if outcome.case.set == name for row in outcome.rows]
    told = []
    for what, word in (("texts", "text"), ("groups", "group")):
        numbers = [each[what] for each in counts if what in each]
        if numbers:
            low, high = min(numbers), max(numbers)
            told.append(count(high, word) if low == high else f"{low} to {high} {word}s")
    return " in ".join(told)


def _average(lines: Sequence[Line], measure: str, *, ours: bool = False) -> str:
    """Return the mean over lines, a correlation that is undefined counted as 0."""
    figures = [(line.ours if ours and line.ours else line.figures).get(measure) for line in lines]
    values = [0.0 if each.value is None and measure in COEFFICIENTS else each.value for each in figures if each]
    there = [value for value in values if value is not None]
    return wording.figure(sum(there) / len(there)) if there else ""


def _baselines_last(settings: Iterable[Setting]) -> list[Setting]:
    return sorted(dict.fromkeys(settings), key=lambda setting: is_free_baseline(setting.arm))


def _several(summary: Summary) -> bool:
    return len({mean.setting.labels for mean in summary.means}) > 1


def _called(setting: Setting, *, several: bool = False) -> str:
    return f"{setting.arm}, {setting.labels} labels" if several else setting.arm


def _head(measure: str) -> str:
    return measure.capitalize()


def _shown(value: float | None) -> str:
    return "" if value is None else wording.figure(value)
