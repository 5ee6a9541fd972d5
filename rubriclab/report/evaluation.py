"""How far rubrics and baselines agree with people on texts that the rubrics have not seen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from markupsafe import Markup

from rubriclab.learning.gate import rater_errors
from rubriclab.learning.scoring import Score
from rubriclab.learning.verdicts import (
    LevelAgreement,
    level_agreement,
    raters_verdicts,
    verdict_agreement,
    verdict_statistic,
    verdicts_of,
)
from rubriclab.methods.catalogue import installed
from rubriclab.methods.method import CriterionRating
from rubriclab.models.aggregation import Term
from rubriclab.models.characters import count, listed
from rubriclab.models.rubric import Criterion, Rubric
from rubriclab.models.text import Example, Scale, labelled
from rubriclab.models.version import DIRECT, RecordedText, VerdictAgreement
from rubriclab.ops.evaluate import Evaluation, Evaluator, Result, baseline_evaluators
from rubriclab.report import charts, rubrics, wording
from rubriclab.report.render import View, line, q, quiet, view
from rubriclab.stats.agreement import (
    ConstantRule,
    Level,
    ScoreErrors,
    coefficient_interval,
    difference,
    less_error,
    score_errors,
    scored_texts,
    used_texts,
)
from rubriclab.stats.correlation import FloatArray, floats, spearman_rows
from rubriclab.stats.intervals import Interval

if TYPE_CHECKING:
    from rubriclab.models.version import Version

# Texts with their labels and scores.

MAX_TEXTS, TITLE = 6, 60


@dataclass(frozen=True, slots=True)
class JudgedText:
    """A text with its label and the rubric's."""

    example: Example
    human: float
    score: Score


@dataclass(frozen=True, slots=True)
class CriterionRow:
    """One criterion's agreement with the labels (AUROC for two levels, else Spearman), and texts without a rating."""

    id: str
    criterion: Criterion | None
    agreement: Interval
    inapplicable: int
    unscored: int


def judged_texts(examples: Sequence[Example], scores: Sequence[Score], ref: str, aspect: str) -> list[JudgedText]:
    """Return the examples with a label for `aspect`, each with its score by `ref`; ValueError for other scores."""
    rated = labelled(examples, aspect)
    texts = rated if len(scores) == len(rated) else examples
    if [example.id for example in texts] != [score.id for score in scores]:
        raise ValueError(
            f"scored[{ref!r}]: expected one score for each of the {len(examples)} examples, or of the {len(rated)} "
            f"with a label for {aspect!r}, in their order; got {len(scores)} scores with other ids or in another order"
        )
    pairs = zip(texts, scores, strict=True)
    return [JudgedText(text, text.scores[aspect], score) for text, score in pairs if aspect in text.scores]


def human_scores(texts: Sequence[JudgedText]) -> FloatArray:
    """Return the labels, shape (texts,)."""
    return np.array([text.human for text in texts], dtype=float)


def rubric_scores(texts: Sequence[JudgedText]) -> FloatArray:
    """Return the scores of the rubric, shape (texts,), NaN for unscored texts."""
    return floats(text.score.score for text in texts)


def error_row(version: Version, texts: Sequence[JudgedText]) -> list[object] | None:
    """Return a version's errors on texts with labels on the scale of its scores, and how many intervals hold them."""
    errors, conformal = errors_of(version, texts), version.rubric.aggregation and version.rubric.aggregation.conformal
    if errors is None:
        return None
    held = [text.score.interval[0] <= text.human <= text.score.interval[1] for text in texts if text.score.interval]
    inside = ""
    if conformal and held:
        share = wording.percent(sum(held) / len(held))
        inside = f"{sum(held):,} of {len(held):,} ({share})"
    scored = sum(text.score.score is not None for text in texts)
    return [q(version.ref), *rubrics.error_cells(errors), f"{scored:,}", inside]


def raters_row(version: Version, texts: Sequence[JudgedText]) -> list[object] | None:
    """Return the errors of single raters on the same texts; `None` where they are not known."""
    rubric = version.rubric
    errors = rater_errors([text.example for text in texts], rubric.aspect.name, rubric.scores_on)
    name = "single raters, each against the mean of the others"
    return [name, *rubrics.error_cells(errors), "", ""] if errors else None


