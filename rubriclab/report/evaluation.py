"""View of an evaluation: how well rubrics and baselines agree with people on new texts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup

from rubriclab.learning.evaluation import EvaluationSummary, Result, ScoredVersion
from rubriclab.learning.pass_fail import confusion_matrix, two_level_statistic
from rubriclab.learning.train import recorded_texts
from rubriclab.methods.method import CriterionRating
from rubriclab.models.characters import join_names
from rubriclab.models.evaluation import is_free_baseline
from rubriclab.models.rubric import Criterion
from rubriclab.models.text import Scale
from rubriclab.models.version import RecordedText, Version
from rubriclab.ops.evaluate import Evaluation
from rubriclab.report import rubrics, wording
from rubriclab.report.elements import external, line, quiet
from rubriclab.report.render import View, view
from rubriclab.stats.correlation import floats, pearson_rows
from rubriclab.stats.intervals import Interval
from rubriclab.stats.score_agreement import Level, coefficient_interval, scored_texts

MAX_TEXTS, TITLE_LENGTH = 12, 60  # number of texts among the disagreements, characters of a criterion's title
# One text with its score and ratings by one version.
RatedText = tuple[Version, RecordedText, tuple[CriterionRating, ...]]


class CriterionRow(NamedTuple):
    """One criterion's agreement with the labels (AUROC for two levels, else Pearson), and numbers of unrated texts."""

    id: str
    criterion: Criterion | None
    agreement: Interval
    inapplicable: int
    unscored: int


def interval_coverage(scored: ScoredVersion) -> Markup:
    """Return how many labels lie in the scores' intervals, and whether this is the expected number, up to chance."""
    aggregation = scored.version.rubric.aggregation
    pairs = zip(scored.labels.tolist(), scored.scores, strict=True)
    covered = [each.interval[0] <= label <= each.interval[1] for label, each in pairs if each.interval]
    if not covered or aggregation is None or aggregation.conformal is None:
        return wording.UNMEASURED
    n, inside, confidence = len(covered), sum(covered), aggregation.conformal.confidence
    assessment = ": wider than need be" if inside > n * confidence else ": too narrow"
    if abs(inside - n * confidence) <= 2 * math.sqrt(n * confidence * (1 - confidence)):
        assessment = ", difference within chance"
    remark = quiet(f"{wording.percent(confidence)} expected{assessment}")
    return line(f"{inside:,} of {n:,} ({wording.percent(inside / n)}),", remark)


def criterion_agreements(scored: ScoredVersion, level: Level) -> list[CriterionRow]:
    """Return the agreement of each criterion by which texts were scored, in the order of the rubric."""
    by_id: dict[str, Criterion] = {criterion.id: criterion for criterion in scored.version.rubric.criteria}
    rated_ids = dict.fromkeys(rating.id for score in scored.scores for rating in score.criteria)
    ratings_by_id = [{rating.id: rating for rating in score.criteria} for score in scored.scores]
    rows = []
    # Ids that are no criteria of the rubric come last: a method may give one rating for all criteria, under such an id.
    for criterion_id in dict.fromkeys([*(each for each in by_id if each in rated_ids), *rated_ids]):
        ratings = [of_text.get(criterion_id) for of_text in ratings_by_id]
        inapplicable = sum(each is not None and each.score is None and not each.applies for each in ratings)
        values = floats(each.score if each else None for each in ratings)
        if scored.version.rubric.score_scale.has_two_levels:
            agreement = two_level_statistic("AUROC", [values], scored.labels, scored.groups)
        else:
            # `stats.agreement` would also compute Kendall's tau, which is slow.
            texts = scored_texts([values], scored.labels, scored.groups, scored.systems).at_level(level)
            agreement = coefficient_interval(texts, pearson_rows)
        unscored = int(np.isnan(values).sum()) - inapplicable
        rows.append(CriterionRow(criterion_id, by_id.get(criterion_id), agreement, inapplicable, unscored))
    return rows


def evaluation_view(evaluation: Evaluation, *, brief: bool = True) -> View:
    """Return the verdicts and figures of an evaluation; unless `brief`, also each rubric's criteria and errors."""
    summaries, scored, calibrated = evaluation.summaries, evaluation.scored, evaluation.calibrated
    graded_versions = evaluation.graded  # on scales of more than two levels
    judges = (wording.judge(each.version.provenance, score.judge) for each in scored for score in each.scores)
    # For each aspect any one of its versions, since these have the same raters.
    graded_version_by_aspect = {each.aspect: each for each in graded_versions}
    aggregations = (each.version.rubric.aggregation for each in graded_versions)
    confidences = {wording.percent(each.conformal.confidence) for each in aggregations if each and each.conformal}
    refs_with_calibrated_scores = {each.version.ref for each in calibrated}
    uncalibrated = [each.version.ref for each in graded_versions if not each.version.rubric.aggregation]
    # Results of rubrics and of free baselines, by aspect and level of correlation; the level that decides is first.
    results_by_level: dict[tuple[str, str], tuple[list[Result], list[Result]]] = {}
    deciding = {(name, summary.level) for name, summary in summaries.items() if summary}
    for result in sorted(evaluation.results, key=lambda each: (each.aspect, each.agreement.level) not in deciding):
        if result.aspect in graded_version_by_aspect:
            of_rubrics, of_baselines = results_by_level.setdefault((result.aspect, result.agreement.level), ([], []))
            results = of_baselines if is_free_baseline(result.evaluator) else of_rubrics
            results.append(result)
    return view(
        "evaluation",
        title=join_names(summaries) if summaries else "",
        file=evaluation.file,
        brief=brief,
        graded_version_by_aspect=graded_version_by_aspect,
        decisions=evaluation.decisions,
        summaries={name: each for name, each in summaries.items() if name in graded_version_by_aspect},
        error_rows=[(each, interval_coverage(each)) for each in (*graded_versions, *calibrated) if each.errors],
        calibrated=calibrated,
        to_calibrate=[ref for ref in uncalibrated if ref not in refs_with_calibrated_scores],
        interval_confidence=confidences.pop() if len(confidences) == 1 else "",
        results_by_level=results_by_level,
        confusion_matrices=[
            (each.version.ref, confusion_matrix(each.values, each.labels, each.groups, each.version.rubric.score_scale))
            for each in scored
        ],
        rating_rows=_rating_rows,
        versions={version.ref: version for version in evaluation.versions},
        kept_records=evaluation.kept,  # earlier records that the store keeps, with the reasons
        scored={each.name: each for each in scored},
        examples=evaluation.examples,
        judges=list(dict.fromkeys(judges)),
        details=[] if brief else [_details(each, summaries[each.aspect], evaluation.results) for each in scored],
        disagreements=[] if brief else list(_disagreements(scored)),
    )


