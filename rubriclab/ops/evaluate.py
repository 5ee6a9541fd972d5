"""Agreement with human scores, of rubrics and of baselines that need no judge, and of judges with each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from rubriclab.data.check import level_order_notes, verdict_words
from rubriclab.display import Displayed
from rubriclab.errors import DataError, NotInStore, SettingsError, StoreError
from rubriclab.learning.baselines import feature_values
from rubriclab.learning.estimate import DryRun, dry_run, estimate_scoring
from rubriclab.learning.gate import rater_scores
from rubriclab.learning.scoring import CANNOT_ASSESS, Score
from rubriclab.methods.catalogue import has_seen_labels
from rubriclab.models.characters import count
from rubriclab.models.rubric import Rubric
from rubriclab.models.text import Example, Scale, labelled, text_digest
from rubriclab.models.text_features import CATALOGUE, WORD_COUNT
from rubriclab.models.version import Baseline, Effort, Version
from rubriclab.ops import workspace as work
from rubriclab.ops.inputs import Data, check_text_fields, likely_labels, usable_texts
from rubriclab.ops.options import AgreeOptions, EvaluateOptions, ScoreOptions
from rubriclab.ops.score import Scoring
from rubriclab.ops.scores import ColumnScoring
from rubriclab.stats import agreement
from rubriclab.stats.agreement import Agreement, ConstantRule, Level, Unit
from rubriclab.stats.correlation import FloatArray, IntArray, floats, spearman_rows
from rubriclab.stats.intervals import Interval, estimate, paired_mean, renumber, units
from rubriclab.stats.pairs import PairwiseAccuracy, pairwise_accuracy
from rubriclab.stats.reliability import Metric, ceiling_interval, krippendorff_alpha

if TYPE_CHECKING:
    from rubriclab.report.evaluation import EvaluationSummary


@dataclass(frozen=True, repr=False)
class Evaluation(work.Answered, Displayed):
    """Agreement of rubrics with human scores; `scores` holds each rubric's scores of texts with a label."""

    versions: tuple[Version, ...]
    results: tuple[Result, ...]
    examples: tuple[Example, ...]
    scores: Mapping[str, tuple[Score, ...]]
    effort: Effort
    unanswered: str | None = None

    @cached_property
    def summaries(self) -> Mapping[str, EvaluationSummary | None]:
        """The comparisons of each aspect's rubrics, `None` if no correlation is defined."""
        from rubriclab.report.evaluation import evaluation_summaries

        return evaluation_summaries(self)

    def to_row(self) -> dict[str, Any]:
        """Return the figures of the report; for labels of two levels, these are the figures of verdicts."""
        from rubriclab.report.evaluation import error_rows, verdict_rows

        graded = {version.rubric.aspect.name for version in self.versions if not version.rubric.scores_on.names}
        results = [result.to_row() for result in self.results if result.aspect in graded]
        row: dict[str, Any] = {"results": [*results, *verdict_rows(self)]}
        if graded:
            summaries = [each for aspect, each in self.summaries.items() if each and aspect in graded]
            row["comparisons"] = [each for summary in summaries for each in summary.to_rows()]
            row["errors"] = error_rows(self)
        return row


