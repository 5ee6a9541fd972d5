"""View of an evaluation: how well rubrics and baselines agree with people on new texts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from rubriclab.learning.gate import gate_level, rater_errors, verdict_on
from rubriclab.learning.scoring import Score
from rubriclab.learning.train import recorded_texts
from rubriclab.learning.verdicts import (
    level_agreement,
    raters_verdicts,
    verdict_agreement,
    verdict_statistic,
    verdicts_of,
)
from rubriclab.methods.catalogue import has_seen_labels, installed
from rubriclab.methods.method import CriterionRating
from rubriclab.models.aggregation import Calibration, Term
from rubriclab.models.characters import count, join_names
from rubriclab.models.rubric import Criterion
from rubriclab.models.text import Example, Scale, data_digest, labelled
from rubriclab.models.version import (
    CALIBRATED,
    DIRECT,
    GRADED,
    EvaluationRecord,
    GateVerdict,
    VerdictAgreement,
    deciding_verdict,
)
from rubriclab.ops.evaluate import LEVELS, Evaluation, Evaluator, Result, baseline_evaluators
from rubriclab.report import rubrics, wording
from rubriclab.report.render import View, external, line, quiet, view
from rubriclab.stats.agreement import (
    Level,
    ScoreErrors,
    coefficient_interval,
    difference,
    less_error,
    score_errors,
    scored_texts,
    used_texts,
)
from rubriclab.stats.correlation import FloatArray, floats, pearson_rows
from rubriclab.stats.intervals import Interval

if TYPE_CHECKING:
    from rubriclab.models.version import Version

MAX_TEXTS, TITLE_LENGTH = 6, 60
# The cells of a row, and the texts and groups that its figures are of.
RowWithBasis = tuple[list[object], dict[str, Any]]


@dataclass(frozen=True, eq=False)
class ScoredVersion:
    """A version with its scores of the texts that have a label for its aspect.

    `calibration`, of a judge asked directly, is fitted to the labels that the rubric `calibrated_by` was learned from.
    """

    version: Version
    texts: Sequence[Example]
    scores: Sequence[Score]
    calibration: Calibration | None = None
    calibrated_by: str = ""

    @property
    def name(self) -> str:
        return f"{self.version.ref}{wording.CALIBRATED_ENDING if self.calibration else ''}"

    @cached_property
    def labels(self) -> FloatArray:
        return np.array([text.scores[self.version.rubric.aspect.name] for text in self.texts], dtype=float)

    @cached_property
    def values(self) -> FloatArray:
        """The scores, shape (texts,), NaN for unscored texts."""
        scores, scale = floats(score.score for score in self.scores), self.version.rubric.scores_on
        return np.clip(self.calibration.apply(scores), scale.low, scale.high) if self.calibration else scores

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

    @property
    def error_basis(self) -> dict[str, Any]:
        """The numbers of texts and groups behind `errors`, including groups without a correlation."""
        return {"level": "dataset", **_count_scored(self.values, self.groups)}


@dataclass(frozen=True, slots=True)
class CriterionRow:
    """One criterion's agreement with the labels (AUROC for two levels, else Pearson), and numbers of unrated texts."""

    id: str
    criterion: Criterion | None
    agreement: Interval
    inapplicable: int
    unscored: int


def calibrated_direct(scored: Sequence[ScoredVersion]) -> list[ScoredVersion]:
    """Return each judge asked directly, calibrated with the labels of the first rubric that was learned with it."""

    def key(version: Version) -> tuple[str, str, Scale]:
        return version.provenance.judge, version.rubric.aspect.name, version.rubric.scores_on

    calibrations: dict[tuple[str, str, Scale], tuple[Calibration, str]] = {}
    for version in (each.version for each in scored):
        if (validation := version.provenance.validation) and validation.direct_calibration:
            calibrations.setdefault(key(version), (validation.direct_calibration, version.ref))
    calibrated = []
    for each in scored:
        asked_directly = _methods(each.version) == [DIRECT]
        if asked_directly and not each.version.rubric.aggregation and key(each.version) in calibrations:
            calibration, ref = calibrations[key(each.version)]
            calibrated.append(replace(each, calibration=calibration, calibrated_by=ref))
    return calibrated