def _details(scored: ScoredVersion, summary: EvaluationSummary | None, results: Sequence[Result]) -> dict[str, Any]:
    """Return the figures of one rubric: labels with scores, and the agreement of each criterion and of the scores."""
    version, rubric, scale = scored.version, scored.version.rubric, scored.version.rubric.score_scale
    criteria: list[CriterionRow] = []
    agreement_of_scores: list[Interval] = []  # one interval, or none without a summary
    if summary:
        level, ref = summary.level, version.ref
        criteria = sorted(criterion_agreements(scored, level), key=lambda each: -rubrics.weight_in(each.id, rubric))
        own_agreements = [result.agreement for result in results if result.evaluator == ref]
        agreement_of_scores = [each.pearson for each in own_agreements if each.level == level]
        if scale.has_two_levels:
            agreement_of_scores = [two_level_statistic("AUROC", [scored.values], scored.labels, scored.groups)]
    pairs = [(label, score) for label, score in zip(scored.labels, scored.values, strict=True) if not np.isnan(score)]
    return {
        "scored": scored,
        "version": version,
        "pairs": [] if scale.has_two_levels else pairs,
        "criteria": criteria,
        "agreement_of_scores": agreement_of_scores,
        "level": summary.level if summary else "",
    }


def _disagreements(evaluated: Sequence[ScoredVersion]) -> Iterator[dict[str, Any]]:
    """Yield each aspect's texts with all versions' scores: wrong decisions first, then the largest errors."""
    columns_by_scale: dict[tuple[str, Scale], list[list[RatedText]]] = {}
    for each in evaluated:
        intervals = [score.interval or (None, None) for score in each.scores]
        low, high = floats(low for low, _ in intervals), floats(high for _, high in intervals)
        texts = recorded_texts(each.texts, each.aspect, each.values, low, high)
        column = [*zip(repeat(each.version), texts, (score.criteria for score in each.scores))]
        columns_by_scale.setdefault((each.aspect, each.version.rubric.score_scale), []).append(column)

    def is_wrong(row: Sequence[RatedText]) -> bool:
        return any(text.decided_wrongly(version.rubric.threshold) for version, text, _ in row)

    def largest_distance(row: Sequence[RatedText]) -> float:
        return max(0.0 if text.predicted is None else abs(text.predicted - text.label) for _, text, _ in row)

    for (aspect, scale), version_columns in columns_by_scale.items():
        rows = [row for row in zip(*version_columns, strict=True) if largest_distance(row)]
        rows.sort(key=lambda row: (not is_wrong(row), -largest_distance(row), row[0][1].id))
        wrong = sum(map(is_wrong, rows))
        yield {"aspect": aspect, "scale": scale, "rows": rows[:MAX_TEXTS], "wrong": wrong, "columns": version_columns}


def _rating_rows(version: Version, ratings: Sequence[CriterionRating]) -> Iterator[tuple[object, ...]]:
    """Yield row style, title, id, rating and reasons of each criterion, the largest weight first."""
    rubric, by_id = version.rubric, {criterion.id: criterion for criterion in version.rubric.criteria}
    ratings = sorted(ratings, key=lambda each: -rubrics.weight_in(each.id, rubric))
    texts = (wording.rating_text(each, by_id.get(each.id), of_whole_text=not each.units) for each in ratings)
    for each, rating_text in zip(ratings, wording.with_equal_decimals(texts), strict=True):
        style, title = rubrics.styled_row_title(by_id[each.id], rubric) if each.id in by_id else ("", external(each.id))
        reasons = [external(each.reason)]
        for verdict in sorted(each.units, key=lambda verdict: 1.0 if verdict.value is None else verdict.value):
            support = external(f"(supported by: {'; '.join(verdict.support)})" if verdict.support else "", "quiet")
            unit = external(f"“{wording.excerpt(verdict.unit)}”")
            rating = "none" if verdict.value is None else f"{verdict.value:.0%} of the scale"
            if verdict.value in (0, 1):
                rating = "holds" if verdict.value else "fails"
            reasons.append(line(rating, unit, external(verdict.reason, "quiet"), support))
        yield style, title, each.id, rating_text, Markup().join(map(Markup("<p>{}</p>").format, reasons))
