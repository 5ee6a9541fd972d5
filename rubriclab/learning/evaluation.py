"""Figures of `evaluate`: how well evaluators agree with people's labels on new texts, and which agrees better.

An evaluator is whatever scores texts: a rubric, a judge asked directly, or a free baseline such as the word count,
which needs no judge. `measure_agreement` correlates each evaluator's scores with the labels, `summarize` compares the
rubrics of one aspect with other evaluators, and `evaluate_decisions` compares the rubrics that let texts pass or fail.
The outcome of a comparison, in error and in order (a correlation, or AUROC), is a verdict (`GateVerdict`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from rubriclab.judges.cache import short_judge_name
from rubriclab.learning.baselines import feature_values
from rubriclab.learning.gate import gate_level, gate_verdict, rater_errors, rater_scores
from rubriclab.learning.pass_fail import decision_agreement, decisions_at, rater_decision_agreement, two_level_statistic
from rubriclab.learning.scoring import Score
from rubriclab.methods.catalogue import baseline_method, has_seen_labels
from rubriclab.models import evaluation as verdicts
from rubriclab.models.aggregation import Calibration
from rubriclab.models.text import Example, Scale, words_digest
from rubriclab.models.text_features import CATALOGUE, WORD_COUNT
from rubriclab.models.version import Baseline, Version
from rubriclab.stats import Agreement, ConstantRule, Interval, Level, agreement, difference
from rubriclab.stats.correlation import FloatArray, floats
from rubriclab.stats.intervals import MIN_GROUPS
from rubriclab.stats.rater_agreement import ceiling_interval
from rubriclab.stats.score_agreement import ScoreErrors, error_difference, score_errors

# The numbers of texts and groups behind a figure, as `n` and `groups`.
Counts = Mapping[str, int]
LEVELS: tuple[Level, ...] = ("group", "dataset", "system")


@dataclass(frozen=True, slots=True)
class Evaluator:
    """A named set of scores, NaN where a text has none."""

    name: str
    scores: FloatArray
    answers_missing: int = 0  # how many of the `answers` are missing
    answers: int = 0  # requested of a judge about all texts, as in `Score`; 0 if the evaluator asks no judge


@dataclass(frozen=True, slots=True)
class Result:
    """One evaluator's agreement with the labels of one aspect at one level.

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
        fields = asdict(self.agreement)
        figures = {name: fields.pop(name) for name in ("spearman", "pearson", "kendall")}
        if self.ceiling:
            figures["ceiling"] = asdict(self.ceiling)
        missing_counts = {name: getattr(self, name) for name in ("unscored", "answers_missing", "answers")}
        fields["constant_rule"] = fields.pop("constant")
        return {"evaluator": self.evaluator, "aspect": self.aspect, **fields, **missing_counts, **figures}


def measure_agreement(
    examples: Sequence[Example],
    evaluators: Iterable[Evaluator],
    aspect: str,
    *,
    levels: Sequence[Level] = LEVELS,
    constant: ConstantRule = "skip",
) -> list[Result]:
    """Return the agreement of each evaluator with the scores that `examples` carry for `aspect`, by level.

    The system level is left out if a text does not name its system. `constant` is the rule for groups whose human
    scores are all equal.
    """
    human = np.array([example.scores[aspect] for example in examples], dtype=float)
    groups = [example.group for example in examples]
    named_systems = [example.system for example in examples if example.system is not None]
    systems = named_systems if len(named_systems) == len(examples) else None
    rater_table, raters_known = rater_scores(examples, aspect)
    ceilings: dict[Level, Interval | None] = {}
    for level in levels:
        if rater_table is not None and level != "system":
            is_within = level == "group"
            ceilings[level] = ceiling_interval(rater_table, groups, within_groups=is_within, raters_known=raters_known)
    results = []
    for evaluator in evaluators:
        unscored = int(np.isnan(evaluator.scores).sum())
        answers = {"answers_missing": evaluator.answers_missing, "answers": evaluator.answers}
        for level in levels:
            if level != "system" or systems is not None:
                measured = agreement(evaluator.scores, human, groups, systems, level=level, constant=constant)
                result = Result(evaluator.name, aspect, unscored, measured, **answers, ceiling=ceilings.get(level))
                results.append(result)
    return results


