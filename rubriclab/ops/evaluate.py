"""Agreement of rubrics with human scores, beside baselines that need no judge, and the comparisons that decide."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import numpy as np

from rubriclab.data.check import level_order_notes
from rubriclab.display import Displayed
from rubriclab.errors import DataError, NotInStore, StoreError
from rubriclab.learning.baselines import feature_values
from rubriclab.learning.estimate import DryRun, dry_run, estimate_scoring
from rubriclab.learning.gate import gate_level, rater_errors, rater_scores, verdict_on
from rubriclab.learning.scoring import CANNOT_ASSESS, Score
from rubriclab.learning.verdicts import raters_verdicts, verdict_agreement, verdict_statistic, verdicts_at
from rubriclab.methods.catalogue import baseline_method, has_seen_labels
from rubriclab.models.aggregation import Calibration
from rubriclab.models.characters import count
from rubriclab.models.text import Example, Scale, data_digest, labelled, words_digest
from rubriclab.models.text_features import CATALOGUE, WORD_COUNT
from rubriclab.models.version import (
    ALL_FEATURES,
    BASELINE,
    CALIBRATED_ENDING,
    DIRECT,
    GRADED,
    SINGLE_RATERS,
    Baseline,
    Effort,
    EvaluationRecord,
    GateVerdict,
    OtherSide,
    VerdictAgreement,
    Version,
    deciding_verdict,
    is_baseline,
)
from rubriclab.ops import workspace as work
from rubriclab.ops.inputs import Data, check_labels, check_text_fields, likely_labels, usable_texts
from rubriclab.ops.options import EvaluateOptions, ScoreOptions
from rubriclab.ops.score import Scoring
from rubriclab.stats.agreement import (
    Agreement,
    ConstantRule,
    Level,
    ScoreErrors,
    agreement,
    difference,
    less_error,
    score_errors,
)
from rubriclab.stats.correlation import FloatArray, floats
from rubriclab.stats.intervals import Interval
from rubriclab.stats.reliability import ceiling_interval


@dataclass(frozen=True, repr=False)
class Evaluation(work.Answered, Displayed):
    """Agreement of rubrics with human scores; `scores` holds each rubric's scores of texts with a label."""

    versions: tuple[Version, ...]
    examples: tuple[Example, ...]
    scores: Mapping[str, tuple[Score, ...]]
    effort: Effort
    unanswered: str | None = None

    @cached_property
    def scored(self) -> list[ScoredVersion]:
        texts = (labelled(self.examples, version.rubric.aspect.name) for version in self.versions)
        return [ScoredVersion(one, some, self.scores[one.ref]) for one, some in zip(self.versions, texts, strict=True)]

    @cached_property
    def results(self) -> list[Result]:
        """The agreement of rubrics, then of free baselines, with the labels of each aspect."""
        results: list[Result] = []
        for aspect, scored, free in self.by_aspect:
            evaluators = [
                Evaluator(
                    each.name,
                    each.values,
                    sum(score.answers_missing for score in each.scores),
                    sum(score.answers for score in each.scores),
                )
                for each in scored
            ]
            results += measure_agreement(scored[0].texts, [*evaluators, *free], aspect)
        return results

    @property
    def graded(self) -> list[ScoredVersion]:
        """The scored versions whose labels have more than two levels."""
        return [each for each in self.scored if not each.version.rubric.scores_on.names]

    @cached_property
    def calibrated(self) -> list[ScoredVersion]:
        """Each judge asked directly for graded scores, calibrated with the labels of a rubric learned with it."""
        return calibrated_direct(self.graded)

    @cached_property
    def summaries(self) -> Mapping[str, EvaluationSummary | None]:
        """The comparisons of each aspect's rubrics, `None` if no correlation is defined."""
        return {aspect: summarize(scored, self.results, free) for aspect, scored, free in self.by_aspect}

    @cached_property
    def decisions(self) -> list[EvaluatedDecisions]:
        """The agreement of decisions with labels, for each aspect whose rubrics decide."""
        return list(filter(None, (evaluate_decisions(scored, free) for _, scored, free in self.by_aspect)))

    @cached_property
    def by_aspect(self) -> list[tuple[str, list[ScoredVersion], list[Evaluator]]]:
        """Each aspect with its versions and the free baselines, whose scores an evaluation does not contain."""
        found = []
        for aspect in dict.fromkeys(each.aspect for each in self.scored):
            scored = [each for each in self.scored if each.aspect == aspect]
            chosen = {one.version.ref: feature for one in scored if (feature := one.version.provenance.baseline)}
            found.append((aspect, scored, baseline_evaluators(scored[0].texts, chosen)))
        return found

    def records(self) -> dict[str, EvaluationRecord]:
        """Return the verdicts by version, without those on texts that the version has learned from."""
        measured: dict[str, dict[str, Any]] = {}
        for summary in filter(None, self.summaries.values()):
            for row in () if summary.scale.names else summary.evaluators:
                if (deciding := row.deciding) and deciding.gains and not row.seen:
                    own: dict[str, Any] = {"order": row.result.agreement.pearson, "errors": summary.errors.get(row.ref)}
                    own |= {"level": summary.level, "verdict": deciding.gains, "other": deciding.side}
                    measured[row.ref] = own | {"compared_with_direct": row.compared_with_direct}
        for each in self.decisions:
            for found in (rubric for rubric in each.agreements if rubric.name in each.gains):
                own = {"level": "dataset", "order": found.auroc, "decisions": found, "other": each.others[found.name]}
                own |= {"verdict": each.gains[found.name], "compared_with_direct": each.compared_with_direct}
                measured[found.name] = own
        return {
            one.version.ref: EvaluationRecord(
                created=datetime.now(UTC),
                judge=one.scores[0].judge,
                data=data_digest(one.texts, one.aspect),
                **_count_scored(one.values, one.groups),
                **measured[one.version.ref],
            )
            for one in self.scored
            if one.version.ref in measured
        }

    def to_row(self) -> dict[str, Any]:
        """Return the figures of the report; for labels of two levels, these are the figures of verdicts."""
        graded = {each.aspect for each in self.graded}
        results = [result.to_row() for result in self.results if result.aspect in graded]
        row: dict[str, Any] = {"results": [*results, *(line for each in self.decisions for line in each.to_rows())]}
        if graded:
            summaries = [each for aspect, each in self.summaries.items() if each and aspect in graded]
            row["comparisons"] = [each for summary in summaries for each in summary.to_rows()]
            errors = [(each.name, each, each.errors, each.error_basis) for each in (*self.graded, *self.calibrated)]
            by_aspect = {each.aspect: each for each in self.graded}.values()
            errors += [(SINGLE_RATERS, each, each.rater_errors, each.rater_basis) for each in by_aspect]
            row["errors"] = [
                {"evaluator": name, "aspect": each.aspect, **basis, **asdict(found)}
                for name, each, found, basis in errors
                if found
            ]
        return row


