"""How the scores of texts without labels change from one version, or judge, to another; with limits on the change."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import Field

from rubriclab.base_options import Texts
from rubriclab.comparison import DriftLimits, PairedScore, RubricPair, compare_columns, paired_rubrics
from rubriclab.data.reading import ReadingOptions
from rubriclab.data.scale import show
from rubriclab.errors import SettingsError
from rubriclab.estimate import DryRun
from rubriclab.option_names import option
from rubriclab.services.anchor import look
from rubriclab.services.compare import CompareResult
from rubriclab.services.inputs import Data
from rubriclab.services.judge_choice import judge_of
from rubriclab.services.scores import ColumnScorer, ColumnScoring
from rubriclab.services.workspace import Workspace, ref_of, version_of
from rubriclab.store import Version


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

    anchor: bool = False
    """Whether the texts are a file of labelled ones that are scored again at each look, by one version and judge."""


async def drift(
    workspace: Workspace,
    data: Data,
    before: str | Version,
    after: str | Version | None,
    options: DriftOptions,
    *,
    on_row: Callable[[dict[str, Any]], None] | None = None,
) -> CompareResult:
    """Return how the scores of `data` change from `before` to `after`; to another judge if `after` is `None`.

    For an anchor, how the errors of the scores by `before` have changed since the first look.

    Args:
        on_row: called for each text, in order, with both scores, their reasons, and whether the text flips.

    Raises:
        NotInStore: if there is no such rubric.
        NotConfirmed: if only an imported version that is not confirmed names a judge.
        SettingsError: for options that do not go together.
        DataError: if no text can be used.
        JudgeRefused, BudgetReached, ReplayMiss, ProviderDown: from the judges; they concern every text.
    """
    if options.anchor:
        scoring = await workspace.off_event_loop(_anchored, workspace, data, before, after, options)
        return CompareResult(await look(scoring, str(data)), workspace.effort())
    prepared = await workspace.off_event_loop(_prepare, workspace, data, before, after, options)
    scoring, rubrics, threshold = prepared
    pairs: list[PairedScore] = []
    async for example, (first, second) in scoring.stream():
        pairs.append(rubrics.pair(example.group, first, second))
        if on_row:
            on_row(rubrics.to_row(pairs[-1], first, second, threshold))
    one, other = ((version.ref, judge.spec) for version, judge in scoring.scorers)
    limits = DriftLimits(options.max_shift, options.max_flips, options.min_rank)
    found = compare_columns(rubrics, pairs, (one, other), threshold, limits)
    return CompareResult(found, workspace.effort(), unanswered=scoring.unanswered)


def drift_estimate(
    workspace: Workspace, data: Data, before: str | Version, after: str | Version | None, options: DriftOptions
) -> DryRun:
    """Return an estimate of what `drift` asks of either judge."""
    if options.anchor:
        return _anchored(workspace, data, before, after, options).estimate(("judge",))
    scoring, _, _ = _prepare(workspace, data, before, after, options)
    return scoring.estimate(("before", "after"))


def _anchored(
    workspace: Workspace, data: Data, version: str | Version, after: str | Version | None, options: DriftOptions
) -> ColumnScoring:
    limits = [name for name in ("flip_at", "max_shift", "max_flips", "min_rank") if getattr(options, name) is not None]
    if after is not None or len(options.judges) > 1 or limits or not isinstance(data, str | Path):
        raise SettingsError(
            f"{option('anchor')}: a file of texts is scored again by one version and judge, without limits.",
            "Name one file, one version and at most one judge.",
        )
    found = version_of(workspace, version)
    choice = judge_of(found, options.judges[0] if options.judges else None, workspace.store, workspace.notify)
    return ColumnScoring(workspace, [ColumnScorer(found, choice)], data, options)


def _prepare(
    workspace: Workspace, data: Data, before: str | Version, after: str | Version | None, options: DriftOptions
) -> tuple[ColumnScoring, RubricPair, float]:
    """Return the scoring by both sides, their rubrics, and the threshold."""
    _check_sides(before, after, options.judges)
    first = version_of(workspace, before)
    second = first if after is None else version_of(workspace, after)
    named = (options.judges[0], options.judges[-1]) if options.judges else (None, None)
    scorers = [
        ColumnScorer(version, judge_of(version, judge, workspace.store, workspace.notify))
        for version, judge in zip((first, second), named, strict=True)
    ]
    rubrics = paired_rubrics(first.rubric, second.rubric)
    middle = rubrics.scale.low + rubrics.scale.width / 2
    threshold = middle if options.flip_at is None else options.flip_at
    if not rubrics.scale.contains(threshold):
        raise SettingsError(
            f"{option('flip_at', show(threshold))} is not on the scale of {first.ref}, {rubrics.scale.describe()};",
            "no text could cross it.",
        )
    _notify_scorers(workspace, rubrics, scorers)
    if options.flip_at is None:
        workspace.notify(
            f"texts flip at {show(middle)}, the middle of the scale ({option('flip_at')} sets another score)"
        )
    return ColumnScoring(workspace, scorers, data, options), rubrics, threshold


def _check_sides(before: str | Version, after: str | Version | None, judges: tuple[str, ...]) -> None:
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


def _notify_scorers(workspace: Workspace, rubrics: RubricPair, scorers: list[ColumnScorer]) -> None:
    (before, judge), (after, other) = scorers
    if before.digest == after.digest and judge.spec == other.spec:
        workspace.notify(f"both sides are the rubric of {after.ref} by {other.spec}: nothing can change")
    if before.rubric.aspect.name != after.rubric.aspect.name:
        aspects = f"{before.rubric.aspect.name} and {after.rubric.aspect.name}"
        workspace.notify(
            f"{before.ref} and {after.ref} judge different aspects, {aspects}: their scores mean different things"
        )
    if rubrics.rescaled:
        scales = f"{after.rubric.scores_on.describe()} to {rubrics.scale.describe()}"
        workspace.notify(f"scores of {after.ref} are mapped linearly from {scales}")