def errors_of(version: Version, texts: Sequence[JudgedText]) -> ScoreErrors | None:
    """Return a version's errors on texts with labels on the scale of its scores; `None` if none has a score."""
    groups, width = [text.example.group for text in texts], version.rubric.scores_on.width
    return score_errors(rubric_scores(texts), human_scores(texts), groups, width)


def criterion_agreements(
    rubric: Rubric, texts: Sequence[JudgedText], level: Level, constant: ConstantRule
) -> list[CriterionRow]:
    """Return the agreement of every criterion that `texts` were scored by, in the rubric's order."""
    by_id: dict[str, Criterion] = {criterion.id: criterion for criterion in rubric.criteria}
    scored = dict.fromkeys(part.id for text in texts for part in text.score.criteria)
    found = []
    for name in [*(name for name in by_id if name in scored), *(name for name in scored if name not in by_id)]:
        ratings = [next((part for part in text.score.criteria if part.id == name), None) for text in texts]
        inapplicable = sum(part is not None and part.score is None and not part.applies for part in ratings)
        scores = floats(part.score if part else None for part in ratings)
        agreement = _auroc(scores, texts) if rubric.scores_on.names else _spearman(scores, texts, level, constant)
        found.append(
            CriterionRow(name, by_id.get(name), agreement, inapplicable, int(np.isnan(scores).sum()) - inapplicable)
        )
    return found


def _auroc(scores: FloatArray, texts: Sequence[JudgedText]) -> Interval:
    return verdict_statistic("AUROC", [scores], human_scores(texts), [text.example.group for text in texts])


def _spearman(scores: FloatArray, texts: Sequence[JudgedText], level: Level, constant: ConstantRule) -> Interval:
    """Return what `rubriclab.stats.agreement` gives for Spearman, without the time that Kendall takes."""
    groups = [text.example.group for text in texts]
    systems = [text.example.system or "" for text in texts]
    used = used_texts(scored_texts([scores], human_scores(texts), groups, systems), level, constant)
    return coefficient_interval(used, spearman_rows, level, constant)


# Which rubric agrees best, and whether it is above the baselines on the same texts.

# The level that the summary speaks of: the first at which a correlation is defined.
PREFERRED: tuple[Level, ...] = ("group", "dataset", "system")
Verdict = Literal["above", "below", "overlaps", "too few groups", "not comparable with"]
# What pages say of each, and its tone.
RESULTS: Mapping[Verdict, tuple[str, str]] = {
    "above": ("better", "good"),
    "below": ("worse", "bad"),
    "overlaps": ("inconclusive", "warning"),
    "too few groups": ("too few groups to tell", "warning"),
    "not comparable with": ("no comparison made", "warning"),
}


@dataclass(frozen=True, slots=True)
class EvaluatorComparison:
    """A rubric against another evaluator on the `n` texts that both scored; unknown gains are undefined."""

    other: Result
    less_error: Interval
    difference: Interval
    n: int = 0
    groups: int = 0
    too_few_groups: bool = False
    p: float | None = None

    @property
    def verdict(self) -> Verdict:
        """`above` or `below` if the interval of one gain excludes 0 and the other does not contradict it."""
        if self.too_few_groups:
            return "too few groups"
        gains = [gain for gain in (self.less_error, self.difference) if gain.value is not None]
        if not gains:
            return "not comparable with"
        above = any(gain.low is not None and gain.low > 0 for gain in gains)
        below = any(gain.high is not None and gain.high < 0 for gain in gains)
        if above == below:
            return "overlaps"
        return "above" if above else "below"


@dataclass(frozen=True, slots=True)
class EvaluatorRow:
    """How well one rubric or baseline agrees, against the best free baseline and the first of its ranking."""

    result: Result
    best_baseline: EvaluatorComparison | None
    best: EvaluatorComparison | None
    seen: int
    baseline: bool

    @property
    def ref(self) -> str:
        """`NAME@NUMBER` of the version."""
        return self.result.evaluator