def evaluate(
    workspace: work.Workspace, data: Data, rubrics: str | Version | Sequence[str | Version], options: EvaluateOptions
) -> work.Job[Evaluation]:
    """Return how well rubrics agree with the human scores of texts that no rubric was learned from."""
    versions = work.versions_of(workspace, rubrics)
    choices = [work.judge_of(version, options.judge, workspace.store, workspace.notify) for version in versions]
    aspects = {version.rubric.aspect.name: version.rubric.scores_on for version in versions}
    examples = used = usable_texts(data, options, aspects.items(), workspace.notify)
    trained_on = {text for version in versions if has_seen_labels(version.rubric) for text in version.provenance.texts}
    repeated = sum(text_digest(each) in trained_on for each in examples)
    repeats = f"{count(repeated, 'text')} equal to one of learning" if repeated else ""
    if not options.include_training:
        used = unseen_examples(examples, versions)
    elif repeats:
        workspace.notify(f"{repeats}: figures on these are optimistic")
    if not used:
        hint = "Give texts of other groups, or `include_training` for an optimistic figure."
        raise DataError(f"All {len(examples)} usable rows belong to groups that the rubrics have learned from.", hint)
    if left_out := len(examples) - len(used):
        why = f"a rubric was learned from them or their groups{repeats and f' ({repeats})'}"
        workspace.notify(f"{left_out} of {len(examples)} texts left out: {why}")
    texts = _texts(used, versions, data, options, workspace)
    score_options = ScoreOptions(rivals=options.rivals)
    scorings = [
        Scoring(workspace, texts[each.ref], each.rubric, each.ref, choice, score_options)
        for each, choice in zip(versions, choices, strict=True)
    ]

    def estimate() -> DryRun:
        roles = {
            each.name: (each.choice.spec, estimate_scoring(each.rubric, texts[each.name], each.rivals))
            for each in scorings
        }
        return dry_run(roles, workspace.options)

    async def run() -> Evaluation:
        scores: dict[str, tuple[Score, ...]] = {}
        for scoring in scorings:
            scores[scoring.name] = rows = tuple([scored.score async for scored in scoring.stream()])
            if refused := sum(score.unscored == CANNOT_ASSESS for score in rows):
                message = f"{count(refused, 'text')} left out of all figures, as {CANNOT_ASSESS}"
                workspace.notify(f"{scoring.name}: {message}")
        unanswered = next((scoring.unanswered for scoring in scorings if scoring.unanswered), None)
        results: list[Result] = []
        for aspect in aspects:
            of_aspect = [version for version in versions if version.rubric.aspect.name == aspect]
            labelled_texts = texts[of_aspect[0].ref]
            chosen = {each.ref: each.provenance.baseline for each in of_aspect if each.provenance.baseline}
            evaluators = []
            for name in (each.ref for each in of_aspect):
                rows = scores[name]
                missing, answers = sum(row.answers_missing for row in rows), sum(row.answers for row in rows)
                evaluators.append(Evaluator(name, floats(row.score for row in rows), missing, answers))
            evaluators += baseline_evaluators(labelled_texts, chosen)
            results += measure_agreement(labelled_texts, evaluators, aspect)
        evaluation = Evaluation(versions, tuple(results), used, scores, workspace.effort(), unanswered)
        if not options.include_training:
            await workspace.off_event_loop(_store_verdicts, workspace, evaluation)
        return evaluation

    return work.Job(estimate, run)


def _store_verdicts(workspace: work.Workspace, evaluation: Evaluation) -> None:
    from rubriclab.report.evaluation import evaluation_records

    versions = {version.ref: version for version in evaluation.versions}
    for ref, record in evaluation_records(evaluation).items():
        try:
            workspace.store.add_evaluation(versions[ref], record)
        except NotInStore:
            continue  # The version is of another store.
        except StoreError as error:
            workspace.notify(f"the store does not keep the verdict on {ref}: {error.message}")


def _texts(
    examples: Sequence[Example],
    versions: Sequence[Version],
    data: Data,
    options: EvaluateOptions,
    workspace: work.Workspace,
) -> dict[str, tuple[Example, ...]]:
    """Return the texts that each version is evaluated on: those with a score for its aspect."""
    notify = workspace.notify
    texts = {version.ref: labelled(examples, version.rubric.aspect.name) for version in versions}
    for version in versions:
        rows, aspect, scale = texts[version.ref], version.rubric.aspect.name, version.rubric.scores_on
        if not rows:
            likely = likely_labels(data, options, aspect) or f"scores.{aspect}=COLUMN"
            hint = f"Map the column that holds it: `mapping={likely}`."
            raise DataError(f"No row to evaluate {version.ref} on has a score for {aspect!r}.", hint)
        labels = [row.scores[aspect] for row in rows]
        outside = sum(not scale.contains(label) for label in labels)
        if (outside and scale.names) or (verdict_words(labels) and not scale.names):
            fault = f"The labels of {aspect!r} are not on the scale of {version.ref}, {scale.describe()}."
            raise DataError(fault, "`rubriclab transfer` measures a rubric on labels of another scale.")
        for note in level_order_notes(rows, aspect):
            notify(note)
        if outside:
            notify(f"{version.ref}: {count(outside, 'label')} outside of its scale, {scale.describe()}")
        if len({row.group for row in rows}) == len(rows):
            notify(f"{version.ref}: every text is a group of its own; give `group` or `source` to compare rivals")
        if any(row.system is None for row in rows):
            notify(f"{version.ref}: no comparison of systems, as some texts do not name theirs")
        check_text_fields(version, rows, data, options, notify=notify)
    return texts