def evaluate(
    workspace: work.Workspace, data: Data, rubrics: str | Version | Sequence[str | Version], options: EvaluateOptions
) -> work.Job[Evaluation]:
    """Return how well rubrics agree with the human scores of texts that no rubric was learned from."""
    versions = work.load_versions(workspace, rubrics)
    choices = [work.choose_judge(version, options.judge, workspace.store, workspace.notify) for version in versions]
    aspects = {version.rubric.aspect.name: version.rubric.scores_on for version in versions}
    examples = used = usable_texts(data, options, aspects.items(), workspace.notify)
    trained_on = {text for version in versions if has_seen_labels(version.rubric) for text in version.provenance.texts}
    repeated = sum(words_digest(each) in trained_on for each in examples)
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
        evaluation = Evaluation(versions, used, scores, workspace.effort(), unanswered)
        if not options.include_training:
            await workspace.off_event_loop(_store_verdicts, workspace, evaluation)
        return evaluation

    return work.Job(estimate, run)


def _store_verdicts(workspace: work.Workspace, evaluation: Evaluation) -> None:
    versions = {version.ref: version for version in evaluation.versions}
    for ref, record in evaluation.records().items():
        try:
            earlier = workspace.store.load(ref).evaluation
            if earlier and earlier.judge == record.judge and (record.groups, record.n) < (earlier.groups, earlier.n):
                basis = f"{count(earlier.n, 'text')} of {count(earlier.groups, 'group')}, as these are fewer"
                workspace.notify(f"the store keeps the verdict on {ref} on {basis}")
                continue
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
        rows, aspect = texts[version.ref], version.rubric.aspect.name
        if not rows:
            likely = likely_labels(data, options, aspect) or f"scores.{aspect}=COLUMN"
            hint = f"Map the column that holds it: `mapping={likely}`."
            raise DataError(f"No row to evaluate {version.ref} on has a score for {aspect!r}.", hint)
        check_labels([row.scores[aspect] for row in rows], version.rubric, version.ref, notify)
        for note in level_order_notes(rows, aspect):
            notify(note)
        if len({row.group for row in rows}) == len(rows):
            notify(f"{version.ref}: every text is a group of its own; give `group` or `source` to compare rivals")
        if any(row.system is None for row in rows):
            notify(f"{version.ref}: no comparison of systems, as some texts do not name theirs")
        check_text_fields(version, rows, data, options, notify=notify)
    return texts