@dataclass(frozen=True, slots=True)
class EvaluationSummary:
    """The rubrics of one aspect, best first, then its baselines; `errors` are those of the best."""

    aspect: str
    level: Level
    evaluators: tuple[EvaluatorRow, ...]
    baselines: tuple[EvaluatorComparison, ...]
    errors: ScoreErrors | None

    @property
    def comparisons(self) -> tuple[tuple[str, EvaluatorComparison], ...]:
        """Every paired comparison that was made, each with the rubric or baseline whose side it takes."""
        made = [(row.ref, each) for row in self.evaluators for each in (row.best_baseline, row.best) if each]
        return (*made, *((self.evaluators[0].ref, each) for each in self.baselines))

    def to_rows(self) -> list[dict[str, Any]]:
        """Return one JSON object for each comparison: both gains on the same texts, and what they show."""
        return [
            {
                "evaluator": ref,
                "compared_with": each.other.evaluator,
                "aspect": self.aspect,
                "level": self.level,
                "n": each.n,
                "groups": each.groups,
                "less_error": asdict(each.less_error),
                "difference": asdict(each.difference),
                "permutation_p": each.p,
                "verdict": each.verdict,
            }
            for ref, each in self.comparisons
        ]


def summarize(
    aspect: str,
    versions: Sequence[Version],
    results: Sequence[Result],
    texts: Mapping[str, Sequence[JudgedText]],
    free_baselines: Sequence[Evaluator],
) -> EvaluationSummary | None:
    """Return how the rubrics of `aspect` did, by each version's texts; `None` if no correlation is defined."""
    refs = {version.ref: version for version in versions}
    defined = [row for row in results if row.aspect == aspect and row.agreement.spearman.value is not None]
    measured = {row.agreement.level for row in defined if row.evaluator in refs}
    level = next((level for level in PREFERRED if level in measured), None)
    if level is None:
        return None
    rows = [row for row in defined if row.agreement.level == level]
    rows.sort(key=lambda row: -(row.agreement.spearman.value or 0.0))
    scores = {_key(baseline.name): baseline.scores for baseline in free_baselines}
    scores |= {ref: rubric_scores(texts[ref]) for ref in refs}
    scales = {ref: version.rubric.scores_on for ref, version in refs.items()}
    # All that a version of one baseline method does is what the baseline does; several parts are a rubric.
    methods = {ref: [part.method for part in version.rubric.parts] for ref, version in refs.items()}
    as_baselines = {ref for ref, names in methods.items() if len(names) == 1 and is_baseline(names[0])}
    ours = [row for row in rows if row.evaluator in refs]
    baselines = [row for row in ours if row.evaluator in as_baselines]
    ranked = [row for row in ours if row not in baselines] or baselines
    beside = [row for row in baselines if row not in ranked]
    rivals = [row for row in rows if wording.is_baseline(row.evaluator)]
    known = texts[ranked[0].evaluator]

    def contest(row: Result, other: Result | None) -> EvaluatorComparison | None:
        return None if other is None or other is row else _comparison(row, other, scores, known, scales)

    evaluators = tuple(
        EvaluatorRow(
            row,
            contest(row, rivals[0] if rivals else None),
            contest(row, None if row in beside else ranked[0]),
            0 if all(map(never_sees_labels, methods[row.evaluator])) else _seen(refs[row.evaluator], known),
            row in baselines,
        )
        for row in (*ranked, *beside)
    )
    against = tuple(_comparison(ranked[0], row, scores, known, scales) for row in beside)
    return EvaluationSummary(aspect, level, evaluators, against, errors_of(refs[ranked[0].evaluator], known))


def _comparison(
    row: Result,
    other: Result,
    scores: Mapping[str, FloatArray],
    texts: Sequence[JudgedText],
    scales: Mapping[str, Scale],
) -> EvaluatorComparison:
    if _key(other.evaluator) not in scores:
        return EvaluatorComparison(other, Interval(None), Interval(None))
    own, theirs = scores[row.evaluator], scores[_key(other.evaluator)]
    labels, groups = human_scores(texts), [text.example.group for text in texts]
    found = difference(
        own,
        theirs,
        labels,
        groups,
        [text.example.system or "" for text in texts],
        level=row.agreement.level,
        constant=row.agreement.constant,
    )
    one_scale = scales.get(other.evaluator) == scales[row.evaluator] and not scales[row.evaluator].names
    gain = less_error([theirs, own], labels, groups) if one_scale and found.n else Interval(None)
    return EvaluatorComparison(other, gain, found.spearman, found.n, found.groups, found.too_few_groups, found.p)