LEVELS: tuple[Level, ...] = ("group", "dataset", "system")
WORD_COUNT_BASELINE = "baseline: word count"


@dataclass(frozen=True, slots=True)
class Evaluator:
    name: str
    scores: FloatArray
    answers_missing: int = 0
    answers: int = 0


@dataclass(frozen=True, slots=True)
class Result:
    """One evaluator's agreement with the human scores of one aspect at one level.

    `ceiling` is the Pearson correlation that a judge who knows the true scores would reach, given how the raters
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

    def to_row(self) -> dict[str, Any]:
        counts = asdict(self.agreement)
        figures = {name: counts.pop(name) for name in ("spearman", "pearson", "kendall")}
        figures |= {"ceiling": asdict(self.ceiling)} if self.ceiling else {}
        figures |= {"pairwise_accuracy": asdict(self.pairwise)} if self.pairwise else {}
        unanswered = {name: getattr(self, name) for name in ("unscored", "answers_missing", "answers")}
        counts["constant_rule"] = counts.pop("constant")
        return {"evaluator": self.evaluator, "aspect": self.aspect, **counts, **unanswered, **figures}


def baseline_evaluators(examples: Sequence[Example], chosen: Mapping[str, Baseline]) -> list[Evaluator]:
    """Return the word count and, once each, the signed text features that `chosen` holds by rubric."""
    evaluators = [Evaluator(WORD_COUNT_BASELINE, feature_values(examples, [WORD_COUNT])[:, 0])]
    by_feature: dict[tuple[str, int], list[str]] = {}
    for rubric, baseline in chosen.items():
        by_feature.setdefault((baseline.feature, baseline.sign), []).append(rubric)
    for (name, sign), rubrics in by_feature.items():
        if name in (entry.name for entry in CATALOGUE):
            remark = f"text feature chosen by the labels recorded with {', '.join(rubrics)}"
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
    """Return the agreement of each evaluator with the scores that `examples` carry for `aspect`, by level.

    The system level is left out if a text does not name its system.
    """
    human = np.array([example.scores[aspect] for example in examples], dtype=float)
    groups = [example.group for example in examples]
    named = [example.system for example in examples if example.system is not None]
    systems, by_rater = named if len(named) == len(examples) else None, rater_scores(examples, aspect)
    ceilings: dict[Level, Interval | None] = {
        level: ceiling_interval(by_rater.table, groups, within=level == "group", raters_known=bool(by_rater.names))
        for level in levels
        if by_rater and level != "system"
    }
    return [
        Result(
            evaluator.name,
            aspect,
            int(np.isnan(evaluator.scores).sum()),
            agreement(evaluator.scores, human, groups, systems, level=level, constant=constant),
            evaluator.answers_missing,
            evaluator.answers,
            pairwise_accuracy(evaluator.scores, human, groups) if level == "group" else None,
            ceilings.get(level),
        )
        for evaluator in evaluators
        for level in levels
        if level != "system" or systems is not None
    ]


def unseen_examples(examples: Iterable[Example], versions: Sequence[Version]) -> tuple[Example, ...]:
    """Return the examples whose group and text are in no version's labels; ids are not compared."""
    learned = [version.provenance for version in versions if has_seen_labels(version.rubric)]
    groups = {group for provenance in learned for group in provenance.groups}
    texts = {text for provenance in learned for text in provenance.texts}
    return tuple(e for e in examples if e.group not in groups and text_digest(e) not in texts)


Reliability = Literal["unreliable", "tentative", "reliable"]
Kind = Literal["yes/no", "graded"]