def baseline_evaluators(examples: Sequence[Example], recorded: Mapping[str, Baseline | None]) -> list[Evaluator]:
    """Return the word count and the free baselines that were recorded when rubrics were learned, each of them once.

    `recorded` maps a rubric's reference to its baseline.
    """
    # The rubrics that recorded the same baseline share one evaluator.
    rubrics_by_feature: dict[tuple[str, int], list[str]] = {}
    rubrics_by_formula: dict[tuple[tuple[str, tuple[float, float]], ...], list[str]] = {}
    for ref, baseline in recorded.items():
        if baseline:
            rubrics_by_feature.setdefault((baseline.feature, baseline.sign), []).append(ref)
            rubrics_by_formula.setdefault(tuple(baseline.model.items()), []).append(ref)
    needed = {WORD_COUNT, *(name for name, _ in rubrics_by_feature)}
    needed |= {name for formula in rubrics_by_formula for name, _ in formula}
    names = [feature.name for feature in CATALOGUE if feature.name in needed]
    values = dict(zip(names, feature_values(examples, names).T, strict=True))
    prefix = verdicts.BASELINE_PREFIX
    evaluators = [Evaluator(f"{prefix}word count", values[WORD_COUNT])]
    # Earlier releases may have recorded features that the catalogue no longer has; these are left out.
    for (name, sign), refs in rubrics_by_feature.items():
        if name in values:
            remark = f"text feature chosen by the labels recorded with {', '.join(refs)}"
            minus = "" if sign > 0 else "-"
            evaluators.append(Evaluator(f"{prefix}{minus}{name} ({remark})", sign * values[name]))
    for formula, refs in rubrics_by_formula.items():
        if formula and all(name in values for name, _ in formula):
            scores = np.zeros(len(examples))
            for name, (mean, weight) in formula:
                scores += weight * np.nan_to_num(values[name] - mean)  # an undefined feature counts as average
            fitted_for = f" fitted for {', '.join(refs)}" if len(rubrics_by_formula) > 1 else ""
            remark = f"fitted to the labels recorded with {', '.join(refs)}"
            evaluators.append(Evaluator(f"{prefix}{verdicts.ALL_FEATURES}{fitted_for} ({remark})", scores))
    return evaluators


def unseen_examples(examples: Iterable[Example], versions: Sequence[Version]) -> tuple[Example, ...]:
    """Return the examples that differ from all training texts in words and in group; ids are not compared."""
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
        return f"{self.version.ref}{verdicts.CALIBRATED_ENDING if self.calibration else ''}"

    @property
    def aspect(self) -> str:
        return self.version.rubric.aspect.name

    @property
    def scale(self) -> Scale:
        return self.version.rubric.score_scale

    @property
    def judge(self) -> str:
        return short_judge_name(self.scores[0].judge)

    @property
    def groups(self) -> list[str]:
        return [text.group for text in self.texts]

    @property
    def systems(self) -> list[str]:
        return [text.system or "" for text in self.texts]

    @cached_property
    def labels(self) -> FloatArray:
        return np.array([text.scores[self.aspect] for text in self.texts], dtype=float)

    @cached_property
    def values(self) -> FloatArray:
        """The scores, calibrated if there is a calibration; shape (texts,), NaN for unscored texts."""
        scores = floats(score.score for score in self.scores)
        if self.calibration is None:
            return scores
        return np.clip(self.calibration.apply(scores), self.scale.low, self.scale.high)

    @cached_property
    def n_learned_from(self) -> int:
        """The number of texts that the version has learned from, or that share a group with such texts."""
        return len(self.texts) - len(unseen_examples(self.texts, [self.version]))

    @property
    def why_uncounted(self) -> str:
        """Why the verdict on these scores does not count for the version; empty if it does."""
        validation = self.version.provenance.validation
        if self.n_learned_from:
            return "the rubric was learned from some of these texts"
        if self.judge != short_judge_name(self.version.provenance.judge):
            return f"the scores are by another judge than the rubric's own, {self.version.provenance.judge}"
        if validation and len(set(self.groups)) < MIN_GROUPS <= validation.groups:
            return f"texts of fewer than {MIN_GROUPS} groups give no verdict"
        return ""

    def is_judge_of(self, other: ScoredVersion) -> bool:
        """Return whether this is the other version's judge, asked directly for scores on the same scale."""
        return self.version.rubric.asks_directly and self.judge == other.judge and self.scale.same_ends(other.scale)

    @property
    def points(self) -> tuple[tuple[float, float], ...]:
        """The label and score of each scored text, sorted; of more than `MAX_POINTS` texts, an evenly spaced sample."""
        has_score = ~np.isnan(self.values)
        labels, scores = (column[has_score].round(4).tolist() for column in (self.labels, self.values))
        ordered = sorted(zip(labels, scores, strict=True))
        positions = np.linspace(0, len(ordered) - 1, min(len(ordered), verdicts.MAX_POINTS))
        return tuple(ordered[round(position)] for position in positions)

    @cached_property
    def errors(self) -> ScoreErrors | None:
        """The errors of the scores, in points of their scale; `None` if no text has a score."""
        return score_errors(self.values, self.labels, self.groups, self.scale.width)

    @property
    def error_counts(self) -> Counts:
        """The numbers of texts and groups behind `errors`, including groups without a correlation."""
        return count_scored(self.values, self.groups)

    def count_decided(self, scores: FloatArray) -> Counts:
        """Return the numbers of scored texts and of their groups, without texts whose raters are evenly split (0.5)."""
        return count_scored(np.where(self.labels == 0.5, np.nan, scores), self.groups)

    @cached_property
    def decisions(self) -> verdicts.DecisionAgreement | None:
        """How decisions by the rubric's threshold agree with the labels; `None` without a threshold."""
        threshold = self.version.rubric.threshold
        if threshold is None or not self.scale.has_two_levels:
            return None
        passes = decisions_at(self.values, threshold)
        return decision_agreement(self.name, self.values, passes, self.labels, self.groups)

    @cached_property
    def rater_errors(self) -> ScoreErrors | None:
        return rater_errors(self.texts, self.aspect, self.scale)

    @property
    def rater_counts(self) -> Counts:
        """The numbers of texts with two raters or more, and of their groups, behind `rater_errors`."""
        rated = [text.group for text in self.texts if len(text.annotations.get(self.aspect, ())) > 1]
        return {"n": len(rated), "groups": len(set(rated))}