LEVELS: tuple[Level, ...] = ("group", "dataset", "system")


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
        figures |= {"ceiling": asdict(self.ceiling)} if self.ceiling else {}
        unanswered = {name: getattr(self, name) for name in ("unscored", "answers_missing", "answers")}
        counts["constant_rule"] = counts.pop("constant")
        return {"evaluator": self.evaluator, "aspect": self.aspect, **counts, **unanswered, **figures}


def baseline_evaluators(examples: Sequence[Example], chosen: Mapping[str, Baseline]) -> list[Evaluator]:
    """Return the word count and, once each, the signed text features and the models of all that `chosen` holds."""
    by_feature: dict[tuple[str, int], list[str]] = {}
    by_model: dict[tuple[tuple[str, tuple[float, float]], ...], list[str]] = {}
    for rubric, baseline in chosen.items():
        by_feature.setdefault((baseline.feature, baseline.sign), []).append(rubric)
        by_model.setdefault(tuple(baseline.model.items()), []).append(rubric)
    used = {WORD_COUNT, *(name for name, _ in by_feature), *(name for model in by_model for name, _ in model)}
    known = [entry.name for entry in CATALOGUE if entry.name in used]
    values = dict(zip(known, feature_values(examples, known).T, strict=True))
    evaluators = [Evaluator(f"{BASELINE}word count", values[WORD_COUNT])]
    for (name, sign), rubrics in by_feature.items():
        if name in values:
            remark = f"text feature chosen by the labels recorded with {', '.join(rubrics)}"
            label = f"{BASELINE}{'' if sign > 0 else '-'}{name} ({remark})"
            evaluators.append(Evaluator(label, sign * values[name]))
    for model, rubrics in by_model.items():
        if model and all(name in values for name, _ in model):
            # A feature that is undefined counts as average.
            scores = sum(weight * np.nan_to_num(values[name] - mean) for name, (mean, weight) in model)
            label = ALL_FEATURES if len(by_model) == 1 else f"{ALL_FEATURES} fitted for {', '.join(rubrics)}"
            remark = f"fitted to the labels recorded with {', '.join(rubrics)}"
            evaluators.append(Evaluator(f"{BASELINE}{label} ({remark})", np.asarray(scores)))
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
    return tuple(e for e in examples if e.group not in groups and words_digest(e) not in texts)


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
        return f"{self.version.ref}{CALIBRATED_ENDING if self.calibration else ''}"

    @property
    def aspect(self) -> str:
        return self.version.rubric.aspect.name

    @property
    def asks_directly(self) -> bool:
        return [part.method for part in self.version.rubric.parts] == [DIRECT]

    def is_judge_of(self, other: ScoredVersion) -> bool:
        """Return whether this is the other version's judge, asked directly."""
        return self.asks_directly and self.scores[0].judge == other.scores[0].judge

    @cached_property
    def labels(self) -> FloatArray:
        return np.array([text.scores[self.aspect] for text in self.texts], dtype=float)

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

    @cached_property
    def rater_errors(self) -> ScoreErrors | None:
        """The errors of single raters; `None` if unknown."""
        return rater_errors(self.texts, self.aspect, self.version.rubric.scores_on)

    @property
    def rater_basis(self) -> dict[str, Any]:
        """The numbers of texts and groups behind `rater_errors`: of texts with two raters or more."""
        rated = [text.group for text in self.texts if len(text.annotations.get(self.aspect, ())) > 1]
        return {"level": "dataset", "n": len(rated), "groups": len(set(rated))}

    @property
    def error_basis(self) -> dict[str, Any]:
        """The numbers of texts and groups behind `errors`, including groups without a correlation."""
        return {"level": "dataset", **_count_scored(self.values, self.groups)}


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
        if each.asks_directly and not each.version.rubric.aggregation and key(each.version) in calibrations:
            calibration, ref = calibrations[key(each.version)]
            calibrated.append(replace(each, calibration=calibration, calibrated_by=ref))
    return calibrated


# Comparisons of each rubric with the best rubric and the baselines on the same texts.


