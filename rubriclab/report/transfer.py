"""How well a rubric works on other texts: the recommendation, and the agreement of each way to use it there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from rubriclab.models.characters import count
from rubriclab.report.model import (
    Block,
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
from rubriclab.report.wording import LEVELS, counted, estimate, figure
from rubriclab.stats.intervals import MIN_GROUPS

if TYPE_CHECKING:
    from rubriclab.models.version import Action
    from rubriclab.ops.transfer import ActionEvaluation, Transfer

ADVICE: Mapping[Action, str] = {
    "reuse": "Reuse it unchanged",
    "recalibrate": "Recalibrate it",
    "relearn": "Learn it again",
}
MEANING: Mapping[Action, str] = {
    "reuse": "as it is",
    "recalibrate": "the same criteria and weights, calibrated to these labels",
    "relearn": "learned from these labels, with its criteria among the candidates",
}
RULE = (
    "error: mean absolute error, in points of the labels' scale; gain: error as it is, less this error. The way with "
    "the smallest error is recommended; intervals are over groups."
)


def transfer_view(transfer: Transfer) -> View:
    """Return everything that is known of a rubric on a target."""
    return View(
        quoted(f"{transfer.rubric} on {transfer.target}, judged by {transfer.judge}"),
        (*paragraphs(sentences(transfer)), *_table(transfer)),
        "rubriclab transfer",
    )


def sentences(transfer: Transfer) -> Iterator[str]:
    """Yield the findings, the recommendation first."""
    if best := transfer.best:
        yield _recommendation(transfer, best)
        yield from _cautions(transfer, best)
    else:
        yield (
            "There are no labels to measure agreement with people on these texts: label some of at least "
            f"{MIN_GROUPS} groups."
        )
    if transfer.outside:
        yield (
            f"Share of these texts whose ratings lie outside of the range of the training texts: "
            f"{estimate(transfer.outside)}."
        )
    else:
        yield "How far the texts lie from the training texts is not known: their ratings are not in this store."
    if transfer.judge != transfer.calibrated_for:
        yield f"It is calibrated for {transfer.calibrated_for}; here the judge was {transfer.judge}."
    if transfer.aspect != transfer.source_aspect:
        yield f"It was learned for {transfer.source_aspect}, and is compared with labels of {transfer.aspect}."
    if not transfer.scale.same_ends(transfer.source_scale):
        source, target = (f"{scale.low:g} to {scale.high:g}" for scale in (transfer.source_scale, transfer.scale))
        yield f"Its scores are mapped linearly from the scale {source} to {target}."
    if transfer.unscored:
        unscored = f"{count(transfer.unscored, 'text')} of {transfer.texts:,} could not be scored"
        yield f"{unscored}: {transfer.unscored_reason}"


def _recommendation(transfer: Transfer, best: ActionEvaluation) -> str:
    if transfer.too_few_groups:
        other = " Another judge uses the scale differently." if best.action == "recalibrate" else ""
        return (
            f"{ADVICE[best.action]}, by default: labels of fewer than {MIN_GROUPS} groups, or all equal, "
            f"show no difference between the ways.{other}"
        )
    if best.action == "reuse":
        return f"{ADVICE['reuse']}: no other way brings its scores closer to these labels."
    chance = "" if (best.gain.low or 0) > 0 else ", which may be due to chance"
    ranking = " The ranking of texts stays the same." if best.action == "recalibrate" else ""
    return (
        f"{ADVICE[best.action]}: its scores are then {estimate(best.gain)} points closer to the labels{chance}. "
        f"This is slightly optimistic, as the best of several ways on the same labels.{ranking}"
    )


def _cautions(transfer: Transfer, best: ActionEvaluation) -> Iterator[str]:
    mean, error = transfer.mean_error, best.error
    if mean is not None and error.high is not None and error.high >= mean:
        certainty = "are" if (error.value or 0) >= mean else "may be"
        yield (
            f"Even then its scores {certainty} no closer to the labels than the mean label, "
            f"whose error is {figure(mean)}."
        )
    if best.groups < MIN_GROUPS:
        yield f"There are no intervals over {count(best.groups, 'group')}; at least {MIN_GROUPS} are needed."


def _table(transfer: Transfer) -> Iterator[Block]:
    if not transfer.actions:
        return
    numeric = ("error", "gain", "Spearman", "Pearson")
    rows = [_row(each, recommended=each.action == transfer.recommended) for each in transfer.actions]
    heading = f"On {count(transfer.labels, 'label')} of {count(transfer.groups, 'group')}"
    level = next(each.level for each in transfer.actions if not each.skipped)
    yield Section(heading, (table(("", *numeric), rows, numeric=numeric),), f"held out, {LEVELS[level]}")
    yield Paragraph(RULE, "quiet")


def _row(evaluation: ActionEvaluation, *, recommended: bool) -> Row:
    criteria = f", {counted(evaluation.criteria, 'criterion')}" if evaluation.criteria else ""
    remark = Paragraph(quoted(evaluation.skipped or MEANING[evaluation.action] + criteria), "quiet")
    name = f"{evaluation.action}{', recommended' if recommended else ''}"
    label = Stack((Paragraph(Span(name, "strong" if recommended else "")), Indented((remark,))))
    if evaluation.skipped:
        return Row((label, "", "", "", ""))
    gain = "" if evaluation.action == "reuse" else Figure(evaluation.gain)
    return Row((label, Figure(evaluation.error), gain, Figure(evaluation.spearman), Figure(evaluation.pearson)))
