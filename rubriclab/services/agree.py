"""How far several judges agree when they apply one rubric."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rubriclab.base_options import Texts
from rubriclab.data.reading import ReadingOptions
from rubriclab.display import Displayed
from rubriclab.errors import SettingsError
from rubriclab.estimate import DryRun
from rubriclab.interrater import InterraterAgreement, interrater_agreement
from rubriclab.option_names import option
from rubriclab.provenance import Effort
from rubriclab.services.base import Answered
from rubriclab.services.inputs import Data
from rubriclab.services.judge_choice import JudgeChoice, judge_named
from rubriclab.services.scores import ColumnScorer, ColumnScoring
from rubriclab.services.workspace import Workspace, version_of
from rubriclab.store import Version

if TYPE_CHECKING:
    from rubriclab.report.model import View


class AgreeOptions(ReadingOptions):
    """Which judges are compared, and how."""

    judges: Texts = ()
    """Two judges or more: litellm model strings, `embedded` or `recorded:PATH#JUDGE`."""


@dataclass(frozen=True, repr=False)
class AgreeResult(Answered, Displayed):
    """How far judges agree on the scores and on each criterion; `unanswered` names a judge that never replied."""

    version: Version
    agreement: InterraterAgreement
    effort: Effort
    unanswered: str | None = None

    def view(self) -> View:
        """Return what is shown in a terminal and a notebook."""
        from rubriclab.report.interrater import interrater_view

        return interrater_view(self.version.ref, self.agreement)


async def agree(workspace: Workspace, data: Data, rubric: str | Version, options: AgreeOptions) -> AgreeResult:
    """Return how far judges agree when each scores the texts by one rubric; the texts need no human scores.

    Raises:
        SettingsError: unless two different judges are named.
        DataError: if no text can be used.
    """
    scoring = await workspace.off_event_loop(_prepare, workspace, data, rubric, options)
    rows = [row async for row in scoring.stream()]
    scores = {name: [row[place] for _, row in rows] for place, name in enumerate(options.judges)}
    version = scoring.scorers[0].version
    agreement = interrater_agreement(version.rubric, [example for example, _ in rows], scores)
    return AgreeResult(version, agreement, workspace.effort(), scoring.unanswered)


def agree_estimate(workspace: Workspace, data: Data, rubric: str | Version, options: AgreeOptions) -> DryRun:
    """Return an estimate of what `agree` asks of each judge."""
    roles = [f"judge {number}" for number in range(1, len(options.judges) + 1)]
    return _prepare(workspace, data, rubric, options).estimate(roles)


def _prepare(workspace: Workspace, data: Data, rubric: str | Version, options: AgreeOptions) -> ColumnScoring:
    names = options.judges
    if len(names) < 2:
        named = f"only {names[0]} was named" if names else "none was named"
        raise SettingsError(f"Agreement takes two judges or more, and {named};", f"name each with {option('judges')}.")
    if twice := [name for number, name in enumerate(names) if name in names[:number]]:
        raise SettingsError(f"The judge {twice[0]} is named twice;", "a judge cannot be compared with itself.")
    version = version_of(workspace, rubric)
    scorers = [ColumnScorer(version, JudgeChoice(judge_named(name, workspace.notify))) for name in names]
    return ColumnScoring(workspace, scorers, data, options)