@dataclass(frozen=True, slots=True)
class EvaluatorComparison:
    """A rubric against another evaluator on the texts that both scored.

    `n` and `groups` are the basis of the difference in correlation, `error_basis` is the basis of the gain in error.
    """

    other: Result
    side: OtherSide
    gains: GateVerdict | None
    n: int = 0
    groups: int = 0
    error_basis: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EvaluatorRow:
    """One evaluator's agreement, compared with others.

    `baselines` are methods such as the judge asked directly, the best first; `best_baseline` is the best free one.
    `seen` is the number of evaluated texts from groups that the evaluator was learned from.
    """

    result: Result
    baselines: tuple[EvaluatorComparison, ...]
    best_baseline: EvaluatorComparison | None
    best: EvaluatorComparison | None
    seen: int

    @property
    def ref(self) -> str:
        return self.result.evaluator

    @property
    def deciding(self) -> EvaluatorComparison | None:
        """The comparison that decides, as in learning: with a baseline method, or a free baseline if that is worse."""
        direct, free = (self.baselines or (None,))[0], self.best_baseline
        named = {each.other.evaluator: each for each in self.baselines}
        calibrated = named.get(f"{direct.other.evaluator}{CALIBRATED_ENDING}") if direct else None
        candidates = (direct, calibrated, free)
        verdict = deciding_verdict(*(each.gains if each else None for each in candidates))
        return next((each for each in candidates if each and each.gains is verdict), None)

    @property
    def compared_with_direct(self) -> bool:
        """Whether the judge without a learned rubric scored the same texts, also if a free baseline decides."""
        return any(each.gains for each in self.baselines)


@dataclass(frozen=True, slots=True)
class EvaluationSummary:
    """The rubrics of one aspect, best first, then its baselines.

    `level` is that of the comparisons, chosen as in learning. `errors` are by evaluator.
    """

    aspect: str
    level: Level
    evaluators: tuple[EvaluatorRow, ...]
    errors: Mapping[str, ScoreErrors]
    scale: Scale

    @property
    def comparisons(self) -> tuple[tuple[str, EvaluatorComparison], ...]:
        """The comparisons, each after the reference of the evaluator that is compared."""
        rows = ((row.ref, (*row.baselines, row.best_baseline, row.best)) for row in self.evaluators)
        return tuple((ref, each) for ref, others in rows for each in others if each)

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
    as_baselines = {each.name for each in scored if baseline_method(each.version.rubric)}
    of_versions = [row for row in rows if row.evaluator in versions]
    baselines = [row for row in of_versions if row.evaluator in as_baselines]
    ranked = [row for row in of_versions if row not in baselines] or baselines
    other_baselines = [row for row in baselines if row not in ranked]
    best_free = next((row for row in rows if is_baseline(row.evaluator)), None)

    def compare(row: Result, other: Result | None) -> EvaluatorComparison | None:
        return None if other is None or other is row else _comparison(row, other, versions, free_scores)

    by_name = {row.evaluator: row for row in other_baselines}
    calibrated_rows = [
        replace(by_name[one.version.ref], evaluator=one.name) for one in calibrated if one.version.ref in by_name
    ]
    evaluators = []
    for row in (*ranked, *other_baselines):
        is_rubric = row in ranked
        with_baselines = (compare(row, each) for each in (*other_baselines, *calibrated_rows) if is_rubric)
        with_best = compare(row, ranked[0]) if is_rubric else None
        one = versions[row.evaluator]
        learned_from = one.version.provenance.groups if has_seen_labels(one.version.rubric) else ()
        seen = sum(group in learned_from for group in one.groups)
        evaluators.append(
            EvaluatorRow(row, tuple(filter(None, with_baselines)), compare(row, best_free), with_best, seen)
        )
    errors = {ref: each.errors for ref, each in versions.items() if each.errors}
    scale = scored[0].version.rubric.scores_on
    return EvaluationSummary(aspect, level, tuple(evaluators), errors, scale)


def _comparison(
    row: Result, other: Result, versions: Mapping[str, ScoredVersion], free_scores: Mapping[str, FloatArray]
) -> EvaluatorComparison:
    scored, other_scored = versions[row.evaluator], versions.get(other.evaluator)
    other_values = other_scored.values if other_scored else free_scores.get(other.evaluator)
    side = OtherSide(
        n=other.agreement.n,
        asked_directly=bool(other_scored and other_scored.is_judge_of(scored)),
        errors=other_scored.errors if other_scored else None,
        order=other.agreement.pearson,
    )
    if other_values is None:
        return EvaluatorComparison(other, side, None)
    labels, groups, level = scored.labels, scored.groups, row.agreement.level
    found = difference(scored.values, other_values, labels, groups, scored.systems, level=level)
    scale, gain = scored.version.rubric.scores_on, None
    if other_scored and other_scored.version.rubric.scores_on == scale and not scale.names and found.n:
        gain = less_error([other_values, scored.values], labels, groups)
    verdict = verdict_on(other.evaluator, found.interval, gain, scale, labels=found.n, clusters=found.clusters)
    defined = verdict if gain or found.interval.value is not None or found.too_few_groups else None
    basis = _count_scored(other_values + scored.values, groups) if gain else {}
    return EvaluatorComparison(other, side, defined, found.n, found.groups, basis)


