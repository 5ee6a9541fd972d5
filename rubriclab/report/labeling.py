"""What people have labelled on the page: progress, consistency and agreement of the raters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rubriclab.labeling.progress import Consistency, RaterAgreement, RaterProgress
from rubriclab.report.model import Cell, Paragraph, View, quoted, table
from rubriclab.report.wording import count, estimate

if TYPE_CHECKING:
    from rubriclab.services.label_options import LabelResult

COLUMNS = ("rater", "done", "skipped", "of", "equal on repeats")


def labeling_view(result: LabelResult) -> View:
    """Return the number of labels, and a table of the raters."""
    texts = count(result.texts, "text")
    if result.mode == "rate":
        what = f"{texts} labelled"
    else:
        what = f"{texts} compared in {count(result.comparisons, 'ranking' if result.mode == 'order' else 'pair')}"
    lead = Paragraph((f"{what} for ", quoted(result.aspect), "."))
    rows: list[tuple[Cell, ...]] = [(quoted(rater), *_cells(progress)) for rater, progress in result.raters.items()]
    shown = [table(COLUMNS, rows, numeric=COLUMNS[1:])] if rows else []
    return View("", (lead, *shown, Paragraph(agreement_words(result.agreement))), "rubriclab label")


def agreement_words(agreement: RaterAgreement | None) -> str:
    """Return how well raters agree, in a sentence."""
    if agreement is None:
        return "Agreement among raters is known once two of them have judged the same texts."
    judged = f"{agreement.raters} raters, {agreement.units} judged by two or more"
    if agreement.alpha.value is None:
        return f"Agreement among raters is not known yet ({judged})."
    return f"Agreement among raters: Krippendorff's alpha {estimate(agreement.alpha)} ({judged})."


def consistency_words(consistency: Consistency | None) -> str:
    """Return how consistent a rater is, in a few words."""
    if consistency is None:
        return "nothing rated twice yet"
    same = f"{consistency.same:.0%} equal of {count(consistency.repeats, 'repeat')}"
    return same if consistency.difference is None else f"{same}, {consistency.difference:.2f} points apart on average"


def _cells(progress: RaterProgress) -> tuple[str, ...]:
    same = f"{progress.consistency.same:.0%}" if progress.consistency else ""
    return str(progress.done), str(progress.skipped), str(progress.total), same
