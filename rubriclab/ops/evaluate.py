"""How well rubrics agree with human scores, beside baselines that never read a text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rubriclab.data.mapping import ReadingOptions
from rubriclab.display import Displayed
from rubriclab.errors import DataError
from rubriclab.learning.baselines import feature_values
from rubriclab.learning.estimate import DryRun, dry_run, estimate_scoring
from rubriclab.learning.gate import ratings
from rubriclab.learning.scoring import CANNOT_ASSESS, RivalCounts, Score, score_stream
from rubriclab.models.rubric import Rubric
from rubriclab.models.text import Example, labelled, text_digest
from rubriclab.models.text_features import CATALOGUE, WORD_COUNT
from rubriclab.models.version import Baseline, Effort, Provenance, Version
from rubriclab.ops.inputs import Data, check_text_fields, describe, missing_fields, usable_texts, without_fields
from rubriclab.ops.score import (
    RivalOptions,
    Rivals,
    rival_notes,
    rivals_of,
)
from rubriclab.ops.workspace import Answered, JudgeChoice, JudgeOption, Workspace, judge_of, unanswered, versions_of
from rubriclab.option_names import option
from rubriclab.report.wording import count
from rubriclab.stats import agreement
from rubriclab.stats.agreement import Agreement, ConstantRule, Level
from rubriclab.stats.correlation import FloatArray, floats
from rubriclab.stats.intervals import Interval
from rubriclab.stats.pairs import PairwiseAccuracy, pairwise_accuracy, soft_pairwise_accuracy
from rubriclab.stats.reliability import ceiling_interval

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
        results += measure_agreement(rows, [*evaluators, *by_aspect[aspect]], aspect, levels=levels, constant=constant)
    return tuple(results), by_aspect


LEVELS: tuple[Level, ...] = ("group", "dataset", "system")
KNOWN = frozenset(entry.name for entry in CATALOGUE)
WORD_COUNT_BASELINE = "baseline: word count"


@dataclass(frozen=True, slots=True)
class Evaluator:
    """Somebody who scores texts: `scores` has one number a text, NaN where it gave none.

    Of the `answers` to single criteria that the scores are made of, `answers_missing` are not there.
    """

    name: str
    scores: FloatArray
    answers_missing: int = 0
    answers: int = 0


@dataclass(frozen=True, slots=True)
class Result:
    """One evaluator's agreement with the human scores of one aspect at one level.

    Attributes:
        pairwise: at group level only.
        soft_pairwise: soft pairwise accuracy of systems; at system level only.
        ceiling: the Pearson correlation that a judge who knows the true scores would reach, given how the raters
            differ; `None` without single raters' scores, and between systems.
    """

    evaluator: str
    aspect: str
    unscored: int
    agreement: Agreement
    answers_missing: int = 0
    answers: int = 0
    pairwise: PairwiseAccuracy | None = None
    ceiling: Interval | None = None
    soft_pairwise: float | None = None

    def to_row(self) -> dict[str, Any]:
        """Return the result as one JSON object."""
        found = self.agreement
        return {
            "evaluator": self.evaluator,
            "aspect": self.aspect,
            "level": found.level,
            "n": found.n,
            "groups": found.groups,
            "systems": found.systems,
            "too_few_groups": found.too_few_groups,
            "constant_groups": found.constant_groups,
            "constant_rule": found.constant,
            "unscored": self.unscored,
            "answers_missing": self.answers_missing,
            "answers": self.answers,
            "spearman": asdict(found.spearman),
            "pearson": asdict(found.pearson),
            "kendall": asdict(found.kendall),
            **({"soft_pairwise_accuracy": self.soft_pairwise} if found.level == "system" else {}),
            **({"ceiling": asdict(self.ceiling)} if self.ceiling else {}),
            **({"pairwise_accuracy": asdict(self.pairwise)} if self.pairwise else {}),
        }


def baseline_evaluators(examples: Sequence[Example], chosen: Mapping[str, Baseline]) -> list[Evaluator]:
    """Return the evaluators that never understand a text.

    These are the word count, and for each rubric the text feature that correlated most with its training labels, in
    the direction of that correlation. `chosen` maps a rubric's reference to its feature; equal choices are listed once,
    and features that this version of the package does not have are left out.
    """
    evaluators = [Evaluator(WORD_COUNT_BASELINE, feature_values(examples, [WORD_COUNT])[:, 0])]
    by_feature: dict[tuple[str, int], list[str]] = {}
    for rubric, baseline in chosen.items():
        if baseline.feature not in KNOWN:
            continue
        by_feature.setdefault((baseline.feature, baseline.sign), []).append(rubric)
    for (name, sign), rubrics in by_feature.items():
        remark = f"text feature chosen by the training labels of {', '.join(rubrics)}"
        label = f"baseline: {'' if sign > 0 else '-'}{name} ({remark})"
        evaluators.append(Evaluator(label, sign * feature_values(examples, [name])[:, 0]))
    return evaluators


def measure_agreement(
    examples: Sequence[Example],
    evaluators: Iterable[Evaluator],
    aspect: str,
    *,
    levels: Sequence[Level] = LEVELS,
    constant: ConstantRule = "skip",
) -> list[Result]:
    """Return the agreement of each evaluator with the scores that `examples` carry for `aspect`, level by level.

    The system level is left out where a text does not name its system. `unscored` counts the texts without a number
    from that evaluator, which its figures leave out; missing answers to criteria are counted as the evaluator says.
    """
    human = np.array([example.scores[aspect] for example in examples], dtype=float)
    groups = [example.group for example in examples]
    systems = [example.system for example in examples]
    known = [system for system in systems if system is not None]
    named = known if len(known) == len(systems) else None
    ceilings = {level: _ceiling(examples, aspect, level) for level in levels}
    return [
        Result(
            evaluator.name,
            aspect,
            int(np.isnan(evaluator.scores).sum()),
            agreement(evaluator.scores, human, groups, named, level=level, constant=constant),
            evaluator.answers_missing,
            evaluator.answers,
            pairwise_accuracy(evaluator.scores, human, groups) if level == "group" else None,
            ceilings[level],
            soft_pairwise_accuracy(evaluator.scores, human, groups, named) if level == "system" and named else None,
        )
        for evaluator in evaluators
        for level in levels
        if level != "system" or named is not None
    ]


def _ceiling(examples: Sequence[Example], aspect: str, level: Level) -> Interval | None:
    rated = ratings(examples, aspect)
    if rated is None or level == "system":
        return None
    groups = [example.group for example in examples]
    return ceiling_interval(rated.table, groups, within=level == "group", raters_known=bool(rated.names))


def unseen(examples: Iterable[Example], learned_from: Iterable[Provenance]) -> tuple[Example, ...]:
    """Return the examples that no version has learned from: neither their group nor their text, whatever its id."""
    made = tuple(learned_from)
    groups = {group for provenance in made for group in provenance.groups}
    texts = {text for provenance in made for text in provenance.texts}
    return tuple(e for e in examples if e.group not in groups and text_digest(e) not in texts)
