"""How well a rubric works on other texts: the advice, what each action gives, and how far the texts have shifted."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rubriclab.report import charts
from rubriclab.report.model import (
    Block,
    Drawing,
    Figure,
    Indented,
    Paragraph,
    Row,
    Section,
    Span,
    Stack,
    View,
    paragraphs,
    quoted,
    table,
)
from rubriclab.report.shift import shift_blocks
from rubriclab.report.wording import LEVELS, count, counted, estimate, figure
from rubriclab.stats.interval import Interval
from rubriclab.stats.levels import FEWEST_GROUPS

if TYPE_CHECKING:
    from rubriclab.provenance import Action
    from rubriclab.transfer.recommendation import ActionAdvice
    from rubriclab.transfer.results import ActionEvaluation, AgreementMetrics, Transfer

# What to do, as advice begins.
ADVICE: Mapping[Action, str] = {
    "reuse": "Reuse it unchanged",
    "recalibrate": "Recalibrate it",
    "reweight": "Reweight its criteria",
    "reselect": "Reselect and reweight among all candidate criteria from learning",
    "relearn": "Relearn it",
}
MEANING: Mapping[Action, str] = {
    "reuse": "unchanged",
    "recalibrate": "new calibration",
    "reweight": "its criteria with new weights",
    "reselect": "all candidate criteria, selected and weighted again",
    "relearn": "from scratch",
}
LEGEND = (
    "error: mean squared error, as a share of the labels' variance; 0 is perfect, 1 equals giving every text the mean "
    "label"
)


def transfer_view(transfer: Transfer) -> View:
    """Return everything that is known of one rubric on one target."""
    return View(quoted(title(transfer)), tuple(_cell(transfer)), "rubriclab transfer")


def transfer_matrix_view(cells: Sequence[Transfer]) -> View:
    """Return several rubrics, targets and judges as one table, with the advice on each."""
    note = "The same command for one rubric, target and judge explains the advice and shows what each action gives."
    return View((), (*_matrix(cells), Paragraph(note, "quiet")), "rubriclab transfer")


def transfer_report(cells: Sequence[Transfer]) -> View:
    """Return how well rubrics work on other texts, all together and one by one."""
    single = tuple(Section(quoted(title(cell)), tuple(_cell(cell))) for cell in cells)
    blocks = (
        Section("All together", tuple(_matrix(cells)), name="matrix"),
        Section("One by one", single, name="cells"),
    )
    return View("Transfer of rubrics to other texts", blocks, "rubriclab transfer report")


def title(transfer: Transfer) -> str:
    """Return what was transferred where."""
    return f"{transfer.rubric} on {transfer.target}, judged by {transfer.judge}"


def sentences(transfer: Transfer) -> Iterator[str]:
    """Yield the findings: first whether the held-out labels contradict the advice, then the advice."""
    if contradiction := _contradiction(transfer):
        yield contradiction
    if transfer.advice:
        yield advice(transfer)
    else:
        yield "There are no labels to measure agreement with people on these texts."
    yield from _cautions(transfer)
    if transfer.judge != transfer.calibrated_for:
        yield f"It is calibrated for {transfer.calibrated_for}; here the judge was {transfer.judge}."
    if transfer.aspect != transfer.source_aspect:
        yield f"It was learned for {transfer.source_aspect}, and is compared with labels of {transfer.aspect}."
    if not transfer.scale.same_ends(transfer.source_scale):
        source, target = (f"{scale.low:g} to {scale.high:g}" for scale in (transfer.source_scale, transfer.scale))
        yield f"Its scores are mapped linearly from the scale {source} to {target}."
    if transfer.agreement:
        yield agreement(transfer)
    if transfer.unscored:
        unscored = f"{count(transfer.unscored, 'text')} of {transfer.texts:,} could not be scored"
        yield f"{unscored}: {transfer.unscored_reason}"


def _contradiction(transfer: Transfer) -> str:
    """Return the action that did better on the held-out labels than the advised one; empty if none did."""
    compared = [
        (action.excess_error.value, action)
        for action in transfer.actions
        if action.excess_error is not None and action.excess_error.value is not None
    ]
    lowest, best = min(compared, key=lambda pair: pair[0], default=(0.0, None))
    if transfer.advice is None or best is None or best.excess_error is None or lowest >= 0:
        return ""
    held_out = f"the {count(transfer.held_out_labels, 'label')} held out to check this"
    smaller = (
        f"{best.action} has smaller errors than {transfer.advice.action}, by {_size(best.excess_error, less=False)}"
    )
    if best.excess_error.high is not None and best.excess_error.high < 0:
        return (
            f"Check failed: on {held_out}, {smaller}, which contradicts the recommendation below. Prefer {best.action}."
        )
    return f"The check does not confirm the recommendation below: on {held_out}, {smaller}, which may be due to chance."


def _cautions(transfer: Transfer) -> Iterator[str]:
    """Yield what limits the advice."""
    recommended = transfer.advice and transfer.advice.action
    metrics = next((each.cross_validated for each in transfer.actions if each.action == recommended), None)
    if metrics and metrics.error.value is not None and metrics.error.value >= 1:
        yield (
            "Even then its scores are no closer to the labels than the mean label. According to these labels, "
            "no action makes it useful on these texts."
        )
    elif metrics and metrics.error.high is not None and metrics.error.high >= 1:
        yield "Even then its scores may be no closer to the labels than the mean label."
    if metrics and metrics.groups < FEWEST_GROUPS:
        yield f"Intervals over {count(metrics.groups, 'group')} are unreliable; at least {FEWEST_GROUPS} are needed."
    labelled = transfer.agreement.n + transfer.agreement.unscored if transfer.agreement else 0
    idle = labelled - transfer.labels - transfer.held_out_labels
    if idle > 0:
        none_left = "" if transfer.held_out_labels else "; none are left to check the result"
        yield (
            f"{count(idle, 'more labelled text')} cannot be used for checking, because other texts of their groups "
            f"were used for fitting{none_left}."
        )


def advice(transfer: Transfer) -> str:
    """Return what to do, and why.

    Raises:
        ValueError: there are no labels to base advice on.
    """
    advised = transfer.advice
    if advised is None:
        raise ValueError("expected a transfer with labels, got one without")
    if advised.too_few_groups:
        other = " Another judge uses the scale differently." if advised.action == "recalibrate" else ""
        return (
            f"{ADVICE[advised.action]}, by default: labels of fewer than {FEWEST_GROUPS} groups, or all equal, "
            f"show no difference between actions.{other}"
        )
    if advised.action == "reuse":
        return f"{ADVICE['reuse']}: no action brings its scores closer to these labels.{_others(advised)}"
    gain = f"reduces its squared errors by {estimate(advised.gain)} of the labels' variance"
    sure = "" if advised.significant else ", which may be due to chance"
    rest = {
        "recalibrate": (
            "The order of texts stays the same except for new ties, so for ranking it can be reused unchanged."
        ),
        "reweight": "Recalibration alone reduces them less.",
        "reselect": "Reweighting its own criteria reduces them less.",
        "relearn": "No action that keeps source criteria reduces them as much.",
    }
    best = f" This is slightly optimistic, being the best of {len(advised.compared)} on the same labels."
    return f"{ADVICE[advised.action]}: this {gain}{sure}.{best} {rest[advised.action]}{_others(advised)}"


def _others(advised: ActionAdvice) -> str:
    """Return which other actions may be as good."""
    return (
        f" These labels cannot distinguish it from: {', '.join(advised.indistinguishable)}."
        if advised.indistinguishable
        else ""
    )


def agreement(transfer: Transfer) -> str:
    """Return how well people agree with the rubric as it is, beside the source texts and the free baselines.

    Raises:
        ValueError: there are no labels to compare with.
    """
    there, source = transfer.agreement, transfer.source
    if there is None:
        raise ValueError("expected a transfer with labels, got one without")
    here = f"Unchanged, it reaches Spearman {estimate(there.spearman)} on these texts, {LEVELS[there.level]}"
    baselines = [f"{name} {figure(metrics.spearman.value)}" for name, metrics in transfer.baselines.items()]
    beside = f" ({', '.join(baselines)})" if baselines else ""
    if source is None or transfer.drop is None or transfer.drop.value is None:
        return f"{here}{beside}; its agreement on the source texts is unknown."
    original = f"compared with {estimate(source.spearman)} on {count(source.n, 'label')} of the source texts"
    return f"{here}{beside}, {original}: {_drop(transfer.drop)}."


def action_row(evaluation: ActionEvaluation) -> str:
    """Return what an action changes, in brief."""
    meaning = MEANING[evaluation.action]
    return f"{meaning}, {counted(evaluation.criteria, 'criterion')}" if evaluation.criteria else meaning


def brief(transfer: Transfer) -> str:
    """Return the advice in a word, for a table."""
    if transfer.advice is None:
        return "no labels"
    return transfer.advice.action + (" (few groups)" if transfer.advice.too_few_groups else "")


def _cell(transfer: Transfer) -> Iterator[Block]:
    yield from paragraphs(sentences(transfer))
    if transfer.actions:
        heading = f"On the {count(transfer.labels, 'label')} used for fitting"
        yield _actions(transfer, "cross_validated", heading, "cross-validated")
    if transfer.held_out_labels:
        yield _actions(transfer, "held_out", f"On {count(transfer.held_out_labels, 'other label')}", "held out")
    if transfer.actions:
        yield Paragraph(LEGEND, "quiet")
    if transfer.shift:
        yield Section("Distribution shift", tuple(shift_blocks(transfer.shift)))


def _actions(transfer: Transfer, labels: str, heading: str, beside: str) -> Section:
    metrics: list[AgreementMetrics | None] = [getattr(action, labels) for action in transfer.actions]
    levels = sorted({LEVELS[each.level] for each in metrics if each})
    numeric = ("error", "Spearman", "Pearson")
    rows = [_action(transfer, action, each) for action, each in zip(transfer.actions, metrics, strict=True)]
    return Section(heading, (table(("", *numeric), rows, numeric=numeric),), ", ".join((beside, *levels)))


def _action(transfer: Transfer, evaluation: ActionEvaluation, metrics: AgreementMetrics | None) -> Row:
    advised = transfer.advice is not None and transfer.advice.action == evaluation.action
    remark = Paragraph(quoted(evaluation.skipped) if evaluation.skipped else action_row(evaluation), "quiet")
    name = f"{evaluation.action}{', recommended' if advised else ''}"
    label = Stack((Paragraph(Span(name, "strong" if advised else "")), Indented((remark,))))
    figures = (metrics.error, metrics.spearman, metrics.pearson) if metrics else ()
    return Row((label, *(map(Figure, figures) if figures else ("", "", ""))))


def _matrix(cells: Sequence[Transfer]) -> Iterator[Block]:
    agreements = [agreement for cell in cells for agreement in (cell.source, cell.agreement) if agreement]
    axis = charts.correlation_axis(agreement.spearman for agreement in agreements)
    numeric = ("source", "target", "drop")
    rows = [_matrix_row(axis, cell) for cell in cells]
    caption = "Filled dots are the target; lines are 95 % intervals."
    shown = table(
        ("", "", *numeric, "shift", "advice"), rows, numeric=numeric, caption=caption, ticks=charts.tick_row(axis)
    )
    yield Section("Agreement with people", (shown,), "Spearman of the unchanged rubric; drop: source minus target")


def _matrix_row(axis: charts.Axis, cell: Transfer) -> Row:
    remark = Paragraph(quoted(f"{cell.target}; {cell.judge}, {cell.aspect}"), "quiet")
    label = Stack((Paragraph(quoted(cell.rubric)), Indented((remark,))))
    figures = (cell.source and cell.source.spearman, cell.agreement and cell.agreement.spearman, cell.drop)
    shown = (Figure(each) if each else "" for each in figures)
    spearman = cell.agreement.spearman if cell.agreement else Interval(None)
    drawing = Drawing(charts.whisker(axis, spearman, baseline=False))
    return Row((label, drawing, *shown, cell.shift.severity if cell.shift else "not known", brief(cell)))


def _drop(drop: Interval) -> str:
    if drop.low is None or drop.high is None or not drop.low <= 0 <= drop.high:
        less = (drop.value or 0) > 0
        return f"a {'drop' if less else 'rise'} of {_size(drop, less)}"
    return f"the change of {_size(drop, less=False)} may be due to chance"


def _size(drop: Interval, less: bool) -> str:
    """Return a change without its sign."""
    if less or drop.value is None:
        return estimate(drop)
    low, high = (None if end is None else -end for end in (drop.high, drop.low))
    return estimate(Interval(-drop.value, low, high))


def csv_text(cells: Sequence[Transfer]) -> str:
    """Return all figures as CSV, a row for each cell, with the same columns in all."""
    rows = [_csv_row(cell) for cell in cells]
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _csv_row(cell: Transfer) -> dict[str, Any]:
    row: dict[str, Any] = {
        "rubric": cell.rubric,
        "calibrated_for": cell.calibrated_for,
        "judge": cell.judge,
        "target": cell.target,
        "source_aspect": cell.source_aspect,
        "aspect": cell.aspect,
        "texts": cell.texts,
        "unscored": cell.unscored,
        "labels": cell.labels,
        "held_out": cell.held_out_labels,
        "level": cell.agreement.level if cell.agreement else None,
        **_columns("source_spearman", cell.source.spearman if cell.source else None),
        **_columns("spearman", cell.agreement.spearman if cell.agreement else None),
        **_columns("pearson", cell.agreement.pearson if cell.agreement else None),
        **_columns("error", cell.agreement.error if cell.agreement else None),
        **_columns("drop", cell.drop),
        "shift": cell.shift.severity if cell.shift else None,
        "advice": cell.advice.action if cell.advice else None,
    }
    by_action = {evaluation.action: evaluation for evaluation in cell.actions}
    for action in ADVICE:
        evaluation = by_action.get(action)
        row |= _figures(f"{action}_cross_validated", evaluation.cross_validated if evaluation else None)
        row |= _figures(f"{action}_held_out", evaluation.held_out if evaluation else None)
    return row


def _figures(name: str, metrics: AgreementMetrics | None) -> dict[str, Any]:
    error = _columns(f"{name}_error", metrics.error if metrics else None)
    return {**error, **_columns(f"{name}_spearman", metrics.spearman if metrics else None)}


def _columns(name: str, statistic: Interval | None) -> dict[str, float | None]:
    known = statistic or Interval(None)
    return {name: known.value, f"{name}_low": known.low, f"{name}_high": known.high}