def count_scored(scores: FloatArray, groups: Sequence[str]) -> Counts:
    """Return the number of texts whose score is not NaN, and the number of their groups."""
    scored_groups = [group for group, score in zip(groups, scores.tolist(), strict=True) if not math.isnan(score)]
    return {"n": len(scored_groups), "groups": len(set(scored_groups))}


def calibrated_direct(scored: Sequence[ScoredVersion]) -> list[ScoredVersion]:
    """Return each judge asked directly, with scores calibrated to the training labels of a rubric of the same judge."""
    calibrated = []
    for direct in scored:
        if not direct.version.rubric.asks_directly or direct.version.rubric.aggregation:
            continue  # a version with an aggregation gives calibrated scores already
        for version in (each.version for each in scored):
            validation = version.provenance.validation
            calibration = validation.direct_calibration if validation else None
            aspect_and_scale = version.rubric.aspect.name, version.rubric.score_scale
            has_same_aspect_and_scale = aspect_and_scale == (direct.aspect, direct.scale)
            if calibration and has_same_aspect_and_scale and short_judge_name(version.provenance.judge) == direct.judge:
                calibrated.append(replace(direct, calibration=calibration, calibrated_by=version.ref))
                break
    return calibrated


@dataclass(frozen=True, slots=True)
class EvaluatorComparison:
    """One evaluator compared with another on the texts that both scored."""

    other: Result
    figures_of_other: verdicts.OtherSide
    verdict: verdicts.GateVerdict | None  # `None` if no difference is defined
    counts: Counts  # behind the difference in correlation
    error_counts: Counts  # behind the difference in error