def _methods(version: Version) -> list[str]:
    return [part.method for part in version.rubric.parts]


def error_row(scored: ScoredVersion) -> RowWithBasis | None:
    """Return a row of the table of errors with its basis; `None` if no text has a score."""
    if scored.errors is None:
        return None
    pairs = zip(scored.labels.tolist(), scored.scores, strict=True)
    inside = [each.interval[0] <= label <= each.interval[1] for label, each in pairs if each.interval]
    aggregation, coverage = scored.version.rubric.aggregation, Markup()
    if inside and aggregation and aggregation.conformal:
        share = f"{sum(inside):,} of {len(inside):,} ({wording.percent(sum(inside) / len(inside))}),"
        coverage = line(share, quiet(fit_of_intervals(sum(inside), len(inside), aggregation.conformal.confidence)))
    basis = scored.error_basis
    cells = [*rubrics.error_cells(scored.errors), f"{basis['n']:,}", coverage or wording.UNMEASURED]
    return [external(scored.name), *cells], {"aspect": scored.version.rubric.aspect.name, **basis}


def fit_of_intervals(inside: int, number: int, confidence: float) -> str:
    """Return whether the share of labels in intervals differs from `confidence` by more than two standard errors."""
    excess, expected = inside - number * confidence, f"{wording.percent(confidence)} expected"
    if abs(excess) <= 2 * math.sqrt(number * confidence * (1 - confidence)):
        return f"{expected}, difference within chance"
    return f"{expected}: {'wider than need be' if excess > 0 else 'too narrow'}"


def raters_row(scored: ScoredVersion) -> RowWithBasis | None:
    """Return the row of errors of single raters on the texts of `scored`; `None` if unknown."""
    rubric = scored.version.rubric
    errors = rater_errors(scored.texts, rubric.aspect.name, rubric.scores_on)
    if errors is None:
        return None
    cells = [*rubrics.error_cells(errors), "", ""]
    return [wording.SINGLE_RATERS, *cells], {"aspect": rubric.aspect.name, "level": "dataset"}


def criterion_agreements(scored: ScoredVersion, level: Level) -> list[CriterionRow]:
    """Return the agreement of each criterion by which texts were scored, in the order of the rubric."""
    by_id: dict[str, Criterion] = {criterion.id: criterion for criterion in scored.version.rubric.criteria}
    rated = dict.fromkeys(rating.id for score in scored.scores for rating in score.criteria)
    rows = []
    for name in [*(name for name in by_id if name in rated), *(name for name in rated if name not in by_id)]:
        ratings = [next((each for each in score.criteria if each.id == name), None) for score in scored.scores]
        inapplicable = sum(each is not None and each.score is None and not each.applies for each in ratings)
        values = floats(each.score if each else None for each in ratings)
        if scored.version.rubric.scores_on.names:
            agreement = verdict_statistic("AUROC", [values], scored.labels, scored.groups)
        else:
            # `stats.agreement.agreement` would also compute Kendall's tau, which is slow.
            texts = used_texts(scored_texts([values], scored.labels, scored.groups, scored.systems), level, "skip")
            agreement = coefficient_interval(texts, pearson_rows, level, "skip")
        unscored = int(np.isnan(values).sum()) - inapplicable
        rows.append(CriterionRow(name, by_id.get(name), agreement, inapplicable, unscored))
    return rows


# Comparisons of each rubric with the best rubric and the baselines on the same texts.


@dataclass(frozen=True, slots=True)
class EvaluatorComparison:
    """A rubric against another evaluator on the texts that both scored.

    `n` and `groups` are the basis of the difference in correlation, `error_basis` is the basis of the gain in error.
    """

    other: Result
    gains: GateVerdict | None
    n: int = 0
    groups: int = 0
    error_basis: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EvaluatorRow:
    """One evaluator's agreement, compared with the best free baseline and with the best rubric.

    `seen` is the number of evaluated texts from groups that the evaluator was learned from.
    """

    result: Result
    best_baseline: EvaluatorComparison | None
    best: EvaluatorComparison | None
    seen: int

    @property
    def ref(self) -> str:
        return self.result.evaluator