# Alpha from which conclusions are tentative, and from which data are reliable. Krippendorff 2004, "Reliability in
# content analysis", Human Communication Research 30(3).
TENTATIVE, RELIABLE = 0.667, 0.8


@dataclass(frozen=True, slots=True)
class JudgeScores:
    judge: str
    scored: int
    unscored: int
    mean: float | None
    deviation: float | None


@dataclass(frozen=True, slots=True)
class JudgePair:
    """Two judges on the `n` texts that both scored; `difference` is the mean score by `first` less that by `second`."""

    first: str
    second: str
    n: int
    spearman: Interval
    difference: Interval


@dataclass(frozen=True, slots=True)
class ScoreAgreement:
    texts: int
    missing: int
    alpha: Interval

    @property
    def reliability(self) -> tuple[Reliability, Reliability] | None:
        low, high = self.alpha.low, self.alpha.high
        return None if low is None or high is None else (_reliability(low), _reliability(high))


@dataclass(frozen=True, slots=True)
class CriterionAgreement:
    """Agreement on one criterion, or on all criteria of a kind pooled; `id` is then the kind, `criteria` their number.

    `answers` counts texts with answers of two judges or more; if pooled, pairs of such a text and a criterion.
    """

    id: str
    trait: str
    kind: Kind
    criteria: int
    answers: int
    missing: int
    inapplicable: int
    alpha: Interval


@dataclass(frozen=True, slots=True)
class InterraterAgreement:
    aspect: str
    scale: Scale
    texts: int
    groups: int
    unit: Unit
    judges: tuple[JudgeScores, ...]
    pairs: tuple[JudgePair, ...]
    scores: ScoreAgreement
    criteria: tuple[CriterionAgreement, ...]
    pooled: tuple[CriterionAgreement, ...]

    def to_row(self) -> dict[str, Any]:
        scores = {**asdict(self.scores), "reliability": self.scores.reliability}
        return asdict(self) | {"scale": self.scale.model_dump(mode="json"), "scores": scores}


def interrater_agreement(
    rubric: Rubric, examples: Sequence[Example], scored: Mapping[str, Sequence[Score]]
) -> InterraterAgreement:
    """Return how far the judges agree: `scored` holds each judge's scores of `examples`, in their order.

    For yes/no questions, one by one and pooled, agreement is nominal alpha; for graded criteria and scores, alpha for
    interval data. CheckEval (section 5.2) reports the pooled figure over single answers, and Fleiss' kappa, which is
    at most 0.0001 lower in its tables 10, 19 and 21. Pooled figures tend to be higher, as they also reward judges for
    knowing which criteria most texts meet. Intervals are over groups if texts share groups, else over texts.
    """
    groups = [example.group for example in examples]
    cluster = units(groups)
    scores = {judge: floats(row.score for row in rows) for judge, rows in scored.items()}
    table, by_id = np.stack(list(scores.values())), {criterion.id: criterion for criterion in rubric.criteria}
    rated = [[{rating.id: rating for rating in score.criteria} for score in rows] for rows in scored.values()]
    # A method may give one rating for all criteria, under an id that is not a criterion of the rubric.
    ids = dict.fromkeys(rating for rows in rated for row in rows for rating in row)
    agreements = []
    for name in (*(name for name in by_id if name in ids), *(name for name in ids if name not in by_id)):
        cells = [[row.get(name) for row in rows] for rows in rated]
        values = np.stack([floats(rating.score if rating else None for rating in row) for row in cells])
        inapplicable = sum(rating is not None and not rating.applies for row in cells for rating in row)
        is_question = name in by_id and by_id[name].kind == "question"
        kind: Kind = "yes/no" if is_question and np.isin(values[~np.isnan(values)], (0, 1)).all() else "graded"
        trait = by_id[name].trait if name in by_id else "all criteria as one"
        agreements.append((values, _agreement_on(values, cluster, kind, name, trait=trait, inapplicable=inapplicable)))
    pooled = []
    for kind in get_args(Kind):
        tables = [values for values, each in agreements if each.kind == kind]
        if len(tables) > 1:
            inapplicable = sum(each.inapplicable for _, each in agreements if each.kind == kind)
            clusters, values = np.tile(cluster, len(tables)), np.concatenate(tables, axis=1)
            found = _agreement_on(values, clusters, kind, kind, trait="all of them pooled", inapplicable=inapplicable)
            pooled.append(replace(found, criteria=len(tables)))
    judges = []
    for judge, values in scores.items():
        given = values[~np.isnan(values)]
        deviation = float(given.std(ddof=1)) if len(given) > 1 else None
        mean, unscored = float(given.mean()) if len(given) else None, len(values) - len(given)
        judges.append(JudgeScores(judge, len(given), unscored, mean, deviation))
    return InterraterAgreement(
        aspect=rubric.aspect.name,
        scale=rubric.scores_on,
        texts=len(examples),
        groups=len(set(groups)),
        unit="groups" if 1 < len(set(groups)) < len(groups) else "texts",
        judges=tuple(judges),
        pairs=tuple(_judge_pair(*names, scores, cluster) for names in combinations(scores, 2)),
        scores=ScoreAgreement(
            _count_answered_twice(table), int(np.isnan(table).sum()), krippendorff_alpha(table, "interval", cluster)
        ),
        criteria=tuple(each for _, each in agreements),
        pooled=tuple(pooled),
    )


