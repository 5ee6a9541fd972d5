"""The labelled texts on which people and a rubric differ most."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from rubriclab.base_options import Options
from rubriclab.display import Displayed
from rubriclab.report.recorded import Disagreement, disagreements as furthest
from rubriclab.services.versions import training_record
from rubriclab.services.workspace import Workspace, version_of
from rubriclab.store import Version
from rubriclab.training_record import TrainingRecord

if TYPE_CHECKING:
    from rubriclab.report.model import View


class DisagreementsOptions(Options):
    """Which texts are shown."""

    count: int = Field(default=10, ge=1)
    """The number of texts, those with the largest differences first."""

    side: Literal["both", "higher", "lower"] = "both"
    """Only texts that the rubric scores higher, or lower, than people do."""


@dataclass(frozen=True, repr=False)
class Disagreements(Displayed):
    """Labelled texts by the distance of their held-out score from the label, the largest first."""

    version: Version
    record: TrainingRecord
    texts: tuple[Disagreement, ...]

    def view(self) -> View:
        """Return each text with its label, the raters' scores, the held-out score and each criterion's reason."""
        from rubriclab.report.recorded import disagreements_view

        return disagreements_view(self.version, self.record, self.texts)

    def to_rows(self) -> list[dict[str, Any]]:
        """Return one JSON object for each text."""
        return [_row(each) for each in self.texts]


def disagreements(
    workspace: Workspace,
    rubric: str | Version,
    options: DisagreementsOptions,
    *,
    record: TrainingRecord | None = None,
) -> Disagreements:
    """Return the texts whose held-out scores lie furthest from their labels.

    Args:
        record: the training record of the version, to spare reading it.

    Raises:
        NotInStore: if there is no such rubric, or no record of its training.
    """
    version = version_of(workspace, rubric)
    record = record or training_record(workspace, version.ref)
    chosen = [each for each in furthest(record, len(record.texts)) if options.side in ("both", each.side)]
    return Disagreements(version, record, tuple(chosen[: options.count]))


def _row(each: Disagreement) -> dict[str, Any]:
    text = each.text
    return {
        **text.model_dump(mode="json", exclude={"context", "reference"}),
        "difference": round(each.points, 6),
        "criteria": [
            {"id": candidate.criterion.id, "score": cell.score, "applies": cell.applies, "reason": cell.reason}
            for candidate, cell in each.answers
        ],
    }
