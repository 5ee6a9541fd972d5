"""How well rubrics agree with human scores, beside baselines that never read a text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rubriclab.data import Example, labelled
from rubriclab.data.reading import ReadingOptions
from rubriclab.display import Displayed
from rubriclab.errors import DataError
from rubriclab.estimate import DryRun, dry_run, estimate_scoring
from rubriclab.evaluation import LEVELS, Evaluator, Result, baseline_evaluators, evaluate as agreements, unseen
from rubriclab.option_names import option
from rubriclab.provenance import Effort
from rubriclab.report.wording import count
from rubriclab.rubric import Rubric
from rubriclab.scoring import Score, score_stream
from rubriclab.scoring.rivals import RivalCounts
from rubriclab.scoring.score import CANNOT_ASSESS
from rubriclab.services.base import Answered, JudgeOption
from rubriclab.services.inputs import Data, describe, usable_texts
from rubriclab.services.judge_choice import JudgeChoice, judge_of, unanswered
from rubriclab.services.rival_options import RivalOptions, Rivals, rival_notes, rivals_of
from rubriclab.services.text_fields import check_text_fields, missing_fields, without_fields
from rubriclab.services.workspace import Workspace, versions_of
from rubriclab.stats.correlation import floats
from rubriclab.stats.levels import ConstantRule, Level
from rubriclab.store import Version

if TYPE_CHECKING:
    from rubriclab.report.model import View


class EvaluateOptions(ReadingOptions, JudgeOption, RivalOptions):
    """How rubrics are evaluated."""

    levels: tuple[Level, ...] = ()
    """Levels of agreement: `group`, `dataset`, `system`. Default: all."""

    constant_groups: ConstantRule = "skip"
    """What a group with constant human scores counts for; `papers` counts it as 1, as HypoEval does."""

    include_training: bool = False
    """Do not leave out the groups that a rubric has learned from."""


@dataclass(frozen=True, repr=False)
class Evaluation(Answered, Displayed):
    """Agreement of rubrics with human scores.

    Attributes:
        versions: the rubrics.
        results: one for each evaluator, aspect and level.
        examples: all texts that are evaluated.
        texts: those with a score for the rubric's aspect, by rubric.
        scores: of these texts, by rubric.
        baselines: the evaluators that never read a text, by aspect.
    """

    versions: tuple[Version, ...]
    results: tuple[Result, ...]
    examples: tuple[Example, ...]
    texts: Mapping[str, tuple[Example, ...]]
    scores: Mapping[str, tuple[Score, ...]]
    baselines: Mapping[str, tuple[Evaluator, ...]]
    effort: Effort
    unanswered: str | None = None

    def view(self) -> View:
        """Return every figure, and in words which rubric agrees best and whether it is above the baselines."""
        from rubriclab.report.evaluation import evaluation_view

        return evaluation_view(self.versions, self.results, self.scores, self.examples, brief=True)

    def to_row(self) -> dict[str, Any]:
        """Return all figures, and the paired comparisons with the best free baseline and with each other."""
        from rubriclab.report.evaluation import error_rows, evaluation_summaries, evaluations_of_verdicts

        found = evaluations_of_verdicts(self.versions, self.scores, self.examples)
        verdicts = {"verdicts": rows} if (rows := [row for _, of_aspect in found for row in of_aspect]) else {}
        summaries = evaluation_summaries(self.versions, self.results, self.scores, self.examples).values()
        comparisons = [row for summary in summaries if summary for row in summary.to_rows()]
        errors = {"errors": rows} if (rows := error_rows(self.versions, self.scores, self.examples)) else {}
        results = [result.to_row() for result in self.results]
        return {"results": results, "comparisons": comparisons, **errors, **verdicts}


@dataclass(frozen=True)
class _EvaluationInputs:
    """The versions to evaluate, the judge of each and how it is asked, and the usable texts of each."""

    versions: tuple[Version, ...]
    choices: Mapping[str, JudgeChoice]
    rivals: Mapping[str, Rivals]
    examples: tuple[Example, ...]
    texts: Mapping[str, tuple[Example, ...]]


async def evaluate(
    workspace: Workspace, data: Data, rubrics: str | Version | Sequence[str | Version], options: EvaluateOptions
) -> Evaluation:
    """Return how well rubrics agree with the human scores of held-out texts.

    Groups that any of the rubrics has learned from are left out, which is said.

    Raises:
        DataError: if no text is left that has scores.
        SettingsError: if no text has a source or context, and all texts that a version was learned from had one.
        NotInStore: if there is no such rubric.
        NotConfirmed: if only an imported version that is not confirmed names the judge.
        BudgetReached: if a cap on calls or money was reached.
    """
    task = await workspace.off_event_loop(_prepared, workspace, data, rubrics, options)
    versions, texts = task.versions, task.texts
    scores = {
        version.ref: await _scores(
            version.rubric,
            texts[version.ref],
            task.choices[version.ref],
            version.ref,
            workspace,
            rivals=task.rivals[version.ref],
        )
        for version in versions
    }
    results, by_aspect = _results(versions, texts, scores, options)
    faults = [
        unanswered(
            task.choices[ref].spec,
            ref,
            sum(score.score is not None for score in rows),
            next((score.unscored for score in reversed(rows) if score.unscored), None),
            workspace.ledger,
        )
        for ref, rows in scores.items()
    ]
    fault = next(filter(None, faults), None)
    return Evaluation(versions, results, task.examples, texts, scores, by_aspect, workspace.effort(), fault)


def evaluate_estimate(
    workspace: Workspace, data: Data, rubrics: str | Version | Sequence[str | Version], options: EvaluateOptions
) -> DryRun:
    """Return an estimate of what `evaluate` asks of each rubric's judge."""
    task = _prepared(workspace, data, rubrics, options)
    roles = {
        version.ref: (
            task.choices[version.ref].spec,
            estimate_scoring(version.rubric, task.texts[version.ref], task.rivals[version.ref]),
        )
        for version in task.versions
    }
    return dry_run(roles, workspace.options)


