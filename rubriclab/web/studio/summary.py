"""A version in a few cells: how well it agrees with people, what it costs, and who judges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rubriclab.provenance import EditChange
from rubriclab.report import describe, verdicts, wording
from rubriclab.report.conclusion import badge_of
from rubriclab.report.edit import CHANGES, HELD_OUT_BY, change_words
from rubriclab.report.model import Figure
from rubriclab.store import Version


@dataclass(frozen=True)
class Summary:
    """What a list shows of a version.

    Attributes:
        tone: how the verdict is coloured; empty for a version that was never compared with baselines.
        comparisons: the rest of the sentence that the verdict begins; empty for such a version.
        measure: what the agreement is; empty if it was not measured.
        procedure: how the held-out agreement was measured; empty without a gate.
        price: requests per text; empty if not recorded.
        origin: how it was made from its parent, by whom and why; empty for a version that was learned.
    """

    version: Version
    verdict: str
    tone: Literal["", "good", "warning", "bad"]
    comparisons: str
    agreement: Figure | None
    measure: str
    procedure: str
    price: str
    judge: str
    criteria: str
    created: str
    origin: str

    @property
    def words(self) -> str:
        """What a search looks through, in lower case."""
        version, rubric = self.version, self.version.rubric
        parts = (version.ref, *version.tags, rubric.aspect.name, rubric.task, self.verdict, self.judge, self.origin)
        return "\n".join(parts).lower()


def summary(version: Version) -> Summary:
    """Return what a list shows of a version."""
    made = version.provenance
    badge = badge_of(version)
    measured = verdicts.recorded_agreement(version)
    return Summary(
        version,
        badge.words,
        badge.tone if made.validation else "",
        badge.remark,
        Figure(measured.value) if measured else None,
        measured.name if measured else "",
        HELD_OUT_BY[made.held_out_by] if made.validation else "",
        verdicts.per_text(verdicts.rubric_agreement(made.validation).calls) if made.validation else "",
        wording.asked_at(made.judge, made.judge_address),
        describe.contents(version.rubric.criteria),
        wording.moment(version.created),
        _origin(version),
    )


def _change(change: EditChange) -> str:
    """Return a change as `dropped h07`."""
    return f"{CHANGES[change.action]}{':' if change.action == 'definition' else ''} {change_words(change)}"


def _origin(version: Version) -> str:
    made = version.provenance
    if made.edit:
        changes = "; ".join(_change(change) for change in made.edit.changes)
        return f"{changes}: {made.edit.because} (edited by {made.edit.by})"
    if made.transfer:
        return f"transferred: {describe.carried_over(made)}"
    return f"imported from {version.imported_from}" if version.imported else ""