@dataclass(frozen=True, slots=True)
class ComparedEvaluator:
    """The agreement of one rubric, compared with the agreement of other evaluators.

    `baselines` are the comparisons with baseline methods, such as the judge asked directly, the best method first;
    `best` is the comparison with the best rubric. `n_learned_from` is as in `ScoredVersion`.
    """

    result: Result
    baselines: tuple[EvaluatorComparison, ...]
    best_free_baseline: EvaluatorComparison | None
    best: EvaluatorComparison | None
    n_learned_from: int

    @property
    def ref(self) -> str:
        return self.result.evaluator

    @property
    def deciding_comparison(self) -> EvaluatorComparison | None:
        """The comparison with the worst verdict.

        It is one of at most four: with the judge asked directly (of several versions, the one with the lowest error),
        with this judge's calibrated scores, with the best baseline method, and with the best free baseline.
        """

        def error_and_name(comparison: EvaluatorComparison) -> tuple[float, str]:
            error = comparison.figures_of_other.error
            return math.inf if error is None or error.value is None else error.value, comparison.other.evaluator

        best_method = self.baselines[0] if self.baselines else None
        with_judge = [each for each in self.baselines if each.verdict and each.figures_of_other.asked_directly]
        direct = min(with_judge, key=error_and_name, default=best_method)
        by_name = {each.other.evaluator: each for each in self.baselines}
        calibrated = by_name.get(f"{direct.other.evaluator}{verdicts.CALIBRATED_ENDING}") if direct else None
        comparisons = (direct, calibrated, self.best_free_baseline, best_method)
        verdict = verdicts.deciding_verdict(*(each.verdict if each else None for each in comparisons))
        return next((each for each in comparisons if each and each.verdict is verdict), None)

    @property
    def compared_with_direct(self) -> bool:
        """Whether the rubric's judge, asked directly, scored the same texts, even if another comparison decides."""
        return any(each.verdict and each.figures_of_other.asked_directly for each in self.baselines)


@dataclass(frozen=True, slots=True)
class EvaluationSummary:
    """The rubrics of one aspect, best first, then its baseline methods, all compared at one `level`."""

    aspect: str
    level: Level
    evaluators: tuple[ComparedEvaluator, ...]
    errors: Mapping[str, ScoreErrors]  # by evaluator
    scale: Scale

    @property
    def comparisons(self) -> tuple[tuple[str, EvaluatorComparison], ...]:
        """Each comparison, after the name of the evaluator that it is about."""
        comparisons = []
        for own in self.evaluators:
            comparisons += [(own.ref, each) for each in (*own.baselines, own.best_free_baseline, own.best) if each]
        return tuple(comparisons)

    def to_rows(self) -> list[dict[str, Any]]:
        rows, shared = ([], {"aspect": self.aspect, "level": self.level, "measure": verdicts.GRADED_MEASURES.order})
        for ref, each in self.comparisons:
            columns = {"evaluator": ref, "compared_with": each.other.evaluator, **shared}
            rows.append(_comparison_row(columns, each.verdict, each.counts, each.error_counts))
        return rows