@dataclass(frozen=True, slots=True)
class EvaluationSummary:
    """The rubrics of one aspect, best first, then its baselines.

    `level` is that of the comparisons, chosen as in learning. `errors` are by evaluator; `raters`: of single raters.
    """

    aspect: str
    level: Level
    evaluators: tuple[EvaluatorRow, ...]
    baselines: tuple[EvaluatorComparison, ...]
    errors: Mapping[str, ScoreErrors]
    scale: Scale
    raters: ScoreErrors | None = None

    @property
    def deciding(self) -> EvaluatorComparison | None:
        """The comparison that decides, as in learning: with a baseline method, or a free baseline if that is worse."""
        direct, free = (self.baselines or (None,))[0], self.evaluators[0].best_baseline
        named = {each.other.evaluator: each for each in self.baselines}
        calibrated = named.get(f"{direct.other.evaluator}{wording.CALIBRATED_ENDING}") if direct else None
        candidates = (direct, calibrated, free)
        verdict = deciding_verdict(*(each.gains if each else None for each in candidates))
        return next((each for each in candidates if each and each.gains is verdict), None)

    @property
    def comparisons(self) -> tuple[tuple[str, EvaluatorComparison], ...]:
        """The comparisons, each after the reference of the evaluator that is compared."""
        with_best = [(row.ref, each) for row in self.evaluators for each in (row.best_baseline, row.best) if each]
        return (*((self.evaluators[0].ref, each) for each in self.baselines), *with_best)

    def to_rows(self) -> list[dict[str, Any]]:
        return [
            {
                "evaluator": ref,
                "compared_with": each.other.evaluator,
                "aspect": self.aspect,
                "level": self.level,
                "n": each.n,
                "groups": each.groups,
                "measure": GRADED.order,
                "less_error": asdict((each.gains and each.gains.less_error) or Interval(None)),
                **{f"less_error_{name}": number for name, number in each.error_basis.items()},
                "difference": asdict(each.gains.difference if each.gains else Interval(None)),
                "verdict": each.gains and each.gains.overall,
            }
            for ref, each in self.comparisons
        ]


def summarize(
    scored: Sequence[ScoredVersion], results: Sequence[Result], free_baselines: Sequence[Evaluator]
) -> EvaluationSummary | None:
    """Rank and compare the rubrics of one aspect; `None` if no correlation is defined."""
    calibrated = calibrated_direct(scored)
    versions = {each.name: each for each in (*scored, *calibrated)}
    aspect = scored[0].version.rubric.aspect.name
    defined = [row for row in results if row.aspect == aspect and row.agreement.pearson.value is not None]
    levels = {row.agreement.level for row in defined if row.evaluator in versions}
    if not levels:
        return None
    level: Level = gate_level(scored[0].labels, scored[0].groups)
    if level not in levels:
        level = next(each for each in LEVELS if each in levels)
    rows = [row for row in defined if row.agreement.level == level]
    rows.sort(key=lambda row: -(row.agreement.pearson.value or 0.0))
    free_scores = {_key(baseline.name): baseline.scores for baseline in free_baselines}
    # A version that consists of one baseline method counts as a baseline, not as a rubric.
    methods = {each.name: [installed(part.method) for part in each.version.rubric.parts] for each in scored}
    as_baselines = {ref for ref, each in methods.items() if len(each) == 1 and each[0] and each[0].is_baseline}
    of_versions = [row for row in rows if row.evaluator in versions]
    baselines = [row for row in of_versions if row.evaluator in as_baselines]
    ranked = [row for row in of_versions if row not in baselines] or baselines
    other_baselines = [row for row in baselines if row not in ranked]
    best_free = next((row for row in rows if wording.is_baseline(row.evaluator)), None)

    def compare(row: Result, other: Result | None) -> EvaluatorComparison | None:
        return None if other is None or other is row else _comparison(row, other, versions, free_scores)

    def count_seen(ref: str) -> int:
        version = versions[ref].version
        learned_from = version.provenance.groups if has_seen_labels(version.rubric) else ()
        return sum(group in learned_from for group in versions[ref].groups)

    evaluators = tuple(
        EvaluatorRow(
            row,
            compare(row, best_free),
            None if row in other_baselines else compare(row, ranked[0]),
            count_seen(row.evaluator),
        )
        for row in (*ranked, *other_baselines)
    )
    errors = {ref: each.errors for ref, each in versions.items() if each.errors}
    by_name = {row.evaluator: row for row in other_baselines}
    other_baselines += [
        replace(by_name[each.version.ref], evaluator=each.name) for each in calibrated if each.version.ref in by_name
    ]
    baseline_comparisons = tuple(_comparison(ranked[0], row, versions, free_scores) for row in other_baselines)
    scale = scored[0].version.rubric.scores_on
    of_raters = rater_errors(scored[0].texts, aspect, scale)
    return EvaluationSummary(aspect, level, evaluators, baseline_comparisons, errors, scale, of_raters)