def _agreement_on(
    values: FloatArray, cluster: IntArray, kind: Kind, name: str, *, trait: str, inapplicable: int
) -> CriterionAgreement:
    """Return the agreement on `values`, shape (judges, texts), NaN where a judge gave no answer on a text."""
    metric: Metric = "nominal" if kind == "yes/no" else "interval"
    missing, alpha = int(np.isnan(values).sum()) - inapplicable, krippendorff_alpha(values, metric, cluster)
    return CriterionAgreement(name, trait, kind, 1, _count_answered_twice(values), missing, inapplicable, alpha)


def _judge_pair(first: str, second: str, scores: Mapping[str, FloatArray], cluster: IntArray) -> JudgePair:
    both = ~np.isnan(scores[first]) & ~np.isnan(scores[second])
    x, y, unit_numbers = scores[first][both], scores[second][both], renumber(cluster[both])
    spearman = estimate(
        lambda counts: spearman_rows(x, y, np.take(counts, unit_numbers, axis=1)),
        int(unit_numbers.max(initial=-1)) + 1,
        elements=len(x),
        correlation=True,
    )
    return JudgePair(first, second, len(x), spearman, paired_mean(x - y, unit_numbers))


def _count_answered_twice(table: FloatArray) -> int:
    return int(((~np.isnan(table)).sum(axis=0) >= 2).sum())


def _reliability(alpha: float) -> Reliability:
    return "unreliable" if alpha < TENTATIVE else "tentative" if alpha < RELIABLE else "reliable"


@dataclass(frozen=True, repr=False)
class AgreeResult(work.Answered, Displayed):
    """How far judges agree; `unanswered` names a judge that never replied."""

    version: Version
    agreement: InterraterAgreement
    effort: Effort
    unanswered: str | None = None


def agree(workspace: work.Workspace, data: Data, rubric: str | Version, options: AgreeOptions) -> work.Job[AgreeResult]:
    """Return how far judges agree when each scores the texts by one rubric."""
    names = options.judges
    if len(names) < 2:
        named = names[0] if names else "none"
        raise SettingsError(f"Agreement takes two judges or more, and {named} was named;", "name each with `judges`.")
    if twice := [name for number, name in enumerate(names) if name in names[:number]]:
        raise SettingsError(f"The judge {twice[0]} is named twice;", "a judge cannot be compared with itself.")
    version = work.version_of(workspace, rubric)
    scorers = [(version, work.JudgeChoice(work.judge_named(name, workspace.notify))) for name in names]
    scoring = ColumnScoring(workspace, scorers, data, options)

    async def run() -> AgreeResult:
        rows = [row async for row in scoring.stream()]
        scores = {name: [row[index] for _, row in rows] for index, name in enumerate(names)}
        agreement = interrater_agreement(version.rubric, [example for example, _ in rows], scores)
        return AgreeResult(version, agreement, workspace.effort(), scoring.unanswered)

    return work.Job(lambda: scoring.estimate([f"judge {number}" for number in range(1, len(names) + 1)]), run)