def _count_scored(scores: FloatArray, groups: Sequence[str]) -> dict[str, int]:
    scored = np.flatnonzero(~np.isnan(scores)).tolist()
    return {"n": len(scored), "groups": len({groups[index] for index in scored})}


@dataclass(frozen=True, slots=True)
class EvaluatedDecisions:
    """How decisions on one aspect agree with the labels.

    Attributes:
        names: of the worse and of the better level.
        agreements: of each rubric that decides, and of the raters among themselves if there are several.
        gains: the verdict that decides for each rubric, as in learning.
        others: what each rubric is compared with by its verdict.
        compared_with_direct: whether one of the rubrics is the judge asked directly.
        best, best_auroc: of the free baselines.
        basis: aspect, level, and numbers of texts and groups.
    """

    names: tuple[str, str]
    agreements: list[VerdictAgreement]
    gains: dict[str, GateVerdict]
    others: dict[str, OtherSide]
    compared_with_direct: bool
    best: str
    best_auroc: Interval
    basis: dict[str, Any]

    def to_rows(self) -> list[dict[str, Any]]:
        start = {"levels": self.names, **{name: self.basis[name] for name in ("aspect", "level", "groups")}}
        rows = []
        for found in self.agreements:
            row = {**start, "evaluator": found.name, **found.model_dump(mode="json", exclude={"name"})}
            gain = self.gains.get(found.name)
            rows.append(row | ({"auroc_above": {gain.against: asdict(gain.difference)}} if gain else {}))
        return [*rows, {**start, "evaluator": self.best, "auroc": asdict(self.best_auroc)}]


def evaluate_decisions(
    scored: Sequence[ScoredVersion], free_baselines: Sequence[Evaluator]
) -> EvaluatedDecisions | None:
    """Compare the decisions of rubrics of one aspect with the labels; `None` if no rubric decides."""
    labels, groups, aspect = scored[0].labels, scored[0].groups, scored[0].aspect
    free_scores = {each.name.partition(" (")[0]: each.scores for each in free_baselines}
    aurocs = {name: verdict_statistic("AUROC", [values], labels, groups) for name, values in free_scores.items()}
    best = max(aurocs, key=lambda name: aurocs[name].value or 0.0)
    direct = {each.name: each.values for each in scored if each.asks_directly}
    agreements: list[VerdictAgreement] = []
    gains, names = dict[str, GateVerdict](), ("", "")
    for each in scored:
        ref, rubric = each.version.ref, each.version.rubric
        if rubric.threshold is None or rubric.scores_on.names is None:
            continue
        names = rubric.scores_on.names
        decided = verdicts_at(each.values, rubric.threshold)
        agreements.append(verdict_agreement(ref, each.values, decided, labels, groups))
        verdicts = []
        for against, other in {**({} if ref in direct else direct), best: free_scores[best]}.items():
            gain = verdict_statistic("AUROC", [each.values, other], labels, groups)
            errors = [other, each.values] if against in direct else []  # text features give no probabilities
            error = verdict_statistic("Brier score", errors, labels, groups) if errors else None
            counts = {"labels": len(labels), "clusters": len(set(groups))}
            verdicts.append(verdict_on(against, gain, error, rubric.scores_on, **counts))
        gains[ref] = deciding_verdict(verdicts[0], None, verdicts[-1]) or verdicts[0]
    if not agreements:
        return None
    basis = {"aspect": aspect, "level": "dataset", "n": sum(agreements[0].cells), "groups": len(set(groups))}
    judges, decisions_by = {each.name: each for each in scored}, {each.name: each for each in agreements}
    others = {}
    for ref, verdict in gains.items():
        judge, decisions = judges.get(verdict.against), decisions_by.get(verdict.against)
        others[ref] = OtherSide(
            n=sum(decisions.cells) if decisions else len(labels),
            asked_directly=bool(judge and judge.is_judge_of(judges[ref])),
            order=aurocs[best] if judge is None else decisions and decisions.auroc,
            decisions=decisions,
        )
    if raters := raters_verdicts([text.annotations.get(aspect, ()) for text in scored[0].texts], groups):
        agreements.append(raters)
    return EvaluatedDecisions(names, agreements, gains, others, bool(direct), best, aurocs[best], basis)