def _comparison(
    row: Result, other: Result, versions: Mapping[str, ScoredVersion], free_scores: Mapping[str, FloatArray]
) -> EvaluatorComparison:
    scored, other_scored = versions[row.evaluator], versions.get(other.evaluator)
    other_values = other_scored.values if other_scored else free_scores.get(_key(other.evaluator))
    if other_values is None:
        return EvaluatorComparison(other, None)
    labels, groups, level = scored.labels, scored.groups, row.agreement.level
    found = difference(scored.values, other_values, labels, groups, scored.systems, level=level)
    scale, gain = scored.version.rubric.scores_on, None
    if other_scored and other_scored.version.rubric.scores_on == scale and not scale.names and found.n:
        gain = less_error([other_values, scored.values], labels, groups)
    verdict = verdict_on(other.evaluator, found.interval, gain, scale, labels=found.n, clusters=found.clusters)
    defined = verdict if gain or found.interval.value is not None or found.too_few_groups else None
    basis = _count_scored(other_values + scored.values, groups) if gain else {}
    return EvaluatorComparison(other, defined, found.n, found.groups, basis)


def _count_scored(scores: FloatArray, groups: Sequence[str]) -> dict[str, int]:
    scored = np.flatnonzero(~np.isnan(scores)).tolist()
    return {"n": len(scored), "groups": len({groups[index] for index in scored})}


def _key(evaluator: str) -> str:
    """Return an evaluator's name, for a free baseline without the remark about the rubrics that chose it."""
    return wording.BASELINE + wording.evaluator_parts(evaluator)[0] if wording.is_baseline(evaluator) else evaluator


# The view.


def evaluation_view(evaluation: Evaluation, *, brief: bool = True) -> View:
    """Return the verdicts and all figures of an evaluation."""
    versions = evaluation.versions
    summaries = evaluation.summaries
    scored = [_scored(evaluation, version) for version in versions]
    judgments = [(each.version.provenance, score) for each in scored for score in each.scores]
    graded_versions = [each for each in scored if not each.version.rubric.scores_on.names]
    graded = {each.version.rubric.aspect.name: each for each in graded_versions}
    fitted = (each.version.rubric.aggregation for each in graded_versions)
    nominal = {wording.percent(each.conformal.confidence) for each in fitted if each and each.conformal}
    calibrated = calibrated_direct(graded_versions)
    uncalibrated = [each.version.ref for each in graded_versions if not each.version.rubric.aggregation]
    errors = [*map(error_row, (*graded_versions, *calibrated)), *map(raters_row, graded.values())]
    # The results of rubrics, and those of free baselines, by aspect and level.
    blocks: dict[tuple[str, str], tuple[list[Result], list[Result]]] = {}
    deciding = {name: each and each.level for name, each in summaries.items()}
    for result in sorted(evaluation.results, key=lambda each: each.agreement.level != deciding.get(each.aspect)):
        if result.aspect in graded:
            of_rubrics, of_baselines = blocks.setdefault((result.aspect, result.agreement.level), ([], []))
            (of_baselines if wording.is_baseline(result.evaluator) else of_rubrics).append(result)
    return view(
        "evaluation",
        title=join_names(summaries) if summaries else "",
        brief=brief,
        graded=graded,
        verdict_sections=list(_verdicts(evaluation)),
        summaries={name: each for name, each in summaries.items() if name in graded},
        errors=list(filter(None, errors)),
        calibrated=calibrated,
        # One that is also shown calibrated needs no advice to calibrate it.
        uncalibrated=[ref for ref in uncalibrated if ref not in {twin.version.ref for twin in calibrated}],
        nominal=nominal.pop() if len(nominal) == 1 else "",
        several=len({aspect for aspect, _ in blocks}) > 1,
        blocks=blocks,
        few_levels=[
            (each.version.ref, level_agreement(each.values, each.labels, each.groups, each.version.rubric.scores_on))
            for each in scored
        ],
        criterion_name=_criterion_name,
        title_of=lambda evaluator: _evaluator_title(evaluator, versions),
        versions={version.ref: version for version in versions},
        examples=evaluation.examples,
        judges=list(dict.fromkeys(wording.judge(provenance, score.judge) for provenance, score in judgments)),
        details=[]
        if brief
        else [_details(each, summaries[each.version.rubric.aspect.name], evaluation.results) for each in scored],
    )


