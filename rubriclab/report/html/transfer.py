"""The page on transfer: rubrics, targets and judges in one table and one drawing, then each on its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rubriclab.report import charts, transfer
from rubriclab.report.html.page import render

if TYPE_CHECKING:
    from rubriclab.transfer.results import Transfer


def transfer_report(cells: Sequence[Transfer]) -> str:
    """Return what rubrics are worth on other texts as one self-contained HTML page."""
    known = [cell.agreement.spearman for cell in cells if cell.agreement]
    homes = [cell.source.spearman for cell in cells if cell.source]
    return render("transfer.html", cells=cells, transfer=transfer, scale=charts.correlation_axis([*known, *homes]))
