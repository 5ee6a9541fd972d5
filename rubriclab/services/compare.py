"""Whether one set of outputs is scored lower than another, and which of several systems is scored highest."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import Field, TypeAdapter, ValidationError

from rubriclab.comparison import (
    AnchorLook,
    Comparison,
    LimitOutcome,
    Outputs,
    PairingRule,
    SystemRanking,
    compare_outputs,
    rank_systems,
)
from rubriclab.data import Example
from rubriclab.data.reading import ReadingOptions
from rubriclab.display import Displayed
from rubriclab.errors import DataError, JudgeError, SettingsError
from rubriclab.estimate import DryRun
from rubriclab.judges.recording import recorded_name
from rubriclab.option_names import option
from rubriclab.provenance import Effort
from rubriclab.report.wording import count
from rubriclab.rubric import Rubric
from rubriclab.scoring import Score
from rubriclab.services.base import Answered, JudgeOption
from rubriclab.services.inputs import Data, describe, rows_of, usable_examples
from rubriclab.services.judge_choice import judge_of
from rubriclab.services.score_distribution import held_out_scores
from rubriclab.services.scores import ColumnScorer, ColumnScoring
from rubriclab.services.text_fields import check_text_fields, missing_fields, without_fields
from rubriclab.services.workspace import Workspace, version_of
from rubriclab.store import Version

if TYPE_CHECKING:
    from rubriclab.report.model import View

BEFORE, AFTER = "before", "after"


class CompareOptions(ReadingOptions, JudgeOption):
    """How outputs are compared."""

    pair_by: PairingRule | None = None
    """What outputs are paired by: `id` or `group`. Default: id, else group, else the sets are independent."""

    max_drop: float | None = Field(default=None, ge=0)
    """The largest acceptable drop of the mean score, in points of the scale."""


class OutputRow(NamedTuple):
    """An output with the score that its row carries, if any."""

    example: Example
    score: Score | None


@dataclass(frozen=True, repr=False)
class CompareResult(Answered, Displayed):
    """The comparison of two sets of outputs, versions or judges, a look at an anchor, or the ranking of systems.

    Attributes:
        version: the rubric that outputs were scored with; `None` where versions or judges are compared.
        unanswered: which side has no score at all, after replies have failed.
    """

    result: Comparison | AnchorLook | SystemRanking
    effort: Effort
    version: Version | None = None
    unanswered: str | None = None

    @property
    def outcome(self) -> LimitOutcome:
        """`within` the limits, `beyond` one, or `unknown`; a ranking is always `within`."""
        return "within" if isinstance(self.result, SystemRanking) else self.result.outcome

    def view(self) -> View:
        """Return what is shown in a terminal and a notebook."""
        from rubriclab.report.comparison import anchor_view, comparison_view, ranking_view

        if isinstance(self.result, AnchorLook):
            return anchor_view(self.result)
        if isinstance(self.result, Comparison):
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
    scoring = await workspace.off_event_loop(_prepare, workspace, before, after, rubric, options)
    version = scoring.scorers[0].version
    sides = await workspace.off_event_loop(_read, scoring, before, after)
    outputs = [await _scored(scoring, name, rows) for name, rows in sides.items()]
    if after is None:
        ranking = rank_systems(version.rubric, version.ref, _by_system(outputs[0]))
        return CompareResult(ranking, workspace.effort(), version)
    judge = scoring.scorers[0].judge.spec
    comparison = compare_outputs(
        version.rubric,
        version.ref,
        *outputs,
        by=options.pair_by,
        max_drop=options.max_drop,
        learned=await workspace.off_event_loop(held_out_scores, workspace, version, judge),
        learned_from=frozenset(version.provenance.groups),
    )
    return CompareResult(comparison, workspace.effort(), version)


def compare_estimate(
    workspace: Workspace, before: Data, after: Data | None, rubric: str | Version | None, options: CompareOptions
) -> DryRun:
    """Return an estimate of what `compare` asks of the judge."""
    scoring = _prepare(workspace, before, after, rubric, options)
    rows = [row for rows in _read(scoring, before, after).values() for row in rows]
    return scoring.estimate(("judge",), [row.example for row in rows if row.score is None])


def _prepare(
    workspace: Workspace, before: Data, after: Data | None, rubric: str | Version | None, options: CompareOptions
) -> ColumnScoring:
    given = [option(name) for name in ("pair_by", "max_drop") if getattr(options, name) is not None]
    if after is None and given:
        raise SettingsError(
            f"{', '.join(given)}: of two sets of outputs, and one was given.", "Give a second set, or leave it out."
        )
    if rubric is None:
        raise SettingsError("Outputs are compared by a rubric, and none is named.", f"Give {option('rubric', 'REF')}.")
    version = version_of(workspace, rubric)
    scorer = ColumnScorer(version, judge_of(version, options.judge, workspace.store, workspace.notify))
    return ColumnScoring(workspace, [scorer], before, options)


def _read(scoring: ColumnScoring, before: Data, after: Data | None) -> dict[str, list[OutputRow]]:
    """Return the outputs of each set with the scores that its rows carry; faulty rows are left out, which is said.

    Raises:
        DataError: if some texts were rated together with their rivals and the others are rated apart.
    """
    data = [before] if after is None else [before, after]
    names = [describe(each) for each in data]
    if len(set(names)) < len(names):
        names = [BEFORE, AFTER]
    sides = {name: _rows(scoring, name, each) for name, each in zip(names, data, strict=True)}
    aggregation = scoring.scorers[0].version.rubric.aggregation
    new = "together" if aggregation and aggregation.rivals else None
    rows = [row for side in sides.values() for row in side]
    together = sum((row.score.rivals if row.score else new) == "together" for row in rows)
    if 0 < together < len(rows):
        raise DataError(
            f"{together:,} of {len(rows):,} texts are rated together with their rivals and the others apart; such "
            "scores are not comparable.",
            f"Score all of them in the same way, all with {option('rivals', 'together')} or all without it.",
        )
    return sides


def _rows(scoring: ColumnScoring, name: str, data: Data) -> list[OutputRow]:
    (version, judge), notify, options = scoring.scorers[0], scoring.workspace.notify, scoring.options
    rows = rows_of(data, options, notify)
    found = [
        OutputRow(example, carried_score(rows.row, example, version, judge.spec))
        for example in usable_examples(rows, notify, name)
    ]
    # Scores that rows carry were made from the fields that the texts had then.
    examples = [row.example for row in found if row.score is None]
    check_text_fields(version, examples, data, options, name)
    for note in without_fields(version, missing_fields(version, examples), name, len(examples)):
        notify(note)
    if carried := sum(row.score is not None for row in found):
        notify(f"{name}: {count(carried, 'score')} by {version.ref} taken from the rows")
    return found


async def _scored(scoring: ColumnScoring, name: str, rows: Sequence[OutputRow]) -> Outputs:
    """Return the outputs with their scores; those whose rows carry none are scored now."""
    left = [row.example for row in rows if row.score is None]
    new = iter([scores[0] async for _, scores in scoring.stream(left)] if left else ())
    if scoring.unanswered:
        raise JudgeError(scoring.unanswered)
    return Outputs(name, tuple(row.example for row in rows), tuple(row.score or next(new) for row in rows))


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


def carried_score(row: Any, example: Example, version: Version, judge: str) -> Score | None:
    """Return the score of `example` by `version` and `judge` that its row carries; `None` if there is none to use.

    A row of `rubriclab score` names both; a recording counts as the judge that it holds. A score off the scale, or with
    other criteria than the version's, is of another version of that name. A text without a score is scored again.
    """
    if not isinstance(row, Mapping) or row.get("rubric") != version.ref:
        return None
    if recorded_name(str(row.get("judge"))) != recorded_name(judge):
        return None
    try:
        score = _scores().validate_python({name: row[name] for name in Score.__slots__ if name in row})
    except ValidationError:
        return None
    return score if score.id == example.id and _by_rubric(score, version.rubric) else None


def _by_rubric(score: Score, rubric: Rubric) -> bool:
    if score.score is None or score.aspect != rubric.aspect.name:
        return False
    numbers = [number for part in score.criteria for number in (part.score, part.contribution) if number is not None]
    same_criteria = {part.id for part in score.criteria} == {criterion.id for criterion in rubric.criteria}
    return same_criteria and rubric.scores_on.contains(score.score) and all(map(math.isfinite, numbers))


@cache
def _scores() -> TypeAdapter[Score]:
    """Return what validates a score: built once, and only where it is needed."""
    return TypeAdapter(Score)