def _evaluator_title(evaluator: str, versions: Sequence[Version]) -> str:
    version = next((each for each in versions if each.ref == evaluator.removesuffix(wording.CALIBRATED_ENDING)), None)
    methods = [installed(part.method) for part in version.rubric.parts] if version else []
    if version is None or len(methods) != 1 or not methods[0] or not methods[0].is_baseline:
        return wording.evaluator_parts(evaluator)[0]
    judges = {each.provenance.judge for each in versions}
    asked_directly = methods[0].name == DIRECT and len(judges) == 1
    name = DIRECT if evaluator == version.ref and not version.rubric.aggregation else CALIBRATED
    note = wording.evaluator_name(name, in_sentence=True) if asked_directly else methods[0].note
    return f"{version.ref}, {note}"


def evaluation_summaries(evaluation: Evaluation) -> dict[str, EvaluationSummary | None]:
    """Return the summary of each aspect, `None` if no correlation is defined."""
    return {
        aspect: summarize(scored, evaluation.results, baselines) for aspect, scored, baselines in _by_aspect(evaluation)
    }


def evaluation_records(evaluation: Evaluation) -> dict[str, EvaluationRecord]:
    """Return the verdicts of the view by version, without those on texts that the version has learned from."""
    verdicts: dict[str, tuple[Level, GateVerdict, Interval]] = {}
    for summary in filter(None, evaluation.summaries.values()):
        for row in () if summary.scale.names else summary.evaluators:
            # Of several learned rubrics only the best is compared with the baseline methods.
            decides = summary.deciding if row is summary.evaluators[0] else None if row.best else row.best_baseline
            if decides and decides.gains and not row.seen:
                verdicts[row.ref] = summary.level, decides.gains, row.result.agreement.pearson
    for each in _verdicts(evaluation):
        aurocs = {found.name: found.auroc for found in each.found}
        verdicts |= {ref: ("dataset", gain, aurocs[ref]) for ref, gain in each.gains.items()}
    records = {}
    for scored in (_scored(evaluation, version) for version in evaluation.versions):
        if scored.version.ref in verdicts:
            level, verdict, order = verdicts[scored.version.ref]
            records[scored.version.ref] = EvaluationRecord(
                created=datetime.now(UTC),
                judge=scored.scores[0].judge,
                data=data_digest(scored.texts, scored.version.rubric.aspect.name),
                **_count_scored(scored.values, scored.groups),
                level=level,
                verdict=verdict,
                errors=None if scored.version.rubric.scores_on.names else scored.errors,
                order=order,
            )
    return records


def _by_aspect(evaluation: Evaluation) -> Iterator[tuple[str, list[ScoredVersion], list[Evaluator]]]:
    """Yield each aspect with its versions and the free baselines, whose scores an evaluation does not contain."""
    for aspect in dict.fromkeys(version.rubric.aspect.name for version in evaluation.versions):
        versions = [version for version in evaluation.versions if version.rubric.aspect.name == aspect]
        chosen = {version.ref: version.provenance.baseline for version in versions if version.provenance.baseline}
        scored = [_scored(evaluation, version) for version in versions]
        yield aspect, scored, baseline_evaluators(scored[0].texts, chosen)