def _key(evaluator: str) -> str:
    """Return a free baseline's name without the remark that says for which rubrics it was evaluated."""
    return wording.BASELINE + wording.evaluator_parts(evaluator)[0] if wording.is_baseline(evaluator) else evaluator


def _seen(version: Version, texts: Sequence[JudgedText]) -> int:
    groups = frozenset(version.provenance.groups)
    return sum(text.example.group in groups for text in texts)


# The page.


def evaluation_view(evaluation: Evaluation, *, brief: bool = True) -> View:
    """Return every figure of an evaluation, and in words how its rubrics compare; ValueError for missing scores."""
    versions = evaluation.versions
    summaries = evaluation_summaries(evaluation)
    by_version = [(version, _texts(evaluation, version)) for version in versions]
    graded = {version.rubric.aspect.name for version in versions if not version.rubric.scores_on.names}
    with_errors = [each for each in by_version if not each[0].rubric.scores_on.names]
    fitted = (version.rubric.aggregation for version, _ in with_errors)
    nominal = {wording.percent(each.conformal.confidence) for each in fitted if each and each.conformal}
    raters = {version.rubric.aspect.name: raters_row(version, texts) for version, texts in with_errors}
    errors = [*(error_row(*each) for each in with_errors), *raters.values()]
    # By aspect and level, the results of rubrics and those of free baselines.
    blocks: dict[tuple[str, str], tuple[list[Result], list[Result]]] = {}
    for result in evaluation.results:
        if result.aspect in graded:
            parts = blocks.setdefault((result.aspect, result.agreement.level), ([], []))
            parts[wording.is_baseline(result.evaluator)].append(result)
    return view(
        "evaluation",
        title=listed(summaries) if summaries else "",
        brief=brief,
        graded=graded,
        verdict_sections=list(_verdicts(evaluation)),
        summaries={name: each for name, each in summaries.items() if name in graded},
        errors=list(filter(None, errors)),
        nominal=nominal.pop() if len(nominal) == 1 else "",
        several=len({aspect for aspect, _ in blocks}) > 1,
        blocks=blocks,
        few_levels=[(version.ref, _level_agreement(version, texts)) for version, texts in by_version],
        criterion_name=_criterion_name,
        called=lambda evaluator: _called(evaluator, versions),
        results=RESULTS,
        axis=charts.agreement_axis(result.agreement.spearman for result in evaluation.results),
        details=[] if brief else [_details(*each, summaries[each[0].rubric.aspect.name]) for each in by_version],
    )


def is_baseline(name: str) -> bool:
    """Return whether a method is a baseline; none that is not installed is one."""
    method = installed(name)
    return method is not None and method.is_baseline


def never_sees_labels(name: str) -> bool:
    """Return whether a method needs no labels: a version's labelled groups are then those that it was measured on."""
    method = installed(name)
    return method is not None and method.is_baseline and not method.needs_labels


def _called(evaluator: str, versions: Sequence[Version]) -> str:
    """Return an evaluator's name, with what it asks if it is a version of one baseline method."""
    version = next((each for each in versions if each.ref == evaluator), None)
    methods = [part.method for part in version.rubric.parts] if version else []
    if len(methods) != 1 or not is_baseline(methods[0]):
        return wording.evaluator_parts(evaluator)[0]
    judges = {each.provenance.judge for each in versions}
    asked_directly = methods == [DIRECT] and len(judges) == 1
    return f"{evaluator}, {wording.EVALUATORS[DIRECT] if asked_directly else wording.method_note(methods[0])}"


def evaluation_summaries(evaluation: Evaluation) -> dict[str, EvaluationSummary | None]:
    """Return the summary of each aspect, `None` if no correlation is defined."""
    texts = {version.ref: _texts(evaluation, version) for version in evaluation.versions}
    summaries = {}
    for aspect, chosen in _by_aspect(evaluation).items():
        # The scores of the free baselines, which the comparison needs and the results do not contain.
        best = {version.ref: version.provenance.baseline for version in chosen if version.provenance.baseline}
        baselines = baseline_evaluators(labelled(evaluation.examples, aspect), best)
        summaries[aspect] = summarize(aspect, chosen, evaluation.results, texts, baselines)
    return summaries


