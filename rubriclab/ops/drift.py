"""How the scores of texts without labels change from one version, or judge, to another; with limits on the change."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field, ValidationError

from rubriclab.base_options import Texts
from rubriclab.data.mapping import ReadingOptions
from rubriclab.errors import DataError, SettingsError
from rubriclab.learning.estimate import DryRun
from rubriclab.learning.paired_scores import (
    MAX_UNSCORED,
    AnchorLook,
    DriftLimits,
    PairedScore,
    RubricPair,
    paired_rubrics,
    score_columns,
)
from rubriclab.models.base import FrozenModel, digest
from rubriclab.models.text import labelled, show, text_digest
from rubriclab.models.version import Version
from rubriclab.ops.compare import CompareResult, compare_columns
from rubriclab.ops.inputs import Data
from rubriclab.ops.scores import ColumnScorer, ColumnScoring
from rubriclab.ops.workspace import Workspace, judge_of, ref_of, version_of
from rubriclab.option_names import option
from rubriclab.stats.correlation import FloatArray, IntArray
from rubriclab.stats.intervals import confidence_sequence, renumbered


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


ERROR_RATE = 0.05
"""The probability of any false alarm, over all looks and both sequences."""

FEWEST = 10
"""With fewer groups, false alarms are more frequent than `ERROR_RATE`."""

TIGHTEST_LOOK = 10
"""The look after which the intervals are narrowest for the number of observations."""


class _Looks(FrozenModel):
    """The looks so far: for each text and label, by digest, the score less the label."""

    rubric: str
    judge: str
    looks: tuple[Mapping[str, float], ...] = ()


async def look(scoring: ColumnScoring, place: str) -> AnchorLook:
    """Score the labelled texts of a file once more, and return whether their errors have changed since the first look.

    Cached answers are not used. A look with too many texts without a score is not counted.

    Raises:
        DataError: for too few labelled texts, or if the looks so far are of another rubric or judge.
    """
    workspace, (version, choice) = scoring.workspace, scoring.scorers[0]
    earlier = _read(place, _Looks(rubric=version.digest, judge=choice.spec))
    aspect = version.rubric.aspect.name
    texts = {digest([text_digest(each), each.scores[aspect]]): each for each in labelled(scoring.texts(), aspect)}
    examples = tuple(texts.values())
    if (groups := len({example.group for example in examples})) < FEWEST:
        raise DataError(
            f"{place}: got texts with labels of {aspect} in {groups} groups, expected at least {FEWEST} groups.",
            "Label more texts.",
        )
    judge = workspace.judge(choice, fresh=True)
    scored = score_columns([(version, judge)], examples, workspace.under_way)
    scores = [score.score async for _, (score,) in scored]
    errors = {
        key: score - each.scores[aspect]
        for (key, each), score in zip(texts.items(), scores, strict=True)
        if score is not None
    }
    counted = len(errors) >= (1 - MAX_UNSCORED) * len(texts)
    looks = (*earlier.looks, errors) if counted else earlier.looks
    if counted:
        _looks_of(place).write_text(earlier.model_copy(update={"looks": looks}).model_dump_json(), "utf-8")
    table = np.array([[each.get(key, np.nan) for key in texts] for each in looks]).reshape(len(looks), len(texts))
    unit = renumbered(np.array([each.group for each in examples]))
    bias, error = (
        confidence_sequence(_changes(values, unit), error_rate=ERROR_RATE / 2, tightest=TIGHTEST_LOOK * groups)
        for values in (table, np.abs(table))
    )
    changed = any((each.low or 0.0) > 0 or (each.high or 0.0) < 0 for each in (bias, error))
    now = np.array([*errors.values()])
    return AnchorLook(
        rubric=version.ref,
        judge=choice.spec,
        looks=len(looks),
        texts=len(texts),
        groups=groups,
        bias=float(now.mean()) if errors else None,
        absolute_error=float(np.abs(now).mean()) if errors else None,
        bias_change=bias.rounded(),
        error_change=error.rounded(),
        outcome="beyond" if changed else "within" if counted else "unknown",
    )


def _looks_of(place: str) -> Path:
    return Path(f"{place}.looks.json")


def _read(place: str, first: _Looks) -> _Looks:
    """Return the looks at a file of texts, `first` if there are none.

    Raises:
        DataError: if they cannot be read, or are of another rubric or judge.
    """
    kept = _looks_of(place)
    if not kept.exists():
        return first
    try:
        found = _Looks.model_validate_json(kept.read_bytes())
    except ValidationError:
        found = first.model_copy(update={"judge": ""})
    if (found.rubric, found.judge) != (first.rubric, first.judge):
        raise DataError(
            f"{kept} holds looks by another rubric or judge than {first.judge}, or cannot be read.",
            "Use another copy of the texts for them, or delete this file to begin again.",
        )
    return found


def _changes(values: FloatArray, unit: IntArray) -> list[FloatArray]:
    """Return for each look but the first the mean change of each group from its texts' means over the looks before.

    Args:
        values: shape (looks, texts), NaN where a text has no score.
        unit: the group of each text.
    """
    counts = np.cumsum(~np.isnan(values), axis=0)[:-1]
    changes = values[1:] - np.nancumsum(values, axis=0)[:-1] / np.where(counts, counts, np.nan)
    known = [(row[~np.isnan(row)], renumbered(unit[~np.isnan(row)])) for row in changes]
    return [np.bincount(group, row) / np.bincount(group) for row, group in known if group.max(initial=0) > 0]