def verdict_rows(evaluation: Evaluation) -> list[dict[str, Any]]:
    """Return the agreement of decisions with labels as JSON objects, aspect by aspect."""
    rows: list[dict[str, Any]] = []
    for each in _verdicts(evaluation):
        start = {"levels": each.names, **{name: each.basis[name] for name in ("aspect", "level", "groups")}}
        for found in each.found:
            rows.append({**start, "evaluator": found.name, **found.model_dump(mode="json", exclude={"name"})})
            if gain := each.gains.get(found.name):
                rows[-1]["auroc_above"] = {wording.evaluator_parts(gain.against)[0]: asdict(gain.difference)}
        rows.append({**start, "evaluator": each.best, "auroc": asdict(each.best_auroc)})
    return rows


def error_rows(evaluation: Evaluation) -> list[dict[str, Any]]:
    scored = [_scored(evaluation, each) for each in evaluation.versions if not each.rubric.scores_on.names]
    return [
        {"evaluator": each.name, "aspect": each.version.rubric.aspect.name, **each.error_basis, **asdict(errors)}
        for each in (*scored, *calibrated_direct(scored))
        if (errors := each.errors)
    ]


@dataclass(frozen=True, slots=True)
class EvaluatedVerdicts:
    """How decisions on one aspect agree with the labels; `gains` decide as in learning, `best` is a free baseline."""

    aspect: str
    names: tuple[str, str]
    found: list[VerdictAgreement]
    gains: dict[str, GateVerdict]
    thresholds: list[str]
    best: str
    best_auroc: Interval
    basis: dict[str, Any]


def _verdicts(evaluation: Evaluation) -> Iterator[EvaluatedVerdicts]:
    """Yield the agreement of decisions with labels for each aspect whose rubrics decide."""
    for aspect, scored, baselines in _by_aspect(evaluation):
        labels, groups = scored[0].labels, scored[0].groups
        free_scores = {wording.evaluator_parts(each.name)[0]: each.scores for each in baselines}
        aurocs = {name: verdict_statistic("AUROC", [values], labels, groups) for name, values in free_scores.items()}
        best = max(aurocs, key=lambda name: aurocs[name].value or 0.0)
        direct = {each.name: each.values for each in scored if _methods(each.version) == [DIRECT]}
        found, gains, thresholds, names = [], {}, dict[str, str](), ("", "")
        for each in scored:
            ref, rubric = each.version.ref, each.version.rubric
            if rubric.threshold is None or rubric.scores_on.names is None:
                continue
            names, thresholds[ref] = rubric.scores_on.names, wording.threshold(rubric)
            decided = verdicts_of(each.values, rubric.threshold)
            found.append(verdict_agreement(ref, each.values, decided, labels, groups))
            others = {} if ref in direct else dict(direct)
            verdicts, others[f"{wording.BASELINE}{best}"] = [], free_scores[best]
            for against, other in others.items():
                gain = verdict_statistic("AUROC", [each.values, other], labels, groups)
                errors = [other, each.values] if against in direct else []  # text features give no probabilities
                error = verdict_statistic("Brier score", errors, labels, groups) if errors else None
                counts = {"labels": len(labels), "clusters": len(set(groups))}
                verdicts.append(verdict_on(against, gain, error, rubric.scores_on, **counts))
            gains[ref] = deciding_verdict(verdicts[0], None, verdicts[-1]) or verdicts[0]
        if not found:
            continue
        if raters := raters_verdicts([text.annotations.get(aspect, ()) for text in scored[0].texts], groups):
            found.append(raters)
        basis = {"aspect": aspect, "level": "dataset", "n": sum(found[0].cells), "groups": len(set(groups))}
        named = [f"{words} ({ref})" if len(thresholds) > 1 else words for ref, words in thresholds.items()]
        yield EvaluatedVerdicts(aspect, names, found, gains, named, best, aurocs[best], basis)


