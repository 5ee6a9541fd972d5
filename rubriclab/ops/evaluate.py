"""Agreement of rubrics with human scores, compared with that of baselines.

A free baseline, such as the word count, needs no judge. A rubric with a threshold also decides: a text passes or fails.
A verdict on a rubric (`GateVerdict`) is the outcome of its comparison with another evaluator.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from rubriclab.data.check import level_order_notes
from rubriclab.display import Displayed
from rubriclab.errors import DataError, NotInStore, StoreError
from rubriclab.judges.cache import recorded_name
from rubriclab.learning.baselines import feature_values
from rubriclab.learning.decisions import decision_agreement, decisions_at, rater_decision_agreement, two_level_statistic
from rubriclab.learning.estimate import DryRun, dry_run, estimate_scoring
from rubriclab.learning.gate import gate_level, gate_verdict, rater_errors, rater_scores
from rubriclab.learning.scoring import CANNOT_ASSESS, Score
from rubriclab.methods.catalogue import baseline_method, has_seen_labels
from rubriclab.models import evaluation as stored
from rubriclab.models.aggregation import Calibration
from rubriclab.models.characters import count
from rubriclab.models.text import Example, Scale, data_digest, labelled, words_digest
from rubriclab.models.text_features import CATALOGUE, WORD_COUNT
from rubriclab.models.version import Baseline, Effort, Version
from rubriclab.ops import workspace as work
from rubriclab.ops.inputs import Data, check_labels, check_text_fields, own_mapping, propose_label_mapping, usable_texts
from rubriclab.ops.options import EvaluateOptions, ScoreOptions
from rubriclab.ops.score import Scoring
from rubriclab.stats import Agreement, ConstantRule, Interval, Level, agreement, difference
from rubriclab.stats.correlation import FloatArray, floats
from rubriclab.stats.intervals import MIN_GROUPS
from rubriclab.stats.rater_agreement import ceiling_interval
from rubriclab.stats.score_agreement import ScoreErrors, error_difference, score_errors

# Numbers of texts and groups behind a figure, as `n` and `groups`.
Counts = Mapping[str, int]
LEVELS: tuple[Level, ...] = ("group", "dataset", "system")


@dataclass(frozen=True, repr=False)
class Evaluation(work.JudgedResult, Displayed):
    """Agreement of rubrics with human scores; `scores` holds each rubric's scores of texts with a label.

    `unanswered`: the message that a judge gave no usable reply. `kept`: records that the store keeps instead of new
    ones, with reasons. `file`: name of the texts' file, or empty.
    """

    versions: tuple[Version, ...]
    examples: tuple[Example, ...]
    scores: Mapping[str, tuple[Score, ...]]
    effort: Effort
    unanswered: str | None = None
    kept: dict[str, tuple[stored.EvaluationRecord, str]] = field(default_factory=dict)
    file: str = ""

    @cached_property
    def scored(self) -> list[ScoredVersion]:
        return [
            ScoredVersion(version, labelled(self.examples, version.rubric.aspect.name), self.scores[version.ref])
            for version in self.versions
        ]

    @cached_property
    def results(self) -> list[Result]:
        """The agreement of rubrics, then of free baselines, with the labels of each aspect."""
        results: list[Result] = []
        for aspect, scored, free_baselines in self.by_aspect:
            rubrics = [each.evaluator for each in scored]
            results += measure_agreement(scored[0].texts, [*rubrics, *free_baselines], aspect)
        return results

    @property
    def graded(self) -> list[ScoredVersion]:
        """The scored versions whose labels have more than two levels."""
        return [each for each in self.scored if not each.version.rubric.scores_on.names]

    @cached_property
    def calibrated(self) -> list[ScoredVersion]:
        return calibrated_direct(self.graded)

    @cached_property
    def summaries(self) -> Mapping[str, EvaluationSummary | None]:
        """The comparisons of each aspect's rubrics, `None` if no correlation is defined."""
        return {aspect: summarize(scored, self.results, baselines) for aspect, scored, baselines in self.by_aspect}

    @cached_property
    def decisions(self) -> list[EvaluatedDecisions]:
        """The agreement of pass and fail with the labels, for each aspect whose rubrics have a threshold."""
        by_aspect = (evaluate_decisions(scored, baselines) for _, scored, baselines in self.by_aspect)
        return [decisions for decisions in by_aspect if decisions]

    @cached_property
    def by_aspect(self) -> list[tuple[str, list[ScoredVersion], list[Evaluator]]]:
        """Each aspect with its scored versions and the free baselines, whose scores are computed here."""
        by_aspect = []
        for aspect in dict.fromkeys(each.aspect for each in self.scored):
            scored = [each for each in self.scored if each.aspect == aspect]
            recorded = {each.version.ref: each.version.provenance.baseline for each in scored}
            by_aspect.append((aspect, scored, baseline_evaluators(scored[0].texts, recorded)))
        return by_aspect

    def records(self) -> dict[str, stored.EvaluationRecord]:
        """Return a record to store for each version whose scores give a valid verdict; see `why_uncounted`."""
        fields: dict[str, dict[str, Any]] = {}
        for summary in self.summaries.values():
            if summary is None or summary.scale.names:
                continue
            for row in summary.evaluators:
                deciding, agreement = row.deciding, row.result.agreement
                if deciding and deciding.verdict:
                    counts = {"n": agreement.n, "groups": agreement.groups}
                    errors = summary.errors.get(row.ref)
                    figures: dict[str, Any] = {**counts, "order": agreement.pearson, "errors": errors}
                    comparison = {"verdict": deciding.verdict, "other": deciding.side, "level": summary.level}
                    fields[row.ref] = {**figures, **comparison, "compared_with_direct": row.compared_with_direct}
        for decisions in self.decisions:
            agreements = {agreement.name: agreement for agreement in decisions.agreements}
            for ref, verdict in decisions.verdicts.items():
                figures = {**decisions.counts[ref], "order": agreements[ref].auroc, "decisions": agreements[ref]}
                comparison = {"verdict": verdict, "other": decisions.others[ref], "level": "dataset"}
                fields[ref] = {**figures, **comparison, "compared_with_direct": ref in decisions.compared_with_direct}
        return {
            scored.version.ref: stored.EvaluationRecord(
                created=datetime.now(UTC),
                judge=scored.scores[0].judge,
                data=data_digest(scored.texts, scored.aspect),
                file=self.file,
                points=() if scored.version.rubric.scores_on.names else scored.points,
                **fields[scored.version.ref],
            )
            for scored in self.scored
            if scored.version.ref in fields and not scored.why_uncounted
        }

    def to_row(self) -> dict[str, Any]:
        """Return the figures of the report; for labels of two levels, these are the figures of decisions."""
        graded = {each.aspect for each in self.graded}
        results = [result.to_row() for result in self.results if result.aspect in graded]
        for decisions in self.decisions:
            results += decisions.to_rows({version.ref: version.rubric.threshold for version in self.versions})
        summaries = [each for aspect, each in self.summaries.items() if each and aspect in graded]
        comparisons = [row for summary in summaries for row in summary.to_rows()]
        comparisons += [row for decisions in self.decisions for _, row in decisions.comparisons]
        row: dict[str, Any] = {"results": results, "comparisons": comparisons}
        if graded:
            rows = [(each.name, each, each.errors, each.error_counts) for each in (*self.graded, *self.calibrated)]
            one_per_aspect = {each.aspect: each for each in self.graded}.values()
            rows += [(stored.SINGLE_RATERS, each, each.rater_errors, each.rater_counts) for each in one_per_aspect]
            row["errors"] = [
                {"evaluator": name, "aspect": each.aspect, "level": "dataset", **counts, **asdict(errors)}
                for name, each, errors, counts in rows
                if errors
            ]
        return row