def _prepared(
    workspace: Workspace, data: Data, rubrics: str | Version | Sequence[str | Version], options: EvaluateOptions
) -> _EvaluationInputs:
    versions = versions_of(workspace, rubrics)
    choices = {version.ref: judge_of(version, options.judge, workspace.store, workspace.notify) for version in versions}
    rivals = {version.ref: rivals_of(options, version.rubric, version.ref, workspace.notify) for version in versions}
    aspects = {version.rubric.aspect.name: version.rubric.scores_on for version in versions}
    examples = usable_texts(data, options, aspects.items(), workspace.notify)
    kept = _unseen(examples, versions, options, workspace)
    texts = _texts(kept, versions, data, options, workspace)
    return _EvaluationInputs(versions, choices, rivals, kept, texts)


def _unseen(
    examples: tuple[Example, ...], versions: Sequence[Version], options: EvaluateOptions, workspace: Workspace
) -> tuple[Example, ...]:
    """Return the texts that no version has learned from, unless all are wanted."""
    if options.include_training:
        return examples
    kept = unseen(examples, [version.provenance for version in versions])
    if len(kept) < len(examples):
        left_out = f"{len(examples) - len(kept)} of {len(examples)} texts left out"
        workspace.notify(f"{left_out}: their groups, or the texts themselves, were learned from")
    if not kept:
        raise DataError(
            f"All {len(examples)} usable rows belong to groups that the rubrics have learned from.",
            f"Give texts of other groups, or {option('include_training')} for an optimistic figure.",
        )
    return kept