def _by_aspect(evaluation: Evaluation) -> dict[str, list[Version]]:
    found: dict[str, list[Version]] = {}
    for version in evaluation.versions:
        found.setdefault(version.rubric.aspect.name, []).append(version)
    return found


def verdict_rows(evaluation: Evaluation) -> list[dict[str, Any]]:
    """Return how the verdicts on each aspect agree with people's as JSON."""
    rows: list[dict[str, Any]] = []
    for each in _verdicts(evaluation):
        start = {"levels": each.names, **{name: each.basis[name] for name in ("aspect", "level", "groups")}}
        for found in each.found:
            rows.append({**start, "evaluator": found.name, **found.model_dump(mode="json", exclude={"name"})})
            if gain := each.gains.get(found.name):
                rows[-1]["auroc_above"] = {each.best: asdict(gain)}
        rows.append({**start, "evaluator": each.best, "auroc": asdict(each.best_auroc)})
    return rows


def error_rows(evaluation: Evaluation) -> list[dict[str, Any]]:
    """Return the errors of rubrics without verdicts as JSON, in points of their scales."""
    return [
        {"evaluator": version.ref, "aspect": version.rubric.aspect.name, **asdict(errors)}
        for version in evaluation.versions
        if not version.rubric.scores_on.names and (errors := errors_of(version, _texts(evaluation, version)))
    ]


@dataclass(frozen=True, slots=True)
class EvaluatedVerdicts:
    """How verdicts on one aspect agree with the labels, and the AUROC of each rubric above the best free baseline."""

    aspect: str
    names: tuple[str, str]
    found: list[VerdictAgreement]
    gains: dict[str, Interval]
    thresholds: list[str]
    best: str
    best_auroc: Interval
    basis: dict[str, Any]


def _verdicts(evaluation: Evaluation) -> Iterator[EvaluatedVerdicts]:
    """Yield how the verdicts on each aspect agree with people's; nothing for aspects without verdicts."""
    for aspect, chosen in _by_aspect(evaluation).items():
        texts = [text.example for text in _texts(evaluation, chosen[0])]
        groups, labels = [text.group for text in texts], np.array([text.scores[aspect] for text in texts], dtype=float)
        own = {version.ref: version.provenance.baseline for version in chosen if version.provenance.baseline}
        free = {wording.evaluator_parts(each.name)[0]: each.scores for each in baseline_evaluators(texts, own)}
        reached = {name: verdict_statistic("AUROC", [values], labels, groups) for name, values in free.items()}
        best = max(reached, key=lambda name: reached[name].value or 0.0)
        found, gains, thresholds, names = [], {}, dict[str, str](), ("", "")
        for version in chosen:
            rubric, scores = version.rubric, rubric_scores(_texts(evaluation, version))
            if rubric.threshold is None or rubric.scores_on.names is None:
                continue
            names = rubric.scores_on.names
            thresholds[version.ref] = wording.threshold(rubric)
            decided = verdicts_of(scores, rubric.threshold)
            found.append(verdict_agreement(version.ref, scores, decided, labels, groups))
            gains[version.ref] = verdict_statistic("AUROC", [scores, free[best]], labels, groups)
        if not found:
            continue
        if raters := raters_verdicts([text.annotations.get(aspect, ()) for text in texts], groups):
            found.append(raters)
        basis = {"aspect": aspect, "level": "dataset", "n": sum(found[0].cells), "groups": len(set(groups))}
        own_thresholds = [f"{words} ({ref})" for ref, words in thresholds.items()]
        shown = own_thresholds if len(thresholds) > 1 else list(thresholds.values())
        yield EvaluatedVerdicts(aspect, names, found, gains, shown, best, reached[best], basis)