def evaluate(
    workspace: work.Workspace, data: Data, rubrics: str | Version | Sequence[str | Version], options: EvaluateOptions
) -> work.Job[Evaluation]:
    """Return how well rubrics agree with the human scores of texts that no rubric was learned from."""
    versions = work.load_versions(workspace, rubrics)
    choices = [work.choose_judge(version, options.judge, workspace.store, workspace.notify) for version in versions]
    aspects = {version.rubric.aspect.name: version.rubric.scores_on for version in versions}
    for version in versions:
        if version.rubric.scores_on.names != aspects[version.rubric.aspect.name].names:
            fault = f"{version.ref} and another rubric of its aspect take labels of different scales."
            raise DataError(fault, "Evaluate each on labels of its own scale.")
    try:
        examples = usable_texts(data, options, aspects.items(), workspace.notify)
    except DataError as error:
        if mapping := own_mapping(versions[0], data, options):
            raise DataError(error.message, f"Map the columns as for {versions[0].ref}: `mapping={mapping}`.") from None
        raise
    learned = [version.provenance for version in versions if has_seen_labels(version.rubric)]
    training_digests = {digest for provenance in learned for digest in provenance.texts}
    n_repeated = sum(words_digest(each) in training_digests for each in examples)
    repeated_texts = f"{count(n_repeated, 'text')} equal to a training text"
    unseen = unseen_examples(examples, versions)
    used = examples if options.include_training else unseen
    if options.include_training and n_repeated:
        workspace.notify(f"{repeated_texts}: figures on these are optimistic")
    if not used:
        hint = "Give texts of other groups, or `include_training` for an optimistic figure."
        raise DataError(f"All {len(examples)} usable rows belong to groups that the rubrics have learned from.", hint)
    if n_left_out := len(examples) - len(used):
        detail = f" ({repeated_texts})" if n_repeated else ""
        reason = f"a rubric was learned from them or their groups{detail}"
        workspace.notify(f"{n_left_out} of {len(examples)} texts left out: {reason}")
    texts = _labelled_texts_by_version(used, versions, data, options, workspace.notify)
    scorings = [
        Scoring(workspace, texts[each.ref], each.rubric, each.ref, choice, ScoreOptions(rivals=options.rivals))
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
            scores[scoring.name] = tuple([scored.score async for scored in scoring.stream()])
            if refused := sum(score.unscored == CANNOT_ASSESS for score in scores[scoring.name]):
                n_texts = count(refused, "text")
                workspace.notify(f"{scoring.name}: {n_texts} left out of all figures, as {CANNOT_ASSESS}")
        unanswered = next((scoring.unanswered for scoring in scorings if scoring.unanswered), None)
        file = Path(data).name if isinstance(data, str | Path) and str(data) != "-" else ""
        evaluation = Evaluation(versions, used, scores, workspace.effort(), unanswered, file=file)
        if len(used) == len(unseen):
            await workspace.off_event_loop(_store_verdicts, workspace, evaluation)
        return evaluation

    return work.Job(estimate, run)


def reason_to_keep(earlier: stored.EvaluationRecord, record: stored.EvaluationRecord) -> str:
    """Return why an earlier record stays instead of a new one, as in "which is on more texts"; empty if it does not."""
    if record.groups < MIN_GROUPS <= earlier.groups:
        return f"is on texts of {MIN_GROUPS} groups or more"
    if earlier.compared_with_direct != record.compared_with_direct:
        return "compares with the same judge asked directly" if earlier.compared_with_direct else ""
    # On the same texts, the new record is stored, even if an earlier release of rubriclab used more of these texts.
    has_more_texts = (earlier.groups, earlier.n) > (record.groups, record.n)
    return "is on more texts" if earlier.data != record.data and has_more_texts else ""


def _store_verdicts(workspace: work.Workspace, evaluation: Evaluation) -> None:
    versions = {version.ref: version for version in evaluation.versions}
    for scored in evaluation.scored:
        if scored.why_uncounted:
            workspace.notify(f"the store keeps no verdict on {scored.version.ref}, as {scored.why_uncounted}")
    for ref, record in evaluation.records().items():
        try:
            earlier = workspace.store.load(ref).evaluation
            if earlier and recorded_name(earlier.judge) == recorded_name(record.judge):
                verdict = f"the verdict on {ref} on {count(earlier.n, 'text')} of {count(earlier.groups, 'group')}"
                if reason := reason_to_keep(earlier, record):
                    evaluation.kept[ref] = earlier, reason
                    workspace.notify(f"the store keeps {verdict}, which {reason}")
                    continue
                workspace.notify(f"the store replaces {verdict}")
            workspace.store.add_evaluation(versions[ref], record)
        except NotInStore:
            continue  # The version is of another store.
        except StoreError as error:
            workspace.notify(f"the store does not keep the verdict on {ref}: {error.message}")


def _labelled_texts_by_version(
    examples: Sequence[Example], versions: Sequence[Version], data: Data, options: EvaluateOptions, notify: work.Notify
) -> dict[str, tuple[Example, ...]]:
    texts = {version.ref: labelled(examples, version.rubric.aspect.name) for version in versions}
    for version in versions:
        labelled_texts, aspect = texts[version.ref], version.rubric.aspect.name
        if not labelled_texts:
            mapping = propose_label_mapping(data, options, aspect) or f"scores.{aspect}=COLUMN"
            hint = f"Map the column with these scores: `mapping={mapping}`."
            raise DataError(f"No text to evaluate {version.ref} on has a score for {aspect!r}.", hint)
        check_labels([text.scores[aspect] for text in labelled_texts], version.rubric, version.ref)
        for note in level_order_notes(labelled_texts, aspect):
            notify(note)
        if len({text.group for text in labelled_texts}) == len(labelled_texts):
            advice = "give `group` or `source` to compare outputs for the same input"
            notify(f"{version.ref}: every text is a group of its own; {advice}")
        if any(text.system is None for text in labelled_texts):
            notify(f"{version.ref}: no comparison of systems, as some texts name no system")
        check_text_fields(version, labelled_texts, data, options, notify=notify)
    return texts


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
    ceiling: Interval | None = None

    def to_row(self) -> dict[str, Any]:
        counts = asdict(self.agreement)
        figures = {name: counts.pop(name) for name in ("spearman", "pearson", "kendall")}
        if self.ceiling:
            figures["ceiling"] = asdict(self.ceiling)
        unanswered = {name: getattr(self, name) for name in ("unscored", "answers_missing", "answers")}
        counts["constant_rule"] = counts.pop("constant")
        return {"evaluator": self.evaluator, "aspect": self.aspect, **counts, **unanswered, **figures}


def baseline_evaluators(examples: Sequence[Example], recorded: Mapping[str, Baseline | None]) -> list[Evaluator]:
    """Return the free baselines: the word count, and each different feature and model of the rubrics' own baselines.

    `recorded` has the baseline that was recorded when a rubric was learned, by the rubric's reference.
    """
    by_feature: dict[tuple[str, int], list[str]] = {}
    by_model: dict[tuple[tuple[str, tuple[float, float]], ...], list[str]] = {}
    for rubric, baseline in recorded.items():
        if baseline is None:
            continue
        by_feature.setdefault((baseline.feature, baseline.sign), []).append(rubric)
        by_model.setdefault(tuple(baseline.model.items()), []).append(rubric)
    in_models = {name for model in by_model for name, _ in model}
    recorded_names = {WORD_COUNT, *(name for name, _ in by_feature), *in_models}
    names = [feature.name for feature in CATALOGUE if feature.name in recorded_names]
    values = dict(zip(names, feature_values(examples, names).T, strict=True))
    evaluators = [Evaluator(f"{stored.BASELINE_PREFIX}word count", values[WORD_COUNT])]
    for (name, sign), rubrics in by_feature.items():
        if name in values:
            remark = f"text feature chosen by the labels recorded with {', '.join(rubrics)}"
            label = f"{stored.BASELINE_PREFIX}{'' if sign > 0 else '-'}{name} ({remark})"
            evaluators.append(Evaluator(label, sign * values[name]))
    for model, rubrics in by_model.items():
        if model and all(name in values for name, _ in model):
            # A feature that is undefined counts as average.
            scores = sum(weight * np.nan_to_num(values[name] - mean) for name, (mean, weight) in model)
            fitted_for = f" fitted for {', '.join(rubrics)}" if len(by_model) > 1 else ""
            name = f"{stored.ALL_FEATURES}{fitted_for} (fitted to the labels recorded with {', '.join(rubrics)})"
            evaluators.append(Evaluator(f"{stored.BASELINE_PREFIX}{name}", np.asarray(scores)))
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

    The system level is left out if a text does not name its system. `constant` is the rule for groups whose scores are
    all equal.
    """
    human = np.array([example.scores[aspect] for example in examples], dtype=float)
    groups = [example.group for example in examples]
    named_systems = [example.system for example in examples if example.system is not None]
    systems = named_systems if len(named_systems) == len(examples) else None
    table, raters_known = rater_scores(examples, aspect)
    ceilings: dict[Level, Interval | None] = {
        level: ceiling_interval(table, groups, within_groups=level == "group", raters_known=raters_known)
        for level in levels
        if table is not None and level != "system"
    }
    results = []
    for evaluator in evaluators:
        unscored = int(np.isnan(evaluator.scores).sum())
        answers = {"answers_missing": evaluator.answers_missing, "answers": evaluator.answers}
        for level in levels:
            if level != "system" or systems is not None:
                measures = agreement(evaluator.scores, human, groups, systems, level=level, constant=constant)
                ceiling = ceilings.get(level)
                results.append(Result(evaluator.name, aspect, unscored, measures, **answers, ceiling=ceiling))
    return results


def unseen_examples(examples: Iterable[Example], versions: Sequence[Version]) -> tuple[Example, ...]:
    """Return the examples whose words and group are in no version's training texts; ids are not compared."""
    learned = [version.provenance for version in versions if has_seen_labels(version.rubric)]
    groups = {group for provenance in learned for group in provenance.groups}
    texts = {text for provenance in learned for text in provenance.texts}
    return tuple(each for each in examples if each.group not in groups and words_digest(each) not in texts)


@dataclass(frozen=True, eq=False)
class ScoredVersion:
    """A version with its scores of the texts that have a label for its aspect."""

    version: Version
    texts: Sequence[Example]
    scores: Sequence[Score]
    calibration: Calibration | None = None  # of a judge asked directly
    calibrated_by: str = ""  # the rubric whose training labels `calibration` is fitted to

    @property
    def name(self) -> str:
        return f"{self.version.ref}{stored.CALIBRATED_ENDING if self.calibration else ''}"

    @property
    def aspect(self) -> str:
        return self.version.rubric.aspect.name

    @property
    def judge(self) -> str:
        return recorded_name(self.scores[0].judge)

    @cached_property
    def seen(self) -> int:
        """The number of texts that the version has learned from, or that share a group with such texts."""
        return len(self.texts) - len(unseen_examples(self.texts, [self.version]))

    @property
    def why_uncounted(self) -> str:
        """Why the verdict on these scores does not count for the version; empty if it does."""
        validation = self.version.provenance.validation
        if self.seen:
            return "the rubric was learned from some of these texts"
        if self.judge != recorded_name(self.version.provenance.judge):
            return f"the scores are by another judge than the rubric's own, {self.version.provenance.judge}"
        if validation and len(set(self.groups)) < MIN_GROUPS <= validation.groups:
            return f"texts of fewer than {MIN_GROUPS} groups give no verdict"
        return ""

    def is_judge_of(self, other: ScoredVersion) -> bool:
        """Return whether this is the other version's judge, asked directly for scores on the same scale."""
        rubric, scale = self.version.rubric, other.version.rubric.scores_on
        return rubric.asks_directly and self.judge == other.judge and rubric.scores_on.same_ends(scale)

    @property
    def evaluator(self) -> Evaluator:
        missing, answers = sum(each.answers_missing for each in self.scores), sum(each.answers for each in self.scores)
        return Evaluator(self.name, self.values, missing, answers)

    @cached_property
    def labels(self) -> FloatArray:
        return np.array([text.scores[self.aspect] for text in self.texts], dtype=float)

    @cached_property
    def values(self) -> FloatArray:
        """The scores, shape (texts,), NaN for unscored texts."""
        scores = floats(score.score for score in self.scores)
        if self.calibration is None:
            return scores
        scale = self.version.rubric.scores_on
        return np.clip(self.calibration.apply(scores), scale.low, scale.high)

    @property
    def points(self) -> tuple[tuple[float, float], ...]:
        """The label and score of each scored text, sorted; of more than `MAX_POINTS` texts, an evenly spaced sample."""
        has_score = ~np.isnan(self.values)
        labels, scores = (column[has_score].round(4).tolist() for column in (self.labels, self.values))
        ordered = sorted(zip(labels, scores, strict=True))
        positions = np.linspace(0, len(ordered) - 1, min(len(ordered), stored.MAX_POINTS))
        return tuple(ordered[round(position)] for position in positions)

    @property
    def groups(self) -> list[str]:
        return [text.group for text in self.texts]

    @property
    def systems(self) -> list[str]:
        return [text.system or "" for text in self.texts]

    @cached_property
    def errors(self) -> ScoreErrors | None:
        """The errors on the scale of the scores; `None` if no text has a score."""
        return score_errors(self.values, self.labels, self.groups, self.version.rubric.scores_on.width)

    @cached_property
    def rater_errors(self) -> ScoreErrors | None:
        return rater_errors(self.texts, self.aspect, self.version.rubric.scores_on)

    @property
    def rater_counts(self) -> Counts:
        """The numbers of texts with two raters or more, and of their groups, behind `rater_errors`."""
        rated = [text.group for text in self.texts if len(text.annotations.get(self.aspect, ())) > 1]
        return {"n": len(rated), "groups": len(set(rated))}

    @property
    def error_counts(self) -> Counts:
        """The numbers of texts and groups behind `errors`, including groups without a correlation."""
        return _count_scored(self.values, self.groups)


def calibrated_direct(scored: Sequence[ScoredVersion]) -> list[ScoredVersion]:
    """Return each judge asked directly, its scores calibrated to the training labels of a rubric of the same judge."""
    calibrations: dict[tuple[str, str, Scale], tuple[Calibration, str]] = {}
    for version in (each.version for each in scored):
        rubric, validation = version.rubric, version.provenance.validation
        if validation and validation.direct_calibration:
            key = recorded_name(version.provenance.judge), rubric.aspect.name, rubric.scores_on
            calibrations.setdefault(key, (validation.direct_calibration, version.ref))
    calibrated = []
    for each in scored:
        rubric = each.version.rubric
        key = each.judge, rubric.aspect.name, rubric.scores_on
        if rubric.asks_directly and not rubric.aggregation and key in calibrations:
            calibration, ref = calibrations[key]
            calibrated.append(replace(each, calibration=calibration, calibrated_by=ref))
    return calibrated


@dataclass(frozen=True, slots=True)
class EvaluatorComparison:
    """A rubric against another evaluator on the texts that both scored."""

    other: Result
    side: stored.OtherSide  # the figures of `other`
    verdict: stored.GateVerdict | None
    counts: Counts  # behind the difference in correlation
    error_counts: Counts  # behind the gain in error


def _error_and_name(comparison: EvaluatorComparison) -> tuple[float, str]:
    error = comparison.side.error
    return math.inf if error is None or error.value is None else error.value, comparison.other.evaluator


@dataclass(frozen=True, slots=True)
class EvaluatorRow:
    """One evaluator's agreement, compared with others.

    `baselines` are comparisons with baseline methods, such as the judge asked directly, the best first; `best` is that
    with the best rubric. `seen` is as in `ScoredVersion`.
    """

    result: Result
    baselines: tuple[EvaluatorComparison, ...]
    best_free_baseline: EvaluatorComparison | None
    best: EvaluatorComparison | None
    seen: int

    @property
    def ref(self) -> str:
        return self.result.evaluator

    @property
    def deciding(self) -> EvaluatorComparison | None:
        """The comparison with the worst verdict.

        It is one of at most four: with the judge asked directly (the version of lowest error), with its calibrated
        scores, with the best baseline method, and with the best free baseline.
        """
        best_method = self.baselines[0] if self.baselines else None
        with_judge = [each for each in self.baselines if each.verdict and each.side.asked_directly]
        method = min(with_judge, key=_error_and_name, default=best_method)
        by_name = {each.other.evaluator: each for each in self.baselines}
        calibrated = by_name.get(f"{method.other.evaluator}{stored.CALIBRATED_ENDING}") if method else None
        comparisons = (method, calibrated, self.best_free_baseline, best_method)
        verdict = stored.deciding_verdict(*(each.verdict if each else None for each in comparisons))
        return next((each for each in comparisons if each and each.verdict is verdict), None)

    @property
    def compared_with_direct(self) -> bool:
        """Whether the same judge, asked directly, scored the same texts, even if another comparison decides."""
        return any(each.verdict and each.side.asked_directly for each in self.baselines)


@dataclass(frozen=True, slots=True)
class EvaluationSummary:
    """The rubrics of one aspect, best first, then its baselines."""

    aspect: str
    level: Level  # of the comparisons
    evaluators: tuple[EvaluatorRow, ...]
    errors: Mapping[str, ScoreErrors]  # by evaluator
    scale: Scale

    @property
    def comparisons(self) -> tuple[tuple[str, EvaluatorComparison], ...]:
        comparisons = []
        for row in self.evaluators:
            comparisons += [(row.ref, each) for each in (*row.baselines, row.best_free_baseline, row.best) if each]
        return tuple(comparisons)

    def to_rows(self) -> list[dict[str, Any]]:
        rows, shared = [], {"aspect": self.aspect, "level": self.level, "measure": stored.GRADED_MEASURES.order}
        for ref, each in self.comparisons:
            columns = {"evaluator": ref, "compared_with": each.other.evaluator, **shared}
            rows.append(_comparison_row(columns, each.verdict, each.counts, each.error_counts))
        return rows


def _comparison_row(
    columns: dict[str, str], verdict: stored.GateVerdict | None, counts: Counts, error_counts: Counts
) -> dict[str, Any]:
    less_error = verdict.less_error if verdict else None
    return {
        **columns,
        **counts,
        "less_error": asdict(less_error or Interval(None)),
        **{f"less_error_{name}": number for name, number in error_counts.items()},
        "difference": asdict(verdict.difference if verdict else Interval(None)),
        "verdict": verdict.overall if verdict else None,
    }


def summarize(
    scored: Sequence[ScoredVersion], results: Sequence[Result], free_baselines: Sequence[Evaluator]
) -> EvaluationSummary | None:
    """Rank and compare the rubrics of one aspect; `None` if no correlation is defined."""
    calibrated = calibrated_direct(scored)
    versions = {each.name: each for each in (*scored, *calibrated)}
    aspect = scored[0].aspect
    defined = [row for row in results if row.aspect == aspect and row.agreement.pearson.value is not None]
    levels = {row.agreement.level for row in defined if row.evaluator in versions}
    if not levels:
        return None
    level: Level = gate_level(scored[0].labels, scored[0].groups)
    if level not in levels:
        level = next(each for each in LEVELS if each in levels)
    rows = [row for row in defined if row.agreement.level == level]
    rows.sort(key=lambda row: -(row.agreement.pearson.value or 0.0))
    free_scores = {baseline.name: baseline.scores for baseline in free_baselines}
    baseline_names = {each.name for each in scored if baseline_method(each.version.rubric)}
    version_rows = [row for row in rows if row.evaluator in versions]
    rubrics = [row for row in version_rows if row.evaluator not in baseline_names]
    baselines = [row for row in version_rows if row.evaluator in baseline_names]
    # Without a rubric, baselines are compared with each other.
    ranked, other_baselines = (rubrics, baselines) if rubrics else (baselines, [])
    best_free = next((row for row in rows if stored.is_baseline(row.evaluator)), None)

    def compare(row: Result, other: Result | None) -> EvaluatorComparison | None:
        return None if other is None or other is row else _comparison(row, other, versions, free_scores)

    by_name = {row.evaluator: row for row in other_baselines}
    calibrated_rows = [
        replace(by_name[each.version.ref], evaluator=each.name) for each in calibrated if each.version.ref in by_name
    ]
    evaluators = []
    for row in ranked:
        comparisons = (compare(row, other) for other in (*other_baselines, *calibrated_rows))
        with_methods = tuple(each for each in comparisons if each)
        with_free, with_best = compare(row, best_free), compare(row, ranked[0])
        evaluators.append(EvaluatorRow(row, with_methods, with_free, with_best, versions[row.evaluator].seen))
    evaluators += [
        EvaluatorRow(row, (), compare(row, best_free), None, versions[row.evaluator].seen) for row in other_baselines
    ]
    errors = {ref: each.errors for ref, each in versions.items() if each.errors}
    return EvaluationSummary(aspect, level, tuple(evaluators), errors, scored[0].version.rubric.scores_on)


def _comparison(
    row: Result, other: Result, versions: Mapping[str, ScoredVersion], free_scores: Mapping[str, FloatArray]
) -> EvaluatorComparison:
    scored, other_scored = versions[row.evaluator], versions.get(other.evaluator)
    other_values = other_scored.values if other_scored else free_scores[other.evaluator]
    side = stored.OtherSide(
        n=other.agreement.n,
        asked_directly=bool(other_scored and other_scored.is_judge_of(scored)),
        errors=other_scored.errors if other_scored else None,
        order=other.agreement.pearson,
    )
    labels, groups, level = scored.labels, scored.groups, row.agreement.level
    correlation = difference(scored.values, other_values, labels, groups, scored.systems, level=level)
    scale = scored.version.rubric.scores_on
    same_scale = other_scored is not None and other_scored.version.rubric.scores_on.same_ends(scale)
    error_reduction, error_counts = None, dict[str, int]()
    if same_scale and not scale.names and correlation.n:
        error_reduction = error_difference([other_values, scored.values], labels, groups)
        # The sum is NaN for a text that one of the two evaluators did not score.
        error_counts = _count_scored(other_values + scored.values, groups)
    verdict = None
    if error_reduction or correlation.interval.value is not None or correlation.too_few_groups:
        sizes = {"n_labels": correlation.n, "clusters": correlation.clusters}
        verdict = gate_verdict(other.evaluator, correlation.interval, error_reduction, scale, **sizes)
    return EvaluatorComparison(other, side, verdict, {"n": correlation.n, "groups": correlation.groups}, error_counts)


def _count_scored(scores: FloatArray, groups: Sequence[str]) -> dict[str, int]:
    scored = np.flatnonzero(~np.isnan(scores)).tolist()
    return {"n": len(scored), "groups": len({groups[index] for index in scored})}


@dataclass(frozen=True, slots=True)
class EvaluatedDecisions:
    """How decisions on one aspect agree with the labels."""

    names: tuple[str, str]  # the words for the worse and for the better level
    agreements: list[stored.DecisionAgreement]  # of each rubric that decides, and of the raters if there are several
    verdicts: dict[str, stored.GateVerdict]  # by rubric: the worst of its verdicts
    others: dict[str, stored.OtherSide]  # by rubric: the evaluator that this verdict compares it with
    compared_with_direct: frozenset[str]  # the rubrics whose own judge, asked directly, was evaluated too
    best: str  # the free baseline with the highest AUROC
    best_auroc: Interval
    aspect: str
    counts: dict[str, Counts]  # by rubric: of the texts with a score whose label is not a tie
    # Each rubric against its judge and against the best free baseline: the verdict, and its row for `to_row`.
    comparisons: list[tuple[stored.GateVerdict, dict[str, Any]]]

    def to_rows(self, thresholds: Mapping[str, float | None]) -> list[dict[str, Any]]:
        groups = next(iter(self.counts.values()))["groups"]
        shared = {"levels": self.names, "aspect": self.aspect, "level": "dataset", "groups": groups}
        rows = []
        for each in self.agreements:
            row = {**shared, "evaluator": each.name, **each.model_dump(mode="json", exclude={"name"})}
            if verdict := self.verdicts.get(each.name):
                row["groups"] = self.counts[each.name]["groups"]
                row |= {"verdict": verdict.overall, "threshold": thresholds[each.name]}
                row["auroc_above"] = {verdict.against: asdict(verdict.difference)}
            rows.append(row)
        return [*rows, {**shared, "evaluator": self.best, "auroc": asdict(self.best_auroc)}]


def evaluate_decisions(
    scored: Sequence[ScoredVersion], free_baselines: Sequence[Evaluator]
) -> EvaluatedDecisions | None:
    """Compare the decisions of rubrics of one aspect with the labels; `None` if no rubric decides."""
    labels, groups, aspect = scored[0].labels, scored[0].groups, scored[0].aspect
    free_scores = {each.name.partition(" (")[0]: each.scores for each in free_baselines}
    aurocs = {name: two_level_statistic("AUROC", [values], labels, groups) for name, values in free_scores.items()}
    best_free = max(aurocs, key=lambda name: aurocs[name].value or 0.0)
    direct = [each for each in scored if each.version.rubric.asks_directly]
    briers: dict[str, float] = {}
    for each in direct:
        brier = two_level_statistic("Brier score", [each.values], labels, groups).value
        briers[each.name] = math.inf if brier is None else brier
    direct.sort(key=lambda each: (briers[each.name], each.name))
    agreements: list[stored.DecisionAgreement] = []
    verdicts, names, all_counts = dict[str, stored.GateVerdict](), ("", ""), dict[str, Counts]()
    comparisons = list[tuple[stored.GateVerdict, dict[str, Any]]]()
    shared = {"aspect": aspect, "level": "dataset", "measure": stored.TWO_LEVEL_MEASURES.order}
    # Scores plus `ties` are NaN, and so not counted, for texts on which the raters are tied.
    ties = np.where(labels == 0.5, np.nan, 0.0)
    for each in scored:
        ref, rubric, values = each.version.ref, each.version.rubric, each.values
        if rubric.threshold is None or rubric.scores_on.names is None:
            continue
        names = rubric.scores_on.names
        agreements.append(decision_agreement(ref, values, decisions_at(values, rubric.threshold), labels, groups))
        all_counts[ref] = _count_scored(values + ties, groups)
        if len({*labels.tolist()} - {0.5}) < 2:  # all labels are of one level
            continue
        others_scores = {best_free: free_scores[best_free]}
        if direct and each not in direct:
            # `direct` is sorted by error: the best version of the rubric's own judge or, without it, of any judge.
            judge = next((judge for judge in direct if judge.is_judge_of(each)), direct[0])
            others_scores = {judge.name: judge.values, **others_scores}
        own_verdicts = []
        for name, scores in others_scores.items():
            auroc_gain = two_level_statistic("AUROC", [values, scores], labels, groups)
            error_reduction = None
            if name != best_free:  # text features give no probabilities, and so no Brier score
                error_reduction = two_level_statistic("Brier score", [scores, values], labels, groups)
            counts = _count_scored(values + scores + ties, groups)
            sizes = {"n_labels": counts["n"], "clusters": counts["groups"]}
            verdict = gate_verdict(name, auroc_gain, error_reduction, rubric.scores_on, **sizes)
            own_verdicts.append(verdict)
            columns = {"evaluator": ref, "compared_with": name, **shared}
            comparisons.append((verdict, _comparison_row(columns, verdict, counts, counts if error_reduction else {})))
        with_judge, with_free = own_verdicts[0], own_verdicts[-1]  # one and the same without a judge
        verdicts[ref] = stored.deciding_verdict(with_judge, None, with_free) or with_judge
    if not agreements:
        return None
    scored_versions = {each.name: each for each in scored}
    agreement_by_name = {each.name: each for each in agreements}
    others = {}
    for ref, verdict in verdicts.items():
        other, decisions = scored_versions.get(verdict.against), agreement_by_name.get(verdict.against)
        auroc = decisions.auroc if decisions else None
        others[ref] = stored.OtherSide(
            n=_count_scored((other.values if other else free_scores[best_free]) + ties, groups)["n"],
            asked_directly=bool(other and other.is_judge_of(scored_versions[ref])),
            order=auroc if other else aurocs[best_free],
            decisions=decisions,
            threshold=other.version.rubric.threshold if other else None,
        )
    if raters := rater_decision_agreement([text.annotations.get(aspect, ()) for text in scored[0].texts], groups):
        agreements.append(raters)
    with_direct = frozenset(each.name for each in scored if any(judge.is_judge_of(each) for judge in direct))
    return EvaluatedDecisions(
        names, agreements, verdicts, others, with_direct, best_free, aurocs[best_free], aspect, all_counts, comparisons
    )