def _texts(
    examples: Sequence[Example],
    versions: Sequence[Version],
    data: Data,
    options: EvaluateOptions,
    workspace: Workspace,
) -> dict[str, tuple[Example, ...]]:
    """Return the texts that each version is evaluated on: those with a score for its aspect.

    What makes the figures mean something else is said.

    Raises:
        DataError: if there are no such texts, or systems are to be compared that texts do not name.
        SettingsError: if no text has the source or context that all texts had that a version was learned from.
    """
    notify = workspace.notify
    texts = {version.ref: labelled(examples, version.rubric.aspect.name) for version in versions}
    for version in versions:
        rows, aspect, scale = texts[version.ref], version.rubric.aspect.name, version.rubric.scores_on
        if not rows:
            raise DataError(
                f"No row to evaluate {version.ref} on has a score for {aspect!r}.",
                f"Map the column that holds it: {option('mapping', f'scores.{aspect}=COLUMN')}.",
            )
        if len({row.id for row in rows}) < len(rows):
            notify(f"{version.ref}: some ids stand more than once; such texts count as often as they stand")
        if outside := sum(not scale.contains(row.scores[aspect]) for row in rows):
            notify(f"{version.ref}: {count(outside, 'label')} outside of its scale, {scale.describe()}")
        if len({row.group for row in rows}) == len(rows):
            notify(f"{version.ref}: every text is a group of its own; give `group` or `source` to compare rivals")
        if any(row.system is None for row in rows):
            if "system" in options.levels:
                raise DataError("Some texts do not name their system, so systems cannot be compared.", "Give `system`.")
            notify(f"{version.ref}: no comparison of systems, as some texts do not name theirs")
        check_text_fields(version, rows, data, options)
        for note in without_fields(version, missing_fields(version, rows), describe(data), len(rows)):
            notify(note)
    return texts


async def _scores(
    rubric: Rubric,
    rows: Sequence[Example],
    choice: JudgeChoice,
    name: str,
    workspace: Workspace,
    *,
    rivals: Rivals = None,
) -> tuple[Score, ...]:
    judge, done, counts = workspace.judge(choice), list[Score](), RivalCounts()
    scores = score_stream(rubric, rows, judge, name, workspace.under_way, rivals=rivals, counts=counts)
    with workspace.progress(workspace.ledger) as on_progress:
        async for score in scores:
            done.append(score)
            on_progress(f"{name}: {len(done)} of {len(rows)} texts", len(done) / len(rows))
    for note in rival_notes(counts):
        workspace.notify(f"{name}: {note}")
    if refused := sum(score.unscored == CANNOT_ASSESS for score in done):
        workspace.notify(f"{name}: {count(refused, 'text')} left out of all figures, as {CANNOT_ASSESS}")
    return tuple(done)


def _results(
    versions: Sequence[Version],
    texts: Mapping[str, Sequence[Example]],
    scores: Mapping[str, Sequence[Score]],
    options: EvaluateOptions,
) -> tuple[tuple[Result, ...], dict[str, tuple[Evaluator, ...]]]:
    """Return every evaluator's agreement, and by aspect those among them that never read a text."""
    results: list[Result] = []
    by_aspect: dict[str, tuple[Evaluator, ...]] = {}
    for aspect in dict.fromkeys(version.rubric.aspect.name for version in versions):
        chosen = [version for version in versions if version.rubric.aspect.name == aspect]
        rows = texts[chosen[0].ref]
        best = {version.ref: version.provenance.baseline for version in chosen if version.provenance.baseline}
        by_aspect[aspect] = tuple(baseline_evaluators(rows, best))
        evaluators = [
            Evaluator(
                version.ref,
                floats(score.score for score in scores[version.ref]),
                sum(score.answers_missing for score in scores[version.ref]),
                sum(score.answers for score in scores[version.ref]),
            )
            for version in chosen
        ]
        levels, constant = options.levels or LEVELS, options.constant_groups
        results += agreements(rows, [*evaluators, *by_aspect[aspect]], aspect, levels=levels, constant=constant)
    return tuple(results), by_aspect
