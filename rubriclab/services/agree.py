"""How far several judges agree when they apply one rubric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import Field

from rubriclab.base_options import Texts
from rubriclab.data import Example
from rubriclab.data.reading import ReadingOptions
from rubriclab.display import Displayed
from rubriclab.errors import JudgeError, SettingsError
from rubriclab.interrater import InterraterAgreement, interrater_agreement
from rubriclab.judges.judge import Judge
from rubriclab.option_names import option
from rubriclab.provenance import Effort
from rubriclab.scoring import Score, score_stream
from rubriclab.scoring.estimate import scoring_at_most
from rubriclab.services.dry_run import DryRun, dry_run
from rubriclab.services.inputs import Data, rows_of, usable_examples
from rubriclab.services.judge_choice import JudgeChoice, check_distinct, judge_named
from rubriclab.services.rubric_choice import version_of
from rubriclab.services.workspace import Workspace
from rubriclab.store import Version

if TYPE_CHECKING:
    from rubriclab.report.model import View


class AgreeOptions(ReadingOptions):
    """Which judges are compared, and how."""

    judges: Texts = ()
    """Two judges or more: litellm model strings, `embedded` or `recorded:PATH#JUDGE`."""

    bins: int | None = Field(default=None, ge=2)
    """Cut scores into so many bins of equal width. Default: the levels of the rubric's scale."""


@dataclass(frozen=True, repr=False)
class AgreeResult(Displayed):
    """How far judges agree on the scores and on each criterion; `unanswered` names a judge that never replied."""

    version: Version
    agreement: InterraterAgreement
    effort: Effort
    unanswered: str | None = None

    def check_answered(self) -> None:
        """Return if every judge gave a reply.

        Raises:
            JudgeError: if one did not.
        """
        if self.unanswered:
            raise JudgeError(self.unanswered)

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
    version, examples, names = await workspace.off_event_loop(_prepared, workspace, data, rubric, options)
    judges = {name: workspace.judge(JudgeChoice(name)) for name in names}
    check_distinct(judges)
    scores, unanswered = await _score(version, examples, judges, workspace)
    agreement = interrater_agreement(version.rubric, examples, scores, bins=options.bins)
    return AgreeResult(version, agreement, workspace.effort(), unanswered)


def agree_at_most(workspace: Workspace, data: Data, rubric: str | Version, options: AgreeOptions) -> DryRun:
    """Return the most that `agree` would ask of each judge."""
    version, examples, names = _prepared(workspace, data, rubric, options)
    most = scoring_at_most(version.rubric, examples)
    roles = {f"judge {number}": (name, most) for number, name in enumerate(names, start=1)}
    return dry_run(roles, workspace.options)


def _prepared(
    workspace: Workspace, data: Data, rubric: str | Version, options: AgreeOptions
) -> tuple[Version, tuple[Example, ...], list[str]]:
    _check_names(options.judges)
    version = version_of(workspace, rubric)
    examples = tuple(usable_examples(rows_of(data, options, workspace.notify), workspace.notify))
    if len({example.id for example in examples}) < len(examples):
        workspace.notify("some ids are repeated; each of these texts counts")
    return version, examples, [judge_named(name, workspace.notify) for name in options.judges]


def _check_names(names: Sequence[str]) -> None:
    if len(names) < 2:
        named = f"only {names[0]} was named" if names else "none was named"
        raise SettingsError(f"Agreement takes two judges or more, and {named};", f"name each with {option('judges')}.")
    if twice := [name for number, name in enumerate(names) if name in names[:number]]:
        raise SettingsError(f"The judge {twice[0]} is named twice;", "a judge cannot be compared with itself.")


async def _score(
    version: Version, examples: Sequence[Example], judges: Mapping[str, Judge], workspace: Workspace
) -> tuple[dict[str, list[Score]], str | None]:
    """Return each judge's scores of the texts, and which of them gave no reply at all."""
    ledger = workspace.ledger
    scores: dict[str, list[Score]] = {name: [] for name in judges}
    unanswered: list[str] = []
    total = len(judges) * len(examples)
    with workspace.progress(ledger) as on_progress:
        for number, (name, judge) in enumerate(judges.items()):
            replies, failed = ledger.calls + ledger.cached, ledger.failed
            done = scores[name]
            async for score in score_stream(version.rubric, examples, judge, version.ref, workspace.under_way):
                done.append(score)
                share = (number * len(examples) + len(done)) / total
                on_progress(f"{name}: {len(done)} of {len(examples)} texts", share)
            if ledger.failed > failed and ledger.calls + ledger.cached == replies:
                reasons = [score.unscored for score in done if score.unscored]
                unanswered.append(f"{name} gave no reply at all; the latest reason: {reasons[-1]}")
    return scores, unanswered[0] if unanswered else None