def _comparison_row(
    columns: dict[str, str], verdict: verdicts.GateVerdict | None, counts: Counts, error_counts: Counts
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
    aspect, scale = scored[0].aspect, scored[0].scale
    calibrated = calibrated_direct(scored)
    versions = {each.name: each for each in (*scored, *calibrated)}
    free_scores = {baseline.name: baseline.scores for baseline in free_baselines}
    with_correlation = [each for each in results if each.aspect == aspect and each.agreement.pearson.value is not None]
    levels = {each.agreement.level for each in with_correlation if each.evaluator in versions}
    if not levels:
        return None
    # The level at which learning would decide, or else the first level at which a version has a correlation.
    level: Level = gate_level(scored[0].labels, scored[0].groups)
    if level not in levels:
        level = next(each for each in LEVELS if each in levels)
    # The results at this level, best first, are divided into results of rubrics (`ranked`) and of baseline methods.
    at_level = [each for each in with_correlation if each.agreement.level == level]
    at_level.sort(key=lambda each: -(each.agreement.pearson.value or 0.0))
    best_free = next((each for each in at_level if verdicts.is_free_baseline(each.evaluator)), None)
    ranked: list[Result] = []
    methods: list[Result] = []
    for result in at_level:
        if result.evaluator in versions:
            is_method = baseline_method(versions[result.evaluator].version.rubric)
            (methods if is_method else ranked).append(result)
    if not ranked:  # without a rubric, baseline methods are compared with each other
        ranked, methods = methods, []
    # Calibration does not change the correlation of scores, so calibrated scores get the result of uncalibrated ones.
    methods_by_name = {result.evaluator: result for result in methods}
    calibrated = [each for each in calibrated if each.version.ref in methods_by_name]
    calibrated_results = [replace(methods_by_name[each.version.ref], evaluator=each.name) for each in calibrated]
    evaluators = []
    for place, result in enumerate([*ranked, *methods]):
        version, is_ranked = versions[result.evaluator], place < len(ranked)
        others = [*methods, *calibrated_results] if is_ranked else []
        with_methods = tuple(_compare(version, other, versions, free_scores) for other in others)
        with_free = _compare(version, best_free, versions, free_scores) if best_free else None
        with_best = _compare(version, ranked[0], versions, free_scores) if is_ranked and place else None
        evaluators.append(ComparedEvaluator(result, with_methods, with_free, with_best, version.n_learned_from))
    errors = {name: each.errors for name, each in versions.items() if each.errors}
    return EvaluationSummary(aspect, level, tuple(evaluators), errors, scale)


def _compare(
    scored: ScoredVersion, other: Result, versions: Mapping[str, ScoredVersion], free_scores: Mapping[str, FloatArray]
) -> EvaluatorComparison:
    """Compare a version with another evaluator, whose scores are in `versions` or in `free_scores`."""
    other_version = versions.get(other.evaluator)
    other_values = other_version.values if other_version else free_scores[other.evaluator]
    side = verdicts.OtherSide(
        n=other.agreement.n,
        asked_directly=bool(other_version and other_version.is_judge_of(scored)),
        errors=other_version.errors if other_version else None,
        order=other.agreement.pearson,
    )
    labels, groups, scale, level = scored.labels, scored.groups, scored.scale, other.agreement.level
    correlation = difference(scored.values, other_values, labels, groups, scored.systems, level=level)
    error_reduction = None
    error_counts: Counts = {}
    if other_version and other_version.scale.same_ends(scale) and not scale.has_two_levels and correlation.n:
        error_reduction = error_difference([other_values, scored.values], labels, groups, scale.width)
        # The sum is NaN for a text that one of the two evaluators did not score.
        error_counts = count_scored(other_values + scored.values, groups)
    verdict = None
    if error_reduction or correlation.interval.value is not None or correlation.too_few_groups:
        sizes = {"n_labels": len(labels), "clusters": correlation.clusters}
        verdict = gate_verdict(other.evaluator, correlation.interval, error_reduction, scale, **sizes)
    return EvaluatorComparison(other, side, verdict, {"n": correlation.n, "groups": correlation.groups}, error_counts)


@dataclass(frozen=True, slots=True)
class RubricDecisions:
    """How the decisions of one rubric agree with the labels, and whether they agree better than other scores."""

    agreement: verdicts.DecisionAgreement
    counts: Counts  # of scored texts and of their groups; texts whose raters are evenly split are left out
    threshold: float | None
    verdict: verdicts.GateVerdict | None  # the worst verdict; `None` if all labels are equal
    other: verdicts.OtherSide | None  # the evaluator that `verdict` compares the rubric with
    compared_with_direct: bool  # whether the rubric's own judge, asked directly, was evaluated too
    comparisons: list[tuple[verdicts.GateVerdict, dict[str, Any]]]  # each verdict with its row in JSON


@dataclass(frozen=True, slots=True)
class EvaluatedDecisions:
    """How the decisions on one aspect agree with the labels."""

    aspect: str
    names: tuple[str, str] | None  # the words for the worse and for the better level
    rubrics: list[RubricDecisions]
    raters: verdicts.DecisionAgreement | None  # `None` if no text has two raters
    best: str  # the free baseline with the highest AUROC
    best_auroc: Interval

    @property
    def comparisons(self) -> list[tuple[verdicts.GateVerdict, dict[str, Any]]]:
        return [comparison for rubric in self.rubrics for comparison in rubric.comparisons]

    @property
    def agreements(self) -> list[verdicts.DecisionAgreement]:
        """The agreement of each rubric, then that of the raters."""
        of_rubrics = [rubric.agreement for rubric in self.rubrics]
        return [*of_rubrics, self.raters] if self.raters else of_rubrics

    def to_rows(self) -> list[dict[str, Any]]:
        groups = self.rubrics[0].counts["groups"]
        shared = {"levels": self.names, "aspect": self.aspect, "level": "dataset", "groups": groups}
        rows = [
            {**shared, "evaluator": each.name, **each.model_dump(mode="json", exclude={"name"})}
            for each in self.agreements
        ]
        for row, rubric in zip(rows, self.rubrics, strict=False):  # the raters' row, which comes last, stays as it is
            if rubric.verdict:
                row |= {"groups": rubric.counts["groups"], "verdict": rubric.verdict.overall}
                row["threshold"] = rubric.threshold
                row["auroc_above"] = {rubric.verdict.against: asdict(rubric.verdict.difference)}
        return [*rows, {**shared, "evaluator": self.best, "auroc": asdict(self.best_auroc)}]


def evaluate_decisions(scored: Sequence[ScoredVersion], baselines: Sequence[Evaluator]) -> EvaluatedDecisions | None:
    """Compare the decisions of rubrics of one aspect with the labels; `None` if no rubric decides."""
    if not any(each.decisions for each in scored):
        return None
    labels, groups, aspect = scored[0].labels, scored[0].groups, scored[0].aspect
    # The free baseline with the highest AUROC; a remark in brackets is cut from its name.
    aurocs = [two_level_statistic("AUROC", [each.scores], labels, groups) for each in baselines]
    best = max(range(len(aurocs)), key=lambda index: aurocs[index].value or 0.0)
    best_free = replace(baselines[best], name=baselines[best].name.partition(" (")[0])
    free_figures = verdicts.OtherSide(n=scored[0].count_decided(best_free.scores)["n"], order=aurocs[best])
    # The judges asked directly, the lowest Brier score first; judges without a Brier score come last.
    judges = [each for each in scored if each.version.rubric.asks_directly]
    errors = {judge.name: two_level_statistic("Brier score", [judge.values], labels, groups).value for judge in judges}
    judges.sort(key=lambda judge: (errors[judge.name] is None, errors[judge.name] or 0.0, judge.name))
    rubrics = [
        _compare_decisions(each, each.decisions, judges, best_free, free_figures) for each in scored if each.decisions
    ]
    raters = rater_decision_agreement([text.annotations.get(aspect, ()) for text in scored[0].texts], groups)
    return EvaluatedDecisions(aspect, scored[0].scale.names, rubrics, raters, best_free.name, aurocs[best])


def _compare_decisions(
    scored: ScoredVersion,
    agreement: verdicts.DecisionAgreement,
    judges: Sequence[ScoredVersion],
    best_free: Evaluator,
    free_figures: verdicts.OtherSide,
) -> RubricDecisions:
    """Compare a rubric with a judge asked directly, if there is one, and with the best free baseline."""
    labels, groups, rubric = scored.labels, scored.groups, scored.version.rubric
    others = [(best_free.name, best_free.scores)]
    figures_by_name = {best_free.name: free_figures}
    own_judges = [judge for judge in judges if judge.is_judge_of(scored)]
    if judges and scored not in judges:
        judge = [*own_judges, *judges][0]  # the rubric's own judge, else the best of the others
        others.insert(0, (judge.name, judge.values))
        figures_by_name[judge.name] = verdicts.OtherSide(
            n=judge.count_decided(judge.values)["n"],
            asked_directly=judge in own_judges,
            order=judge.decisions.auroc if judge.decisions else None,
            decisions=judge.decisions,
            threshold=judge.version.rubric.threshold,
        )
    if len({*labels.tolist()} - {0.5}) < 2:
        others = []  # all labels are of one level, so that nothing can be compared
    comparisons: list[tuple[verdicts.GateVerdict, dict[str, Any]]] = []
    shared = {"aspect": scored.aspect, "level": "dataset", "measure": verdicts.TWO_LEVEL_MEASURES.order}
    for name, scores in others:
        auroc_gain = two_level_statistic("AUROC", [scored.values, scores], labels, groups)
        error_reduction = None
        if name != best_free.name:  # text features give no probabilities, and so no Brier score
            error_reduction = two_level_statistic("Brier score", [scores, scored.values], labels, groups)
        counts = scored.count_decided(scored.values + scores)  # the sum is NaN if either has no score
        sizes = {"n_labels": len(labels), "clusters": counts["groups"] if counts["groups"] > 1 else counts["n"]}
        verdict = gate_verdict(name, auroc_gain, error_reduction, rubric.score_scale, **sizes)
        columns = {"evaluator": scored.name, "compared_with": name, **shared}
        comparisons.append((verdict, _comparison_row(columns, verdict, counts, counts if error_reduction else {})))
    # The worst verdict decides. `None` for `direct` and `calibrated` leaves out the rule about calibrated scores.
    worst = verdicts.deciding_verdict(None, None, *(verdict for verdict, _ in comparisons))
    other, counts = figures_by_name[worst.against] if worst else None, scored.count_decided(scored.values)
    return RubricDecisions(agreement, counts, rubric.threshold, worst, other, bool(own_judges), comparisons)
