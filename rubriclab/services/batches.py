"""Batches that are under way at a provider: listed, and cancelled."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from rubriclab.base_options import Options
from rubriclab.display import Displayed
from rubriclab.errors import JudgeError, SettingsError
from rubriclab.judges.batch_model import BatchModel
from rubriclab.option_names import option
from rubriclab.services.workspace import Workspace
from rubriclab.store.batches import OpenBatch

if TYPE_CHECKING:
    from rubriclab.report.model import View


class BatchesOptions(Options):
    """Which batch is cancelled."""

    cancel: str | None = None
    """The id of a batch to cancel. The same command as before then collects its answers so far."""


@dataclass(frozen=True, repr=False)
class Batches(Displayed):
    """The batches whose answers have not been fetched, the oldest first, and the one that was cancelled now."""

    batches: tuple[OpenBatch, ...]
    cancelled: OpenBatch | None = None

    def view(self) -> View:
        """Return a line for each batch."""
        from rubriclab.report.model import View, paragraphs

        return View((), paragraphs(self.lines()))

    def lines(self) -> list[str]:
        """Return in words what was cancelled, or which batches there are."""
        if self.cancelled:
            return [
                f"Batch {self.cancelled.name} is cancelled. Run the command that sent it again for its answers so far."
            ]
        if not self.batches:
            return ["No batch is under way."]
        return [
            f"{batch.name}: {len(batch.requests):,} requests to {batch.model}, sent {batch.created[:16]} UTC"
            for batch in self.batches
        ]

    def to_rows(self) -> list[dict[str, Any]]:
        """Return one JSON object for each batch."""
        return [
            {
                "batch": batch.name,
                "model": batch.model,
                "api_base": batch.api_base,
                "requests": len(batch.requests),
                "created": batch.created,
                "cancelled": batch == self.cancelled,
            }
            for batch in self.batches
        ]


async def batches(workspace: Workspace, options: BatchesOptions) -> Batches:
    """Return the batches that are under way, of which one may be cancelled first.

    Raises:
        NoStore: if there is no store.
        SettingsError: if no batch has the id to cancel.
        JudgeError: if the provider does not cancel it.
    """
    found = await workspace.off_event_loop(workspace.store.batches.open)
    if options.cancel is None:
        return Batches(found)
    chosen = next((batch for batch in found if options.cancel in (batch.batch_id, batch.key)), None)
    if chosen is None:
        ids = ", ".join(batch.name for batch in found)
        raise SettingsError(
            f"{option('cancel')}: no batch {options.cancel!r} is under way.", f"Under way: {ids or 'none'}."
        )
    await _cancel(workspace, chosen)
    return Batches(found, chosen)


async def _cancel(workspace: Workspace, batch: OpenBatch) -> None:
    model = BatchModel(batch.model, api_base=batch.api_base, timeout=workspace.options.timeout)
    batch_id = batch.batch_id or await model.find(batch.file_id, datetime.fromisoformat(batch.created))
    if batch_id is None:  # its file was uploaded, but no batch was made of it
        await workspace.off_event_loop(workspace.store.batches.remove, batch.key)
        return
    status = await model.status(batch_id)
    if status.ended:
        raise JudgeError(
            f"Batch {batch_id} has ended already: {status.state}.",
            "Run the command that sent it again, to collect its answers.",
        )
    await model.cancel(batch_id)
