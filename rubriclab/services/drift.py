"""How the scores of texts without labels change from one version, or judge, to another; with limits on the change."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pydantic import Field

from rubriclab.base_options import Texts
from rubriclab.comparison import (
    Drift,
    DriftLimits,
    LimitCheck,
    PairedScore,
    ScorerPair,
    VersionWithJudge,
    check_limits,
    compare_scores,
    score_both,
    scorer_pair,
)
from rubriclab.comparison.limits import LimitOutcome, worst_outcome
from rubriclab.data.reading import ReadingOptions
from rubriclab.data.scale import show
from rubriclab.display import Displayed
from rubriclab.errors import JudgeError, SettingsError
from rubriclab.methods.estimate import CallEstimate
from rubriclab.option_names import option
from rubriclab.provenance import Effort
from rubriclab.scoring import Score
from rubriclab.scoring.estimate import scoring_at_most
from rubriclab.scoring.grouped_stream import groups_of
from rubriclab.scoring.rivals import row_key
from rubriclab.services.dry_run import DryRun, dry_run
from rubriclab.services.inputs import Data, row_count, rows_of, usable_examples
from rubriclab.services.judge_choice import JudgeChoice, check_distinct, judge_of
from rubriclab.services.rubric_choice import ref_of, version_of
from rubriclab.services.workspace import Notify, Workspace
from rubriclab.store import Version

if TYPE_CHECKING:
    from rubriclab.report.model import View


class DriftOptions(ReadingOptions):
    """How drift is measured, and its limits."""

    judges: Texts = ()
    """One judge for both versions, or one for each. Default: those that the versions were learned with."""

    flip_at: float | None = None
    """Texts flip if their score is at or above this on one side only. Default: the middle of the scale."""

    max_shift: float | None = Field(default=None, ge=0)
    """The largest shift of the mean score, in points."""

    max_flips: float | None = Field(default=None, ge=0, le=1)
    """The largest share of texts that flip."""

    min_rank: float | None = Field(default=None, ge=-1, le=1)
    """The lowest Spearman correlation of the two rankings, within groups if groups have several texts."""


@dataclass(frozen=True, repr=False)
class DriftResult(Displayed):
    """The drift, the outcome of each limit, and the effort."""

    drift: Drift
    checks: tuple[LimitCheck, ...]
    effort: Effort

    @property
    def outcome(self) -> LimitOutcome:
        """`within` all limits, `beyond` one of them, or `unknown`."""
        return worst_outcome(self.checks)

    def view(self) -> View:
        """Return what is shown in a terminal and a notebook."""
        from rubriclab.report.drift import drift_view

        return drift_view(self.drift, self.checks)


@dataclass(eq=False)
class DriftMeasurement:
    """A measurement of drift: iterate over `stream()` to score the texts, then ask for the `result()`."""

    workspace: Workspace
    data: Data
    scorers: ScorerPair
    choices: tuple[JudgeChoice, JudgeChoice]
    options: DriftOptions
    pairs: list[PairedScore] = field(default_factory=list)

    def at_most(self) -> DryRun:
        """Return the most that is asked of either judge."""
        before = after = CallEstimate()
        texts = usable_examples(rows_of(self.data, self.options, self.workspace.notify), self.workspace.notify)
        for group in groups_of(texts, row_key):
            before += scoring_at_most(self.scorers.before.version.rubric, group)
            after += scoring_at_most(self.scorers.after.version.rubric, group)
        roles = {"before": (self.choices[0].spec, before), "after": (self.choices[1].spec, after)}
        return dry_run(roles, self.workspace.options)

    async def stream(self) -> AsyncGenerator[tuple[PairedScore, Score, Score]]:
        """Yield each usable text's pair with both scores, in order.

        Raises:
            DataError: if no text can be used.
            JudgeRefused, BudgetReached, ReplayMiss, ProviderDown: from the judges; they concern every text.
        """
        workspace = self.workspace
        judges = workspace.judge(self.choices[0]), workspace.judge(self.choices[1])
        first, second = self.scorers.before, self.scorers.after
        if first.version.ref == second.version.ref and first.judge != second.judge:
            check_distinct({first.judge: judges[0], second.judge: judges[1]})
        texts = usable_examples(rows_of(self.data, self.options, workspace.notify), workspace.notify)
        total = row_count(self.data) if workspace.shows_progress else 0
        with workspace.progress(workspace.ledger) as on_progress:
            async with aclosing(score_both(self.scorers, texts, *judges, workspace.under_way)) as scored:
                async for pair, before, after in scored:
                    self.pairs.append(pair)
                    yield pair, before, after
                    on_progress(f"{len(self.pairs):,} texts", len(self.pairs) / total if total else -1.0)
        if len({pair.id for pair in self.pairs}) < len(self.pairs):
            workspace.notify("some ids are repeated; each of these texts counts")

    def result(self) -> DriftResult:
        """Return the drift over the texts scored so far."""
        drift = compare_scores(self.scorers, self.pairs)
        limits = DriftLimits(self.options.max_shift, self.options.max_flips, self.options.min_rank)
        return DriftResult(drift, check_limits(drift, limits), self.workspace.effort())

    def check_answered(self, drift: Drift) -> None:
        """Return unless one side has no score at all, after replies have failed.

        Raises:
            JudgeError: if so.
        """
        for side in (drift.before, drift.after):
            if not side.scored and self.workspace.ledger.failed:
                reason = f"the latest reason: {side.unscored_reason}"
                raise JudgeError(f"{side.judge} gave no reply that {side.rubric} can use; {reason}")


def prepare_drift(
    workspace: Workspace, data: Data, before: str | Version, after: str | Version | None, options: DriftOptions
) -> DriftMeasurement:
    """Return the measurement of drift from one version to another, or between two judges of one version.

    Raises:
        NotInStore: if there is no such rubric.
        NotConfirmed: if only an imported version that is not confirmed names a judge.
        SettingsError: for options that do not go together.
    """
    judges = options.judges
    check_sides(before, after, judges)
    first = version_of(workspace, before)
    second = first if after is None else version_of(workspace, after)
    names = (judges[0], judges[-1]) if judges else (None, None)
    store, notify = workspace.store, workspace.notify
    choices = judge_of(first, names[0], store, notify), judge_of(second, names[1], store, notify)
    sides = VersionWithJudge(first, choices[0].spec), VersionWithJudge(second, choices[1].spec)
    scorers = scorer_pair(*sides, options.flip_at)
    if not scorers.scale.contains(scorers.threshold):
        raise SettingsError(
            f"{option('flip_at', show(scorers.threshold))} is not on the scale of {first.ref}, "
            f"{scorers.scale.describe()};",
            "no text could cross it.",
        )
    _notify_scorers(scorers, options, notify)
    return DriftMeasurement(workspace, data, scorers, choices, options)


async def drift(
    workspace: Workspace, data: Data, before: str | Version, after: str | Version | None, options: DriftOptions
) -> DriftResult:
    """Return how the scores of `data` change from `before` to `after`; to another judge if `after` is `None`.

    Raises:
        RubriclabError: as `prepare_drift` and `DriftMeasurement.stream` do.
        JudgeError: if one side has no score at all, after replies have failed.
    """
    measurement = await workspace.off_event_loop(prepare_drift, workspace, data, before, after, options)
    async for _ in measurement.stream():
        pass
    result = measurement.result()
    measurement.check_answered(result.drift)
    return result


def drift_at_most(
    workspace: Workspace, data: Data, before: str | Version, after: str | Version | None, options: DriftOptions
) -> DryRun:
    """Return the most that `drift` would ask of either judge."""
    return prepare_drift(workspace, data, before, after, options).at_most()


def check_sides(before: str | Version, after: str | Version | None, judges: tuple[str, ...]) -> None:
    """Return if there are two sides to compare.

    Raises:
        SettingsError: otherwise.
    """
    ref = ref_of(before)
    if len(judges) > 2:
        raise SettingsError(f"Drift is between two sides, and {len(judges)} judges are named.", "Give one or two.")
    if after is None and len(judges) < 2:
        two = option("judges", "JUDGE", "OTHER")
        raise SettingsError(
            f"{ref} is one version, and drift is between two sides;", f"name a second version, or two judges: {two}."
        )
    if after is None and judges[0] == judges[1]:
        raise SettingsError(f"The judge {judges[0]} is named twice;", "one judge cannot be compared with itself.")


def _notify_scorers(scorers: ScorerPair, options: DriftOptions, notify: Notify) -> None:
    before, after = scorers.before.version, scorers.after.version
    if before.digest == after.digest and scorers.before.judge == scorers.after.judge:
        notify(f"both sides are the rubric of {after.ref} by {scorers.after.judge}: nothing can change")
    if before.rubric.aspect.name != after.rubric.aspect.name:
        aspects = f"{before.rubric.aspect.name} and {after.rubric.aspect.name}"
        notify(f"{before.ref} and {after.ref} judge different aspects, {aspects}: their scores mean different things")
    if scorers.rescaled:
        scales = f"{scorers.after.scale.describe()} to {scorers.scale.describe()}"
        notify(f"scores of {after.ref} are mapped linearly from {scales}")
    if options.flip_at is None:
        middle = f"{show(scorers.threshold)}, the middle of the scale"
        notify(f"texts flip at {middle} ({option('flip_at')} sets another score)")
