"""Whether one set of outputs is scored lower than another, and which of several systems is scored highest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from pydantic import Field

from rubriclab.comparison import (
    OutputComparison,
    Outputs,
    PairingRule,
    SystemRanking,
    compare_outputs,
    rank_systems,
)
from rubriclab.comparison.limits import LimitOutcome
from rubriclab.data import Example
from rubriclab.data.reading import ReadingOptions
from rubriclab.display import Displayed
from rubriclab.errors import DataError, SettingsError
from rubriclab.option_names import option
from rubriclab.provenance import Effort
from rubriclab.report.wording import count
from rubriclab.scoring import Score
from rubriclab.scoring.estimate import scoring_at_most
from rubriclab.services.base import JudgeOption
from rubriclab.services.carried_scores import carried_score
from rubriclab.services.dry_run import DryRun, dry_run
from rubriclab.services.inputs import Data, describe, rows_of, usable_examples
from rubriclab.services.judge_choice import JudgeChoice, judge_of
from rubriclab.services.rubric_choice import version_of
from rubriclab.services.score import ScoreOptions, Scoring
from rubriclab.services.text_fields import check_text_fields, missing_fields, without_fields
from rubriclab.services.workspace import Workspace
from rubriclab.store import Version

if TYPE_CHECKING:
    from rubriclab.report.model import View

BEFORE, AFTER = "before", "after"


class CompareOptions(ReadingOptions, JudgeOption):
    """How outputs are compared."""

    by: PairingRule | None = None
    """What outputs are paired by: `id` or `group`. Default: id, else group, else the sets are independent."""

    max_drop: float | None = Field(default=None, ge=0)
    """The largest acceptable drop of the mean score, in points of the scale."""


class VersionJudge(NamedTuple):
    """What outputs are scored with."""

    version: Version
    judge: JudgeChoice


class OutputRow(NamedTuple):
    """An output with the score that its row carries, if any."""

    example: Example
    score: Score | None


@dataclass(frozen=True, repr=False)
class CompareResult(Displayed):
    """The comparison of two sets, or the ranking of the systems in one, and the effort.

    Attributes:
        result: one of both.
        version: the rubric that the outputs were scored with.
    """

    result: OutputComparison | SystemRanking
    effort: Effort
    version: Version

    @property
    def outcome(self) -> LimitOutcome:
        """`within` the acceptable drop, `beyond` it, or `unknown`; a ranking is always `within`."""
        return self.result.outcome if isinstance(self.result, OutputComparison) else "within"

    def view(self) -> View:
        """Return what is shown in a terminal and a notebook."""
        from rubriclab.report.comparison import comparison_view, ranking_view

        if isinstance(self.result, OutputComparison):
            return comparison_view(self.result, self.version)
        return ranking_view(self.result, self.version)


async def compare(
    workspace: Workspace, before: Data, after: Data | None, rubric: str | Version | None, options: CompareOptions
) -> CompareResult:
    """Return how the scores of `after` differ from those of `before`; without `after`, rank the systems in `before`.

    Raises:
        NotInStore: if there is no such rubric.
        NotConfirmed: if only an imported version that is not confirmed names the judge.
        DataError: if a set holds no usable output, nothing can be paired as asked for, or fewer than two systems.
        SettingsError: for options of pairs without a second set; if no output of a set has a source or context, and all
            texts that the version was learned from had one.
        JudgeError: if the provider gave no reply at all.
    """
    _check(after, options)
    scorer = await workspace.off_event_loop(_scorer, workspace, rubric, options)
    version, sides = scorer.version, dict[str, list[OutputRow]]()
    for name, data in _sides(before, after).items():
        sides[name] = await workspace.off_event_loop(_read, workspace, name, data, scorer, options)
    _check_rivals([row for rows in sides.values() for row in rows], version)
    outputs = [await _scored(workspace, name, rows, scorer) for name, rows in sides.items()]
    if after is None:
        ranking = rank_systems(version.rubric, version.ref, _by_system(outputs[0]))
        return CompareResult(ranking, workspace.effort(), version)
    comparison = compare_outputs(version.rubric, version.ref, *outputs, by=options.by, max_drop=options.max_drop)
    return CompareResult(comparison, workspace.effort(), version)


def compare_at_most(
    workspace: Workspace, before: Data, after: Data | None, rubric: str | Version | None, options: CompareOptions
) -> DryRun:
    """Return the most that `compare` would ask of the judge."""
    _check(after, options)
    scorer = _scorer(workspace, rubric, options)
    rows = [_read(workspace, name, data, scorer, options) for name, data in _sides(before, after).items()]
    _check_rivals([row for side in rows for row in side], scorer.version)
    left = [row.example for side in rows for row in side if row.score is None]
    return dry_run({"judge": (scorer.judge.spec, scoring_at_most(scorer.version.rubric, left))}, workspace.options)


def _check(after: Data | None, options: CompareOptions) -> None:
    given = [option(name) for name in ("by", "max_drop") if getattr(options, name) is not None]
    if after is None and given:
        raise SettingsError(
            f"{', '.join(given)}: of two sets of outputs, and one was given.", "Give a second set, or leave it out."
        )


def _scorer(workspace: Workspace, rubric: str | Version | None, options: CompareOptions) -> VersionJudge:
    if rubric is None:
        raise SettingsError("Outputs are compared by a rubric, and none is named.", f"Give {option('rubric', 'REF')}.")
    version = version_of(workspace, rubric)
    return VersionJudge(version, judge_of(version, options.judge, workspace.store, workspace.notify))


def _sides(before: Data, after: Data | None) -> Mapping[str, Data]:
    if after is None:
        return {describe(before): before}
    first, second = describe(before), describe(after)
    return {first: before, second: after} if first != second else {BEFORE: before, AFTER: after}


def _read(
    workspace: Workspace, name: str, data: Data, scorer: VersionJudge, options: CompareOptions
) -> list[OutputRow]:
    """Return the outputs of a set with the scores that its rows carry; faulty rows are left out, which is said."""
    rows = rows_of(data, options, workspace.notify)
    found = [
        OutputRow(example, carried_score(rows.row, example, scorer.version, scorer.judge.spec))
        for example in usable_examples(rows, workspace.notify, name)
    ]
    # Scores that rows carry were made from the fields that the texts had then.
    examples = [row.example for row in found if row.score is None]
    check_text_fields(scorer.version, examples, data, options, name)
    for note in without_fields(scorer.version, missing_fields(scorer.version, examples), name, len(examples)):
        workspace.notify(note)
    if carried := sum(row.score is not None for row in found):
        workspace.notify(f"{name}: {count(carried, 'score')} by {scorer.version.ref} taken from the rows")
    return found


async def _scored(workspace: Workspace, name: str, rows: Sequence[OutputRow], scorer: VersionJudge) -> Outputs:
    """Return the outputs with their scores; those whose rows carry none are scored now."""
    left = [row.example for row in rows if row.score is None]
    scoring = Scoring(workspace, left, scorer.version.rubric, scorer.version.ref, scorer.judge, ScoreOptions())
    new = iter([scored.score async for scored in scoring.stream()] if left else ())
    scoring.check_answered()
    return Outputs(name, tuple(row.example for row in rows), tuple(row.score or next(new) for row in rows))


def _check_rivals(rows: Sequence[OutputRow], version: Version) -> None:
    """Refuse scores of texts that were rated together with their rivals beside scores of texts that are rated apart.

    Raises:
        DataError: if there are both.
    """
    aggregation = version.rubric.aggregation
    new = "together" if aggregation and aggregation.rivals else None
    together = sum((row.score.rivals if row.score else new) == "together" for row in rows)
    if 0 < together < len(rows):
        raise DataError(
            f"{together:,} of {len(rows):,} texts are rated together with their rivals and the others apart; such "
            "scores are not comparable.",
            f"Score all of them in the same way, all with {option('rivals', 'together')} or all without it.",
        )


def _by_system(outputs: Outputs) -> list[Outputs]:
    """Return the outputs of each system.

    Raises:
        DataError: if fewer than two systems are named.
    """
    systems: dict[str, list[tuple[Example, Score]]] = {}
    for example, score in zip(outputs.examples, outputs.scores, strict=True):
        if example.system is not None:
            systems.setdefault(example.system, []).append((example, score))
    if len(systems) < 2:
        raise DataError(
            f"{outputs.name}: expected outputs of at least two systems, found {len(systems)}.",
            f"Name the system of each row in the field system ({option('mapping', 'system=COLUMN')}), or give two "
            "sets.",
        )
    return [Outputs(name, *map(tuple, zip(*rows, strict=True))) for name, rows in systems.items()]