def _scored(evaluation: Evaluation, version: Version) -> ScoredVersion:
    texts = labelled(evaluation.examples, version.rubric.aspect.name)
    return ScoredVersion(version, texts, evaluation.scores[version.ref])


def _details(scored: ScoredVersion, summary: EvaluationSummary | None, results: Sequence[Result]) -> dict[str, Any]:
    """Return the figures and texts of one rubric; `rubriclab report` shows its criteria in full."""
    version, scale, terms = scored.version, scored.version.rubric.scores_on, scored.version.rubric.terms
    criteria: list[CriterionRow] = []
    whole: list[Interval] = []
    if summary:
        level, ref = summary.level, version.ref
        criteria = criterion_agreements(scored, level)
        criteria.sort(key=lambda each: -rubrics.weight_of(each.id, terms))
        whole = [each.agreement.pearson for each in results if each.evaluator == ref and each.agreement.level == level]
        if scale.names:
            whole = [verdict_statistic("AUROC", [scored.values], scored.labels, scored.groups)]
    low, high = (floats(each.interval[end] if each.interval else None for each in scored.scores) for end in (0, 1))
    texts = recorded_texts(scored.texts, version.rubric.aspect.name, scored.values, low, high)
    ratings = [sorted(score.criteria, key=lambda each: -rubrics.weight_of(each.id, terms)) for score in scored.scores]
    recorded = list(zip(texts, ratings, strict=True))
    furthest = sorted(recorded, key=lambda each: (-rubrics.distance(each[0]), each[0].id))[:MAX_TEXTS]
    return {
        "version": version,
        "texts": scored.texts,
        "pairs": [] if scale.names else rubrics.label_score_pairs(texts),
        "criteria": criteria,
        "whole": whole,
        "level": summary.level if summary else "",
        "terms": terms,
        "axis": rubrics.score_axis_of(version, [text for text, _ in recorded]),
        "furthest": [(text, list(_answers(version, each))) for text, each in furthest if rubrics.distance(text)],
        "unscored": [each for each in scored.scores if each.score is None],
        "judges": [each.judge for each in scored.scores] or ["no judge"],
    }


def _criterion_name(row: CriterionRow, terms: Mapping[str, Term]) -> Markup:
    title = wording.title(row.criterion, TITLE_LENGTH) if row.criterion else wording.excerpt(row.id, TITLE_LENGTH)
    remarks = [f"weight {wording.percent(terms[row.id].weight)}"] if row.id in terms else []
    remarks += [f"{row.inapplicable} n/a"] if row.inapplicable else []
    remarks += [f"{count(row.unscored, 'text')} unscored"] if row.unscored else []
    return line(external(title), quiet(", ".join(remarks)))


def _answers(version: Version, ratings: Sequence[CriterionRating]) -> Iterator[tuple[object, ...]]:
    """Yield the kind of row of each criterion, its title, its rating of a text, and the reasons, also of each unit."""
    by_id, terms = {criterion.id: criterion for criterion in version.rubric.criteria}, version.rubric.terms
    words = (wording.rating_text(each, by_id.get(each.id), whole=not each.units) for each in ratings)
    for each, rating in zip(ratings, wording.with_equal_decimals(words), strict=True):
        kind, title = rubrics.row_kind_and_title(by_id[each.id], terms) if each.id in by_id else ("", external(each.id))
        added = f"added {wording.signed(each.contribution)}" if each.contribution is not None else ""
        reasons = [external(each.reason)]
        for unit in sorted(each.units, key=lambda unit: 1.0 if unit.value is None else unit.value):
            support = external(f"(by: {'; '.join(unit.support)})" if unit.support else "", "quiet")
            text = external(f"“{wording.excerpt(unit.unit)}”")
            reasons.append(line(wording.verdict(unit), text, external(unit.reason, "quiet"), support))
        yield kind, title, line(rating, quiet(added)), Markup().join(map(Markup("<p>{}</p>").format, reasons))
    yield from rubrics.closing_rows(version, ((each.id, each) for each in ratings))