def _texts(evaluation: Evaluation, version: Version) -> list[JudgedText]:
    scored = evaluation.scores
    if version.ref not in scored:
        known = ", ".join(scored) or "none"
        raise ValueError(f"scored: expected the scores of {version.ref!r} too, got those of {known}")
    return judged_texts(evaluation.examples, scored[version.ref], version.ref, version.rubric.aspect.name)


def _level_agreement(version: Version, texts: Sequence[JudgedText]) -> LevelAgreement | None:
    groups = [text.example.group for text in texts]
    return level_agreement(rubric_scores(texts), human_scores(texts), groups, version.rubric.scores_on)


def _details(version: Version, texts: Sequence[JudgedText], summary: EvaluationSummary | None) -> dict[str, Any]:
    """Return what the page shows of one rubric; its criteria in full are on the page of `rubriclab report`."""
    scale = version.rubric.scores_on
    pairs = [(text.human, text.score.score) for text in texts if text.score.score is not None]
    criteria: list[CriterionRow] = []
    whole: list[Interval] = []
    if summary:
        constant = summary.evaluators[0].result.agreement.constant
        terms = wording.terms(version.rubric)
        criteria = criterion_agreements(version.rubric, texts, summary.level, constant)
        criteria.sort(key=lambda each: -abs(terms[each.id].weight) if each.id in terms else 0)
        whole = [row.result.agreement.spearman for row in summary.evaluators if row.ref == version.ref]
        if scale.names:
            whole = [_auroc(rubric_scores(texts), texts)]
    recorded = [(_recorded(text), text.score.criteria) for text in texts]
    differing = sorted(
        (each for each in recorded if rubrics.distance(each[0])),
        key=lambda each: (-rubrics.distance(each[0]), each[0].id),
    )
    by_id = {criterion.id: criterion for criterion in version.rubric.criteria}
    return {
        "version": version,
        "texts": texts,
        "pairs": [] if scale.names else pairs,
        "criteria": criteria,
        "whole": whole,
        "level": summary.level if summary else "",
        "terms": wording.terms(version.rubric),
        "axis": rubrics.score_axis_of(version, [text for text, _ in recorded]),
        "furthest": [
            (text, [_answer(part, by_id.get(part.id)) for part in parts]) for text, parts in differing[:MAX_TEXTS]
        ],
        "unscored": [text for text in texts if text.score.score is None],
        "judges": [text.score.judge for text in texts] or ["no judge"],
    }


def _criterion_name(row: CriterionRow, terms: Mapping[str, Term]) -> Markup:
    title = wording.title(row.criterion, TITLE) if row.criterion else wording.excerpt(row.id, TITLE)
    remarks = [f"weight {wording.percent(terms[row.id].weight)}"] if row.id in terms else []
    remarks += [f"{row.inapplicable} n/a"] if row.inapplicable else []
    remarks += [f"{count(row.unscored, 'text')} unscored"] if row.unscored else []
    return line(q(title), q(row.id, "quiet") + quiet("".join(f", {each}" for each in remarks)))


def _recorded(text: JudgedText) -> RecordedText:
    example, (low, high) = text.example, text.score.interval or (None, None)
    return RecordedText(
        id=example.id,
        group=example.group,
        output=example.output,
        source=example.source,
        label=text.human,
        predicted=text.score.score,
        low=low,
        high=high,
    )


def _answer(part: CriterionRating, criterion: Criterion | None) -> tuple[Markup, Markup, Markup]:
    """Return a criterion, its rating of a text, and the reason with those of single units."""
    title = q(wording.title(criterion, TITLE)) if criterion else ""
    added = f"added {part.contribution:+.2f}" if part.contribution is not None else ""
    answer = line(wording.answered(part, criterion, whole=not part.units), quiet(added))
    reasons = [q(part.reason)]
    for unit in sorted(part.units, key=lambda unit: 1.0 if unit.value is None else unit.value):
        support = f"(by: {'; '.join(unit.support)})" if unit.support else ""
        text = q(f"“{wording.excerpt(unit.unit)}”")
        reasons.append(line(wording.verdict(unit), text, q(unit.reason, "quiet"), q(support, "quiet")))
    paragraphs = Markup().join(map(Markup("<p>{}</p>").format, reasons))
    return line(q(part.id, "id" if criterion else ""), title), answer, paragraphs
